// SPDX-License-Identifier: Apache-2.0
#include "trace/csv_decoder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/csv.h"
#include "base/text.h"
#include "trace/field_text.h"

namespace comity::trace {

CsvDecoder::CsvDecoder(std::vector<Column> columns, char separator, bool more_fields)
    : columns_(std::move(columns)), separator_(separator), more_fields_(more_fields) {
  has_attributes_ =
      std::any_of(columns_.begin(), columns_.end(), [](const Column& column) { return is_attribute(column.field); });
  has_declared_ = std::any_of(columns_.begin(), columns_.end(),
                              [](const Column& column) { return column.field == Field::kDeclaredGpus; });
}

Decoder::Outcome CsvDecoder::decode(std::string_view line, Record& record, Problem& problem) {
  record.may_have_attributes = has_attributes_;
  const Outcome outcome = decode_plain(line, record, problem);
  if (has_declared_ && outcome == Outcome::kRow)
    declared_gpus_ =
        std::max(declared_gpus_, static_cast<std::uint64_t>(std::max<std::int64_t>(0, record.declared_gpus)));
  return outcome;
}

Decoder::Outcome CsvDecoder::decode_plain(std::string_view line, Record& record, Problem& problem) {
  const char* p = line.data();
  const char* const end = p + line.size();
  const char separator = separator_;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Field field = columns_[i].field;
    const char* q = p;
    std::uint64_t value = 0;
    for (; q != end; ++q) {
      const unsigned digit = static_cast<unsigned char>(*q) - unsigned{'0'};
      if (digit > 9) break;
      value = value * 10 + digit;
    }
    const bool spelt = field == Field::kId && q - p > 1 && *p == '0';  // "007" is another id than "7"
    const bool whole = (q == end || *q == separator) && q != p && q - p <= 18 && !spelt;
    if (!whole || !store_whole(field, static_cast<std::int64_t>(value), record)) {
      if (p != end && *p == '"') return decode_quoted(line, record, problem);
      while (q != end && *q != separator) ++q;
      const std::string_view text(p, static_cast<std::size_t>(q - p));
      if (!store_text(field, text, record, problem)) {
        problem.field = columns_[i].title;
        return Outcome::kBad;
      }
    }
    if (q == end) {
      if (i + 1 == columns_.size()) return Outcome::kRow;
      return wrong_count(line, problem);
    }
    p = q + 1;
  }
  // A separator at the end of the line is no field.
  if (more_fields_ || p == end) return Outcome::kRow;
  return wrong_count(line, problem);
}

Decoder::Outcome CsvDecoder::decode_quoted(std::string_view line, Record& record, Problem& problem) {
  if (!split_csv(line, separator_, fields_, scratch_)) {
    problem = {.field = {}, .message = "a quoted field has no end, or text behind its closing quote"};
    return Outcome::kBad;
  }
  const bool spare = fields_.size() == columns_.size() + 1 && fields_.back().empty();
  if (fields_.size() < columns_.size() || (fields_.size() > columns_.size() && !spare && !more_fields_)) {
    return wrong_count(line, problem);
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (store_text(columns_[i].field, fields_[i], record, problem)) continue;
    problem.field = columns_[i].title;
    return Outcome::kBad;
  }
  return Outcome::kRow;
}

Decoder::Outcome CsvDecoder::wrong_count(std::string_view line, Problem& problem) {
  const bool split = split_csv(line, separator_, fields_, scratch_);
  const std::size_t have = fields_.size();
  problem.message =
      !split ? "a quote without end, or too many fields"
             : fmt::format("the line has {} field{}, {} are expected", have, have == 1 ? "" : "s", columns_.size());
  problem.field = have < columns_.size() ? columns_[have].title : std::string();
  return Outcome::kBad;
}

std::vector<std::string> header_titles(std::string_view line, char separator) {
  std::vector<std::string_view> fields;
  std::string scratch;
  if (!split_csv(line, separator, fields, scratch)) return {};
  std::vector<std::string> titles;
  for (const std::string_view field : fields) titles.emplace_back(trim(field));
  while (titles.size() > 1 && titles.back().empty()) titles.pop_back();  // a separator at the end
  return titles;
}

