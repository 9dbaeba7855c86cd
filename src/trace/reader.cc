// SPDX-License-Identifier: Apache-2.0
#include "trace/reader.h"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "base/json_items.h"
#include "base/log.h"
#include "base/text.h"
#include "trace/builder.h"
#include "trace/format.h"
#include "trace/runs.h"

namespace comity::trace {
namespace {

constexpr std::size_t kHeadLines = 64;
constexpr std::size_t kSampleRows = 10'000;  // after so many, the size of the file tells how many there will be
constexpr std::size_t kMostListed = 10;
constexpr std::size_t kMostReasons = 64;

class Reading {
 public:
  Reading(LineReader reader, std::uint64_t file_bytes, const ReadOptions& options, Trace& trace)
      : reader_(std::move(reader)), options_(&options), trace_(&trace), builder_(trace), file_bytes_(file_bytes) {}

  Status run() {
    if (Status status = open(); !status) return status;
    if (Status status = format_->json_items == nullptr ? read_lines() : read_items(); !status) return status;
    if (Status status = settle_repeated_ids(); !status) return status;
    trace_->declared_gpus = decoder_->declared_gpus();
    if (!trace_->rows.empty()) return {};
    return refuse_empty();
  }

  // Bytes behind a damage decompress to anything: what is said about a line of them would mislead.
  Error explained(Error error) {
    if (error.code != Code::kInput) return error;
    return reader_.damage().value_or(std::move(error));
  }

 private:
  [[nodiscard]] tl::unexpected<Error> refuse_empty() const {
    if (trace_->skipped_lines > 0) {
      return refuse(line_, {}, fmt::format("no job is left: all {} lines are bad", trace_->skipped_lines),
                    fmt::format("the first is line {}: {} {}", trace_->skipped[0].line, trace_->skipped[0].field,
                                trace_->skipped[0].reason));
    }
    if (!trace_->other_rows.empty()) {
      std::string reasons;
      for (const OtherRows& rows : trace_->other_rows)
        reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", rows.count, rows.reason);
      return refuse(line_, {}, fmt::format("the file has rows, but no job that ran on GPUs: {}", reasons),
                    "check that the log has GPUs and jobs that ended");
    }
    return refuse(line_, {}, header_ ? "the file has a header but no job" : "the file has no job",
                  "check that the file is whole");
  }

  [[nodiscard]] tl::unexpected<Error> refuse(std::int64_t line, std::string field, std::string message,
                                             std::string hint) const {
    return fail(Error{.code = Code::kInput,
                      .message = std::move(message),
                      .file = reader_.name(),
                      .line = line,
                      .field = std::move(field),
                      .hint = std::move(hint),
                      .cause = {}});
  }

  [[nodiscard]] tl::unexpected<Error> placed(Error error, std::int64_t line) const {
    if (error.code == Code::kInput && error.file.empty()) {
      error.file = reader_.name();
      if (error.line == 0) error.line = line;
    }
    return fail(std::move(error));
  }

  Result<const Format*> choose_format() {
    if (!options_->format.empty() && (options_->columns.empty() || options_->format == "columns"))
      return find_format(options_->format);
    if (!options_->columns.empty()) {
      if (!options_->format.empty())
        return fail_option("--columns", "and a format exclude each other", "leave the format out");
      return find_format("columns");
    }
    Result<std::string> head = reader_.peek(kHeadLines);
    if (!head) return fail(std::move(head.error()));
    return detect_format(*head);
  }

  // Chooses the format, reads to the first line that isn't blank and lets the format open the file with it.
  Status open() {
    const Result<std::string> head = reader_.peek(1);
    if (head && head->empty()) return refuse(1, {}, "the file is empty", "check that it is the right one");
    Result<const Format*> format = choose_format();
    if (format && (*format)->json_items != nullptr) return open_with({}, **format);
    std::string_view first;
    while (first.empty()) {
      const Result<LineReader::Line> line = reader_.next();
      if (!line) return fail(line.error());
      if (line->at_end) return refuse(line_, {}, "the file has blank lines only", "check that it is the right one");
      line_ = line->number;
      if (!trim(line->text).empty()) first = line->text;
    }
    if (!format) return placed(std::move(format.error()), line_);
    return open_with(first, **format);
  }

  Status open_with(std::string_view first, const Format& format) {
    format_ = &format;
    trace_->format = format.name;
    Result<Opened> opened = format.open(first, options_->columns);
    if (!opened) return placed(std::move(opened.error()), line_);
    decoder_ = std::move(opened->decoder);
    trace_->ignored_columns = std::move(opened->ignored_columns);
    header_ = opened->header;
    return header_ || format.json_items != nullptr ? Status() : take(first);
  }

  Status read_items() {
    Progress progress = make_progress();
    JsonItems items(reader_, format_->json_items);
    for (;;) {
      const Result<JsonItems::Item> item = items.next();
      if (!item) return fail(item.error());
      line_ = item->line;
      if (item->at_end) return {};
      if (Status status = take(item->text); !status) return status;
      if (Status status = pause(progress); !status) return status;
    }
  }

  Progress make_progress() const {
    return Progress(fmt::format("reading {}", printable(reader_.name(), 40)), "jobs", 0, options_->quiet);
  }

  Status read_lines() {
    Progress progress = make_progress();
    for (;;) {
      const Result<LineReader::Line> line = reader_.next();
      if (!line) return fail(line.error());
      if (line->at_end) return {};
      line_ = line->number;
      if (line->text.empty()) continue;
      if (Status status = take(line->text); !status) return status;
      if (Status status = pause(progress); !status) return status;
    }
  }

