// SPDX-License-Identifier: Apache-2.0
#include "profile/freezing.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace comity::profile {
namespace {

constexpr double kGradientBytes = 4e6;  // of 10^6 parameters
constexpr int kPoorWindows = 3;
constexpr double kPoorSlope = 0.8;

// sums[k] = values k, k + 1, ... together.
std::vector<double> sums_behind(const std::vector<double>& values, double factor) {
  std::vector<double> sums(values.size() + 1, 0);
  for (std::size_t i = values.size(); i-- > 0;) sums[i] = sums[i + 1] + values[i] * factor;
  return sums;
}

}  // namespace

Freezing::Freezing(const LayerTable& table, const FreezingSettings& settings)
    : set_(settings),
      batch_(static_cast<double>(table.batch)),
      forward_(sums_behind(table.gflop, 1e-3 / table.tflops)),
      backward_(sums_behind(table.gflop, 2e-3 / table.tflops)),
      bytes_(sums_behind(table.mparam, kGradientBytes)) {}

double Freezing::step_s(int depth, std::int64_t gpus) const {
  COMITY_CHECK(depth >= 0 && depth < layers() && gpus >= 1);
  const auto k = static_cast<std::size_t>(depth);
  const auto g = static_cast<double>(gpus);
  const double sync = 2 * (g - 1) / g * bytes_[k] / (set_.bandwidth_gb_s * 1e9) + (g - 1) * set_.latency_s;
  return batch_ * (forward_[set_.cached ? k : 0] + backward_[k]) + sync;
}

double Freezing::rate(int depth, std::int64_t gpus) const {
  return static_cast<double>(gpus) * batch_ / step_s(depth, gpus);
}

double Freezing::penalty(int depth, std::span<const double> gradients) const {
  COMITY_CHECK(gradients.size() == static_cast<std::size_t>(layers()));
  double frozen = 0;
  double all = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    all += gradients[i];
    if (i < static_cast<std::size_t>(depth)) frozen += gradients[i];
  }
  return std::min(1.0, set_.eta * frozen / all);
}

std::vector<double> Freezing::gradients_at(double progress) const {
  std::vector<double> out(static_cast<std::size_t>(layers()));
  const double last = std::max(1.0, static_cast<double>(out.size()) - 1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double c = set_.first_converges + (1 - set_.first_converges) * static_cast<double>(i) / last;
    out[i] = std::exp(-progress / c);
  }
  return out;
}

Freezing::Choice Freezing::best(std::int64_t gpus, std::span<const double> gradients) const {
  Choice best{0, rate(0, gpus)};
  double all = 0;
  for (const double g : gradients) all += g;
  double frozen = 0;
  for (int depth = 1; depth < layers(); ++depth) {
    frozen += gradients[static_cast<std::size_t>(depth) - 1];
    const double phi = set_.eta * frozen / all;
    if (phi > set_.most_penalty) break;  // it only grows
    const double effective = rate(depth, gpus) * (1 - phi);
    if (effective > best.rate) best = {depth, effective};
  }
  return best;
}

bool ThawRule::observe(double measured, double fitted) {
  poor_ = measured < kPoorSlope * fitted ? poor_ + 1 : 0;
  if (poor_ < kPoorWindows) return false;
  poor_ = 0;
  return true;
}

}  // namespace comity::profile
