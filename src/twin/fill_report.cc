// SPDX-License-Identifier: Apache-2.0
#include "twin/fill_report.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "math/quantile.h"
#include "report/chart.h"
#include "report/html.h"

namespace comity::twin {
namespace {

using cluster::ShareRule;

constexpr double kPercent = 100;

std::vector<const FillRun*> runs_of(const FillResult& result, ShareRule rule) {
  std::vector<const FillRun*> list;
  for (const FillRun& run : result.runs) {
    if (run.rule == rule) list.push_back(&run);
  }
  return list;
}

double placements_per_s(const std::vector<const FillRun*>& runs) {
  double arrived = 0;
  double wall = 0;
  for (const FillRun* run : runs) {
    arrived += static_cast<double>(run->arrived);
    wall += run->wall_s;
  }
  return wall > 0 ? arrived / wall : 0;
}

void write_spread(JsonWriter& json, std::string_view name, const Spread& s) {
  json.key(name).begin_object().field("low", s.low).field("median", s.median).field("high", s.high).end_object();
}

void write_rule(JsonWriter& json, const FillSummary& summary, ShareRule rule) {
  const FillResult& result = summary.result;
  const std::size_t last = points(result) - 1;
  const auto runs = runs_of(result, rule);
  json.begin_object().field("name", cluster::share_rule_name(rule));
  write_spread(json, "allocation", spread_at(result, rule, &FillRun::allocation, last));
  write_spread(json, "fragmentation", spread_at(result, rule, &FillRun::fragmentation, last));
  write_spread(json, "idle_lost", spread_at(result, rule, &FillRun::idle_lost, last));
  if (last >= 100) {
    write_spread(json, "allocation_at_100", spread_at(result, rule, &FillRun::allocation, 100));
    write_spread(json, "fragmentation_at_100", spread_at(result, rule, &FillRun::fragmentation, 100));
  }
  json.key("seeds").begin_array();
  for (const FillRun* run : runs) {
    json.begin_object().field("seed", run->seed).field("arrived", run->arrived).field("placed", run->placed);
    json.field("refused", run->refused).field("allocation", run->allocation.back());
    json.field("fragmentation", run->fragmentation.back()).field("cpu_allocation", run->cpu_allocation);
    json.field("wall_s", run->wall_s).field("fingerprint", hex64(run->fingerprint)).end_object();
  }
  json.end_array().end_object();
}

// The median over the seeds of a curve, a line for each rule.
std::string curve(const FillSummary& summary, std::vector<double> FillRun::* values, std::size_t from,
                  std::string title, std::string y, std::string description) {
  report::LineChart chart;
  chart.title = std::move(title);
  chart.description = std::move(description);
  chart.x = {.title = "GPUs asked for so far", .unit = "% of capacity"};
  chart.y = {.title = std::move(y), .unit = "% of capacity"};
  for (const ShareRule rule : finished_rules(summary)) {
    report::Series line{.name = cluster::share_rule_name(rule)};
    for (std::size_t p = from; p < points(summary.result); ++p) {
      line.x.push_back(static_cast<double>(p));
      line.y.push_back(kPercent * spread_at(summary.result, rule, values, p).median);
    }
    chart.series.push_back(std::move(line));
  }
  return report::draw(chart);
}

// Lowest, median and highest over the seeds where the curves end.
std::string spread_bars(const FillSummary& summary, std::vector<double> FillRun::* values, std::string title,
                        std::string y) {
  report::BarChart chart;
  chart.title = std::move(title);
  chart.description = "Over the seeds, at the end of the run.";
  chart.group_title = "rule";
  chart.y = {.title = std::move(y), .unit = "% of capacity"};
  chart.series = {{"lowest", {}}, {"median", {}}, {"highest", {}}};
  for (const ShareRule rule : finished_rules(summary)) {
    const Spread s = spread_at(summary.result, rule, values, points(summary.result) - 1);
    chart.groups.push_back(cluster::share_rule_name(rule));
    chart.series[0].values.push_back(kPercent * s.low);
    chart.series[1].values.push_back(kPercent * s.median);
    chart.series[2].values.push_back(kPercent * s.high);
  }
  return report::draw(chart);
}

std::string unallocated(const FillSummary& summary) {
  const std::size_t n = points(summary.result);
  const std::size_t from = n > 76 ? 75 : 0;
  report::LineChart chart;
  chart.title = "GPUs not given out";
  chart.description =
      "Median over the seeds, where the cluster fills up. Ideal: every request fits while there is room.";
  chart.x = {.title = "GPUs asked for so far", .unit = "% of capacity"};
  chart.y = {.title = "not given out", .unit = "% of capacity"};
  for (const ShareRule rule : finished_rules(summary)) {
    report::Series line{.name = cluster::share_rule_name(rule)};
    for (std::size_t p = from; p < n; ++p) {
      line.x.push_back(static_cast<double>(p));
      line.y.push_back(kPercent * (1 - spread_at(summary.result, rule, &FillRun::allocation, p).median));
    }
    chart.series.push_back(std::move(line));
  }
  report::Series ideal{.name = "ideal"};
  for (std::size_t p = from; p < n; ++p) {
    ideal.x.push_back(static_cast<double>(p));
    ideal.y.push_back(std::max(0.0, kPercent - static_cast<double>(p)));
  }
  chart.series.push_back(std::move(ideal));
  return report::draw(chart);
}

}  // namespace

std::size_t points(const FillResult& result) { return result.runs.empty() ? 0 : result.runs.front().allocation.size(); }

std::vector<ShareRule> finished_rules(const FillSummary& summary) {
  std::vector<ShareRule> list;
  for (const ShareRule rule : summary.options->rules) {
    if (!runs_of(summary.result, rule).empty()) list.push_back(rule);
  }
  return list;
}

Spread spread_at(const FillResult& result, ShareRule rule, std::vector<double> FillRun::* values, std::size_t percent) {
  std::vector<double> sample;
  for (const FillRun* run : runs_of(result, rule)) {
    COMITY_CHECK(percent < (run->*values).size());
    sample.push_back((run->*values)[percent]);
  }
  constexpr double kOrders[] = {0, 0.5, 1};
  const auto q = math::quantiles(sample, kOrders);
  return {q[0], q[1], q[2]};
}

Table to_table(const FillSummary& summary) {
  using enum Table::Best;
  Table table({{"rule", false},
               {"allocated %", true, kHighest},
               {"lowest"},
               {"highest"},
               {"fragmentation %", true, kLowest},
               {"idle lost %"},
               {"refused"},
               {"CPU %"},
               {"placements/s"}});
  for (const ShareRule rule : finished_rules(summary)) {
    const FillResult& result = summary.result;
    const std::size_t last = points(result) - 1;
    const auto runs = runs_of(result, rule);
    const Spread a = spread_at(result, rule, &FillRun::allocation, last);
    const Spread f = spread_at(result, rule, &FillRun::fragmentation, last);
    const Spread l = spread_at(result, rule, &FillRun::idle_lost, last);
    std::vector<double> refused;
    std::vector<double> cpu;
    for (const FillRun* run : runs) {
      refused.push_back(static_cast<double>(run->refused));
      cpu.push_back(run->cpu_allocation);
    }
    table.add_row({{cluster::share_rule_name(rule)},
                   {format_double(kPercent * a.median, 2), a.median},
                   {format_double(kPercent * a.low, 2)},
                   {format_double(kPercent * a.high, 2)},
                   {format_double(kPercent * f.median, 2), f.median},
                   {format_double(kPercent * l.median, 1)},
                   {format_double(math::quantile(refused, 0.5), 0)},
                   {format_double(kPercent * math::quantile(cpu, 0.5), 1)},
                   {format_double(placements_per_s(runs), 0)}});
  }
  return table;
}

std::string to_json(const FillSummary& summary) {
  const FillOptions& o = *summary.options;
  JsonWriter json;
  json.begin_object().field("schema", "comity.placement/1").field("mode", "fill");
  json.key("pods").begin_object().field("path", summary.pods->path).field("pods", summary.pods->pods.size());
  json.field("gpus_asked", static_cast<double>(summary.pods->gpu_milli()) / cluster::kGpuMilli);
  json.field("load_s", summary.load_s).end_object();
  json.key("cluster").begin_object().field("path", summary.nodes->path).field("nodes", summary.nodes->nodes.size());
  json.field("gpus", summary.nodes->gpu_milli() / cluster::kGpuMilli).end_object();
  json.field("target", o.target).field("draw", o.draw == Draw::kInflate ? "inflate" : "replace");
  json.field("scores", o.scores == cluster::ShareScores::kExact ? "exact" : "whole");
  json.field("ties", o.ties == cluster::ShareTies::kRandom ? "random" : "index");
  json.key("mix").begin_object().field("classes", summary.result.classes);
  json.field("coverage", summary.result.mix_coverage).field("memory", o.mix.memory).end_object();
  json.field("wall_s", summary.wall_s);
  if (summary.result.partial) json.field("partial", true);
  json.key("rules").begin_array();
  for (const ShareRule rule : finished_rules(summary)) write_rule(json, summary, rule);
  return json.end_array().end_object().text() + "\n";
}

std::string curves_csv(const FillSummary& summary) {
  std::string out = "rule,seed,arrived_percent,allocation,fragmentation,idle_lost\n";
  for (const FillRun& run : summary.result.runs) {
    for (std::size_t p = 0; p < run.allocation.size(); ++p)
      out += fmt::format("{},{},{},{:.6f},{:.6f},{:.6f}\n", cluster::share_rule_name(run.rule), run.seed, p,
                         run.allocation[p], run.fragmentation[p], run.idle_lost[p]);
  }
  return out;
}

std::string fill_report(const FillSummary& summary, const std::string& command) {
  const FillOptions& o = *summary.options;
  report::Page page("Placement on " + summary.nodes->path,
                    fmt::format("{} nodes, {} GPUs; pods of {}, up to {:.0f} % of the GPUs asked for, {} seeds",
                                format_count(summary.nodes->nodes.size()),
                                format_count(static_cast<std::uint64_t>(summary.nodes->gpu_milli() / 1000)),
                                summary.pods->path, kPercent * o.target, o.seeds));
  page.section("Results");
  page.table(
      to_table(summary),
      "Medians over the seeds when all pods have arrived. Allocated: GPU given out, of capacity, with the lowest "
      "and the highest of the seeds. Fragmentation: free GPU that the expected task cannot use, of capacity; idle "
      "lost: the same, of the free GPU.");
  if (summary.result.partial) page.note("Interrupted: the numbers cover what had finished.");
  page.paragraph(fmt::format("The task mix has {} classes, which stand for {:.1f} % of the pods.",
                             summary.result.classes, kPercent * summary.result.mix_coverage));
  if (points(summary.result) > 0) {
    page.section("As the cluster fills");
    page.chart(unallocated(summary));
    page.chart(curve(summary, &FillRun::fragmentation, 0, "Fragmentation", "fragmentation",
                     "Free GPU that the expected task of the mix cannot use; median over the seeds."));
    page.section("Spread over the seeds");
    page.chart(spread_bars(summary, &FillRun::allocation, "GPUs given out", "given out"), true);
    page.chart(spread_bars(summary, &FillRun::fragmentation, "Fragmentation", "fragmentation"), true);
  }
  page.section("How to repeat it");
  page.code(command);
  page.data(to_json(summary));
  return page.html();
}

}  // namespace comity::twin
