// SPDX-License-Identifier: Apache-2.0
#include "plan/checkpoints.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/rng.h"

namespace comity::plan {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMostCount = 9e18;
constexpr std::int64_t kMostInterruptions = 10'000'000;  // of a run
constexpr double kMostExponent = 600;                    // e^600 is as good as never

double segment_s(const Interruptions& w, double seconds) {
  if (w.rate_per_s <= 0) return seconds;
  const double exponent = w.rate_per_s * (seconds + w.restart_s);
  if (exponent > kMostExponent) return kInfinity;
  return std::exp(w.rate_per_s * w.restart_s) * std::expm1(w.rate_per_s * seconds) / w.rate_per_s;
}

}  // namespace

double expected_time_s(const Interruptions& what, double work_s, double interval_s) {
  if (work_s <= 0) return 0;
  const double interval = std::min(interval_s, work_s);
  const double whole = std::floor(work_s / interval * (1 + 1e-12));
  const double rest = work_s - whole * interval;
  double out = whole * segment_s(what, interval + what.write_s);
  if (rest > 1e-9 * work_s) out += segment_s(what, rest + what.write_s);
  return out;
}

double young_interval_s(const Interruptions& w) {
  return w.rate_per_s > 0 ? std::sqrt(2 * w.write_s / w.rate_per_s) : kInfinity;
}

double daly_interval_s(const Interruptions& w) {
  if (w.rate_per_s <= 0) return kInfinity;
  const double mean = 1 / w.rate_per_s;
  if (w.write_s >= 2 * mean) return mean;
  const double ratio = w.write_s / (2 * mean);
  return std::sqrt(2 * w.write_s * mean) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - w.write_s;
}

double best_interval_s(const Interruptions& w) {
  if (w.rate_per_s <= 0) return kInfinity;
  const auto cost = [&](double interval) { return segment_s(w, interval + w.write_s) / interval; };
  // In the logarithm, between far too often and far too rarely: the cost has one minimum there.
  double low = std::log(1e-6 / w.rate_per_s);
  double high = std::log(20 / w.rate_per_s);
  const double golden = (std::sqrt(5.0) - 1) / 2;
  double a = high - golden * (high - low);
  double b = low + golden * (high - low);
  for (int i = 0; i < 80; ++i) {
    if (cost(std::exp(a)) <= cost(std::exp(b))) {
      high = b;
      b = a;
      a = high - golden * (high - low);
    } else {
      low = a;
      a = b;
      b = low + golden * (high - low);
    }
  }
  return std::exp((low + high) / 2);
}

InterruptedRun simulate_run(const Interruptions& what, double work_s, double interval_s, std::uint64_t seed,
                            std::uint64_t stream) {
  Rng rng(seed, stream);
  InterruptedRun out;
  const auto next = [&] { return what.rate_per_s > 0 ? rng.exponential(1 / what.rate_per_s) : kInfinity; };
  double until = next();
  const auto restart = [&] {
    ++out.interruptions;
    until = next();
    while (until < what.restart_s && out.interruptions < kMostInterruptions) {
      ++out.interruptions;
      out.time_s += until;
      out.lost_s += until;
      until = next();
    }
    out.time_s += what.restart_s;
    out.lost_s += what.restart_s;
    until -= what.restart_s;
  };
  for (double left = work_s; left > 1e-9 * work_s;) {
    const double both = interval_s + what.write_s;
    const double whole = std::floor(std::min(until / both, left / interval_s - 1));
    if (whole >= 1) {  // segments that nothing interrupts, at once
      until -= whole * both;
      out.time_s += whole * both;
      left -= whole * interval_s;
      out.checkpoints += static_cast<std::int64_t>(std::min(whole, kMostCount));
      continue;
    }
    const double segment = std::min(interval_s, left);
    const double seconds = segment + what.write_s;
    while (until < seconds) {
      if (out.interruptions >= kMostInterruptions) {
        out.time_s = kInfinity;
        return out;
      }
      out.time_s += until;
      out.lost_s += until;
      restart();
    }
    until -= seconds;
    out.time_s += seconds;
    left -= segment;
    ++out.checkpoints;
  }
  return out;
}

}  // namespace comity::plan
