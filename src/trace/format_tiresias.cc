// SPDX-License-Identifier: Apache-2.0
// Traces of the Tiresias simulator (SymbioticLab/Tiresias): seconds, GPUs in all. `interval` (time of one iteration
// there) is not read. Files with more columns are other formats: Chronus counts in minutes, so they are refused.
#include <array>

#include "trace/csv_decoder.h"

namespace comity::trace {
namespace {

constexpr std::array<NamedColumn, 7> kColumns = {{{"job_id", Field::kId},
                                                  {"num_gpu", Field::kGpus, true},
                                                  {"submit_time", Field::kSubmit, true},
                                                  {"iterations", Field::kIterations},
                                                  {"model_name", Field::kModel},
                                                  {"duration", Field::kDuration, true},
                                                  {"interval", Field::kIgnored}}};
constexpr CsvFormat kFormat = {.columns = kColumns, .score = 100, .score_with_others = 0};

}  // namespace

Format format_tiresias() {
  return {.name = "tiresias",
          .description = "Tiresias simulator: job_id,num_gpu,submit_time,iterations,model_name,duration,interval",
          .detect = [](std::string_view head) { return detect_csv(head, kFormat); },
          .open = [](std::string_view line, const std::string&) { return open_csv(line, kFormat); },
          .refusal = nullptr};
}

}  // namespace comity::trace
