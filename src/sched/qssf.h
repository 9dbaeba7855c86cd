// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sched/policy.h"

namespace comity::sched {

// Remaining estimate x GPUs in GPU microseconds (so that the longest time and the widest job stay an int64).
[[nodiscard]] std::int64_t rank_by_service(const Job& job, const ShapeClass& shape);

}  // namespace comity::sched
