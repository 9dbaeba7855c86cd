// SPDX-License-Identifier: Apache-2.0
// Gavel's programs where all jobs use one type of GPU: their solutions in closed form.
#pragma once

#include <vector>

namespace comity::sched {

struct OneTypeRow {
  double demand = 0;  // GPUs of all jobs of the row; 0 = takes no part
  double full = 0;    // what one of them has at x = 1
  double x = 0;       // part of its time
};

// Lexicographic max-min of full x x with sum demand x x <= gpus, x <= 1. The least full x x; O(n log n).
double fill_one_type(std::vector<OneTypeRow>& rows, double gpus);
// Whether all can have their x, which then rises where `full` is greatest until gpus or x = 1 end it. O(n log n).
bool reach_one_type(std::vector<OneTypeRow>& rows, double gpus);

}  // namespace comity::sched
