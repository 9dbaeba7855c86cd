// SPDX-License-Identifier: Apache-2.0
// Who missed a deadline: the jobs of a run that have any. A job that ends by its k-th deadline is worth value_k of
// value_1; it misses the rest of it (Chronus, SoCC'21, section 3).
#pragma once

#include <cstdint>
#include <span>

#include "base/units.h"
#include "profile/job_request.h"

namespace comity::twin {

// The share of its value that a job misses which ends `after` its submission: 0 at the first deadline, 1 after the
// last.
[[nodiscard]] inline double missed_value(std::span<const profile::Deadline> deadlines, Time after) {
  for (const profile::Deadline& d : deadlines) {
    if (after > d.after) continue;
    return deadlines[0].value > 0 ? 1 - d.value / deadlines[0].value : 0;
  }
  return 1;
}

struct DeadlineResult {
  std::uint64_t jobs = 0;    // that have a deadline, rejected ones included
  std::uint64_t missed = 0;  // ended after their last one, or were stopped or rejected
  double missed_value = 0;   // sum over these jobs
  double jct_s = 0;          // sum over those that ended
  double others_jct_s = 0;   // of the jobs without a deadline
  std::uint64_t ended = 0;
  std::uint64_t others_ended = 0;

  [[nodiscard]] double miss_ratio() const { return jobs == 0 ? 0 : missed_value / static_cast<double>(jobs); }
  [[nodiscard]] double avg_jct_s() const { return ended == 0 ? 0 : jct_s / static_cast<double>(ended); }
  [[nodiscard]] double avg_others_jct_s() const {
    return others_ended == 0 ? 0 : others_jct_s / static_cast<double>(others_ended);
  }

  void reject(std::span<const profile::Deadline> deadlines) {
    if (!deadlines.empty()) add(1);
  }
  void end(std::span<const profile::Deadline> deadlines, Time jct, bool stopped) {
    if (deadlines.empty()) {
      others_jct_s += to_seconds(jct);
      ++others_ended;
      return;
    }
    jct_s += to_seconds(jct);
    ++ended;
    add(stopped ? 1 : comity::twin::missed_value(deadlines, jct));
  }

 private:
  void add(double value) {
    ++jobs;
    missed_value += value;
    if (value >= 1) ++missed;
  }
};

}  // namespace comity::twin
