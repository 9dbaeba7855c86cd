// SPDX-License-Identifier: Apache-2.0
// A plan that describes itself by named fields, as table, JSON, CSV and page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/command_words.h"
#include "plan/fields.h"

namespace comity::cli {

struct PlanPart {
  std::string name;   // key in JSON, file name of the CSV
  std::string title;  // heading
  plan::FieldRows rows;
  bool shown = true;  // on a terminal; else in JSON, CSV and the page alone
};

struct PlanText {
  std::string schema;  // "comity.plan_spot/1"
  std::string title;
  plan::Fields summary;
  std::vector<PlanPart> parts;  // the first is the main table, which -o csv prints
  std::string explanation;
  std::vector<std::string> charts;  // for the page
};

// `fields` with another name for one of them: a summary must not have the name of a part, which is in the same object.
[[nodiscard]] plan::Fields renamed(plan::Fields fields, std::string_view from, const std::string& to);

// Prints it and, with --out, leaves run.json, summary.json, a CSV a part and report.html.
[[nodiscard]] Status show_plan(const PlanText& plan, const CommandWords& words, const Globals& globals);

}  // namespace comity::cli
