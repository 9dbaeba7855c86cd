// SPDX-License-Identifier: Apache-2.0
// Comity's own CSV, which holds everything a Row does: times in seconds (exact to the nanosecond), GPUs in all, or
// nodes and GPUs a node for jobs with a two-dimensional shape. Every column but submit_s, duration_s and the size may
// be left out, and every field in them may be empty.
#include <array>

#include "trace/csv_decoder.h"

namespace comity::trace {
namespace {

constexpr std::array<NamedColumn, 19> kColumns = {{{"job_id", Field::kId},
                                                   {"submit_s", Field::kSubmit, true},
                                                   {"duration_s", Field::kDuration, true},
                                                   {"gpus", Field::kGpus},
                                                   {"nodes", Field::kNodes},
                                                   {"gpus_per_node", Field::kGpusPerNode},
                                                   {"user", Field::kUser},
                                                   {"tenant", Field::kTenant},
                                                   {"group", Field::kGroup},
                                                   {"gpu_type", Field::kGpuType},
                                                   {"estimate_s", Field::kEstimate},
                                                   {"wait_s", Field::kWait},
                                                   {"name", Field::kName},
                                                   {"model", Field::kModel},
                                                   {"dataset", Field::kDataset},
                                                   {"batch_size", Field::kBatchSize},
                                                   {"iterations", Field::kIterations},
                                                   {"gpu_utilization", Field::kGpuUtilization},
                                                   {"memory_mb", Field::kMemory}}};
constexpr CsvFormat kFormat = {.columns = kColumns, .score = 60, .score_with_others = 20};

}  // namespace

Format format_comity() {
  return {.name = "comity",
          .description = "Comity CSV: submit_s,duration_s,gpus (or nodes,gpus_per_node) and optional columns",
          .detect = [](std::string_view head) { return detect_csv(head, kFormat); },
          .open = [](std::string_view line, const std::string&) { return open_csv(line, kFormat); },
          .refusal = nullptr};
}

}  // namespace comity::trace
