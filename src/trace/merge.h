// SPDX-License-Identifier: Apache-2.0
// Several traces as one, in order of submission; jobs of one instant in the order of the traces, then of their rows.
//
// Ids stay as they are while they are unique over all traces. Where two clash every id becomes "K:ID", K being the
// number of the trace from 1. Names mean the same in every trace, unless users and tenants get a prefix.
// O(jobs log jobs); memory: the result and 16 bytes a job.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "trace/trace.h"

namespace comity::trace {

struct MergeOptions {
  bool align_start = false;             // each trace begins at 0 (before its offset)
  std::vector<Time> offsets{};          // added to the submits of each trace; none, or one a trace
  std::vector<std::string> prefixes{};  // "P" makes user and tenant "P/NAME"; none, or one a trace, "" = no prefix
  bool number = false;                  // jobs are numbered anew from 0, whatever their ids were
};
struct Merged {
  Trace trace;
  bool ids_prefixed = false;
};
// Errors: kUsage names the option that is wrong; kInput where a submission would come after kMaxTime.
[[nodiscard]] Result<Merged> merge_traces(std::span<const Trace> traces, const MergeOptions& options);

}  // namespace comity::trace
