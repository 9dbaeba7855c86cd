// SPDX-License-Identifier: Apache-2.0
// Earliest starts: each rank goes on until it waits for another one, which wakes it when it is there.
#include "workload/pipeline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <utility>

namespace comity::workload {
namespace {

Error wrong(std::string field, std::string message) {
  return Error{.code = Code::kInput,
               .message = std::move(message),
               .file = {},
               .line = 0,
               .field = std::move(field),
               .hint = {},
               .cause = {}};
}

std::string text(const Op& op) {
  return std::string(op_name(op.kind)) + " of stage " + std::to_string(op.stage) + ", micro-batch " +
         std::to_string(op.microbatch);
}

bool usable(const StageTimes& t) {
  return std::isfinite(t.forward_s) && std::isfinite(t.backward_s) && t.forward_s >= 0 && t.weight_s >= 0 &&
         t.weight_s <= t.backward_s;
}

Status check_times(const PipelineShape& shape, const PipelineTimes& times) {
  if (times.stages.size() != 1 && static_cast<std::int64_t>(times.stages.size()) != shape.stages()) {
    return fail(wrong("stages", "times of " + std::to_string(times.stages.size()) + " stages, there are " +
                                    std::to_string(shape.stages())));
  }
  if (!std::all_of(times.stages.begin(), times.stages.end(), usable) || !usable(times.first_extra) ||
      !usable(times.last_extra)) {
    return fail(wrong("stages", "times are finite and not negative, the weight part at most the whole backward pass"));
  }
  if (!(times.transfer_s >= 0 && std::isfinite(times.transfer_s) && times.transfer_exposed >= 0 &&
        times.transfer_exposed <= 1 && times.pair_factor > 0 && times.pair_factor <= 1)) {
    return fail(wrong("transfer_s", "a transfer takes 0 s or more, shares are between 0 and 1"));
  }
  return {};
}

enum Seen : std::uint8_t { kSeenForward = 1, kSeenInput = 2, kSeenWeight = 4 };

std::uint8_t flags(OpKind kind) {
  switch (kind) {
    case OpKind::kForward: return kSeenForward;
    case OpKind::kBackward: return kSeenInput | kSeenWeight;
    case OpKind::kInput: return kSeenInput;
    case OpKind::kWeight: return kSeenWeight;
  }
  return 0;
}

Status check_op(const PipelineShape& shape, const Op& op, std::int64_t rank, std::vector<std::uint8_t>& seen) {
  if (op.stage < 0 || op.stage >= shape.stages() || op.microbatch < 0 || op.microbatch >= shape.microbatches) {
    return fail(wrong("order", text(op) + " does not exist"));
  }
  if (rank_of_stage(shape, op.stage, op.microbatch) != rank) {
    return fail(wrong("order", text(op) + " does not belong on rank " + std::to_string(rank)));
  }
  std::uint8_t& done = seen[op.stage * shape.microbatches + op.microbatch];
  if ((done & flags(op.kind)) != 0) return fail(wrong("order", text(op) + " is done twice"));
  done |= flags(op.kind);
  return {};
}

Status check_orders(const PipelineShape& shape, const std::vector<std::vector<Op>>& orders) {
  if (static_cast<std::int64_t>(orders.size()) != shape.ranks) {
    return fail(wrong(
        "order", "orders of " + std::to_string(orders.size()) + " ranks, there are " + std::to_string(shape.ranks)));
  }
  std::vector<std::uint8_t> seen(shape.stages() * shape.microbatches);
  for (std::size_t rank = 0; rank < orders.size(); ++rank) {
    for (std::size_t i = 0; i < orders[rank].size(); ++i) {
      const Op& op = orders[rank][i];
      if (Status ok = check_op(shape, op, static_cast<std::int64_t>(rank), seen); !ok) return ok;
      if (op.overlapped && (i + 1 == orders[rank].size() || orders[rank][i + 1].overlapped)) {
        return fail(wrong("order", text(op) + " has no partner to overlap with"));
      }
    }
  }
  const auto missing = std::find_if(seen.begin(), seen.end(), [](std::uint8_t done) { return done != 7; });
  if (missing == seen.end()) return {};
  const std::int64_t at = missing - seen.begin();
  const OpKind kind = (*missing & kSeenForward) == 0 ? OpKind::kForward
                      : (*missing & kSeenInput) == 0 ? OpKind::kBackward
                                                     : OpKind::kWeight;
  return fail(wrong("order", text(Op{.kind = kind,
                                     .overlapped = false,
                                     .stage = static_cast<std::int32_t>(at / shape.microbatches),
                                     .microbatch = static_cast<std::int32_t>(at % shape.microbatches)}) +
                                 " is missing"));
}

class Simulator {
 public:
  Simulator(const PipelineShape& shape, const PipelineTimes& times)
      : shape_(shape),
        transfer_(times.transfer_s),
        send_(times.transfer_s * times.transfer_exposed),
        factor_(times.pair_factor) {
    stages_.resize(shape.stages(), times.stages.front());
    if (times.stages.size() > 1) stages_ = times.stages;
    add(stages_.front(), times.first_extra);
    add(stages_.back(), times.last_extra);
    backward_ = shape.stages() * shape.microbatches;
    end_.assign(2 * backward_, kNotYet);
  }

