// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/limits.h"
#include "trace/synth.h"

namespace comity::trace {
namespace {

// Tasks by weekday (Sunday first) and by hour of the day (0 h first), job shapes in percent, run times in percent for
// the bar centred on each whole hour from 1: SING, figures on usage and job shape.
constexpr std::array<double, 7> kWeekday = {29, 56, 54, 108, 73, 66, 46};
constexpr std::array<double, 24> kHourOfDay = {5.1, 2.3, 1.1, .7,  .6,  .2,  .1,  1.1, 1.6, 3.3, 4.4, 4.7,
                                               4.0, 3.3, 4.3, 4.7, 3.4, 4.7, 2.3, 2.2, 4.6, 5.9, 7.2, 6.1};
constexpr std::array<profile::Shape, 10> kShapes = {
    {{1, 1}, {1, 2}, {1, 4}, {1, 8}, {2, 2}, {2, 4}, {2, 8}, {4, 4}, {4, 8}, {8, 4}}};
constexpr std::array<double, 10> kShapeWeights = {11.5, 16.3, 19.4, 6.1, 3.0, 9.1, 4.8, 10.6, 8.8, 5.5};
constexpr std::array<double, 24> kRunWeights = {6.5, 6.9, 1.2, 4.3, 1.7, 7.5, 4.6, 7.5, 8.2, 9.2, 8.1, 4.3,
                                                6.5, 5.6, 3.9, 4.2, .4,  1.5, 2.1, .1,  1.6, 2.4, 0,   1.2};
constexpr double kMeanGpus = 10.08;
constexpr double kMeanHours = 9.78;
constexpr double kMostHours = 24;
constexpr int kMostWeeks = 1000;

Time to_milliseconds(double hours) { return static_cast<Time>(std::llround(hours * 3.6e6)) * kMillisecond; }

Row draw_job(Rng& rng, double scale) {
  Row row;
  row.request.shape = kShapes[rng.pick(kShapeWeights)];
  const double hour = static_cast<double>(rng.pick(kRunWeights)) + 1;
  row.duration = to_milliseconds(std::min(kMostHours, scale * rng.uniform(hour - 0.5, hour + 0.5)));
  return row;
}

}  // namespace

std::array<double, 168> sing_arrival_weights(double phi) {
  const double days = std::accumulate(kWeekday.begin(), kWeekday.end(), 0.0);
  const double hours = std::accumulate(kHourOfDay.begin(), kHourOfDay.end(), 0.0);
  std::array<double, 168> weights{};
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] = (1 - phi) * kWeekday[i / 24] * kHourOfDay[i % 24] / (days * hours) + phi / 168;
  }
  return weights;
}

Result<Trace> synth_sing(const SingOptions& o) {
  if (!(o.scale > 0 && o.scale <= 10)) return fail_option("--scale", "must be above 0 and at most 10");
  if (!(o.phi >= 0 && o.phi <= 1)) return fail_option("--phi", "must be within 0 and 1");
  if (o.weeks < 1 || o.weeks > kMostWeeks) return fail_option("--weeks", "must be within 1 and 1000");
  const double jobs_a_week = o.load * 168 / (kMeanGpus * kMeanHours * o.scale);
  if (!(o.load > 0 && jobs_a_week * o.weeks <= 1e8)) {
    return fail_option("--load", "must be above 0 and give at most 100 million jobs");
  }
  const std::array<double, 168> weights = sing_arrival_weights(o.phi);
  Trace trace;
  trace.path = "synthetic SING week";
  trace.format = "synth_sing";
  Rng rng(o.seed);
  std::vector<Time> arrivals;
  for (int hour = 0; hour < 24 + o.weeks * 168; ++hour) {
    const std::uint64_t count = rng.poisson(jobs_a_week * weights[static_cast<std::size_t>(hour + 144) % 168]);
    arrivals.clear();
    for (std::uint64_t i = 0; i < count; ++i) arrivals.push_back(to_milliseconds(hour + rng.uniform()));
    std::sort(arrivals.begin(), arrivals.end());
    for (const Time submit : arrivals) {
      Row row = draw_job(rng, o.scale);
      row.submit = submit;
      row.id = static_cast<std::int64_t>(trace.rows.size());
      trace.rows.push_back(row);
    }
  }
  return trace;
}

}  // namespace comity::trace
