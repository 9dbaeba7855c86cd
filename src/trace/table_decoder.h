// SPDX-License-Identifier: Apache-2.0
// Lines of separated values whose fields need more than a column each: calendar times, minutes, sums, rows that are no
// GPU jobs. A format derives from TableDecoder, numbers its columns as in its CsvFormat, and fills the record in row().
// No allocation a line unless it is bad or has doubled quotes. O(length of the line).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "trace/csv_decoder.h"
#include "trace/format.h"

namespace comity::trace {

// Where the fields of a line are: at[c] = which field of the line is column c of the format, kNone = the file lacks it.
struct TableLayout {
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::vector<std::size_t> at;
  std::vector<std::string> titles;  // of the format's columns, for messages
  std::size_t fields = 0;           // of a line
  char separator = ',';
};

class TableDecoder : public Decoder {
 public:
  explicit TableDecoder(TableLayout layout) : layout_(std::move(layout)) {}
  Outcome decode(std::string_view line, Record& record, Problem& problem) final;

 protected:
  virtual Outcome row(Record& record, Problem& problem) = 0;

  [[nodiscard]] bool has(std::size_t column) const { return layout_.at[column] != TableLayout::kNone; }
  // Blanks around it don't count; empty where the file lacks the column.
  [[nodiscard]] std::string_view text(std::size_t column) const;
  // By the rules of store_text(); an absent column reads as empty text.
  [[nodiscard]] bool store(std::size_t column, Field field, Record& record, Problem& problem) const;
  // A whole number from 0 on ("4" or "4.0"); a number from 0 on; `unit` times a number within 73 years; a calendar
  // time.
  [[nodiscard]] bool whole(std::size_t column, std::int64_t& value, Problem& problem) const;
  [[nodiscard]] bool real(std::size_t column, double& value, Problem& problem) const;
  [[nodiscard]] bool time(std::size_t column, Time unit, Time& value, Problem& problem) const;
  [[nodiscard]] bool civil(std::size_t column, Time& value, Problem& problem) const;
  // `count` GPUs on `nodes` nodes: split evenly over them where that is possible, else anywhere.
  static void set_shape(Record& record, std::int64_t gpus, std::int64_t nodes);

  bool refuse(std::size_t column, std::string_view message, Problem& problem) const;
  Outcome bad(std::size_t column, std::string_view message, Problem& problem) const;
  // A row that is no GPU job; `reason` is counted.
  static Outcome other(std::string_view reason, Problem& problem);

 private:
  TableLayout layout_;
  std::vector<std::string_view> fields_;
  std::string scratch_;
};

// Of a file with a header; refuses it as match_header() does, and where a required column is absent.
[[nodiscard]] Result<TableLayout> table_layout(std::string_view header, const CsvFormat& format,
                                               std::vector<std::string>& ignored_columns);
// Of a file without one: the columns in their order.
[[nodiscard]] TableLayout table_layout(std::span<const std::string_view> titles, char separator);

// The decoder of a file with a header.
template <class D>
[[nodiscard]] Result<Opened> open_table(std::string_view header, const CsvFormat& format) {
  Opened opened;
  Result<TableLayout> layout = table_layout(header, format, opened.ignored_columns);
  if (!layout) return fail(std::move(layout.error()));
  opened.decoder = std::make_unique<D>(std::move(*layout));
  return opened;
}

}  // namespace comity::trace
