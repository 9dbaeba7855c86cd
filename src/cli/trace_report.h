// SPDX-License-Identifier: Apache-2.0
// The statistics of a trace as text, JSON, CSV and a page with pictures.
#pragma once

#include <span>
#include <string>

#include "base/table.h"
#include "trace/stats.h"
#include "trace/trace.h"

namespace comity::cli {

struct TraceSummary {
  std::string path;
  std::string format;
  std::uint64_t skipped_lines = 0;
  std::vector<trace::SkippedLine> skipped;
  std::vector<std::string> ignored_columns;
  std::vector<trace::OtherRows> other_rows;
  std::vector<trace::OtherRows> duration_bases;
  std::uint64_t declared_gpus = 0;
  trace::TraceStats stats;
};

[[nodiscard]] std::string trace_text(const TraceSummary& summary, bool colour);
[[nodiscard]] std::string trace_json(const TraceSummary& summary);         // comity.trace_stats/1, without line end
[[nodiscard]] Table trace_table(std::span<const TraceSummary> summaries);  // one row a trace
[[nodiscard]] std::string trace_page(std::span<const TraceSummary> summaries, const std::string& command);

}  // namespace comity::cli
