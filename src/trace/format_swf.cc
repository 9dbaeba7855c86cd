// SPDX-License-Identifier: Apache-2.0
// The Standard Workload Format 2 (Feitelson et al., Parallel Workloads Archive): 18 numbers a line separated by
// blanks, -1 = unknown, header lines after ';'.
//
//   GPUs     = requested processors (8), else used processors (5)
//   duration = run time (4)            estimate = requested time (9) where positive
//   user     = user id (12)            tenant   = group id (13)
// Queue and partition are not read. Bad lines: no processors known; run time unknown (-1), and run time 0 of a job
// that was cancelled (status 5): such jobs never ran. Run time 0 of other jobs stays: they ended within a second.
// Capacity: MaxProcs of the header, else MaxNodes.
#include <array>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "trace/field_text.h"
#include "trace/format.h"

namespace comity::trace {
namespace {

constexpr std::size_t kFields = 18;
// As Feitelson numbers them, from 1.
enum SwfField : std::size_t {
  kJob = 1,
  kSubmit = 2,
  kWait = 3,
  kRun = 4,
  kUsed = 5,
  kRequested = 8,
  kRequestedTime = 9,
  kStatus = 11,
  kUser = 12,
  kGroup = 13
};
constexpr std::array<std::string_view, kFields + 1> kTitles = {"",
                                                               "job number",
                                                               "submit time",
                                                               "wait time",
                                                               "run time",
                                                               "used processors",
                                                               "average CPU time",
                                                               "used memory",
                                                               "requested processors",
                                                               "requested time",
                                                               "requested memory",
                                                               "status",
                                                               "user id",
                                                               "group id",
                                                               "application",
                                                               "queue",
                                                               "partition",
                                                               "preceding job",
                                                               "think time"};

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// The fields of a line, counted to one more than there may be.
std::size_t split_blanks(std::string_view line, std::array<std::string_view, kFields + 1>& fields) {
  std::size_t count = 0;
  const char* p = line.data();
  const char* const end = p + line.size();
  for (;;) {
    while (p != end && is_blank(*p)) ++p;
    if (p == end || count == kFields + 1) return count;
    const char* const begin = p;
    while (p != end && !is_blank(*p)) ++p;
    fields[count++] = std::string_view(begin, static_cast<std::size_t>(p - begin));
  }
}

class SwfDecoder final : public Decoder {
 public:
  Outcome decode(std::string_view line, Record& record, Problem& problem) override {
    std::size_t first = 0;
    while (first < line.size() && is_blank(line[first])) ++first;
    if (first == line.size()) return Outcome::kNoRow;
    if (line[first] == ';') {
      read_header(line.substr(first + 1));
      return Outcome::kNoRow;
    }
    const std::size_t count = split_blanks(line, fields_);
    if (count != kFields) {
      problem.message = fmt::format("the line has {} fields, a line of SWF has 18",
                                    count > kFields ? "more than 18" : std::to_string(count));
      return Outcome::kBad;
    }
    return read_row(record, problem) ? Outcome::kRow : Outcome::kBad;
  }

  [[nodiscard]] std::uint64_t declared_gpus() const override { return procs_ > 0 ? procs_ : nodes_; }

 private:
  [[nodiscard]] std::string_view text(SwfField f) const { return fields_[f - 1]; }

  static bool bad(SwfField f, std::string message, Problem& problem) {
    problem = {.field = std::string(kTitles[f]), .message = std::move(message)};
    return false;
  }

  // Through the rules for any field; the title of a bad one is SWF's.
  bool store(SwfField f, Field field, Record& record, Problem& problem) const {
    if (store_text(field, text(f), record, problem)) return true;
    problem.field = kTitles[f];
    return false;
  }

  bool number(SwfField f, double& value, Problem& problem) const {
    const auto parsed = parse_double(text(f));
    if (!parsed) return bad(f, fmt::format("is no number: '{}'", printable(text(f))), problem);
    value = *parsed;
    return true;
  }

  bool read_row(Record& record, Problem& problem) const {
    if (!store(kJob, Field::kId, record, problem) || !store(kSubmit, Field::kSubmit, record, problem)) return false;
    double used = 0, requested = 0, run = 0, wait = 0, time = 0, status = 0;
    if (!number(kUsed, used, problem) || !number(kRequested, requested, problem) || !number(kRun, run, problem) ||
        !number(kWait, wait, problem) || !number(kRequestedTime, time, problem) || !number(kStatus, status, problem)) {
      return false;
    }
    if (requested <= 0 && used <= 0) {
      return bad(kRequested, "the job has no processors: neither requested nor used ones are known", problem);
    }
    if (!store(requested > 0 ? kRequested : kUsed, Field::kGpus, record, problem)) return false;
    if (run <= 0 && status == 5) return bad(kRun, "the job was cancelled before it ran (status 5)", problem);
    if (run < 0) return bad(kRun, "the run time is unknown", problem);
    if (!store(kRun, Field::kDuration, record, problem)) return false;
    record.wait = record.estimate = -1;
    if (wait >= 0 && !store(kWait, Field::kWait, record, problem)) return false;
    if (time > 0 && !store(kRequestedTime, Field::kEstimate, record, problem)) return false;
    record.name(Field::kUser) = known(text(kUser));
    record.name(Field::kTenant) = known(text(kGroup));
    return true;
  }

  static std::string_view known(std::string_view id) { return id == "-1" ? std::string_view() : id; }

  void read_header(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return;
    const std::string_view key = trim(text.substr(0, colon));
    std::string_view value = trim(text.substr(colon + 1));
    value = value.substr(0, value.find_first_not_of("0123456789"));  // "128 (64, 64)": the sum, then its parts
    const auto count = parse_int(value);
    if (!count || *count < 0) return;
    if (key == "MaxProcs") procs_ = static_cast<std::uint64_t>(*count);
    if (key == "MaxNodes") nodes_ = static_cast<std::uint64_t>(*count);
  }

  std::array<std::string_view, kFields + 1> fields_;
  std::uint64_t procs_ = 0;
  std::uint64_t nodes_ = 0;
};

int detect_swf(std::string_view head) {
  const std::string_view first = first_line_of(head);
  if (first.starts_with(';')) return 60;
  std::array<std::string_view, kFields + 1> fields;
  if (split_blanks(first, fields) != kFields) return 0;
  for (std::size_t i = 0; i < kFields; ++i) {
    if (!parse_double(fields[i])) return 0;
  }
  return 90;
}

std::string refuse_swf(std::string_view head) {
  const std::string_view first = first_line_of(head);
  if (first.starts_with(';') || split(first, ';').size() < kFields) return {};
  return "the fields are separated by semicolons: this isn't SWF, whose 18 fields are separated by blanks";
}

Result<Opened> open_swf(std::string_view first_line, const std::string&) {
  if (std::string why = refuse_swf(first_line); !why.empty()) {
    return fail(Code::kInput, std::move(why), "say which columns to read: --columns id=1,submit=2,duration=4,gpus=5");
  }
  return Opened{.decoder = std::make_unique<SwfDecoder>(), .header = false, .ignored_columns = {}};
}

}  // namespace

Format format_swf() {
  return {.name = "swf",
          .description = "Standard Workload Format 2 (Parallel Workloads Archive)",
          .detect = detect_swf,
          .open = open_swf,
          .refusal = refuse_swf};
}

}  // namespace comity::trace
