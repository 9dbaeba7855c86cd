// SPDX-License-Identifier: Apache-2.0
// What World::rates says of a waiting or running job on each type of GPU, for policies that choose the type.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "sched/policy.h"

namespace comity::sched {

class TypeSpeeds {
 public:
  // The row of World::rates for a job; Rates::kNone: it has no model, or nobody measured it. O(length of the name).
  [[nodiscard]] static std::uint32_t kind_of(const Pass& pass, JobId id);

  // Forgets everything: the nodes that are up may have changed.
  void clear() { known_.clear(); }
  // Progress a second by type (index as in Pool::types()) of jobs of a shape and kind, on as few nodes as they fit on;
  // 1 = as traces say. 0 where they may not or cannot run: another type is asked for, too many GPUs, or the rates say
  // so. Nowhere else possible: what Rates::speed_in_any_case() says. Without rates, or a row: 1 on every type. Valid
  // until clear(). O(1) after the first time.
  const std::vector<double>& of(const Pass& pass, ShapeId shape, std::uint32_t kind);
  // Whether the speeds follow a table on every type of the group that has GPUs.
  [[nodiscard]] static bool measured(const Pass& pass, ShapeId shape, std::uint32_t kind);

 private:
  std::map<std::pair<ShapeId, std::uint32_t>, std::vector<double>> known_;
};

// GPUs of a group that are up, by type.
[[nodiscard]] std::vector<double> gpus_by_type(const Pool& pool, std::uint32_t group);

}  // namespace comity::sched
