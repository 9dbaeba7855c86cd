// SPDX-License-Identifier: Apache-2.0
// Slurm's accounting as `sacct --json` prints it: one object a record in the array "jobs". Rules for what a record
// means are in slurm_job.h; requeued jobs are joined as in format_sacct.cc. Times are seconds since 1970, time.limit
// minutes.
//
// The shape changed between releases; these are the differences that matter here:
//   22.05 (dbv0.0.38)         plain numbers, null for what is not known; state.current is a word
//   23.02 (data_parser v39)   numbers that may be absent become {"set", "infinite", "number"}
//   23.11 to 24.11 (v40, 41, 42)  state.current is an array: the state first, then flags
// Each is taken wherever it stands. 22.05 was run; the later ones follow the parsers of Slurm's sources. Some releases
// up to 22.05 wrote the eligible time as time.start, so the start is reckoned from the end: end - elapsed - suspended.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/limits.h"
#include "base/text.h"
#include "trace/slurm_job.h"

namespace comity::trace {
namespace {

using Json = nlohmann::json;

const Json& member(const Json& object, const char* name) {
  static const Json kNull;
  if (!object.is_object()) return kNull;
  const auto it = object.find(name);
  return it == object.end() ? kNull : *it;
}

// A number, or {"set", "infinite", "number"}. Absent, null, unset and infinite: nothing in `value`. Slurm's marks for
// "no value" lie near 2^32 and 2^64, above any time or count taken here. False: something else.
bool read_number(const Json& json, std::optional<std::int64_t>& value) {
  value.reset();
  if (json.is_object()) {
    const Json& set = member(json, "set");
    if (set.is_boolean() && !set.get<bool>()) return true;
    const Json& infinite = member(json, "infinite");
    if (infinite.is_boolean() && infinite.get<bool>()) return true;
    return !member(json, "number").is_object() && read_number(member(json, "number"), value);
  }
  if (json.is_null()) return true;
  if (!json.is_number_integer()) return false;
  constexpr std::uint64_t kNoValue = 0xfffffffdU;
  if (json.is_number_unsigned() && json.get<std::uint64_t>() >= kNoValue) return true;
  value = json.get<std::int64_t>();
  return true;
}

std::string_view text_of(const Json& json) {
  return json.is_string() ? std::string_view(json.get_ref<const std::string&>()) : std::string_view();
}

class SacctJsonDecoder final : public Decoder {
 public:
  [[nodiscard]] bool joins_runs() const override { return true; }

  Outcome decode(std::string_view text, Record& record, Problem& problem) override {
    if (!parse(text, problem)) return Outcome::kBad;
    SlurmJob job;
    job.has_start = job.has_end = true;
    if (!read_id(job, problem) || !read_state(job, problem) || !read_times(job, problem) || !read_tres(job, problem)) {
      return Outcome::kBad;
    }
    job.user = text_of(member(json_, "user"));
    if (job.user.empty()) job.user = text_of(member(member(json_, "association"), "user"));
    job.account = text_of(member(json_, "account"));
    job.name = text_of(member(json_, "name"));
    return slurm_record(job, record, problem);
  }

 private:
  static bool refuse(std::string field, std::string message, Problem& problem) {
    problem = {.field = std::move(field), .message = std::move(message)};
    return false;
  }

  // Steps, which can be thousands, are not kept.
  bool parse(std::string_view text, Problem& problem) {
    const auto keep = [](int depth, Json::parse_event_t event, const Json& parsed) {
      return event != Json::parse_event_t::key || depth != 1 || parsed != "steps";
    };
    try {
      json_ = Json::parse(text, keep);
    } catch (const Json::exception& e) {
      const auto* at = dynamic_cast<const Json::parse_error*>(&e);
      return refuse({}, fmt::format("is not valid JSON, at byte {} of the job", at == nullptr ? 0 : at->byte), problem);
    }
    return json_.is_object() || refuse({}, "is no object", problem);
  }

  bool read_id(SlurmJob& job, Problem& problem) {
    std::optional<std::int64_t> id;
    if (!read_number(member(json_, "job_id"), id) || !id || *id < 0)
      return refuse("job_id", "is no job's number", problem);
    id_ = std::to_string(*id);
    job.id = id_;
    return true;
  }

  bool read_state(SlurmJob& job, Problem& problem) const {
    const Json& state = member(json_, "state");
    const Json& current = state.is_object() ? member(state, "current") : state;
    job.state = text_of(current.is_array() && !current.empty() ? current.front() : current);
    return !job.state.empty() || refuse("state.current", "is no word and no array of words", problem);
  }

