// SPDX-License-Identifier: Apache-2.0
// Slurm's accounting as `sacct --parsable2` (or -p, or another separator than |) prints it, with its header: any
// columns in any order, of which those of kColumns are read. Rules for what a record means are in slurm_job.h. Made for
//
//   TZ=UTC sacct -a -D -P -S 2024-01-01 -o
//   JobIDRaw,User,Account,JobName,State,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,NNodes,ReqTRES,AllocTRES
//
// Slurm 22.05 was run; columns of 18 to 24 are those of sacct(1). Times: sacct prints the local time of the machine it
// runs on, without a zone; base/calendar.h says how it is taken. SLURM_TIME_FORMAT=%s (seconds since 1970) and stamps
// with a zone are read too. "Unknown", "None" and nothing: not known. Lengths: Elapsed and Timelimit [D-]HH:MM:SS,
// ElapsedRaw seconds, TimelimitRaw minutes.
//
// Steps (123.batch, 123.0) are part of their job and only counted. Tasks of an array (123_4) are jobs; so are the
// components of a heterogeneous job (123+1), which in truth start together: that tie is lost. -D lists each run of a
// job that was requeued: they are joined (runs.h), so that GPU hours are those of sacct; without -D sacct keeps the
// last. A separator inside of a job's name is put up with where no other column of the output could hold one too.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/calendar.h"
#include "base/limits.h"
#include "base/text.h"
#include "trace/slurm_job.h"

