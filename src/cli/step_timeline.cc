// SPDX-License-Identifier: Apache-2.0
#include "cli/step_timeline.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/chart.h"
#include "workload/estimate.h"
#include "workload/pipeline.h"
#include "workload/timeline.h"

namespace comity::cli {
namespace {

using workload::BarKind;
using workload::Timeline;

constexpr std::size_t kColumns = 96;
constexpr std::size_t kRows = 16;
constexpr std::int64_t kMicrobatches = 64;
constexpr std::size_t kBars = 4000;

char letter(BarKind kind) {
  switch (kind) {
    case BarKind::kForward: return 'F';
    case BarKind::kBackward: return 'B';
    case BarKind::kInput: return 'I';
    case BarKind::kWeight: return 'W';
    case BarKind::kSend: return ' ';
  }
  return ' ';
}

// What a rank does in the middle of each column; '.': it waits.
std::string line_of(const workload::TimelineRow& row, double end_s) {
  std::string out(kColumns, '.');
  for (const workload::TimelineBar& bar : row.bars) {
    if (bar.kind == BarKind::kSend) continue;
    for (std::size_t i = 0; i < kColumns; ++i) {
      const double at = (static_cast<double>(i) + 0.5) / static_cast<double>(kColumns) * end_s;
      if (bar.start_s <= at && at < bar.end_s) out[i] = letter(bar.kind);
    }
  }
  return out;
}

std::string text_of(const Timeline& t) {
  std::string out =
      fmt::format("{}; F forward, B backward (I inputs, W weights), . waits; {:.4g} s wide\n", t.title, t.end_s);
  const std::size_t step = (t.rows.size() + kRows - 1) / kRows;
  for (std::size_t i = 0; i < t.rows.size(); i += step)
    out += fmt::format("{:>9} {}\n", t.rows[i].name, line_of(t.rows[i], t.end_s));
  return out;
}

std::string chart_of(const Timeline& t) {
  report::GanttChart chart;
  chart.title = "Pipeline";
  chart.description = t.title + ": who computes what when.";
  chart.x = {.title = "time in the step", .unit = ""};
  chart.row_title = "rank";
  for (std::size_t row = 0; row < t.rows.size(); ++row) {
    chart.rows.push_back(t.rows[row].name);
    for (const workload::TimelineBar& bar : t.rows[row].bars) {
      if (bar.kind == BarKind::kSend || chart.bars.size() >= kBars) continue;
      chart.bars.push_back({row, bar.start_s, bar.end_s, std::string(workload::bar_name(bar.kind)), bar.label});
    }
  }
  return report::draw(chart);
}

// Activations that a rank holds, from micro-batches in flight: of the first and the last rank.
std::string memory_chart(const StepInputs& in, const workload::PipelineRun& run) {
  const auto stages = workload::memory_by_stage(in.model, in.execution, in.system, in.cost);
  report::LineChart chart;
  chart.title = "Memory over time";
  chart.description = "Weights, gradients, optimizer and the activations of the micro-batches in flight.";
  chart.x = {.title = "time in the step", .unit = "", .scale = report::Scale::kTime};
  chart.y = {.title = "memory of a GPU", .unit = "GiB"};
  for (std::size_t rank = 0; rank < run.ranks.size(); rank += std::max<std::size_t>(1, run.ranks.size() - 1)) {
    const workload::StageMemory& m = stages[rank];
    const double peak = static_cast<double>(std::max<std::int64_t>(1, run.ranks[rank].peak_chunks));
    report::Series series{.name = fmt::format("rank {}", rank), .x = {}, .y = {}, .step = true};
    for (const workload::Held& held : workload::held_over_time(run.ranks[rank])) {
      series.x.push_back(held.at_s);
      series.y.push_back((m.total() - m.activations + m.activations * static_cast<double>(held.chunks) / peak) /
                         1073741824.0);
    }
    chart.series.push_back(std::move(series));
  }
  return report::draw(chart);
}

}  // namespace

Result<StepTimeline> step_timeline(const StepInputs& in) {
  StepTimeline out;
  workload::Execution e = in.execution;
  // As many groups of pp micro-batches as show how the schedule goes on.
  const std::int64_t shown = std::max(2 * e.pp, kMicrobatches / e.pp * e.pp);
  if (e.microbatches() > shown) e.batch = shown * e.microbatch * e.dp;
  const workload::PipelineShape shape = workload::pipeline_shape(e);
  if (auto status = workload::check_pipeline(shape); !status) return fail(status.error());
  workload::PipelineTimes times;
  for (const workload::ChunkTimes& c : workload::chunk_times(in.model, e, in.system, in.cost))
    times.stages.push_back({c.forward, c.backward, c.backward_weight});
  times.transfer_s = workload::stage_transfer_s(in.model, e, in.system, in.cost);
  times.transfer_exposed = in.system.pp_exposed;
  auto run = workload::simulate(shape, times);
  if (!run) return fail(run.error());
  const Timeline t = workload::timeline(shape, *run, times.transfer_s);
  out.text = text_of(t);
  out.chart = chart_of(t) + memory_chart(in, *run);
  workload::chrome_trace(shape, *run, times.transfer_s, [&](std::string_view piece) { out.trace += piece; });
  return out;
}

}  // namespace comity::cli
