// SPDX-License-Identifier: Apache-2.0
// The runs of one job. Resource managers write a row for each run of a job that was requeued or preempted; for the
// twin it is one job that has to be served once.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace.h"

namespace comity::trace {

struct JoinedRuns {
  std::vector<std::uint32_t> joined;  // rows whose run was added to another's: to be taken out
  std::vector<std::uint32_t> others;  // rows that only repeat an id (another user or name)
};

// Adds each row of `repeated` (rising) to the first row of the same id, where user and name are the same. The job is
// submitted when its earliest run was, with that run's shape, estimate and wait, and runs as long as all of its runs
// together. Runs of unlike size count by their GPU time: the sum of GPUs x run time stays what the log says (to a
// nanosecond a GPU). O(rows).
[[nodiscard]] JoinedRuns join_runs(Trace& trace, const std::vector<std::uint32_t>& repeated);

}  // namespace comity::trace
