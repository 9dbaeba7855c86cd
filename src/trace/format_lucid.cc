// SPDX-License-Identifier: Apache-2.0
// Traces of the Lucid simulator (S-Lab-System-Group/Lucid): seconds, GPUs in all, and the profile of the job alone on
// its GPUs: `gmem` is GPU memory in MB, `gmem_util` its use in percent, `amp` 1 with mixed precision.
#include <array>

#include "trace/csv_decoder.h"

namespace comity::trace {
namespace {

constexpr std::array<NamedColumn, 12> kColumns = {{{"job_id", Field::kId},
                                                   {"submit_s", Field::kSubmit, true},
                                                   {"duration", Field::kDuration, true},
                                                   {"gpu_num", Field::kGpus, true},
                                                   {"model", Field::kModel},
                                                   {"dataset", Field::kDataset},
                                                   {"batchsize", Field::kBatchSize},
                                                   {"amp", Field::kMixedPrecision},
                                                   {"speed", Field::kSpeed},
                                                   {"gpu_util", Field::kGpuUtilization},
                                                   {"gmem_util", Field::kMemoryUtilization},
                                                   {"gmem", Field::kMemory}}};
constexpr CsvFormat kFormat = {.columns = kColumns, .score = 100, .score_with_others = 0};

}  // namespace

Format format_lucid() {
  return {.name = "lucid",
          .description = "Lucid simulator: job_id,submit_s,duration,gpu_num and profile columns",
          .detect = [](std::string_view head) { return detect_csv(head, kFormat); },
          .open = [](std::string_view line, const std::string&) { return open_csv(line, kFormat); },
          .refusal = nullptr};
}

}  // namespace comity::trace
