// SPDX-License-Identifier: Apache-2.0
// Microsoft Philly's jobs (msr-fiddle/philly-traces, 2017) in the cleaned form of the Sia artifact: seconds from the
// first job, GPUs in all, and the virtual cluster, which becomes the tenant.
#include <array>

#include "trace/csv_decoder.h"

namespace comity::trace {
namespace {

constexpr std::array<NamedColumn, 5> kColumns = {{{"job_id", Field::kId},
                                                  {"submit_s", Field::kSubmit, true},
                                                  {"duration_s", Field::kDuration, true},
                                                  {"gpus", Field::kGpus, true},
                                                  {"vc", Field::kTenant, true}}};
constexpr CsvFormat kFormat = {.columns = kColumns, .score = 100, .score_with_others = 0};

}  // namespace

Format format_philly() {
  return {.name = "philly",
          .description = "Microsoft Philly, cleaned: job_id,submit_s,duration_s,gpus,vc",
          .detect = [](std::string_view head) { return detect_csv(head, kFormat); },
          .open = [](std::string_view line, const std::string&) { return open_csv(line, kFormat); },
          .refusal = nullptr};
}

}  // namespace comity::trace
