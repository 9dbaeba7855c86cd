// SPDX-License-Identifier: Apache-2.0
// Work x GPUs, what policies of least service order by.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sched/policy.h"

namespace comity::sched {

// In GPU microseconds, so that the product of the longest time and the widest job stays an int64; capped at kMaxTime.
[[nodiscard]] inline std::int64_t gpu_service(Time work, std::uint32_t gpus) {
  const std::int64_t us = work / kMicrosecond;
  return us > kMaxTime / std::max<std::int64_t>(gpus, 1) ? kMaxTime : us * gpus;
}
// A RankFn: least remaining estimate x GPUs first.
[[nodiscard]] inline std::int64_t rank_by_service(const Job& job, const ShapeClass& shape) {
  return gpu_service(std::max<Time>(0, job.estimate - job.executed), shape.gpus);
}

}  // namespace comity::sched
