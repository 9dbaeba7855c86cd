// SPDX-License-Identifier: Apache-2.0
// The lease program of Chronus as an integer program for CBC: X[i,t] = job i runs in lease t, S[i,k] = it meets its
// k-th deadline. Only programs that are small enough are built.
#pragma once

#include "sched/chronus_plan.h"

namespace comity::sched::chronus {

struct ProgramResult {
  bool asked = false;   // it was small enough
  bool proved = false;  // the best plan
  double bound = 0;     // no plan is better
  std::int64_t nodes = 0;
};

// `jobs` hold a feasible plan, from which the search starts; they hold the best that was found when it returns.
// `scale`: what a GPU of lease 0 counts. Variables: sum over jobs of their widest windows and choices.
ProgramResult solve_program(std::vector<LeaseJob>& jobs, const std::vector<std::int64_t>& capacity, double scale,
                            const PlanLimits& limits);

}  // namespace comity::sched::chronus