int detect_csv(std::string_view head, const CsvFormat& format) {
  const std::vector<std::string> titles = header_titles(first_line_of(head), ',');
  const auto has = [&](std::string_view title) {
    return std::find(titles.begin(), titles.end(), title) != titles.end();
  };
  for (const NamedColumn& column : format.columns) {
    if (column.required && !has(column.title)) return 0;
  }
  for (const std::string& title : titles) {
    const auto same = [&](const NamedColumn& column) { return column.title == title; };
    if (std::none_of(format.columns.begin(), format.columns.end(), same)) return format.score_with_others;
  }
  return format.score;
}

tl::unexpected<Error> column_error(std::string title, std::string message, std::string hint) {
  Error error;
  error.code = Code::kInput;
  error.message = std::move(message);
  error.field = std::move(title);
  error.hint = std::move(hint);
  return fail(std::move(error));
}

std::string known_titles(const CsvFormat& format) {
  std::string list;
  for (const NamedColumn& column : format.columns) list.append(list.empty() ? "" : ", ").append(column.title);
  return list;
}

namespace {

// Which column of the format has this title, kNone for one that is ignored; an error for a misspelt title.
Result<std::size_t> known_column(const std::string& title, const CsvFormat& format) {
  std::vector<std::string> titles;
  for (std::size_t c = 0; c < format.columns.size(); ++c) {
    if (format.columns[c].title == title) return c;
    titles.emplace_back(format.columns[c].title);
  }
  const std::string near = nearest(title, titles);
  if (!near.empty())
    return column_error(printable(title), "is no column of this format", fmt::format("did you mean {}?", near));
  if (format.score_with_others == 0) {
    return column_error(printable(title), "is no column of this format",
                        fmt::format("its columns are {}; --columns reads any other file", known_titles(format)));
  }
  return CsvHeader::kNone;
}

}  // namespace

Status check_columns(const std::vector<Column>& columns) {
  std::array<bool, static_cast<std::size_t>(Field::kIgnored) + 1> has{};
  for (const Column& column : columns) has[static_cast<std::size_t>(column.field)] = true;
  const auto lacks = [&](Field f) { return !has[static_cast<std::size_t>(f)]; };
  std::string what;
  if (lacks(Field::kSubmit))
    what = "the submit time";
  else if (lacks(Field::kDuration))
    what = "the duration";
  else if (lacks(Field::kGpus) && (lacks(Field::kNodes) || lacks(Field::kGpusPerNode)))
    what = "the number of GPUs (or nodes and GPUs a node)";
  if (what.empty()) return {};
  return column_error({}, fmt::format("no column holds {}", what),
                      "say which columns to read: --columns submit=COLUMN,duration=COLUMN,gpus=COLUMN");
}

Result<CsvHeader> match_header(std::string_view line, const CsvFormat& format) {
  CsvHeader header;
  header.titles = header_titles(line, ',');
  if (header.titles.empty()) return column_error({}, "the header has a quote without end or too many columns", {});
  for (std::size_t i = 0; i < header.titles.size(); ++i) {
    const std::string& title = header.titles[i];
    const Result<std::size_t> column = known_column(title, format);
    if (!column) return fail(column.error());
    const auto end = header.titles.begin() + static_cast<std::ptrdiff_t>(i);
    if (!title.empty() && std::find(header.titles.begin(), end, title) != end)
      return column_error(printable(title), "two columns have this name", "rename one of them");
    if (*column == CsvHeader::kNone) header.ignored_columns.push_back(title);
    header.columns.push_back(*column);
  }
  return header;
}

Result<Opened> open_csv(std::string_view header, const CsvFormat& format) {
  Result<CsvHeader> matched = match_header(header, format);
  if (!matched) return fail(std::move(matched.error()));
  Opened opened;
  std::vector<Column> columns;
  for (std::size_t i = 0; i < matched->titles.size(); ++i) {
    const std::size_t known = matched->columns[i];
    const Field field = known == CsvHeader::kNone ? Field::kIgnored : format.columns[known].field;
    if (field == Field::kIgnored) opened.ignored_columns.push_back(matched->titles[i]);
    columns.push_back({.field = field, .title = matched->titles[i]});
  }
  if (Status status = check_columns(columns); !status) {
    status.error().hint = fmt::format("the columns of this format are {}", known_titles(format));
    return fail(std::move(status.error()));
  }
  opened.decoder = std::make_unique<CsvDecoder>(std::move(columns), ',', false);
  return opened;
}

}  // namespace comity::trace
