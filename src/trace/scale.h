// SPDX-License-Identifier: Apache-2.0
// A trace made longer or shorter, larger or smaller, lighter or heavier. In this order: the window, the sample, sizes,
// run times, submit times.
//
//   window    jobs with from <= submit < to; their times stay as they are
//   sample    each job is kept with probability `sample`; a smaller sample of the same seed is part of a larger one
//   sizes     GPUs times `size`, to the nearest whole number (halves up), at least 1. A job on nodes gets `size` times
//             the nodes, rounded so, with as many GPUs each; where that is less than one node, one node with `size`
//             times its GPUs in all. CPUs and main memory go with them, unrounded. keep_powers: what was a power of two
//             goes to the nearest one (as a ratio).
//   run times and what users said of them, and deadlines (which count from submission), times `duration`
//   submits   their distances from the first one, times `time`; or times what makes the offered load `load`
//
// Offered load of G GPUs: the GPU time of all jobs over the span from the first to the last submission, over G
// (mean_gpus_demanded of trace/stats.h over G). Times are rounded to the nanosecond in whole numbers: the same result
// on every machine. Waits that the log knows are dropped where sizes, run times or submits change: they would be wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "trace/trace.h"

namespace comity::trace {

struct ScaleOptions {
  double time = 1;
  double duration = 1;
  double size = 1;
  bool keep_powers = false;
  std::optional<double> load{};  // else as `time` says
  std::uint64_t gpus = 0;        // of the cluster that the load is of
  Time from = 0;
  Time to = kNever;
  double sample = 1;
  std::uint64_t seed = 1;
};
struct ScaleReport {
  std::vector<std::string> changes;  // in words, one a step; empty = nothing changed
  double mean_gpus_before = 0;       // the offered load in GPUs; 0 where the span is 0
  double mean_gpus_after = 0;
};
// Changes `trace`; on an error it is left in part changed. O(jobs). Errors: kUsage names the option that is wrong;
// kInput where no job is left or the load can't be reached.
[[nodiscard]] Result<ScaleReport> scale_trace(Trace& trace, const ScaleOptions& options);

}  // namespace comity::trace
