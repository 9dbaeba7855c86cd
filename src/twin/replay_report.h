// SPDX-License-Identifier: Apache-2.0
// The pictures of a replay: report.html, self-contained. Needs runs with detail.
#pragma once

#include <string>

#include "twin/summary.h"

namespace comity::twin {

// `command` is the line that made the runs, shown so that anybody can make them again.
[[nodiscard]] std::string replay_report(const ReplaySummary& summary, const Workload& workload,
                                        const cluster::ClusterSpec& spec, const std::string& command);

}  // namespace comity::twin
