// SPDX-License-Identifier: Apache-2.0
// The results of share_replay() as a table, JSON, CSV and pictures.
#include <string>

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "report/chart.h"
#include "report/html.h"
#include "twin/share_replay.h"

namespace comity::twin {
namespace {

constexpr double kPercent = 100;

std::string over_time(const ShareReplaySummary& summary, std::size_t channel, std::string title, std::string y,
                      std::string description) {
  report::LineChart chart;
  chart.title = std::move(title);
  chart.description = std::move(description);
  chart.x = {.title = "time since the first pod", .scale = report::Scale::kTime};
  chart.y = {.title = std::move(y)};
  for (const ShareReplayRun& run : summary.runs) {
    if (run.series.size() == 0) continue;
    report::Series line{.name = cluster::share_rule_name(run.rule),
                        .x = run.series.begins_seconds(),
                        .y = run.series.means(channel),
                        .step = true};
    const double origin = line.x.front();
    for (double& x : line.x) x -= origin;
    chart.series.push_back(std::move(line));
  }
  return report::draw(chart);
}

}  // namespace

Table to_table(const ShareReplaySummary& summary) {
  using enum Table::Best;
  Table table({{"rule", false},
               {"finished"},
               {"rejected"},
               {"waited", true, kLowest},
               {"mean wait s", true, kLowest},
               {"p99 wait s"},
               {"longest s"},
               {"allocated %"},
               {"fragmentation %", true, kLowest},
               {"nodes in use", true, kLowest},
               {"wall s"}});
  for (const ShareReplayRun& run : summary.runs)
    table.add_row({{cluster::share_rule_name(run.rule)},
                   {std::to_string(run.finished)},
                   {std::to_string(run.rejected)},
                   {std::to_string(run.waited), static_cast<double>(run.waited)},
                   {format_double(run.mean_wait_s, 2), run.mean_wait_s},
                   {format_double(run.p99_wait_s, 2)},
                   {format_double(run.max_wait_s, 0)},
                   {format_double(kPercent * run.allocation, 2)},
                   {format_double(kPercent * run.fragmentation, 2), run.fragmentation},
                   {format_double(run.nodes_in_use, 1), run.nodes_in_use},
                   {format_double(run.wall_s, 3)}});
  return table;
}

std::string to_json(const ShareReplaySummary& summary) {
  const ShareReplayOptions& o = *summary.options;
  JsonWriter json;
  json.begin_object().field("schema", "comity.placement/1").field("mode", "time");
  json.key("pods").begin_object().field("path", summary.pods->path).field("pods", summary.pods->pods.size());
  json.field("gpus_asked", static_cast<double>(summary.pods->gpu_milli()) / cluster::kGpuMilli);
  json.field("load_s", summary.load_s).end_object();
  json.key("cluster").begin_object().field("path", summary.nodes->path).field("nodes", summary.nodes->nodes.size());
  json.field("gpus", summary.nodes->gpu_milli() / cluster::kGpuMilli).end_object();
  json.field("scores", o.scores == cluster::ShareScores::kExact ? "exact" : "whole");
  json.field("ties", o.ties == cluster::ShareTies::kRandom ? "random" : "index");
  json.key("rules").begin_array();
  for (const ShareReplayRun& run : summary.runs) {
    json.begin_object().field("name", cluster::share_rule_name(run.rule)).field("pods", run.pods);
    json.field("finished", run.finished).field("rejected", run.rejected).field("waited", run.waited);
    json.field("mean_wait_s", run.mean_wait_s).field("p99_wait_s", run.p99_wait_s);
    json.field("max_wait_s", run.max_wait_s).field("makespan_s", run.makespan_s);
    json.field("allocation", run.allocation).field("fragmentation", run.fragmentation);
    json.field("nodes_in_use", run.nodes_in_use).field("wall_s", run.wall_s);
    json.field("fingerprint", hex64(run.fingerprint));
    if (run.partial) json.field("partial", true);
    json.end_object();
  }
  return json.end_array().end_object().text() + "\n";
}

std::string series_csv(const ShareReplaySummary& summary) {
  std::string out = "rule,begin_s";
  if (!summary.runs.empty()) {
    const sim::BinnedSeries& s = summary.runs.front().series;
    for (std::size_t c = 0; c < s.channels(); ++c) out += "," + s.name(c);
  }
  out += "\n";
  for (const ShareReplayRun& run : summary.runs) {
    for (std::size_t bin = 0; bin < run.series.size(); ++bin) {
      out += fmt::format("{},{}", cluster::share_rule_name(run.rule), to_seconds(run.series.bin_begin(bin)));
      for (std::size_t c = 0; c < run.series.channels(); ++c) out += fmt::format(",{:.6g}", run.series.mean(c, bin));
      out += "\n";
    }
  }
  return out;
}

std::string share_replay_report(const ShareReplaySummary& summary, const std::string& command) {
  report::Page page("Replay of " + summary.pods->path,
                    fmt::format("{}: {} nodes, {} GPUs", summary.nodes->path, format_count(summary.nodes->nodes.size()),
                                format_count(static_cast<std::uint64_t>(summary.nodes->gpu_milli() / 1000))));
  page.section("Results");
  page.table(to_table(summary),
             "Allocated, fragmentation and nodes in use are averages over time. Fragmentation: free GPU that the "
             "expected task cannot use, of capacity.");
  for (const ShareReplayRun& run : summary.runs) {
    if (run.partial) page.note(cluster::share_rule_name(run.rule) + ": interrupted; the numbers cover what had run.");
  }
  page.section("Over time");
  page.chart(over_time(summary, 0, "GPUs given out", "GPUs", "Means over equal intervals."));
  page.chart(over_time(summary, 1, "Fragmentation", "GPUs", "Free GPUs that the expected task of the mix cannot use."));
  page.chart(over_time(summary, 2, "Nodes in use", "nodes", "Nodes that run anything."), true);
  page.chart(over_time(summary, 3, "Pods waiting", "pods", "Means over equal intervals."), true);
  page.section("How to repeat it");
  page.code(command);
  page.data(to_json(summary));
  return page.html();
}

}  // namespace comity::twin
