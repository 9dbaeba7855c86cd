// SPDX-License-Identifier: Apache-2.0
// Comity's own CSV, which holds everything a Row does: times in seconds (exact to the nanosecond), GPUs in all, or
// nodes and GPUs a node for jobs with a two-dimensional shape. Every column but submit_s, duration_s and the size may
// be left out, and every field in them may be empty. Lists have their entries between '|' (record.h shows them).
// declared_gpus, the capacity of the cluster, stands on the first line alone.
#include "trace/comity_columns.h"

namespace comity::trace {
namespace {

constexpr CsvFormat kFormat = {.columns = kComityColumns, .score = 60, .score_with_others = 20};

}  // namespace

Format format_comity() {
  return {.name = "comity",
          .description = "Comity CSV: submit_s,duration_s,gpus (or nodes,gpus_per_node) and optional columns",
          .detect = [](std::string_view head) { return detect_csv(head, kFormat); },
          .open = [](std::string_view line, const std::string&) { return open_csv(line, kFormat); },
          .refusal = nullptr};
}

}  // namespace comity::trace