namespace comity::trace {
namespace {

enum class Sacct : std::uint8_t {
  kJobId,
  kJobIdRaw,
  kJobName,
  kUser,
  kAccount,
  kState,
  kSubmit,
  kEligible,
  kStart,
  kEnd,
  kElapsed,
  kElapsedRaw,
  kTimelimit,
  kTimelimitRaw,
  kNodes,
  kAllocTres,
  kReqTres,
  kAllocGres,
  kReqGres,
  kIgnored
};
constexpr std::size_t kKinds = static_cast<std::size_t>(Sacct::kIgnored) + 1;

struct SacctColumn {
  std::string_view title;
  Sacct kind;
};
constexpr std::array<SacctColumn, 20> kColumns = {
    {{"JobID", Sacct::kJobId},         {"JobIDRaw", Sacct::kJobIdRaw},
     {"JobName", Sacct::kJobName},     {"User", Sacct::kUser},
     {"Account", Sacct::kAccount},     {"State", Sacct::kState},
     {"Submit", Sacct::kSubmit},       {"Eligible", Sacct::kEligible},
     {"Start", Sacct::kStart},         {"End", Sacct::kEnd},
     {"Elapsed", Sacct::kElapsed},     {"ElapsedRaw", Sacct::kElapsedRaw},
     {"Timelimit", Sacct::kTimelimit}, {"TimelimitRaw", Sacct::kTimelimitRaw},
     {"AllocNodes", Sacct::kNodes},    {"NNodes", Sacct::kNodes},
     {"AllocTRES", Sacct::kAllocTres}, {"ReqTRES", Sacct::kReqTres},
     {"AllocGRES", Sacct::kAllocGres}, {"ReqGRES", Sacct::kReqGres}}};
// Columns of free text, in which a separator may stand.
constexpr std::array<std::string_view, 12> kFreeText = {"JobName", "Comment",    "AdminComment", "SystemComment",
                                                        "WorkDir", "SubmitLine", "Extra",        "Constraints",
                                                        "StdIn",   "StdOut",     "StdErr",       "Container"};
constexpr const char* kAsk =
    "print at least sacct -a -D -P -o JobIDRaw,State,Submit,Start,End,ElapsedRaw,NNodes,ReqTRES,AllocTRES";

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_title(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

Sacct kind_of(std::string_view title) {
  for (const SacctColumn& column : kColumns) {
    if (same_title(column.title, title)) return column.kind;
  }
  return Sacct::kIgnored;
}

bool is_free_text(std::string_view title) {
  const auto same = [&](std::string_view known) { return same_title(known, title); };
  return std::any_of(kFreeText.begin(), kFreeText.end(), same);
}

// The separator of a header, which begins and goes on with letters.
char separator_of(std::string_view header) {
  for (const char c : {'|', '\t', ';', '^'}) {
    if (header.find(c) != std::string_view::npos) return c;
  }
  return '|';
}

bool unknown_word(std::string_view text) {
  return text.empty() || text == "Unknown" || text == "None" || text == "N/A" || text == "INVALID" ||
         text == "UNLIMITED" || text == "Partition_Limit";
}

bool parse_stamp(std::string_view text, Time& time) {
  time = -1;
  if (unknown_word(text)) return true;
  const bool digits = text.find_first_not_of("0123456789") == std::string_view::npos;
  const auto value = digits ? parse_seconds(text) : parse_date_time(text);
  if (value) time = *value > 0 ? *value : -1;
  return value.has_value();
}

bool parse_elapsed(std::string_view text, Time unit, Time& time) {
  time = -1;
  if (unknown_word(text)) return true;
  if (unit == 0) {
    const auto value = parse_length(text);
    if (value) time = *value;
    return value.has_value();
  }
  const auto value = parse_int(text);
  if (!value || *value < 0 || *value > kMaxTime / unit) return false;
  time = *value * unit;
  return true;
}

class SacctDecoder final : public Decoder {
 public:
  SacctDecoder(std::string header, std::vector<std::string> titles, char separator)
      : header_(std::move(header)), titles_(std::move(titles)), separator_(separator) {
    trailing_ = header_.ends_with(separator_);
    at_.fill(kNowhere);
    std::size_t free = 0;
    for (std::size_t i = 0; i < titles_.size(); ++i) {
      std::size_t& place = at_[static_cast<std::size_t>(kind_of(titles_[i]))];
      if (place == kNowhere) place = i;
      if (!is_free_text(titles_[i])) continue;
      ++free;
      free_text_ = i;
    }
    if (free != 1) free_text_ = kNowhere;
  }

  [[nodiscard]] bool has(Sacct kind) const { return at_[static_cast<std::size_t>(kind)] != kNowhere; }
  [[nodiscard]] bool joins_runs() const override { return true; }

  Outcome decode(std::string_view line, Record& record, Problem& problem) override {
    if (line == header_) return Outcome::kNoRow;  // files put one behind the other
    if (!split_line(line, problem)) return Outcome::kBad;
    SlurmJob job;
    job.id = trim(has(Sacct::kJobIdRaw) ? text(Sacct::kJobIdRaw) : text(Sacct::kJobId));
    if (job.id.find('.') != std::string_view::npos) {
      problem.message = "a step of a job";
      return Outcome::kNoRow;
    }
    job.state = trim(text(Sacct::kState));
    job.user = text(Sacct::kUser);
    job.account = text(Sacct::kAccount);
    job.name = text(Sacct::kJobName);
    job.has_start = has(Sacct::kStart);
    job.has_end = has(Sacct::kEnd);
    if (!read_times(job, problem) || !read_resources(job, problem)) return Outcome::kBad;
    return slurm_record(job, record, problem);
  }

 private:
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  [[nodiscard]] std::string_view text(Sacct kind) const {
    const std::size_t at = at_[static_cast<std::size_t>(kind)];
    return at == kNowhere ? std::string_view() : fields_[at];
  }

  bool split_line(std::string_view line, Problem& problem) {
    if (trailing_ && line.ends_with(separator_)) line.remove_suffix(1);
    const auto found = static_cast<std::size_t>(std::count(line.begin(), line.end(), separator_)) + 1;
    const std::size_t wanted = titles_.size();
    const std::size_t spare = found > wanted ? found - wanted : 0;
    if (found < wanted || (spare > 0 && free_text_ == kNowhere)) {
      problem.field = found < wanted ? titles_[found] : std::string();
      problem.message = fmt::format("the line has {} fields, {} are expected", found, wanted);
      if (spare > 0) problem.message += fmt::format(": some name has a '{}'", separator_);
      return false;
    }
    fields_.clear();
    for (std::size_t i = 0; i < wanted; ++i) {
      std::size_t end = line.find(separator_);
      for (std::size_t more = i == free_text_ ? spare : 0; more > 0; --more) end = line.find(separator_, end + 1);
      end = std::min(end, line.size());
      fields_.push_back(line.substr(0, end));
      line.remove_prefix(std::min(end + 1, line.size()));
    }
    return true;
  }

  bool refuse(Sacct kind, std::string_view what, Problem& problem) const {
    problem.field = titles_[at_[static_cast<std::size_t>(kind)]];
    problem.message = fmt::format("{}: '{}'", what, printable(text(kind)));
    return false;
  }

  bool read_times(SlurmJob& job, Problem& problem) const {
    const std::array<std::pair<Sacct, Time*>, 4> stamps = {{{Sacct::kSubmit, &job.submit},
                                                            {Sacct::kEligible, &job.eligible},
                                                            {Sacct::kStart, &job.start},
                                                            {Sacct::kEnd, &job.end}}};
    for (const auto& [kind, time] : stamps) {
      if (!parse_stamp(trim(text(kind)), *time)) return refuse(kind, "is no time between 1970 and 2043", problem);
    }
    const Sacct ran = has(Sacct::kElapsedRaw) ? Sacct::kElapsedRaw : Sacct::kElapsed;
    if (!parse_elapsed(trim(text(ran)), ran == Sacct::kElapsedRaw ? kSecond : 0, job.elapsed))
      return refuse(ran, "is no length of time", problem);
    const Sacct limit = has(Sacct::kTimelimitRaw) ? Sacct::kTimelimitRaw : Sacct::kTimelimit;
    if (!parse_elapsed(trim(text(limit)), limit == Sacct::kTimelimitRaw ? kMinute : 0, job.limit))
      return refuse(limit, "is no length of time", problem);
    return true;
  }

  // What was allocated; what was asked for only where the output doesn't say the former.
  bool read_resources(SlurmJob& job, Problem& problem) const {
    constexpr std::string_view kWhat = "has a count that is no whole number up to a million";
    Tres asked;
    Tres got;
    if (!parse_tres(text(Sacct::kReqTres), asked)) return refuse(Sacct::kReqTres, kWhat, problem);
    if (!parse_tres(text(Sacct::kAllocTres), got)) return refuse(Sacct::kAllocTres, kWhat, problem);
    Tres gres;
    if (!parse_gres(text(Sacct::kAllocGres), gres)) return refuse(Sacct::kAllocGres, kWhat, problem);
    if (!has(Sacct::kAllocTres) && !has(Sacct::kAllocGres)) {
      got = asked;
      if (!parse_gres(text(Sacct::kReqGres), gres)) return refuse(Sacct::kReqGres, kWhat, problem);
    }
    job.gpus = got.gpus > 0 ? got.gpus : gres.gpus;
    job.gpu_type = asked.gpu_type;
    job.nodes = got.nodes;
    const std::string_view nodes = trim(text(Sacct::kNodes));
    if (nodes.empty()) return true;
    const auto count = parse_int(nodes);
    if (!count || *count < 0) return refuse(Sacct::kNodes, "is no number of nodes", problem);
    job.nodes = *count;
    return true;
  }

  std::string header_;
  std::vector<std::string> titles_;
  std::vector<std::string_view> fields_;
  std::array<std::size_t, kKinds> at_{};
  std::size_t free_text_ = kNowhere;
  char separator_;
  bool trailing_ = false;
};

std::vector<std::string> titles_of(std::string_view header, char separator) {
  if (header.ends_with(separator)) header.remove_suffix(1);
  std::vector<std::string> titles;
  for (const std::string_view title : split(header, separator)) titles.emplace_back(trim(title));
  return titles;
}

int detect_sacct(std::string_view head) {
  const std::string_view first = first_line_of(head);
  bool id = false;
  int others = 0;
  for (const std::string& title : titles_of(first, separator_of(first))) {
    const Sacct kind = kind_of(title);
    if (kind == Sacct::kJobId || kind == Sacct::kJobIdRaw)
      id = true;
    else
      others += kind == Sacct::kIgnored ? 0 : 1;
  }
  return id && others >= 3 ? 95 : 0;
}

std::string refuse_table(std::string_view head) {
  const std::string_view first = first_line_of(head);
  if (!first.starts_with("JobID ") || first.find(" State ") == std::string_view::npos) return {};
  return "this is the table that sacct prints for people, which cuts long values; sacct --parsable2 prints one to read";
}

tl::unexpected<Error> missing(std::string what) {
  Error error;
  error.code = Code::kInput;
  error.message = std::move(what);
  error.hint = kAsk;
  return fail(std::move(error));
}

Result<Opened> open_sacct(std::string_view first_line, const std::string&) {
  const char separator = separator_of(first_line);
  std::vector<std::string> titles = titles_of(first_line, separator);
  if (titles.size() > limits::kFields) return missing("the header has more than 1024 columns");
  Opened opened;
  for (const std::string& title : titles) {
    if (kind_of(title) == Sacct::kIgnored) opened.ignored_columns.push_back(title);
  }
  auto decoder = std::make_unique<SacctDecoder>(std::string(first_line), std::move(titles), separator);
  const auto has = [&](Sacct kind) { return decoder->has(kind); };
  if (!has(Sacct::kJobId) && !has(Sacct::kJobIdRaw)) return missing("no column JobIDRaw or JobID");
  if (!has(Sacct::kSubmit)) return missing("no column Submit");
  if (!has(Sacct::kState) && !has(Sacct::kEnd)) return missing("no column State or End says which jobs have ended");
  if (!has(Sacct::kElapsedRaw) && !has(Sacct::kElapsed) && !(has(Sacct::kStart) && has(Sacct::kEnd)))
    return missing("no column ElapsedRaw or Elapsed, nor Start and End");
  if (!has(Sacct::kAllocTres) && !has(Sacct::kAllocGres) && !has(Sacct::kReqTres) && !has(Sacct::kReqGres))
    return missing("no column AllocTRES (or AllocGRES, ReqTRES, ReqGRES) says how many GPUs a job had");
  opened.decoder = std::move(decoder);
  return opened;
}

}  // namespace

Format format_sacct() {
  return {.name = "sacct",
          .description = "Slurm accounting: sacct --parsable2, with its header",
          .detect = detect_sacct,
          .open = open_sacct,
          .refusal = refuse_table};
}

}  // namespace comity::trace