  Status pause(Progress& progress) {
    if (++taken_ % 4096 != 0) return {};
    progress.update(trace_->rows.size());
    if (!interrupted()) return {};
    return fail(Code::kInterrupted, fmt::format("interrupted while reading {}", reader_.name()));
  }

  Status take(std::string_view text) {
    bytes_ += text.size() + 1;
    const Decoder::Outcome outcome = decoder_->decode(text, record_, problem_);
    if (outcome == Decoder::Outcome::kNoRow) {
      if (!problem_.message.empty()) count_other(std::exchange(problem_.message, {}), 1);
      return {};
    }
    if (outcome == Decoder::Outcome::kBad || !builder_.add(record_, line_, problem_)) {
      if (trim(text).empty()) return {};
      return take_bad();
    }
    if (trace_->rows.size() == kSampleRows) expect();
    return {};
  }

  void count_other(std::string reason, std::uint64_t count) {
    std::vector<OtherRows>& all = trace_->other_rows;
    if (all.size() == kMostReasons) reason = all.back().reason;
    const auto same = [&](const OtherRows& rows) { return rows.reason == reason; };
    const auto it = std::find_if(all.begin(), all.end(), same);
    if (it != all.end())
      it->count += count;
    else
      all.push_back({.reason = std::move(reason), .count = count});
  }

  Status take_bad() {
    if (!options_->skip_bad) {
      return refuse(line_, std::move(problem_.field), std::move(problem_.message),
                    "--skip-bad goes on without such lines");
    }
    if (trace_->skipped_lines++ < kMostListed) {
      trace_->skipped.push_back(
          {.line = line_, .field = std::exchange(problem_.field, {}), .reason = std::exchange(problem_.message, {})});
    }
    problem_ = {};
    return {};
  }

  // Room for as many rows as the file has bytes for, and 3 % more. (Compressed files have more.)
  void expect() {
    const double rows =
        static_cast<double>(file_bytes_) * static_cast<double>(kSampleRows) / static_cast<double>(bytes_);
    if (file_bytes_ > bytes_) builder_.expect(static_cast<std::size_t>(rows * 1.03) + 1000);
  }

  Status settle_repeated_ids() {
    JoinedRuns runs{.joined = {}, .others = builder_.repeated_ids()};
    if (!runs.others.empty() && decoder_->joins_runs()) runs = join_runs(*trace_, runs.others);
    if (!runs.others.empty()) {
      if (Status status = refuse_repeated(runs.others); !status) return status;
    }
    if (!runs.joined.empty()) count_other("a further run of a job, added to its first", runs.joined.size());
    std::vector<std::uint32_t> out;
    std::merge(runs.joined.begin(), runs.joined.end(), runs.others.begin(), runs.others.end(), std::back_inserter(out));
    if (!out.empty()) builder_.remove(out);
    return {};
  }

  // An error, or where bad lines are skipped: counts these rows, which the caller takes out.
  Status refuse_repeated(const std::vector<std::uint32_t>& repeated) {
    const auto id = [&](std::uint32_t row) {
      return trace_->text_ids.empty() ? std::to_string(trace_->rows[row].id) : printable(trace_->text_ids[row]);
    };
    const auto reason = [&](std::uint32_t row) { return fmt::format("an earlier line has the same id {}", id(row)); };
    if (!options_->skip_bad) {
      return refuse(builder_.line_of(repeated[0]), "job_id", reason(repeated[0]),
                    "--skip-bad goes on without such lines");
    }
    const std::uint64_t before = trace_->skipped_lines;
    for (std::size_t i = 0; i < std::min(kMostListed, repeated.size()); ++i) {
      trace_->skipped.push_back(
          {.line = builder_.line_of(repeated[i]), .field = "job_id", .reason = reason(repeated[i])});
    }
    std::sort(trace_->skipped.begin(), trace_->skipped.end(),
              [](const SkippedLine& a, const SkippedLine& b) { return a.line < b.line; });
    if (trace_->skipped.size() > kMostListed) trace_->skipped.resize(kMostListed);
    trace_->skipped_lines = before + repeated.size();
    return {};
  }

  LineReader reader_;
  const ReadOptions* options_;
  Trace* trace_;
  Builder builder_;
  const Format* format_ = nullptr;
  std::unique_ptr<Decoder> decoder_;
  Record record_;
  Problem problem_;
  std::int64_t line_ = 1;
  std::uint64_t bytes_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t file_bytes_;
  bool header_ = false;
};

Result<Trace> read_from(LineReader reader, std::uint64_t file_bytes, const ReadOptions& options) {
  Trace trace;
  trace.path = reader.name();
  try {
    Reading reading(std::move(reader), file_bytes, options, trace);
    if (Status status = reading.run(); !status) return fail(reading.explained(std::move(status.error())));
  } catch (const std::bad_alloc&) {
    return fail(Error{.code = Code::kInput,
                      .message = "there isn't memory enough for this trace",
                      .file = trace.path,
                      .line = 0,
                      .field = {},
                      .hint = "split the trace",
                      .cause = {}});
  }
  return trace;
}

}  // namespace

Result<Trace> read_trace(const std::string& path, const ReadOptions& options) {
  Result<std::unique_ptr<ByteSource>> source = open_source(path);
  if (!source) return fail(std::move(source.error()));
  struct stat status{};
  const bool plain = path != "-" && ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  const std::uint64_t bytes = plain ? static_cast<std::uint64_t>(status.st_size) : 0;
  return read_from(LineReader(std::move(*source), path == "-" ? "standard input" : path), bytes, options);
}

Result<Trace> read_trace_from(std::unique_ptr<ByteSource> source, std::string name, const ReadOptions& options) {
  return read_from(LineReader(std::move(source), std::move(name)), 0, options);
}

}  // namespace comity::trace
