// SPDX-License-Identifier: Apache-2.0
// The table of trace formats. A format is one file, format_<name>.cc, and one line in formats.cc: it says how its
// files are recognised and makes the decoder of their lines. Everything else (lines, limits, checks, duplicated ids,
// skipped lines) is the reader's and the same for all.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trace/record.h"

namespace comity::trace {

// One line in, one record out. Not thread-safe; keeps the views of `record` valid until the next call.
class Decoder {
 public:
  // kNoRow: a comment or, where `problem.message` was set, a row that is no GPU job: counted under that message in
  // Trace::other_rows. Messages are a few fixed texts, never text from the file.
  enum class Outcome : std::uint8_t { kRow, kNoRow, kBad };

  virtual ~Decoder() = default;
  // kRow: every field of `record` that the format knows was set (the others are never touched). kBad: `problem` says
  // which field and why. Ranges that hold for any trace are checked later, by Builder.
  virtual Outcome decode(std::string_view line, Record& record, Problem& problem) = 0;
  // GPUs that the file's own header states; 0 = nothing said. Asked after the last line.
  [[nodiscard]] virtual std::uint64_t declared_gpus() const { return 0; }
};

struct Opened {
  std::unique_ptr<Decoder> decoder;
  bool header = true;  // the first line was a header: no row in it
  std::vector<std::string> ignored_columns;
};

struct Format {
  std::string name;
  std::string description;
  // How surely the file that begins with `head` (whole lines, and a cut one at the end) is of this format: 0 = it
  // isn't, 100 = no doubt.
  int (*detect)(std::string_view head) = nullptr;
  // The decoder for a file whose first line that isn't blank is `first_line`; `columns` is ReadOptions::columns.
  // Errors (kInput) name the column; the reader adds file and line.
  Result<Opened> (*open)(std::string_view first_line, const std::string& columns) = nullptr;
  // Why a file that looks much like this format isn't one; empty when there is nothing to say. May be null.
  std::string (*refusal)(std::string_view head) = nullptr;
};

// Every format, in the order in which ties of detect() are broken.
[[nodiscard]] std::span<const Format> formats();
// The format named so; kUsage with the nearest name when there is none.
[[nodiscard]] Result<const Format*> find_format(std::string_view name);
// The surest format of a file that begins with `head`; kInput when no format knows it.
[[nodiscard]] Result<const Format*> detect_format(std::string_view head);

// The first line of `head` that isn't blank.
[[nodiscard]] std::string_view first_line_of(std::string_view head);

}  // namespace comity::trace
