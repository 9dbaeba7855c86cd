// SPDX-License-Identifier: Apache-2.0
// Traces of the Astraea simulator (its public artifact): Tiresias' columns in seconds, and `user`, whom the shares of a
// share list belong to; so it is both user and tenant here. Left out: `interval`, as with Tiresias, and `expect_time`,
// 0 throughout the public file. Jobs of no GPU are counted as other rows, as the simulator skips them.
#include <array>

#include "trace/table_decoder.h"

namespace comity::trace {
namespace {

enum Col : std::size_t { kJob, kUser, kGpus, kSubmit, kSteps, kModel, kDuration, kInterval, kExpect };
constexpr std::array<NamedColumn, 9> kColumns = {{{"job_id", Field::kId, true},
                                                  {"user", Field::kUser, true},
                                                  {"num_gpu", Field::kGpus, true},
                                                  {"submit_time", Field::kSubmit, true},
                                                  {"iterations", Field::kIterations},
                                                  {"model_name", Field::kModel},
                                                  {"duration", Field::kDuration, true},
                                                  {"interval", Field::kIgnored, false, true},
                                                  {"expect_time", Field::kIgnored, true, true}}};
constexpr CsvFormat kFormat = {.columns = kColumns, .score = 100, .score_with_others = 0};

class AstraeaDecoder final : public TableDecoder {
 public:
  using TableDecoder::TableDecoder;

 private:
  Outcome row(Record& record, Problem& problem) override {
    if (!whole(kGpus, record.gpus, problem)) return Outcome::kBad;
    if (record.gpus == 0) return other("without a GPU", problem);
    const bool fine =
        store(kJob, Field::kId, record, problem) && store(kUser, Field::kUser, record, problem) &&
        store(kUser, Field::kTenant, record, problem) && store(kSubmit, Field::kSubmit, record, problem) &&
        store(kSteps, Field::kIterations, record, problem) && store(kModel, Field::kModel, record, problem) &&
        store(kDuration, Field::kDuration, record, problem);
    return fine ? Outcome::kRow : Outcome::kBad;
  }
};

}  // namespace

Format format_astraea() {
  return {.name = "astraea",
          .description =
              "Astraea simulator: job_id,user,num_gpu,submit_time,iterations,model_name,duration,...,expect_time",
          .detect = [](std::string_view head) { return detect_csv(head, kFormat); },
          .open = [](std::string_view line, const std::string&) { return open_table<AstraeaDecoder>(line, kFormat); },
          .refusal = nullptr};
}

}  // namespace comity::trace
