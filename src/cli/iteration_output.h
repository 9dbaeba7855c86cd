// SPDX-License-Identifier: Apache-2.0
// An estimate as table, JSON (comity.iteration/1) and page.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/table.h"
#include "cli/execution_options.h"
#include "workload/estimate.h"

namespace comity::cli {

[[nodiscard]] std::string estimate_json(const StepInputs& in, const workload::Estimate& e, const std::string& cost,
                                        const std::vector<std::string>& used);
[[nodiscard]] Table breakdown_table(const workload::Breakdown& breakdown);
[[nodiscard]] Table memory_table(const std::vector<workload::StageMemory>& stages);
// The two or three sentences above the tables.
[[nodiscard]] std::string estimate_text(const StepInputs& in, const workload::Estimate& e);
[[nodiscard]] std::string estimate_page(const StepInputs& in, const workload::Estimate& e, const std::string& line,
                                        const std::string& json, const std::string& timeline);

// What another simulator says of a step.
struct ForeignResult {
  std::string title;
  std::string inputs;  // names of its files
  double seconds = 0;
  std::string json;                                        // comity.iteration/1
  Table table{{}};                                         // part, seconds, ...
  std::string before;                                      // sentences above the table
  std::string after;                                       // and below
  std::vector<std::pair<std::string, std::string>> files;  // more for the folder: name, content
};
// Prints it and, with --out, leaves run.json, summary.json, breakdown.csv, `files` and report.html.
[[nodiscard]] Status show_foreign(const ForeignResult& result, const CommandWords& words, const Globals& globals);

}  // namespace comity::cli
