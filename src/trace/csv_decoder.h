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

 private:
  Outcome decode_quoted(std::string_view line, Record& record, Problem& problem);
  Outcome wrong_count(std::string_view line, Problem& problem);

  std::vector<Column> columns_;
  std::vector<std::string_view> fields_;
  std::string scratch_;
  char separator_;
  bool more_fields_;
};

// What a column of a format with a header is called.
struct NamedColumn {
  std::string_view title;
  Field field = Field::kIgnored;
  bool required = false;
};

struct CsvFormat {
  std::span<const NamedColumn> columns;
  int score = 0;              // detection: all required columns are there and no unknown one
  int score_with_others = 0;  // the same with unknown columns; 0 = then it is another format
};

// Titles of a header line, trimmed; empty when its quotes are broken.
[[nodiscard]] std::vector<std::string> header_titles(std::string_view line, char separator);
[[nodiscard]] int detect_csv(std::string_view head, const CsvFormat& format);
// Refuses missing and repeated columns, and unknown ones that look like a misspelt known one; other unknown columns
// are listed in Opened::ignored_columns, or refused where the format is never detected with them.
[[nodiscard]] Result<Opened> open_csv(std::string_view header, const CsvFormat& format);
// A trace needs a submit time, a duration and a size: gpus, or nodes and gpus_per_node.
[[nodiscard]] Status check_columns(const std::vector<Column>& columns);

}  // namespace comity::trace
