// SPDX-License-Identifier: Apache-2.0
// Slurm's multifactor priority (slurm.schedmd.com/priority_multifactor) of one job, apart from the policy:
//   priority = W_age min(age / max_age, 1) + W_assoc A + W_fs F + W_size size + W_qos Q + W_gpus g
// truncated to a whole number as in Slurm. Factors lie in [0, 1]. Left out because it could not change an order here:
// the partition factor (groups have nodes of their own, so it is the same for all that compete) and the site factor.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.h"

namespace comity::sched {

struct MultifactorWeights {
  double age = 0;
  double assoc = 0;
  double fair_share = 0;
  double job_size = 0;
  double qos = 0;
  double gpus = 0;  // PriorityWeightTRES=gres/gpu
  Time max_age = 7 * kDay;
};

struct MultifactorFactors {
  Time age = 0;           // since the job became eligible
  double assoc = 0;       // priority of its tenant over the highest one
  double fair_share = 0;  // F
  double job_size = 0;    // its part of the group's GPUs, or 1 less that
  double qos = 0;         // priority of its QOS over the highest one
  double gpus = 0;        // its part of the group's GPUs
};

[[nodiscard]] inline std::int64_t multifactor_priority(const MultifactorWeights& w, const MultifactorFactors& f) {
  const double age = std::min(static_cast<double>(f.age) / static_cast<double>(w.max_age), 1.0);
  return static_cast<std::int64_t>(w.age * age + w.assoc * f.assoc + w.fair_share * f.fair_share +
                                   w.job_size * f.job_size + w.qos * f.qos + w.gpus * f.gpus);
}

}  // namespace comity::sched
