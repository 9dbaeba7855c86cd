// SPDX-License-Identifier: Apache-2.0
#include "twin/replay_report.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/text.h"
#include "math/quantile.h"
#include "report/chart.h"
#include "report/html.h"

namespace comity::twin {
namespace {

using report::Scale;
using report::Series;

std::vector<const RunResult*> detailed(const ReplaySummary& summary) {
  std::vector<const RunResult*> runs;
  for (const RunResult& run : summary.runs) {
    if (!run.detail.empty()) runs.push_back(&run);
  }
  return runs;
}

// One channel of every run over time.
std::string over_time(const ReplaySummary& summary, std::size_t channel, std::string title, std::string y,
                      std::string unit, std::string description) {
  report::LineChart chart;
  chart.title = std::move(title);
  chart.description = std::move(description);
  chart.x = {.title = "time since the first job", .unit = "", .scale = Scale::kTime};
  chart.y = {.title = std::move(y), .unit = std::move(unit)};
  for (const RunResult* run : detailed(summary)) {
    const sim::BinnedSeries& s = run->detail.front().series;
    if (s.size() == 0) continue;
    Series line{.name = run->policy, .x = s.begins_seconds(), .y = s.means(channel), .step = true};
    const double origin = line.x.front();
    for (double& x : line.x) x -= origin;
    chart.series.push_back(std::move(line));
  }
  return report::draw(chart);
}

double queue_s(const Workload& workload, std::size_t job, const JobOutcome& o) {
  return to_seconds(o.end - workload.row(job).submit - o.ran);
}

// `value(job, outcome)` of every finished job, as a distribution for each run.
template <class Value>
std::string distribution(const ReplaySummary& summary, std::string title, std::string x, std::string description,
                         double shift, Value value) {
  report::CdfChart chart;
  chart.title = std::move(title);
  chart.description = std::move(description);
  chart.x = {.title = std::move(x), .unit = "", .scale = Scale::kLogTime};
  for (const RunResult* run : detailed(summary)) {
    std::vector<double> values;
    const auto& jobs = run->detail.front().jobs;
    for (std::size_t job = 0; job < jobs.size(); ++job) {
      if (jobs[job].end >= 0) values.push_back(std::max(shift, value(job, jobs[job])));
    }
    if (values.empty()) continue;
    math::Ecdf ecdf = math::ecdf(values);
    chart.series.push_back({.name = run->policy, .x = std::move(ecdf.x), .y = std::move(ecdf.f), .step = true});
  }
  return report::draw(chart);
}

const std::vector<std::pair<std::string, std::uint64_t>>& size_classes() {
  static const std::vector<std::pair<std::string, std::uint64_t>> classes = {
      {"1", 1}, {"2", 2}, {"3-4", 4}, {"5-8", 8}, {"9-16", 16}, {"17-32", 32}, {"over 32", ~std::uint64_t{0}}};
  return classes;
}
std::size_t size_class(std::uint64_t gpus) {
  std::size_t c = 0;
  while (gpus > size_classes()[c].second) ++c;
  return c;
}

// The mean of `value` over the finished jobs of each group, a bar for each run. Groups without a job are left out.
template <class Group, class Value>
std::string grouped(const ReplaySummary& summary, std::string title, std::string group_title, std::string y_title,
                    std::string unit, const std::vector<std::string>& names, Group group, Value value) {
  report::BarChart chart;
  chart.title = std::move(title);
  chart.group_title = std::move(group_title);
  chart.y = {.title = std::move(y_title), .unit = std::move(unit)};
  std::vector<bool> used(names.size(), false);
  std::vector<report::BarSeries> all;
  for (const RunResult* run : detailed(summary)) {
    std::vector<double> sum(names.size(), 0);
    std::vector<double> count(names.size(), 0);
    const auto& jobs = run->detail.front().jobs;
    for (std::size_t job = 0; job < jobs.size(); ++job) {
      const std::size_t g = jobs[job].end < 0 ? names.size() : group(job);
      if (g >= names.size()) continue;
      sum[g] += value(job, jobs[job]);
      count[g] += 1;
      used[g] = true;
    }
    report::BarSeries bars{run->policy, {}};
    for (std::size_t g = 0; g < names.size(); ++g)
      bars.values.push_back(count[g] > 0 ? sum[g] / count[g] : report::kAuto);
    all.push_back(std::move(bars));
  }
  for (report::BarSeries& bars : all) {
    std::vector<double> kept;
    for (std::size_t g = 0; g < names.size(); ++g) {
      if (used[g]) kept.push_back(bars.values[g]);
    }
    bars.values = std::move(kept);
  }
  for (std::size_t g = 0; g < names.size(); ++g) {
    if (used[g]) chart.groups.push_back(names[g]);
  }
  chart.series = std::move(all);
  return report::draw(chart);
}

std::string waiting_by_size(const ReplaySummary& summary, const Workload& workload) {
  std::vector<std::string> names;
  for (const auto& [name, most] : size_classes()) names.push_back(name);
  return grouped(
      summary, "Mean time in the queue by job size", "GPUs of the job", "mean queue", "h", names,
      [&](std::size_t job) { return size_class(workload.row(job).request.shape.total()); },
      [&](std::size_t job, const JobOutcome& o) { return queue_s(workload, job, o) / 3600; });
}

std::string slowdown_by_size(const ReplaySummary& summary, const Workload& workload) {
  std::vector<std::string> names;
  for (const auto& [name, most] : size_classes()) names.push_back(name);
  return grouped(
      summary, "Bounded slow-down by job size", "GPUs of the job", "mean of JCT / max(run time, 60 s)", "", names,
      [&](std::size_t job) { return size_class(workload.row(job).request.shape.total()); },
      [&](std::size_t job, const JobOutcome& o) {
        const double jct = to_seconds(o.end - workload.row(job).submit);
        return std::max(1.0, jct / std::max(60.0, to_seconds(o.ran)));
      });
}

// The ten tenants (or users, where the trace has no tenants) with most GPU time.
std::string waiting_by_tenant(const ReplaySummary& summary, const Workload& workload) {
  const bool tenants = std::any_of(workload.trace().rows.begin(), workload.trace().rows.end(),
                                   [](const trace::Row& r) { return r.request.tenant != profile::kNoName; });
  const auto who = [&](std::size_t job) {
    const profile::JobRequest& r = workload.row(job).request;
    return tenants ? r.tenant : r.user;
  };
  std::map<std::uint32_t, double> gpu_time;
  for (std::size_t job = 0; job < workload.size(); ++job) {
    if (who(job) == profile::kNoName) continue;
    gpu_time[who(job)] +=
        to_seconds(workload.row(job).duration) * static_cast<double>(workload.row(job).request.shape.total());
  }
  std::vector<std::pair<double, std::uint32_t>> order;
  for (const auto& [name, time] : gpu_time) order.emplace_back(-time, name);
  std::sort(order.begin(), order.end());
  if (order.size() > 10) order.resize(10);
  if (order.empty()) return {};
  std::vector<std::string> names;
  std::map<std::uint32_t, std::size_t> index;
  for (const auto& [time, name] : order) {
    index[name] = names.size();
    names.push_back(workload.trace().names[name]);
  }
  const std::string kind = tenants ? "tenant" : "user";
  return grouped(
      summary, fmt::format("Mean time in the queue by {}", kind), fmt::format("{}s with most GPU time", kind),
      "mean queue", "h", names,
      [&](std::size_t job) {
        const auto it = index.find(who(job));
        return it == index.end() ? names.size() : it->second;
      },
      [&](std::size_t job, const JobOutcome& o) { return queue_s(workload, job, o) / 3600; });
}

constexpr std::size_t kGanttBars = 1200;
constexpr std::size_t kGanttRows = 64;

// When most GPUs were waited for: the busiest moment, where the picture is worth looking at.
Time busiest(const Detail& detail) {
  std::size_t best = 0;
  for (std::size_t bin = 1; bin < detail.series.size(); ++bin) {
    if (detail.series.mean(1, bin) > detail.series.mean(1, best)) best = bin;
  }
  return detail.series.size() == 0 ? 0 : detail.series.bin_begin(best);
}

std::string gantt(const RunResult& run, const Workload& workload, const cluster::ClusterSpec& spec) {
  const Detail& detail = run.detail.front();
  const Time origin = detail.series.size() == 0 ? 0 : detail.series.bin_begin(0);
  const Time from = busiest(detail);
  std::vector<const Stretch*> shown;
  for (const Stretch& s : detail.stretches) {
    if (s.node < kGanttRows && s.end >= from) shown.push_back(&s);
  }
  std::stable_sort(shown.begin(), shown.end(), [](const Stretch* a, const Stretch* b) { return a->start < b->start; });
  if (shown.size() > kGanttBars) shown.resize(kGanttBars);
  if (shown.empty()) return {};
  const Time until = std::max(shown.back()->start, from + 1);
  report::GanttChart chart;
  chart.title = fmt::format("{}: who held which node", run.policy);
  chart.description =
      fmt::format("From the moment when most GPUs were waited for. At most {} stretches on the first {} nodes.",
                  kGanttBars, kGanttRows);
  chart.x = {.title = "time since the first job", .unit = "", .scale = Scale::kTime};
  chart.row_title = "node";
  for (std::size_t n = 0; n < std::min(kGanttRows, spec.nodes.size()); ++n) chart.rows.push_back(spec.nodes[n].name);
  for (const Stretch* s : shown) {
    const std::uint64_t gpus = workload.row(s->job).request.shape.total();
    chart.bars.push_back(
        {.row = s->node,
         .begin = to_seconds(std::max(s->start, from) - origin),
         .end = to_seconds(std::min(s->end, until) - origin),
         .key = size_classes()[size_class(gpus)].first + " GPUs",
         .label = fmt::format("job {}: {} of its {} GPUs here", workload.id_text(s->job), s->gpus, gpus)});
  }
  return report::draw(chart);
}

void headline(report::Page& page, const ReplaySummary& summary) {
  const RunResult* best = nullptr;
  for (const RunResult& run : summary.runs) {
    if (run.partial || run.finished + run.stopped == 0) continue;
    if (best == nullptr || run.avg_jct_s < best->avg_jct_s) best = &run;
  }
  std::vector<std::pair<std::string, std::string>> tiles = {
      {"jobs", format_count(summary.trace->rows.size())},
      {"GPU hours", format_count(static_cast<std::uint64_t>(summary.trace->gpu_hours() + 0.5))},
      {"GPUs", format_count(summary.gpus)}};
  if (best != nullptr) {
    tiles.emplace_back("least mean JCT",
                       fmt::format("{}: {}", best->policy, format_length(from_seconds(best->avg_jct_s))));
  }
  page.figures(tiles);
}

void notes(report::Page& page, const ReplaySummary& summary) {
  for (const std::string& note : summary.notes) page.note(note + ".");
  if (summary.trace->skipped_lines > 0)
    page.note(fmt::format("{} lines of the trace could not be used and were skipped.", summary.trace->skipped_lines));
  for (const RunResult& run : summary.runs) {
    for (const Rejection& r : run.rejections)
      page.note(fmt::format("{}: {} jobs rejected: {}.", run.policy, r.jobs, r.reason));
    if (run.partial) page.note(fmt::format("{}: interrupted; the numbers cover what had finished.", run.policy));
  }
}

}  // namespace

std::string replay_report(const ReplaySummary& summary, const Workload& workload, const cluster::ClusterSpec& spec,
                          const std::string& command) {
  report::Page page("Replay of " + summary.trace->path,
                    fmt::format("{} nodes, {} GPUs, placement {}", summary.nodes, summary.gpus, summary.placement));
  page.section("Results");
  headline(page, summary);
  page.table(to_table(summary), "The best of each column is marked. JCT = end - submit; queue = JCT - run time.");
  notes(page, summary);
  page.section("Over time");
  page.chart(over_time(summary, 0, "GPUs in use", "GPUs", "", "Means over equal intervals."));
  page.chart(over_time(summary, 2, "Jobs waiting", "jobs", "", "Means over equal intervals."));
  page.section("Distributions");
  page.chart(
      distribution(summary, "Job completion time", "JCT", "", 1e-3,
                   [&](std::size_t job, const JobOutcome& o) { return to_seconds(o.end - workload.row(job).submit); }),
      true);
  page.chart(distribution(summary, "Time in the queue", "queue", "Waits under a second are drawn at one second.", 1,
                          [&](std::size_t job, const JobOutcome& o) { return queue_s(workload, job, o); }),
             true);
  page.section("Who waits");
  page.chart(waiting_by_size(summary, workload));
  page.chart(slowdown_by_size(summary, workload));
  const std::string tenants = waiting_by_tenant(summary, workload);
  if (!tenants.empty()) page.chart(tenants);
  std::string charts;
  for (const RunResult* run : detailed(summary)) {
    const std::string chart = gantt(*run, workload, spec);
    if (chart.empty()) continue;
    if (charts.empty()) page.section("Nodes");
    charts = chart;
    page.chart(chart);
  }
  page.section("How to repeat it");
  page.code(command);
  page.data(to_json(summary));
  return page.html();
}

}  // namespace comity::twin
