// SPDX-License-Identifier: Apache-2.0
// Traces of the Chronus simulator (S-Lab-System-Group/ChronusArtifact), derived from Philly: all times in MINUTES.
//
//   deadlines = expect_time_list, minutes after the submission, with the values of expect_value_list, '-' between the
//               entries; strict or soft as job_type says
//   class     = slo for job_type strict and soft, best_effort for best, whose one entry is no deadline and is left out
//   tenant    = user: it holds the virtual cluster of Philly
// Jobs of no GPU (about 200 a file; the simulator skips them too) are counted as other rows. Left out: `interval`,
// which its simulator reads but doesn't use.
#include <array>

#include "base/text.h"
#include "trace/table_decoder.h"

namespace comity::trace {
namespace {

enum Col : std::size_t {
  kJob,
  kUser,
  kGpus,
  kSubmit,
  kSteps,
  kModel,
  kDuration,
  kInterval,
  kTimes,
  kValues,
  kBestEffort,
  kType
};
constexpr std::array<NamedColumn, 12> kColumns = {{{"job_id", Field::kId, true},
                                                   {"user", Field::kUser},
                                                   {"num_gpu", Field::kGpus, true},
                                                   {"submit_time", Field::kSubmit, true},
                                                   {"iterations", Field::kIterations},
                                                   {"model_name", Field::kModel},
                                                   {"duration", Field::kDuration, true},
                                                   {"interval", Field::kIgnored, false, true},
                                                   {"expect_time_list", Field::kDeadlines, true},
                                                   {"expect_value_list", Field::kDeadlines, true},
                                                   {"best_effort", Field::kClass, true},
                                                   {"job_type", Field::kClass, true}}};
constexpr CsvFormat kFormat = {.columns = kColumns, .score = 100, .score_with_others = 0};

class ChronusDecoder final : public TableDecoder {
 public:
  using TableDecoder::TableDecoder;

 private:
  Outcome row(Record& record, Problem& problem) override {
    if (!whole(kGpus, record.gpus, problem)) return Outcome::kBad;
    if (record.gpus == 0) return other("without a GPU", problem);
    const bool fine = store(kJob, Field::kId, record, problem) && store(kUser, Field::kUser, record, problem) &&
                      store(kSteps, Field::kIterations, record, problem) &&
                      store(kModel, Field::kModel, record, problem) && time(kSubmit, kMinute, record.submit, problem) &&
                      time(kDuration, kMinute, record.duration, problem) && deadlines(record, problem);
    record.name(Field::kTenant) = record.name(Field::kUser);
    return fine ? Outcome::kRow : Outcome::kBad;
  }

  bool deadlines(Record& record, Problem& problem) const {
    record.deadlines.clear();
    const std::string_view type = text(kType);
    const bool best = type == "best";
    if (!best && type != "strict" && type != "soft") return refuse(kType, "is none of strict, soft, best", problem);
    if (text(kBestEffort) != (best ? "1" : "0")) return refuse(kBestEffort, "contradicts job_type", problem);
    record.name(Field::kClass) = best ? "best_effort" : "slo";
    if (best) return true;
    std::string_view times = text(kTimes);
    std::string_view values = text(kValues);
    while (!times.empty() || !values.empty()) {
      if (record.deadlines.size() == kMostInList) return refuse(kTimes, "has more than 64 entries", problem);
      const auto minutes = parse_int(take(times));
      const auto value = parse_double(take(values));
      if (!minutes || *minutes < 0 || *minutes > kMaxTime / kMinute)
        return refuse(kTimes, "isn't as many whole minutes as there are values, '-' between them", problem);
      if (!value || *value < 0) return refuse(kValues, "isn't as many numbers as there are times", problem);
      record.deadlines.push_back({.after = *minutes * kMinute, .value = *value, .strict = type == "strict"});
    }
    return !record.deadlines.empty() || refuse(kTimes, "has no deadline", problem);
  }

  // What stands before the next '-', which goes with it.
  static std::string_view take(std::string_view& list) {
    const std::size_t end = std::min(list.find('-'), list.size());
    const std::string_view entry = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    return entry;
  }
};

}  // namespace

Format format_chronus() {
  return {
      .name = "chronus",
      .description = "Chronus simulator (minutes, deadlines with values): job_id,user,num_gpu,...,expect_time_list,...",
      .detect = [](std::string_view head) { return detect_csv(head, kFormat); },
      .open = [](std::string_view line, const std::string&) { return open_table<ChronusDecoder>(line, kFormat); },
      .refusal = nullptr};
}

}  // namespace comity::trace
