// SPDX-License-Identifier: Apache-2.0
// The results of filling a cluster (twin/fill.h) as a table, JSON (schema comity.placement/1), CSV and pictures.
#pragma once

#include <string>
#include <vector>

#include "base/table.h"
#include "twin/fill.h"

namespace comity::twin {

struct FillSummary {
  const PodList* pods = nullptr;
  const ShareNodes* nodes = nullptr;
  const FillOptions* options = nullptr;
  FillResult result;
  double load_s = 0;
  double wall_s = 0;  // of all runs together
};

// Low, median and high over the seeds of one rule.
struct Spread {
  double low = 0, median = 0, high = 0;
};
// Of values[percent] over the runs of a rule, in the rule order of the options; rules without a finished run are left
// out. `percent` must be a point of the curves (checked).
[[nodiscard]] Spread spread_at(const FillResult& result, cluster::ShareRule rule, std::vector<double> FillRun::* values,
                               std::size_t percent);
// Points of the curves: 0 to points() - 1 percent of capacity.
[[nodiscard]] std::size_t points(const FillResult& result);
// Of the rules that were asked for and have a finished run.
[[nodiscard]] std::vector<cluster::ShareRule> finished_rules(const FillSummary& summary);

[[nodiscard]] Table to_table(const FillSummary& summary);
[[nodiscard]] std::string to_json(const FillSummary& summary);
// rule, seed, percent arrived, allocation, fragmentation, idle_lost: every point of every run.
[[nodiscard]] std::string curves_csv(const FillSummary& summary);
[[nodiscard]] std::string fill_report(const FillSummary& summary, const std::string& command);

}  // namespace comity::twin
