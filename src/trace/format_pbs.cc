// SPDX-License-Identifier: Apache-2.0
// Accounting logs of PBS Professional, OpenPBS and Torque (PBS Professional Administrator's and Reference Guides,
// "Accounting Log"; Torque Administrator Guide, "Accounting records"), a record a line:
//
//   04/16/2025 10:19:48;E;4413086.server;user=ann group=lab account="A1" jobname=x queue=q ctime=... qtime=...
//   etime=... start=... exec_host=n1/0+n2/0 Resource_List.ngpus=2 Resource_List.walltime=04:00:00 end=... Exit_status=0
//   ...
//
// A row is an E record (a job ended), or an R record (a run was ended by a rerun) that has start and end: the runs of a
// job are joined, runs.h. Records of other types are counted by type. Times are seconds since 1970 (the date in front
// of a record is not used).
//
//   GPUs      Resource_List.ngpus; else the gpus= of Resource_List.nodes (Torque: 2:ppn=8:gpus=4+1:ppn=8); else the
//             ngpus= of Resource_List.select (2:ncpus=8:ngpus=4+1:ncpus=8). What was asked for, as the log has no other
//   shape     nodes x GPUs a node where the distinct hosts of exec_host divide the GPUs, else the GPUs in all
//   run time  end - start                    estimate  Resource_List.walltime
//   arrival   etime (when it became eligible), else qtime, else ctime; recorded wait: start - arrival
//   tenant    account, else group            id        as it stands (4413086.server, 12[3].server)
// Left out: project, queue, resources_used. Records without start or end never ran. The layout follows the guides and
// public samples; no log of a GPU cluster was at hand.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/text.h"
#include "trace/field_text.h"
#include "trace/format.h"

namespace comity::trace {
namespace {

enum class Pbs : std::uint8_t {
  kUser,
  kGroup,
  kAccount,
  kJobName,
  kCtime,
  kQtime,
  kEtime,
  kStart,
  kEnd,
  kExecHost,
  kNgpus,
  kNodes,
  kSelect,
  kWalltime
};
constexpr std::array<std::string_view, 14> kNames = {"user",
                                                     "group",
                                                     "account",
                                                     "jobname",
                                                     "ctime",
                                                     "qtime",
                                                     "etime",
                                                     "start",
                                                     "end",
                                                     "exec_host",
                                                     "Resource_List.ngpus",
                                                     "Resource_List.nodes",
                                                     "Resource_List.select",
                                                     "Resource_List.walltime"};

// "04/16/2025 10:19:48;E;id;", the text behind it in `rest`.
struct PbsLine {
  char type = '\0';
  std::string_view id;
  std::string_view rest;
};

std::optional<PbsLine> split_record(std::string_view line) {
  constexpr std::string_view kDate = "00/00/0000 00:00:00;";
  if (line.size() < kDate.size() + 2) return std::nullopt;
  for (std::size_t i = 0; i < kDate.size(); ++i) {
    const bool digit = line[i] >= '0' && line[i] <= '9';
    if (kDate[i] == '0' ? !digit : line[i] != kDate[i]) return std::nullopt;
  }
  line.remove_prefix(kDate.size());
  if (line.size() < 2 || line[1] != ';') return std::nullopt;
  PbsLine out{.type = line[0], .id = {}, .rest = {}};
  line.remove_prefix(2);
  const std::size_t end = std::min(line.find(';'), line.size());
  out.id = line.substr(0, end);
  out.rest = line.substr(std::min(end + 1, line.size()));
  return out;
}

// The number behind `key` in "2:ppn=8:gpus=4".
std::optional<std::int64_t> chunk_value(std::string_view chunk, std::string_view key) {
  for (const std::string_view part : split(chunk, ':')) {
    if (part.starts_with(key)) return parse_int(part.substr(key.size()));
  }
  return 0;
}

// GPUs of "2:ppn=8:gpus=4+host7:gpus=1": count (1 where a name stands in its place) times `key`, over all chunks.
std::optional<std::int64_t> chunk_gpus(std::string_view text, std::string_view key) {
  std::int64_t sum = 0;
  for (const std::string_view chunk : split(text, '+')) {
    const auto count = parse_int(chunk.substr(0, chunk.find(':'))).value_or(1);
    const auto each = chunk_value(chunk, key);
    if (!each || *each < 0 || count < 0 || *each > limits::kGpusPerJob || count > limits::kNodes) return std::nullopt;
    sum += count * *each;
    if (sum > limits::kGpusPerJob) return std::nullopt;
  }
  return sum;
}

class PbsDecoder final : public Decoder {
 public:
  [[nodiscard]] bool joins_runs() const override { return true; }

