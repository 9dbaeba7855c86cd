// SPDX-License-Identifier: Apache-2.0
// The best of the standard algorithms, flat or by levels (one after the other or pipelined), when a message of b bytes
// takes latency + b / bandwidth and nothing else does. Libraries come close to it with long messages.
#pragma once

#include "workload/collective_cost.h"

namespace comity::workload {

[[nodiscard]] double alpha_beta_s(const System& system, Collective op, double bytes, const Group& group);

}  // namespace comity::workload
