// SPDX-License-Identifier: Apache-2.0
// Microsoft Philly's own cluster_job_log (msr-fiddle/philly-traces, README): a JSON array of jobs,
//
//   {"status", "vc", "jobid", "attempts": [{"start_time", "end_time", "detail": [{"ip", "gpus": [...]}]}],
//    "submitted_time", "user"}
//
// Made from that README; the original (117,325 jobs) was not at hand. Times are "2017-10-07 01:12:09", local time of
// the cluster (Pacific) without a zone, see base/calendar.h; what is not known is null or "None".
//
//   GPUs      those of all servers of the first attempt that has any, in all: Philly's jobs asked for GPUs, which the
//             scheduler spread over servers as it saw fit, so servers are left out
//   run time  the sum of the attempts that have both times. Between attempts a job held no GPU; the authors' notebook
//             counts from the first start to the last end instead. An attempt on another number of GPUs counts by its
//             GPU time
//   tenant    vc            wait: from submission to the first start, where known
// `status` is left out. No job of a trace, counted by reason: no attempt, no attempt with both times, the last attempt
// without an end (the job ran when the log was taken), no GPU.
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/calendar.h"
#include "base/limits.h"
#include "base/text.h"
#include "trace/field_text.h"
#include "trace/format.h"

namespace comity::trace {
namespace {

using Json = nlohmann::json;
__extension__ using Wide = __int128;

const Json& member(const Json& object, const char* name) {
  static const Json kNull;
  if (!object.is_object()) return kNull;
  const auto it = object.find(name);
  return it == object.end() ? kNull : *it;
}

std::string_view text_of(const Json& json) {
  return json.is_string() ? std::string_view(json.get_ref<const std::string&>()) : std::string_view();
}

bool refuse(const char* field, std::string message, Problem& problem) {
  problem = {.field = field, .message = std::move(message)};
  return false;
}

// Nothing in `time` for null, "None" and where the field is absent. False: anything else that is no date.
bool read_time(const Json& object, const char* name, std::optional<Time>& time, Problem& problem) {
  const Json& json = member(object, name);
  const std::string_view text = text_of(json);
  time.reset();
  if (json.is_null() || text == "None" || (json.is_string() && text.empty())) return true;
  time = parse_date_time(text);
  return time.has_value() ||
         refuse(name, fmt::format("is no time such as 2017-10-07 01:12:09: '{}'", printable(text)), problem);
}

class PhillyLogDecoder final : public Decoder {
 public:
  Outcome decode(std::string_view text, Record& record, Problem& problem) override {
    if (!parse(text, problem)) return Outcome::kBad;
    std::optional<Time> submit;
    if (!read_time(json_, "submitted_time", submit, problem)) return Outcome::kBad;
    if (!submit) return bad("submitted_time", "is not known", problem);
    Attempts sum;
    if (!read_attempts(sum, problem)) return Outcome::kBad;
    if (const char* reason = why_no_job(sum)) {
      problem.message = reason;
      return Outcome::kNoRow;
    }
    record.submit = *submit;
    const Wide duration = (sum.gpu_time + sum.gpus / 2) / sum.gpus;
    if (duration > kMaxTime) return bad("attempts", "run longer than 73 years", problem);
    record.duration = static_cast<Time>(duration);
    record.wait = sum.first_start && *sum.first_start >= *submit ? *sum.first_start - *submit : -1;
    record.gpus = sum.gpus;
    for (const auto& [field, name] : {std::pair(Field::kUser, "user"), std::pair(Field::kTenant, "vc")}) {
      if (store_text(field, text_of(member(json_, name)), record, problem)) continue;
      problem.field = name;
      return Outcome::kBad;
    }
    if (store_text(Field::kId, text_of(member(json_, "jobid")), record, problem)) return Outcome::kRow;
    problem.field = "jobid";
    return Outcome::kBad;
  }

 private:
  struct Attempts {
    std::size_t count = 0;
    std::size_t timed = 0;
    std::int64_t gpus = 0;
    Wide gpu_time = 0;
    std::optional<Time> first_start{};
    bool still_runs = false;
  };

  static Outcome bad(const char* field, std::string message, Problem& problem) {
    (void)refuse(field, std::move(message), problem);
    return Outcome::kBad;
  }

  static const char* why_no_job(const Attempts& sum) {
    if (sum.count == 0) return "a job that never started";
    if (sum.still_runs) return "a job that still ran when the log was taken";
    if (sum.timed == 0) return "a job whose attempts have no times";
    return sum.gpus == 0 ? "a job without GPUs" : nullptr;
  }

  bool parse(std::string_view text, Problem& problem) {
    try {
      json_ = Json::parse(text);
    } catch (const Json::exception& e) {
      const auto* at = dynamic_cast<const Json::parse_error*>(&e);
      return refuse("", fmt::format("is not valid JSON, at byte {} of the job", at == nullptr ? 0 : at->byte), problem);
    }
    return json_.is_object() || refuse("", "is no object", problem);
  }

  static bool read_gpus(const Json& attempt, std::int64_t& gpus, Problem& problem) {
    const Json& detail = member(attempt, "detail");
    if (!detail.is_array() && !detail.is_null()) return refuse("detail", "is no array", problem);
    gpus = 0;
    for (const Json& server : detail) {
      const Json& list = member(server, "gpus");
      if (!list.is_array()) return refuse("gpus", "is no array", problem);
      gpus += static_cast<std::int64_t>(list.size());
    }
    return gpus <= limits::kGpusPerJob || refuse("gpus", "more than a million GPUs", problem);
  }

  bool read_attempts(Attempts& sum, Problem& problem) const {
    const Json& attempts = member(json_, "attempts");
    if (!attempts.is_array()) return refuse("attempts", "is no array", problem);
    for (const Json& attempt : attempts) {
      std::optional<Time> start;
      std::optional<Time> end;
      std::int64_t gpus = 0;
      if (!read_time(attempt, "start_time", start, problem) || !read_time(attempt, "end_time", end, problem) ||
          !read_gpus(attempt, gpus, problem)) {
        return false;
      }
      ++sum.count;
      sum.still_runs = start.has_value() && !end.has_value();
      if (start && !sum.first_start) sum.first_start = start;
      if (sum.gpus == 0) sum.gpus = gpus;
      if (!start || !end) continue;
      if (*end < *start) return refuse("end_time", "is before start_time", problem);
      ++sum.timed;
      sum.gpu_time += static_cast<Wide>(gpus) * (*end - *start);
    }
    return true;
  }

  Json json_;
};

int detect_philly_log(std::string_view head) {
  if (!first_line_of(head).starts_with('[')) return 0;
  const auto has = [&](std::string_view key) { return head.find(key) != std::string_view::npos ? 1 : 0; };
  const int keys = has("\"attempts\"") + has("\"jobid\"") + has("\"submitted_time\"") + has("\"vc\"") +
                   has("\"start_time\"") + has("\"detail\"");
  return has("\"attempts\"") == 1 && keys >= 3 ? 95 : 0;
}

}  // namespace

Format format_philly_log() {
  return {.name = "philly_log",
          .description = "Microsoft Philly's own cluster_job_log (JSON)",
          .detect = detect_philly_log,
          .open = [](std::string_view, const std::string&) -> Result<Opened> {
            return Opened{.decoder = std::make_unique<PhillyLogDecoder>(), .header = false, .ignored_columns = {}};
          },
          .refusal = nullptr,
          .json_items = ""};
}

}  // namespace comity::trace