  bool read_times(SlurmJob& job, Problem& problem) const {
    const Json& time = member(json_, "time");
    Time suspended = -1;
    struct Named {
      const char* name;
      Time* time;
      Time unit;
      bool instant;  // where 0 means "not known"
    };
    const std::array<Named, 6> all = {{{"submission", &job.submit, kSecond, true},
                                       {"eligible", &job.eligible, kSecond, true},
                                       {"end", &job.end, kSecond, true},
                                       {"elapsed", &job.elapsed, kSecond, false},
                                       {"suspended", &suspended, kSecond, false},
                                       {"limit", &job.limit, kMinute, false}}};
    for (const Named& named : all) {
      std::optional<std::int64_t> value;
      if (!read_number(member(time, named.name), value) || value.value_or(0) < 0 ||
          value.value_or(0) > kMaxTime / named.unit) {
        return refuse(fmt::format("time.{}", named.name), "is no time between 1970 and 2043, and no length", problem);
      }
      if (value && (*value > 0 || !named.instant)) *named.time = *value * named.unit;
    }
    std::optional<std::int64_t> start;
    if (!read_number(member(time, "start"), start)) return refuse("time.start", "is no number", problem);
    if (!start || *start <= 0) return true;
    job.start = job.end >= 0 && job.elapsed >= 0 ? job.end - job.elapsed - std::max<Time>(suspended, 0) : 0;
    if (job.start < 0) return refuse("time.elapsed", "is more than the time from 1970 to time.end", problem);
    return true;
  }

  // [{"type": "gres", "name": "gpu:a100", "count": 4}] into the text that sacct's columns have, to be read as such.
  bool read_list(const char* name, Tres& tres, std::string& text, Problem& problem) const {
    const Json& list = member(member(json_, "tres"), name);
    text.clear();
    for (const Json& item : list.is_array() ? list : Json::array()) {
      std::optional<std::int64_t> count;
      if (!read_number(member(item, "count"), count)) return refuse("tres", "has a count that is no number", problem);
      if (!count) continue;
      const std::string_view what = text_of(member(item, "name"));
      text += fmt::format("{}{}{}{}={}", text.empty() ? "" : ",", text_of(member(item, "type")),
                          what.empty() ? "" : "/", what, *count);
    }
    return parse_tres(text, tres) ||
           refuse(fmt::format("tres.{}", name), "has a count of GPUs or nodes over a million", problem);
  }

  bool read_tres(SlurmJob& job, Problem& problem) {
    Tres got;
    Tres asked;
    if (!read_list("allocated", got, allocated_, problem) || !read_list("requested", asked, requested_, problem))
      return false;
    job.gpus = got.gpus;
    job.gpu_type = asked.gpu_type;
    std::optional<std::int64_t> nodes;
    if (!read_number(member(json_, "allocation_nodes"), nodes) || nodes.value_or(0) < 0)
      return refuse("allocation_nodes", "is no number of nodes", problem);
    job.nodes = nodes && *nodes > 0 ? *nodes : got.nodes;
    return true;
  }

  Json json_;
  std::string id_;
  std::string allocated_;
  std::string requested_;
};

int detect_sacct_json(std::string_view head) {
  if (!first_line_of(head).starts_with('{')) return 0;
  const auto has = [&](std::string_view key) { return head.find(key) != std::string_view::npos; };
  if (has("\"accrue_time\"") || has("\"batch_flag\"")) return 0;  // squeue
  if (has("\"jobs\"") && (has("\"allocation_nodes\"") || has("\"association\""))) return 95;
  return has("\"meta\"") && (has("\"Slurm\"") || has("\"slurm\"")) ? 80 : 0;
}

std::string refuse_squeue(std::string_view head) {
  const auto has = [&](std::string_view key) { return head.find(key) != std::string_view::npos; };
  if (!has("\"jobs\"") || !(has("\"accrue_time\"") || has("\"batch_flag\""))) return {};
  return "this is squeue --json, which has no ended jobs; sacct --json prints those";
}

}  // namespace

Format format_sacct_json() {
  return {.name = "sacct_json",
          .description = "Slurm accounting: sacct --json of Slurm 22.05 to 24.11",
          .detect = detect_sacct_json,
          .open = [](std::string_view, const std::string&) -> Result<Opened> {
            return Opened{.decoder = std::make_unique<SacctJsonDecoder>(), .header = false, .ignored_columns = {}};
          },
          .refusal = refuse_squeue,
          .json_items = "jobs"};
}

}  // namespace comity::trace
