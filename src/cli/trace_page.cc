// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/trace_report.h"
#include "report/chart.h"
#include "report/html.h"

namespace comity::cli {
namespace {

constexpr std::size_t kMostBars = 12;

std::string arrivals(const trace::TraceStats& t) {
  report::HeatMap map;
  map.title = "Arrivals by hour of the week";
  map.description = "Jobs submitted in each hour of the week; days count from the origin of the trace.";
  map.row_title = "day";
  map.column_title = "hour";
  map.value_title = "jobs";
  for (int day = 1; day <= 7; ++day) map.rows.push_back(fmt::format("day {}", day));
  for (int hour = 0; hour < 24; ++hour) map.columns.push_back(std::to_string(hour));
  for (const std::uint64_t count : t.arrivals_by_hour_of_week) map.values.push_back(static_cast<double>(count));
  return report::draw(map);
}

// Sizes in powers of two, so that any trace gives a dozen bars.
std::string sizes(const trace::TraceStats& t) {
  report::BarChart chart;
  chart.title = "Sizes of jobs";
  chart.description = "Share of the jobs and of the GPU hours by the GPUs of a job.";
  chart.group_title = "GPUs of a job";
  chart.y = {.title = "share", .unit = "%"};
  chart.series = {{.name = "jobs"}, {.name = "GPU hours"}};
  for (std::uint64_t low = 0, high = 1; low < t.max_gpus; low = high, high *= 2) {
    double jobs = 0;
    double hours = 0;
    for (const trace::SizeUse& use : t.sizes) {
      if (use.gpus <= low || use.gpus > high) continue;
      jobs += static_cast<double>(use.jobs);
      hours += use.gpu_hours;
    }
    chart.groups.push_back(low + 1 >= high ? std::to_string(high) : fmt::format("{}-{}", low + 1, high));
    chart.series[0].values.push_back(100 * jobs / static_cast<double>(t.jobs));
    chart.series[1].values.push_back(t.gpu_hours > 0 ? 100 * hours / t.gpu_hours : 0);
  }
  return report::draw(chart);
}

std::string durations(const trace::TraceStats& t) {
  report::HistogramChart chart;
  chart.title = "Run times";
  chart.description =
      fmt::format("Jobs by run time; {} jobs ran less than a second.", format_count(t.duration_histogram.below));
  chart.x = {.title = "run time", .scale = report::Scale::kLogTime};
  chart.y = {.title = "jobs"};
  chart.edges = t.duration_histogram.edges;
  for (const std::uint64_t count : t.duration_histogram.counts) chart.counts.push_back(static_cast<double>(count));
  return report::draw(chart);
}

std::string duration_cdf(const trace::TraceStats& t) {
  report::CdfChart chart;
  chart.title = "Run times, cumulative";
  chart.description = "Share of the jobs that ran no longer than this.";
  chart.x = {.title = "run time", .scale = report::Scale::kLogTime};
  chart.series.push_back({.name = "jobs", .x = t.duration_ecdf.x, .y = t.duration_ecdf.f});
  return report::draw(chart);
}

std::string tenants(const std::vector<trace::NameUse>& uses, const char* what) {
  report::BarChart chart;
  chart.title = fmt::format("GPU hours by {}", what);
  chart.group_title = what;
  chart.y = {.title = "GPU hours"};
  chart.series = {{.name = "GPU hours"}};
  for (std::size_t i = 0; i < std::min(kMostBars, uses.size()); ++i) {
    chart.groups.push_back(uses[i].name.empty() ? "(none)" : uses[i].name);
    chart.series[0].values.push_back(uses[i].gpu_hours);
  }
  return report::draw(chart);
}

void add_section(report::Page& page, const TraceSummary& s) {
  const trace::TraceStats& t = s.stats;
  page.section(s.path);
  page.figures({{"jobs", format_count(t.jobs)},
                {"GPU hours", format_count(static_cast<std::uint64_t>(t.gpu_hours + 0.5))},
                {"submitted over", format_length(from_seconds(t.span_s))},
                {"GPUs asked for on average", format_double(t.mean_gpus_demanded, 1)},
                {"median run time", format_length(from_seconds(t.duration_s.median))},
                {"GPUs of the largest job", format_count(t.max_gpus)}});
  page.paragraph(fmt::format("Read as {}.", s.format));
  if (s.skipped_lines > 0)
    page.note(fmt::format("{} lines could not be used and were skipped.", format_count(s.skipped_lines)));
  page.chart(arrivals(t));
  page.chart(durations(t), true);
  page.chart(duration_cdf(t), true);
  page.chart(sizes(t));
  if (!t.tenants.empty()) page.chart(tenants(t.tenants, "tenant"));
  if (!t.users.empty()) page.chart(tenants(t.users, "user"));
}

}  // namespace

std::string trace_page(std::span<const TraceSummary> summaries, const std::string& command) {
  report::Page page("Job trace",
                    summaries.size() == 1 ? summaries[0].path : fmt::format("{} traces", summaries.size()));
  std::string data = summaries.size() == 1 ? trace_json(summaries[0]) : "[";
  for (const TraceSummary& s : summaries) {
    add_section(page, s);
    if (summaries.size() > 1) data.append(data.size() > 1 ? "," : "").append(trace_json(s));
  }
  if (summaries.size() > 1) data += "]";
  page.section("How this was made");
  page.code(command);
  page.data(data);
  return page.html();
}

}  // namespace comity::cli
