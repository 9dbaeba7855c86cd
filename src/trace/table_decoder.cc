// SPDX-License-Identifier: Apache-2.0
#include "trace/table_decoder.h"

#include <cmath>

#include <fmt/format.h>

#include "base/calendar.h"
#include "base/csv.h"
#include "base/text.h"
#include "trace/field_text.h"

namespace comity::trace {

Decoder::Outcome TableDecoder::decode(std::string_view line, Record& record, Problem& problem) {
  if (!split_csv(line, layout_.separator, fields_, scratch_)) {
    problem = {.field = {}, .message = "a quoted field has no end, or text behind its closing quote"};
    return Outcome::kBad;
  }
  const bool spare = fields_.size() == layout_.fields + 1 && fields_.back().empty();
  if (fields_.size() != layout_.fields && !spare) {
    problem.message = fmt::format("the line has {} field{}, {} are expected", fields_.size(),
                                  fields_.size() == 1 ? "" : "s", layout_.fields);
    problem.field.clear();
    for (std::size_t c = 0; c < layout_.at.size(); ++c) {
      if (layout_.at[c] == fields_.size()) problem.field = layout_.titles[c];
    }
    return Outcome::kBad;
  }
  return row(record, problem);
}

std::string_view TableDecoder::text(std::size_t column) const {
  return has(column) ? trim(fields_[layout_.at[column]]) : std::string_view();
}

bool TableDecoder::store(std::size_t column, Field field, Record& record, Problem& problem) const {
  if (store_text(field, text(column), record, problem)) return true;
  problem.field = layout_.titles[column];
  return false;
}

bool TableDecoder::refuse(std::size_t column, std::string_view message, Problem& problem) const {
  problem.field = layout_.titles[column];
  problem.message = text(column).empty() ? "is empty" : fmt::format("{}: '{}'", message, printable(text(column)));
  return false;
}

Decoder::Outcome TableDecoder::bad(std::size_t column, std::string_view message, Problem& problem) const {
  refuse(column, message, problem);
  return Outcome::kBad;
}

Decoder::Outcome TableDecoder::other(std::string_view reason, Problem& problem) {
  problem = {.field = {}, .message = std::string(reason)};
  return Outcome::kNoRow;
}

bool TableDecoder::whole(std::size_t column, std::int64_t& value, Problem& problem) const {
  double number = 0;
  if (const auto exact = parse_int(text(column)); exact && *exact >= 0) {
    value = *exact;
    return true;
  }
  if (!real(column, number, problem)) return false;
  if (number > 9e15 || std::floor(number) != number) return refuse(column, "is no whole number", problem);
  value = static_cast<std::int64_t>(number);
  return true;
}

bool TableDecoder::real(std::size_t column, double& value, Problem& problem) const {
  const auto number = parse_double(text(column));
  if (!number) return refuse(column, "is no number", problem);
  if (*number < 0) return refuse(column, "is negative", problem);
  value = *number;
  return true;
}

bool TableDecoder::time(std::size_t column, Time unit, Time& value, Problem& problem) const {
  const auto seconds = parse_seconds(text(column));
  if (seconds && *seconds >= 0 && *seconds <= kMaxTime / (unit / kSecond)) {
    value = *seconds * (unit / kSecond);
    return true;
  }
  return refuse(column, "is no time from 0 to 73 years", problem);
}

bool TableDecoder::civil(std::size_t column, Time& value, Problem& problem) const {
  const auto time = parse_date_time(text(column));
  if (!time) return refuse(column, "is no date and time of day since 1970", problem);
  value = *time;
  return true;
}

void TableDecoder::set_shape(Record& record, std::int64_t gpus, std::int64_t nodes) {
  const bool even = nodes > 0 && gpus % nodes == 0;
  record.gpus = gpus;
  record.nodes = even ? nodes : 0;
  record.gpus_per_node = even ? gpus / nodes : 0;
}

Result<TableLayout> table_layout(std::string_view header, const CsvFormat& format,
                                 std::vector<std::string>& ignored_columns) {
  Result<CsvHeader> matched = match_header(header, format);
  if (!matched) return fail(std::move(matched.error()));
  TableLayout layout;
  layout.fields = matched->titles.size();
  layout.at.assign(format.columns.size(), TableLayout::kNone);
  for (std::size_t i = 0; i < matched->columns.size(); ++i) {
    if (matched->columns[i] != CsvHeader::kNone) layout.at[matched->columns[i]] = i;
  }
  for (std::size_t c = 0; c < format.columns.size(); ++c) {
    const std::string title(format.columns[c].title);
    if (layout.at[c] == TableLayout::kNone && format.columns[c].required)
      return column_error(title, "the file has no such column",
                          fmt::format("the columns of this format are {}", known_titles(format)));
    layout.titles.push_back(title);
  }
  ignored_columns = std::move(matched->ignored_columns);
  for (std::size_t c = 0; c < format.columns.size(); ++c) {
    if (layout.at[c] != TableLayout::kNone && format.columns[c].field == Field::kIgnored && format.columns[c].left_out)
      ignored_columns.push_back(layout.titles[c]);
  }
  return layout;
}

TableLayout table_layout(std::span<const std::string_view> titles, char separator) {
  TableLayout layout;
  layout.fields = titles.size();
  layout.separator = separator;
  for (const std::string_view title : titles) {
    layout.at.push_back(layout.at.size());
    layout.titles.emplace_back(title);
  }
  return layout;
}

}  // namespace comity::trace