  Outcome decode(std::string_view line, Record& record, Problem& problem) override {
    const auto split_line = split_record(line);
    if (!split_line) {
      problem.message = "is no record 'MM/DD/YYYY HH:MM:SS;type;id;...'";
      return trim(line).empty() ? Outcome::kNoRow : Outcome::kBad;
    }
    if (split_line->type != 'E' && split_line->type != 'R') return no_end(split_line->type, problem);
    read_values(split_line->rest);
    std::optional<Time> start;
    std::optional<Time> end;
    if (!read_time(Pbs::kStart, start, problem) || !read_time(Pbs::kEnd, end, problem)) return Outcome::kBad;
    if (!start || !end) {
      problem.message = split_line->type == 'R' ? "a rerun without times of its run" : "a job that never started";
      return Outcome::kNoRow;
    }
    if (*end < *start) return bad(Pbs::kEnd, "is before start", problem);
    record.duration = *end - *start;
    if (!read_gpus(record, problem) || !read_arrival(*start, record, problem)) return Outcome::kBad;
    if (record.gpus == 0) {
      problem.message = "a job without GPUs";
      return Outcome::kNoRow;
    }
    return read_names(split_line->id, record, problem) ? Outcome::kRow : Outcome::kBad;
  }

 private:
  [[nodiscard]] std::string_view value(Pbs key) const { return values_[static_cast<std::size_t>(key)]; }

  static Outcome no_end(char type, Problem& problem) {
    switch (type) {
      case 'Q': problem.message = "a record Q (queued)"; break;
      case 'S': problem.message = "a record S (started)"; break;
      case 'D': problem.message = "a record D (deleted)"; break;
      case 'A': problem.message = "a record A (aborted by the server)"; break;
      default: problem.message = "a record of another type";
    }
    return Outcome::kNoRow;
  }

  static Outcome bad(Pbs key, std::string message, Problem& problem) {
    problem = {.field = std::string(kNames[static_cast<std::size_t>(key)]), .message = std::move(message)};
    return Outcome::kBad;
  }

  // "key=value" separated by blanks; a value may be quoted.
  void read_values(std::string_view text) {
    values_.fill({});
    while (!text.empty()) {
      const std::size_t equals = text.find('=');
      if (equals == std::string_view::npos) return;
      const std::string_view key = trim(text.substr(0, equals));
      text.remove_prefix(equals + 1);
      const bool quoted = text.starts_with('"') && text.find('"', 1) != std::string_view::npos;
      const std::size_t end = quoted ? text.find('"', 1) + 1 : std::min(text.find(' '), text.size());
      const auto it = std::find(kNames.begin(), kNames.end(), key.substr(key.rfind(' ') + 1));
      if (it != kNames.end()) values_[static_cast<std::size_t>(it - kNames.begin())] = unquoted(text.substr(0, end));
      text.remove_prefix(end);
    }
  }

  static std::string_view unquoted(std::string_view text) {
    return text.size() >= 2 && text.front() == '"' ? text.substr(1, text.size() - 2) : text;
  }

