// SPDX-License-Identifier: Apache-2.0
#include "workload/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace comity::workload {
namespace {

BarKind bar_kind(OpKind kind) {
  switch (kind) {
    case OpKind::kForward: return BarKind::kForward;
    case OpKind::kBackward: return BarKind::kBackward;
    case OpKind::kInput: return BarKind::kInput;
    case OpKind::kWeight: return BarKind::kWeight;
  }
  return BarKind::kForward;
}

// Which of its chunks a rank works on; DualPipe's second one is the stage that comes from the other end.
std::int64_t chunk_of(const PipelineShape& shape, const Op& op) {
  if (shape.schedule == Schedule::kDualPipe) return op.microbatch < shape.microbatches / 2 ? 0 : 1;
  return op.stage / shape.ranks;
}

std::string label_of(const PipelineShape& shape, const Op& op) {
  const bool several = shape.chunks > 1 || shape.schedule == Schedule::kDualPipe;
  std::string out = fmt::format("{} {}", op_name(op.kind), op.microbatch);
  if (several) out += fmt::format(".{}", chunk_of(shape, op));
  return out;
}

// The rank that `op` sends its result to, if to another one.
std::optional<std::int64_t> receiver(const PipelineShape& shape, const Op& op) {
  if (op.kind == OpKind::kWeight || shape.ranks == 1) return std::nullopt;
  const std::int64_t stage = op.stage + (op.kind == OpKind::kForward ? 1 : -1);
  if (stage < 0 || stage >= shape.stages()) return std::nullopt;
  return rank_of_stage(shape, stage, op.microbatch);
}

int stream_of(BarKind kind) {
  switch (kind) {
    case BarKind::kForward: return 0;
    case BarKind::kBackward:
    case BarKind::kInput: return 1;
    case BarKind::kWeight: return 2;
    case BarKind::kSend: return 3;
  }
  return 0;
}

// Writes events one after the other, handing on what has come together.
class Trace {
 public:
  explicit Trace(const std::function<void(std::string_view)>& write) : write_(write) {
    text_ = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  }
  void name(std::string_view what, std::int64_t pid, int tid, std::string_view name) {
    add(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":"{}"}}}})", what, pid, tid, name);
  }
  void bar(std::int64_t pid, const TimelineBar& bar) {
    add(R"({{"ph":"X","name":"{}","cat":"{}","pid":{},"tid":{},"ts":{},"dur":{}}})", bar.label, bar_name(bar.kind), pid,
        stream_of(bar.kind), bar.start_s * 1e6, (bar.end_s - bar.start_s) * 1e6);
  }
  void count(std::int64_t pid, double at_s, double held) {
    add(R"({{"ph":"C","name":"held","pid":{},"tid":0,"ts":{},"args":{{"micro-batches":{}}}}})", pid, at_s * 1e6, held);
  }
  void end() {
    text_ += "\n]}\n";
    write_(text_);
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    constexpr std::size_t kPiece = 1 << 15;
    text_ += std::exchange(first_, false) ? "\n" : ",\n";
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    if (text_.size() < kPiece) return;
    write_(text_);
    text_.clear();
  }

  const std::function<void(std::string_view)>& write_;
  std::string text_;
  bool first_ = true;
};

}  // namespace

std::string_view bar_name(BarKind kind) {
  switch (kind) {
    case BarKind::kForward: return "forward";
    case BarKind::kBackward: return "backward";
    case BarKind::kInput: return "input gradient";
    case BarKind::kWeight: return "weight gradient";
    case BarKind::kSend: return "send";
  }
  return "";
}

Timeline timeline(const PipelineShape& shape, const PipelineRun& run, double transfer_s) {
  Timeline out;
  out.title =
      fmt::format("{}, {} ranks, {} micro-batches", schedule_name(shape.schedule), shape.ranks, shape.microbatches);
  if (shape.chunks > 1) out.title += fmt::format(", {} chunks a rank", shape.chunks);
  out.end_s = run.makespan_s;
  for (std::size_t rank = 0; rank < run.ranks.size(); ++rank) {
    const RankRun& r = run.ranks[rank];
    TimelineRow row{.name = fmt::format("rank {}", rank), .bars = {}};
    for (std::size_t i = 0; i < r.order.size(); ++i) {
      row.bars.push_back(
          {label_of(shape, r.order[i]), bar_kind(r.order[i].kind), r.times[i].start_s, r.times[i].end_s});
      const auto to = receiver(shape, r.order[i]);
      if (transfer_s <= 0 || !to) continue;
      row.bars.push_back({fmt::format("{} to rank {}", row.bars.back().label, *to), BarKind::kSend, r.times[i].end_s,
                          r.times[i].end_s + transfer_s});
    }
    std::stable_sort(row.bars.begin(), row.bars.end(),
                     [](const TimelineBar& a, const TimelineBar& b) { return a.start_s < b.start_s; });
    out.rows.push_back(std::move(row));
  }
  return out;
}

void chrome_trace(const PipelineShape& shape, const PipelineRun& run, double transfer_s,
                  const std::function<void(std::string_view)>& write) {
  constexpr std::string_view kStreams[] = {"forward", "backward", "weight gradients", "sends"};
  const Timeline bars = timeline(shape, run, transfer_s);
  Trace trace(write);
  for (std::size_t i = 0; i < bars.rows.size(); ++i) {
    const auto pid = static_cast<std::int64_t>(i);
    trace.name("process_name", pid, 0, bars.rows[i].name);
    for (int tid = 0; tid < (transfer_s > 0 ? 4 : 3); ++tid) trace.name("thread_name", pid, tid, kStreams[tid]);
    for (const TimelineBar& bar : bars.rows[i].bars) trace.bar(pid, bar);
    for (const Held& held : held_over_time(run.ranks[i])) {
      trace.count(pid, held.at_s, static_cast<double>(held.chunks) / static_cast<double>(shape.chunks));
    }
  }
  trace.end();
}

}  // namespace comity::workload