  Result<PipelineRun> run(std::vector<std::vector<Op>> orders) {
    ranks_.resize(orders.size());
    std::vector<std::int64_t> awake;
    for (std::size_t i = 0; i < orders.size(); ++i) {
      ranks_[i].run.times.reserve(orders[i].size());
      ranks_[i].run.order = std::move(orders[i]);
      awake.push_back(static_cast<std::int64_t>(orders.size() - 1 - i));
    }
    while (!awake.empty()) {
      const std::int64_t rank = awake.back();
      awake.pop_back();
      advance(rank, awake);
    }
    for (const Rank& rank : ranks_) {
      if (rank.next < rank.run.order.size()) return fail(deadlock());
    }
    return finish();
  }

 private:
  static constexpr double kNotYet = -1;
  static constexpr std::int64_t kNothing = -1;

  struct Rank {
    RankRun run;
    std::size_t next = 0;
    double free_s = 0;
    std::int64_t waits_for = kNothing;  // index into end_
    std::int64_t held = 0;
  };

  static void add(StageTimes& to, const StageTimes& extra) {
    to.forward_s += extra.forward_s;
    to.backward_s += extra.backward_s;
    to.weight_s += extra.weight_s;
  }

  [[nodiscard]] std::int64_t index(const Op& op) const { return op.stage * shape_.microbatches + op.microbatch; }

  // What has to be over before `op` starts (indices into end_), and whether it comes from another rank.
  struct Need {
    std::int64_t index = kNothing;
    bool travels = false;
  };
  [[nodiscard]] std::array<Need, 2> needs(const Op& op) const {
    const std::int64_t own = index(op);
    const bool travels = shape_.ranks > 1;
    switch (op.kind) {
      case OpKind::kForward:
        if (op.stage == 0) return {};
        return {Need{own - shape_.microbatches, travels}, Need{}};
      case OpKind::kBackward:
      case OpKind::kInput:
        if (op.stage + 1 == shape_.stages()) return {Need{own, false}, Need{}};
        return {Need{own, false}, Need{backward_ + own + shape_.microbatches, travels}};
      case OpKind::kWeight: return {Need{backward_ + own, false}, Need{}};
    }
    return {};
  }

  // Raises `start` to when what `op` needs is there, or says what is missing.
  [[nodiscard]] std::int64_t wait(const Op& op, double& start) const {
    for (const Need& need : needs(op)) {
      if (need.index == kNothing) continue;
      if (end_[need.index] == kNotYet) return need.index;
      start = std::max(start, end_[need.index] + (need.travels ? transfer_ : 0));
    }
    return kNothing;
  }

  [[nodiscard]] double duration(const Op& op) const {
    const StageTimes& t = stages_[op.stage];
    switch (op.kind) {
      case OpKind::kForward: return t.forward_s;
      case OpKind::kBackward: return t.backward_s;
      case OpKind::kInput: return t.backward_s - t.weight_s;
      case OpKind::kWeight: return t.weight_s;
    }
    return 0;
  }

  [[nodiscard]] bool sends(const Op& op) const {
    if (shape_.ranks == 1 || op.kind == OpKind::kWeight) return false;
    return op.kind == OpKind::kForward ? op.stage + 1 < shape_.stages() : op.stage > 0;
  }

  void advance(std::int64_t rank, std::vector<std::int64_t>& awake) {
    Rank& r = ranks_[rank];
    const std::vector<Op>& order = r.run.order;
    while (r.next < order.size()) {
      const std::size_t count = order[r.next].overlapped ? 2 : 1;
      const std::span<const Op> ops(&order[r.next], count);
      double start = r.free_s;
      for (const Op& op : ops) {
        r.waits_for = wait(op, start);
        if (r.waits_for != kNothing) return;
      }
      double length = duration(ops[0]);
      if (count == 2) {
        const double other = duration(ops[1]);
        length = std::max({length, other, factor_ * (length + other)});
      }
      const double end = start + length;
      r.run.busy_s += length;
      r.next += count;
      r.free_s = end;
      for (const Op& op : ops) {
        if (op.kind == OpKind::kForward) r.run.peak_chunks = std::max(r.run.peak_chunks, ++r.held);
      }
      for (const Op& op : ops) complete(op, r, OpTime{start, end}, awake);
    }
  }

