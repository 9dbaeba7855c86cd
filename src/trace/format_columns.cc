// SPDX-License-Identifier: Apache-2.0
// Anybody's own separated file, read as --columns says: "submit=start,duration=seconds,gpus=n,user=who". The separator
// (comma, semicolon or tab) is the one that the first line has most of. A column is named by its title in the header
// or by its number from 1; with numbers alone the file needs no header, and has none if the first line can be read as
// a job or has a number in any field. Columns that are not named are not read.
#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/text.h"
#include "trace/csv_decoder.h"
#include "trace/field_text.h"

namespace comity::trace {
namespace {

constexpr std::array<NamedColumn, 18> kKeys = {{{"submit", Field::kSubmit},
                                                {"duration", Field::kDuration},
                                                {"gpus", Field::kGpus},
                                                {"nodes", Field::kNodes},
                                                {"gpus_per_node", Field::kGpusPerNode},
                                                {"id", Field::kId},
                                                {"user", Field::kUser},
                                                {"tenant", Field::kTenant},
                                                {"estimate", Field::kEstimate},
                                                {"group", Field::kGroup},
                                                {"gpu_type", Field::kGpuType},
                                                {"model", Field::kModel},
                                                {"wait", Field::kWait},
                                                {"name", Field::kName},
                                                {"dataset", Field::kDataset},
                                                {"batch_size", Field::kBatchSize},
                                                {"iterations", Field::kIterations},
                                                {"memory_mb", Field::kMemory}}};

struct Choice {
  Field field = Field::kIgnored;
  std::string column;
};

tl::unexpected<Error> usage(std::string message, std::string hint) {
  return fail_option("--columns", std::move(message), std::move(hint));
}

Result<Field> key_field(std::string_view key) {
  std::vector<std::string> names;
  std::string list;
  for (const NamedColumn& known : kKeys) {
    if (known.title == key) return known.field;
    names.emplace_back(known.title);
    list.append(list.empty() ? "" : ", ").append(known.title);
  }
  const std::string near = nearest(key, names);
  return usage(fmt::format("'{}' is no field of a job", printable(key)),
               near.empty() ? fmt::format("fields: {}", list) : fmt::format("did you mean {}?", near));
}

Result<std::vector<Choice>> parse_choices(std::string_view text) {
  std::vector<Choice> choices;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      return usage(fmt::format("'{}' has no '='", printable(part)), "write submit=COLUMN,duration=COLUMN,gpus=COLUMN");
    }
    const Result<Field> field = key_field(trim(part.substr(0, equals)));
    if (!field) return fail(field.error());
    const auto same = [&](const Choice& other) { return other.field == *field; };
    if (std::any_of(choices.begin(), choices.end(), same)) {
      return usage(fmt::format("'{}' is given twice", printable(part.substr(0, equals))), "give each field once");
    }
    choices.push_back({.field = *field, .column = std::string(trim(part.substr(equals + 1)))});
  }
  return choices;
}

char likely_separator(std::string_view line) {
  char best = ',';
  for (const char c : {';', '\t'}) {
    if (std::count(line.begin(), line.end(), c) > std::count(line.begin(), line.end(), best)) best = c;
  }
  return best;
}

std::optional<std::size_t> column_number(std::string_view text) {
  const auto number = parse_int(text);
  if (!number || *number < 1 || *number > static_cast<std::int64_t>(limits::kFields)) return std::nullopt;
  return static_cast<std::size_t>(*number - 1);
}

// Where each choice is found. `by_title`: some choice is no number, so the file has a header, and titles win over
// numbers.
Result<std::vector<Column>> place(const std::vector<Choice>& choices, const std::vector<std::string>& titles,
                                  bool by_title) {
  std::vector<Column> columns;
  for (const Choice& choice : choices) {
    const auto found = std::find(titles.begin(), titles.end(), choice.column);
    std::optional<std::size_t> at;
    if (by_title && found != titles.end() && !choice.column.empty()) {
      at = static_cast<std::size_t>(found - titles.begin());
    } else {
      at = column_number(choice.column);
    }
    if (!at) {
      const std::string near = nearest(choice.column, titles);
      Error error;
      error.code = Code::kInput;
      error.field = printable(choice.column);
      error.message = "no column of the file has this title";
      error.hint = near.empty() ? "name a title of the first line, or a column by its number from 1"
                                : fmt::format("did you mean {}?", printable(near));
      return fail(std::move(error));
    }
    if (columns.size() <= *at) columns.resize(*at + 1);
    if (columns[*at].field != Field::kIgnored) {
      return usage(fmt::format("two fields are read from column '{}'", printable(choice.column)),
                   "name another column for one");
    }
    columns[*at] = {.field = choice.field, .title = (by_title ? "" : "column ") + choice.column};
  }
  return columns;
}

Result<Opened> open_columns(std::string_view first_line, const std::string& text) {
  if (text.empty()) return usage("nothing is given", "write --columns submit=COLUMN,duration=COLUMN,gpus=COLUMN");
  Result<std::vector<Choice>> choices = parse_choices(text);
  if (!choices) return fail(std::move(choices.error()));
  const char separator = likely_separator(first_line);
  const std::vector<std::string> titles = header_titles(first_line, separator);
  const bool by_title =
      std::any_of(choices->begin(), choices->end(), [](const Choice& choice) { return !column_number(choice.column); });
  Result<std::vector<Column>> columns = place(*choices, titles, by_title);
  if (!columns) return fail(std::move(columns.error()));
  if (Status status = check_columns(*columns); !status) return fail(std::move(status.error()));
  Opened opened;
  opened.header = true;
  if (!by_title) {
    Record record;
    Problem problem;
    // A first line that is no job is a header only where no field of it is a number; else it is a bad line.
    opened.header =
        CsvDecoder(*columns, separator, true).decode(first_line, record, problem) != Decoder::Outcome::kRow &&
        std::none_of(titles.begin(), titles.end(),
                     [](const std::string& title) { return parse_double(title).has_value(); });
  } else if (columns->size() < titles.size()) {
    columns->resize(titles.size());  // a header tells how many fields a line has
  }
  opened.decoder = std::make_unique<CsvDecoder>(std::move(*columns), separator, !by_title);
  return opened;
}

}  // namespace

Format format_columns() {
  return {.name = "columns",
          .description = "any separated file, read as --columns says: submit=...,duration=...,gpus=...",
          .detect = [](std::string_view) { return 0; },
          .open = open_columns,
          .refusal = nullptr};
}

}  // namespace comity::trace
