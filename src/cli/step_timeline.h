// SPDX-License-Identifier: Apache-2.0
// The pipeline of an estimated step over time: as text, as a chart, as a Chrome trace.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/execution_options.h"

namespace comity::cli {

struct StepTimeline {
  std::string text;   // a line a pipeline rank
  std::string chart;  // <figure> with SVG
  std::string trace;  // JSON for chrome://tracing or Perfetto
};

// Of at most the first 64 micro-batches: more show nothing else. Errors: shapes that the schedule cannot run.
[[nodiscard]] Result<StepTimeline> step_timeline(const StepInputs& in);

}  // namespace comity::cli