  // Nothing for an absent time and for 0, which PBS writes where it isn't known yet.
  bool read_time(Pbs key, std::optional<Time>& time, Problem& problem) const {
    time.reset();
    if (value(key).empty()) return true;
    const auto parsed = parse_seconds(value(key));
    if (!parsed || *parsed < 0)
      return bad(key, fmt::format("is no number of seconds since 1970: '{}'", printable(value(key))), problem) !=
             Outcome::kBad;
    if (*parsed > 0) time = *parsed;
    return true;
  }

  bool read_gpus(Record& record, Problem& problem) const {
    std::optional<std::int64_t> gpus;
    Pbs key = Pbs::kNgpus;
    if (!value(Pbs::kNgpus).empty()) {
      gpus = parse_int(value(key));
    } else if (value(Pbs::kNodes).find("gpus=") != std::string_view::npos) {
      key = Pbs::kNodes;
      gpus = chunk_gpus(value(key), "gpus=");
    } else {
      key = Pbs::kSelect;
      gpus = chunk_gpus(value(key), "ngpus=");
    }
    if (!gpus || *gpus < 0 || *gpus > limits::kGpusPerJob) {
      bad(key, fmt::format("is no number of GPUs up to a million: '{}'", printable(value(key))), problem);
      return false;
    }
    record.gpus = *gpus;
    record.gpus_per_node = 0;
    const std::int64_t hosts = count_hosts();
    record.nodes = hosts > 0 && record.gpus % hosts == 0 ? hosts : 0;
    return true;
  }

  // Distinct hosts of "n1/0*8+n1/1+n2/0".
  [[nodiscard]] std::int64_t count_hosts() const {
    if (value(Pbs::kExecHost).empty()) return 0;
    std::vector<std::string_view> hosts = split(value(Pbs::kExecHost), '+');
    for (std::string_view& host : hosts) host = host.substr(0, host.find('/'));
    std::sort(hosts.begin(), hosts.end());
    return std::unique(hosts.begin(), hosts.end()) - hosts.begin();
  }

  bool read_arrival(Time start, Record& record, Problem& problem) const {
    std::optional<Time> arrival;
    for (const Pbs key : {Pbs::kEtime, Pbs::kQtime, Pbs::kCtime}) {
      if (!arrival && !read_time(key, arrival, problem)) return false;
    }
    if (!arrival) return bad(Pbs::kCtime, "is not known, nor are qtime and etime", problem) != Outcome::kBad;
    record.submit = *arrival;
    record.wait = start >= *arrival ? start - *arrival : -1;
    record.estimate = -1;
    if (value(Pbs::kWalltime).empty()) return true;
    const auto limit = parse_length(value(Pbs::kWalltime));
    if (!limit) return bad(Pbs::kWalltime, "is no length of time", problem) != Outcome::kBad;
    record.estimate = *limit;
    return true;
  }

  bool read_names(std::string_view id, Record& record, Problem& problem) const {
    const Pbs tenant = value(Pbs::kAccount).empty() ? Pbs::kGroup : Pbs::kAccount;
    const std::array<std::pair<Field, Pbs>, 3> names = {
        {{Field::kUser, Pbs::kUser}, {Field::kTenant, tenant}, {Field::kName, Pbs::kJobName}}};
    for (const auto& [field, key] : names) {
      if (store_text(field, value(key), record, problem)) continue;
      problem.field = kNames[static_cast<std::size_t>(key)];
      return false;
    }
    if (store_text(Field::kId, id, record, problem)) return true;
    problem.field = "job id";
    return false;
  }

  std::array<std::string_view, kNames.size()> values_;
};

}  // namespace

Format format_pbs() {
  return {.name = "pbs",
          .description = "PBS and Torque accounting logs",
          .detect = [](std::string_view head) { return split_record(first_line_of(head)) ? 95 : 0; },
          .open = [](std::string_view, const std::string&) -> Result<Opened> {
            return Opened{.decoder = std::make_unique<PbsDecoder>(), .header = false, .ignored_columns = {}};
          },
          .refusal = nullptr};
}

}  // namespace comity::trace
