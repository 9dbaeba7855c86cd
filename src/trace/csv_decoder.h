// SPDX-License-Identifier: Apache-2.0
// Lines of separated values, decoded by a table that says what each column holds. Whole numbers are read straight from
// the bytes of the line; quoted and other fields take the slower way through split_csv(). Times are seconds in the
// file. No allocation a line unless it is bad or has doubled quotes. O(length of the line).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trace/format.h"

namespace comity::trace {

struct Column {
  Field field = Field::kIgnored;
  std::string title;  // for messages
};

class CsvDecoder final : public Decoder {
 public:
  // `more_fields`: a line may have more fields than `columns` names (files without a header).
  CsvDecoder(std::vector<Column> columns, char separator, bool more_fields);
  Outcome decode(std::string_view line, Record& record, Problem& problem) override;
  // The greatest of the column that states it.
  [[nodiscard]] std::uint64_t declared_gpus() const override { return declared_gpus_; }

 private:
  Outcome decode_plain(std::string_view line, Record& record, Problem& problem);
  Outcome decode_quoted(std::string_view line, Record& record, Problem& problem);
  Outcome wrong_count(std::string_view line, Problem& problem);

  std::vector<Column> columns_;
  std::vector<std::string_view> fields_;
  std::string scratch_;
  std::uint64_t declared_gpus_ = 0;
  char separator_;
  bool more_fields_;
  bool has_declared_;
  bool has_attributes_;
};

// What a column of a format with a header is called.
struct NamedColumn {
  std::string_view title;
  Field field = Field::kIgnored;
  bool required = false;
  bool left_out = false;  // of a TableDecoder's format: nothing of a Row holds it
};

struct CsvFormat {
  std::span<const NamedColumn> columns;
  int score = 0;              // detection: all required columns are there and no unknown one
  int score_with_others = 0;  // the same with unknown columns; 0 = then it is another format
};

// Titles of a header line, trimmed; empty when its quotes are broken.
[[nodiscard]] std::vector<std::string> header_titles(std::string_view line, char separator);
[[nodiscard]] int detect_csv(std::string_view head, const CsvFormat& format);

// A header against the columns of its format.
struct CsvHeader {
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::vector<std::string> titles;
  std::vector<std::size_t> columns;  // by title: which column of the format, kNone = not one of them
  std::vector<std::string> ignored_columns;
};
// Refuses repeated columns, and unknown ones that look like a misspelt known one; other unknown columns are listed in
// ignored_columns, as those that the format leaves out, or refused where it is never detected with them.
[[nodiscard]] Result<CsvHeader> match_header(std::string_view line, const CsvFormat& format);
// match_header(), then check_columns(), then the decoder.
[[nodiscard]] Result<Opened> open_csv(std::string_view header, const CsvFormat& format);
// A trace needs a submit time, a duration and a size: gpus, or nodes and gpus_per_node.
[[nodiscard]] Status check_columns(const std::vector<Column>& columns);
// An error about a column of the header, to be given a line by the reader.
[[nodiscard]] tl::unexpected<Error> column_error(std::string title, std::string message, std::string hint);
[[nodiscard]] std::string known_titles(const CsvFormat& format);

}  // namespace comity::trace
