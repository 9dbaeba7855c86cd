// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_output.h"

#include <cmath>

#include <fmt/format.h>

#include "base/json.h"
#include "base/table.h"
#include "cli/output_folder.h"
#include "cli/standard_output.h"
#include "report/html.h"

namespace comity::cli {
namespace {

using plan::Field;
using plan::Fields;

std::string value_text(const Field& f) {
  if (!f.text.empty()) return f.text;
  if (f.value == std::floor(f.value) && std::abs(f.value) < 1e15) return fmt::format("{:.0f}", f.value);
  return fmt::format("{:.5g}", f.value);
}
std::string heading(const Field& f) { return f.unit.empty() ? f.name : fmt::format("{} {}", f.name, f.unit); }

void write_fields(JsonWriter& json, const Fields& fields) {
  for (const Field& f : fields) {
    json.key(f.name);
    f.text.empty() ? json.number(f.value) : json.string(f.text);
  }
}

Table summary_table(const Fields& fields) {
  Table table({{"what", false}, {"value"}, {"unit", false}});
  for (const Field& f : fields) table.add_row({{f.name}, {value_text(f), f.value}, {f.unit}});
  return table;
}

Table rows_table(const plan::FieldRows& rows) {
  std::vector<Table::Column> columns;
  if (rows.empty()) return Table({{"nothing", false}});
  for (const Field& f : rows.front()) columns.push_back({heading(f), f.text.empty()});
  Table table(std::move(columns));
  for (const Fields& row : rows) {
    std::vector<Table::Cell> cells;
    for (const Field& f : row) cells.push_back({value_text(f), f.value});
    table.add_row(std::move(cells));
  }
  return table;
}

std::string to_json(const PlanText& plan) {
  JsonWriter json;
  json.begin_object().field("schema", plan.schema);
  write_fields(json, plan.summary);
  for (const PlanPart& part : plan.parts) {
    json.key(part.name).begin_array();
    for (const Fields& row : part.rows) {
      json.begin_object();
      write_fields(json, row);
      json.end_object();
    }
    json.end_array();
  }
  return json.field("explanation", plan.explanation).end_object().text() + "\n";
}

std::string page_of(const PlanText& plan, const std::string& line, const std::string& json) {
  report::Page page(plan.title);
  page.section("Plan").table(summary_table(plan.summary)).paragraph(plan.explanation);
  for (const std::string& chart : plan.charts) page.chart(chart);
  for (const PlanPart& part : plan.parts)
    if (!part.rows.empty()) page.section(part.title).table(rows_table(part.rows));
  page.section("Inputs").code(line);
  page.data(json);
  return page.html();
}

}  // namespace

plan::Fields renamed(plan::Fields fields, std::string_view from, const std::string& to) {
  for (Field& f : fields)
    if (f.name == from) f.name = to;
  return fields;
}

Status show_plan(const PlanText& plan, const CommandWords& words, const Globals& globals) {
  const std::string json = to_json(plan);
  if (globals.output == Output::kJson || globals.output == Output::kJsonl) {
    fmt::print("{}", json);
  } else if (globals.output == Output::kCsv) {
    fmt::print("{}", rows_table(plan.parts.front().rows).csv());
  } else {
    fmt::print("{}\n\n{}", printable_lines(plan.title), summary_table(plan.summary).text(globals.colour));
    for (const PlanPart& part : plan.parts)
      if (part.shown && !part.rows.empty())
        fmt::print("\n{}\n{}", part.title, rows_table(part.rows).text(globals.colour));
    if (!plan.explanation.empty()) fmt::print("\n{}\n", printable_lines(plan.explanation));
  }
  if (globals.out_dir.empty()) return {};
  std::vector<std::pair<std::string, std::string>> files = {{"run.json", words.run_json(globals)},
                                                            {"summary.json", json}};
  for (const PlanPart& part : plan.parts)
    if (!part.rows.empty()) files.emplace_back(part.name + ".csv", rows_table(part.rows).csv());
  files.emplace_back("report.html", page_of(plan, words.line(), json));
  return write_folder(globals.out_dir, files);
}

}  // namespace comity::cli
