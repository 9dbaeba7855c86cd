// SPDX-License-Identifier: Apache-2.0
// calibrate() of workload/measured.h.
#include <algorithm>
#include <array>
#include <cmath>

#include "math/minimise.h"
#include "workload/measured.h"

namespace comity::workload {
namespace {

// A constant that is fitted: where it lies, how far from its start one believes it to be, and its range.
struct Constant {
  double& (*of)(System&);
  double width;
  double low;
  double high;
};

double& link(System& s, std::size_t tier) { return s.networks[std::min(tier, s.networks.size() - 1)].efficiency; }

const std::array<Constant, 8>& constants() {
  static const std::array<Constant, 8> all = {
      Constant{[](System& s) -> double& { return s.gemm.max_efficiency; }, 0.05, 0.05, 1},
      Constant{[](System& s) -> double& { return s.gemm.wave_weight; }, 0.25, 0, 1},
      Constant{[](System& s) -> double& { return s.gemm.k_half; }, 100, 0, 5000},
      Constant{[](System& s) -> double& { return s.memory_efficiency; }, 0.05, 0.05, 1},
      Constant{[](System& s) -> double& { return s.launch_us; }, 1.5, 0, 100},
      Constant{[](System& s) -> double& { return link(s, 0); }, 0.1, 0.05, 1},
      Constant{[](System& s) -> double& { return link(s, 1); }, 0.1, 0.05, 1},
      Constant{[](System& s) -> double& { return s.pp_exposed; }, 0.1, 0, 1}};
  return all;
}

System with(const System& start, const std::vector<double>& offsets) {
  System s = start;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const Constant& c = constants()[i];
    double& value = c.of(s);
    value = std::clamp(value + offsets[i] * c.width, c.low, c.high);
  }
  return s;
}

// How far the constants would lie outside of their ranges, in widths, squared.
double beyond_range(System s, const std::vector<double>& offsets) {
  double sum = 0;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const Constant& c = constants()[i];
    const double value = c.of(s) + offsets[i] * c.width;
    const double out = (value - std::clamp(value, c.low, c.high)) / c.width;
    sum += out * out;
  }
  return sum;
}

// A measurement is believed to 0.7 %: the fit explains it only as far as constants stay likely.
constexpr double kWeight = 20'000;

}  // namespace

Fit calibrate(const System& start, const std::vector<MeasuredCase>& cases, CostModel cost) {
  Fit out;
  out.system = start;
  if (cases.empty()) return out;
  const auto loss = [&](const std::vector<double>& offsets) {
    // Beyond the range of a constant the edge counts, and the way back to it.
    const System s = with(start, offsets);
    double sum = beyond_range(start, offsets);
    for (const MeasuredCase& c : cases) {
      const double error = std::log(predict(c, s, cost).value / c.value);
      sum += kWeight * error * error;
      out.estimates += c.candidates.size();
    }
    for (const double offset : offsets) sum += offset * offset;
    return sum;
  };
  const std::size_t n = constants().size() - (start.networks.size() < 2 ? 2 : 0);
  const math::Minimum found = math::minimise(loss, std::vector<double>(n, 0), std::vector<double>(n, 0.4), 400 * n);
  out.system = with(start, found.at);
  for (const MeasuredCase& c : cases) out.error += std::abs(predict(c, out.system, cost).value / c.value - 1);
  out.error /= static_cast<double>(cases.size());
  return out;
}

}  // namespace comity::workload
