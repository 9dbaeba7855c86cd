// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "sched/gavel_program.h"

namespace comity::sched {
namespace {

double all_jobs(const std::vector<GavelClass>& classes) {
  double jobs = 0;
  for (const GavelClass& c : classes) jobs += c.jobs;
  return jobs;
}

}  // namespace

std::vector<double> equal_share_speed(const std::vector<GavelClass>& classes, const std::vector<double>& gpus,
                                      bool artifact) {
  const double sum = std::accumulate(gpus.begin(), gpus.end(), 0.0) / all_jobs(classes);
  const double divisor = all_jobs(classes) * (artifact ? sum : std::max(1.0, sum));
  std::vector<double> out;
  for (const GavelClass& c : classes) {
    double speed = 0;
    for (std::size_t j = 0; j < gpus.size(); ++j) speed += c.speed[j] * gpus[j] / divisor;
    out.push_back(speed);
  }
  return out;
}

std::vector<double> isolated_speed(const std::vector<GavelClass>& classes, const std::vector<double>& gpus) {
  const double sum = std::accumulate(gpus.begin(), gpus.end(), 0.0) / all_jobs(classes);
  std::vector<double> out;
  for (const GavelClass& c : classes) {
    const double divisor = all_jobs(classes) * c.gpus * std::max(1.0, sum / c.gpus);
    double speed = 0;
    for (std::size_t j = 0; j < gpus.size(); ++j) speed += c.speed[j] * gpus[j] / divisor;
    out.push_back(speed);
  }
  return out;
}

std::vector<double> share_factors(const std::vector<GavelClass>& classes, const std::vector<double>& gpus,
                                  bool artifact) {
  std::vector<double> out = equal_share_speed(classes, gpus, artifact);
  for (std::size_t c = 0; c < out.size(); ++c) out[c] = out[c] > 0 ? classes[c].gpus / (classes[c].weight * out[c]) : 0;
  return out;
}

}  // namespace comity::sched
