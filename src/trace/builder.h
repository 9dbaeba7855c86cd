// SPDX-License-Identifier: Apache-2.0
// Turns the records of a file into the rows of a Trace: checks what holds for any trace, interns names, finds
// duplicated ids. Memory beside the trace: a few KB, and for files whose ids don't rise, 1 bit to 13 bytes a job once
// at the end. Cost: O(1) a row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trace/record.h"
#include "trace/trace.h"

namespace comity::trace {

// Interns through a small cache, since few names make up most of a trace.
class NameCache {
 public:
  explicit NameCache(profile::NameTable& names) : names_(&names) {}
  // kNoName for empty text.
  std::uint32_t intern(std::string_view text) { return text.empty() ? profile::kNoName : look_up(text); }

 private:
  struct Entry {
    std::string_view text;
    std::uint32_t index = profile::kNoName;
  };
  std::uint32_t look_up(std::string_view text);

  profile::NameTable* names_;
  std::array<Entry, 512> entries_{};
};

class Builder {
 public:
  explicit Builder(Trace& trace);

  // Appends the row of `line`. False when the record is no job that could run; `problem` says why.
  [[nodiscard]] bool add(const Record& record, std::int64_t line, Problem& problem);
  // About how many rows the whole file will have; memory is reserved for them, once.
  void expect(std::size_t rows);
  // Rows (indices, rising) whose id an earlier row has. Call after the last add().
  [[nodiscard]] std::vector<std::uint32_t> repeated_ids() const;
  [[nodiscard]] std::int64_t line_of(std::uint32_t row) const;
  // Takes these rows (rising) out again.
  void remove(const std::vector<std::uint32_t>& rows);

 private:
  struct LineOffset {
    std::uint32_t row;
    std::int64_t offset;  // line = row index + offset, from `row` on
  };
  void add_id(const Record& record, Row& row);
  std::uint32_t add_attributes(const Record& record);
  profile::List add_deadlines(const Record& record);
  profile::List add_gpu_models(const Record& record);

  Trace* trace_;
  NameCache names_;
  std::vector<LineOffset> offsets_;
  profile::List last_deadlines_;  // lists that follow one another are often the same
  profile::List last_gpu_models_;
  std::int64_t last_id_ = -1;
  bool ids_rise_ = true;
  bool has_ids_ = false;
};

}  // namespace comity::trace
