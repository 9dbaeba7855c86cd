// SPDX-License-Identifier: Apache-2.0
// A simulated pipeline to look at: as rows of bars, and as a trace for chrome://tracing or Perfetto.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "workload/pipeline.h"

namespace comity::workload {

enum class BarKind : std::uint8_t { kForward, kBackward, kInput, kWeight, kSend };
[[nodiscard]] std::string_view bar_name(BarKind kind);  // "forward", "backward", "input gradient", ...

struct TimelineBar {
  std::string label;  // "F 3", "B 3.1": operation, micro-batch and, where a rank has several, chunk
  BarKind kind = BarKind::kForward;
  double start_s = 0;
  double end_s = 0;
};

struct TimelineRow {
  std::string name;               // "rank 0"
  std::vector<TimelineBar> bars;  // by start; the two of an overlapped pair have the same times
};

struct Timeline {
  std::string title;  // schedule, p, v, m
  std::vector<TimelineRow> rows;
  double end_s = 0;
};

// `transfer_s`: as it was given to the simulator; where it is not 0 each row has a bar for every message that leaves.
[[nodiscard]] Timeline timeline(const PipelineShape& shape, const PipelineRun& run, double transfer_s = 0);

// Chrome's trace format, one JSON object: pid = pipeline rank, tid = stream (0 forward, 1 backward, 2 weight gradients,
// 3 sends), complete events in microseconds, and "held", the micro-batches in flight, as a counter. Written in pieces
// of some kilobytes.
void chrome_trace(const PipelineShape& shape, const PipelineRun& run, double transfer_s,
                  const std::function<void(std::string_view)>& write);

}  // namespace comity::workload
