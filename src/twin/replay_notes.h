// SPDX-License-Identifier: Apache-2.0
// What the results of a replay have to be read with, since trace and cluster file don't say all that was asked for.
#pragma once

#include <string>
#include <vector>

#include "twin/replay.h"

namespace comity::twin {

// Sentences without a full stop: jobs without an estimate where policies were to be told the users' (they are told the
// truth then), and tenants and users of the cluster file that no job of the trace has (their quotas and shares hold
// nobody; perhaps a name was misspelt). O(jobs + tenants + users).
[[nodiscard]] std::vector<std::string> replay_notes(const Workload& workload, const ReplayOptions& options);

}  // namespace comity::twin