  void complete(const Op& op, Rank& r, const OpTime& time, std::vector<std::int64_t>& awake) {
    r.run.times.push_back(time);
    if (sends(op)) r.free_s += send_;
    if (op.kind == OpKind::kBackward || op.kind == OpKind::kWeight) --r.held;
    if (op.kind == OpKind::kWeight) return;
    const bool forward = op.kind == OpKind::kForward;
    const std::int64_t done = forward ? index(op) : backward_ + index(op);
    end_[done] = time.end_s;
    const std::int64_t stage = op.stage + (forward ? 1 : -1);
    if (stage < 0 || stage >= shape_.stages()) return;
    const std::int64_t other = rank_of_stage(shape_, stage, op.microbatch);
    if (ranks_[other].waits_for == done) {
      ranks_[other].waits_for = kNothing;
      awake.push_back(other);
    }
  }

  [[nodiscard]] Error deadlock() const {
    std::string who;
    int named = 0;
    for (std::size_t i = 0; i < ranks_.size() && named < 3; ++i) {
      if (ranks_[i].next >= ranks_[i].run.order.size()) continue;
      const std::int64_t need = ranks_[i].waits_for;
      const std::int64_t at = need % backward_;
      const Op missing{.kind = need < backward_ ? OpKind::kForward : OpKind::kBackward,
                       .overlapped = false,
                       .stage = static_cast<std::int32_t>(at / shape_.microbatches),
                       .microbatch = static_cast<std::int32_t>(at % shape_.microbatches)};
      who += (named++ > 0 ? "; rank " : "rank ") + std::to_string(i) + " cannot start " +
             text(ranks_[i].run.order[ranks_[i].next]) + " before " + text(missing);
    }
    return wrong("order", "ranks wait for each other: " + who);
  }

  PipelineRun finish() {
    PipelineRun out;
    double busiest = 0;
    for (const Rank& rank : ranks_) {
      if (rank.run.times.empty()) continue;
      out.makespan_s = std::max(out.makespan_s, rank.run.times.back().end_s);
      out.period_s = std::max(out.period_s, rank.run.times.back().end_s - rank.run.times.front().start_s);
      busiest = std::max(busiest, rank.run.busy_s);
    }
    out.bubble_s = out.makespan_s - busiest;
    out.ranks.reserve(ranks_.size());
    for (Rank& rank : ranks_) {
      rank.run.idle_s = out.makespan_s - rank.run.busy_s;
      out.ranks.push_back(std::move(rank.run));
    }
    return out;
  }

  PipelineShape shape_;
  std::vector<StageTimes> stages_;
  double transfer_;
  double send_;
  double factor_;
  std::int64_t backward_ = 0;  // where the ends of backward passes begin in end_
  std::vector<double> end_;    // of F and of B or B - W, by stage and micro-batch
  std::vector<Rank> ranks_;
};

}  // namespace

Result<PipelineRun> simulate(const PipelineShape& shape, const PipelineTimes& times) {
  if (Status ok = check_pipeline(shape); !ok) return fail(ok.error());
  if (Status ok = check_times(shape, times); !ok) return fail(ok.error());
  std::vector<std::vector<Op>> orders;
  orders.reserve(shape.ranks);
  for (std::int64_t rank = 0; rank < shape.ranks; ++rank) orders.push_back(rank_order(shape, rank));
  return Simulator(shape, times).run(std::move(orders));
}

Result<PipelineRun> simulate_orders(const PipelineShape& shape, std::vector<std::vector<Op>> orders,
                                    const PipelineTimes& times) {
  if (Status ok = check_pipeline(shape); !ok) return fail(ok.error());
  if (Status ok = check_times(shape, times); !ok) return fail(ok.error());
  if (Status ok = check_orders(shape, orders); !ok) return fail(ok.error());
  return Simulator(shape, times).run(std::move(orders));
}

std::vector<Held> held_over_time(const RankRun& rank) {
  std::vector<Held> out{Held{}};
  for (std::size_t i = 0; i < rank.order.size(); ++i) {
    const OpKind kind = rank.order[i].kind;
    Held next = out.back();
    next.at_s = kind == OpKind::kForward ? rank.times[i].start_s : rank.times[i].end_s;
    next.chunks += kind == OpKind::kForward ? 1 : kind == OpKind::kInput ? 0 : -1;
    next.weights += kind == OpKind::kInput ? 1 : kind == OpKind::kWeight ? -1 : 0;
    if (next.at_s == out.back().at_s && out.size() > 1) {
      out.back() = next;
    } else {
      out.push_back(next);
    }
  }
  return out;
}

}  // namespace comity::workload
