// SPDX-License-Identifier: Apache-2.0
// The Gittins index of a job of unknown length from samples of what other jobs took, as Tiresias (NSDI'19) computes it.
// Samples D_1 <= ... <= D_n and the quantum delta are in GPU s. For a job with attained service a let v be the least
// sample > a; among the samples >= v
//   P = the share that ends below v + delta
//   E = the mean of min(D, delta) as the simulator takes it: (sum of those D + delta x number of the others) / n'
//   index = 10^6 P / E, rounded to 4 digits (P and E to 5); 0 when a has reached the greatest sample.
// The sum is over D, not D - a, and the greatest sample never counts as ending where v + delta is beyond it: both are
// the simulator's. O(n log n) to build, O(log n) to ask.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"

namespace comity::sched {

class GittinsTable {
 public:
  GittinsTable() = default;
  // Samples need not be sorted; at least one, all finite and >= 0. quantum > 0.
  GittinsTable(std::vector<double> samples, double quantum);

  struct Step {
    double index = 0;
    std::uint32_t level = 0;  // 0 = the least index; equal indices have equal levels
    double until = 0;         // the attained service from which it may be another; infinite on the last step
    std::uint32_t next = 0;   // of the samples, the first that is greater than what was attained
  };
  [[nodiscard]] bool empty() const { return samples_.empty(); }
  // `attained` in GPU s; `from`: Step::next of an earlier, smaller value, or 0.
  [[nodiscard]] Step at(double attained, std::uint32_t from = 0) const;

 private:
  std::vector<double> samples_;
  std::vector<double> index_;  // of a job whose next sample is this one
  std::vector<std::uint32_t> level_;
  std::vector<double> until_;  // the first sample from this one on behind which the level is another
};

}  // namespace comity::sched
