// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "plan/long_context.h"
#include "workload/kernels.h"

namespace comity::plan {
namespace {

using workload::AttentionShape;
using workload::Execution;
using workload::LayerCosts;
using workload::PassTimes;
using workload::StageMemory;

constexpr double kGiga = 1e9;
constexpr double kGibi = 1073741824.0;

double real(std::int64_t v) { return static_cast<double>(v); }
std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// One piece on one stage.
struct Work {
  double forward = 0;
  double backward = 0;
  double offloadable = 0;
  double kept = 0;
  double working = 0;
};

class Evaluator {
 public:
  Evaluator(const LongContextQuestion& question, const LongContextChoice& choice)
      : q_(question), c_(choice), sp_(real(choice.sp)) {
    e_.tp = c_.sp;
    e_.pp = c_.pp;
    e_.dp = c_.dp;
    e_.batch = std::max(q_.batch, c_.dp);
    e_.sequence_parallel = c_.sp > 1;
    e_.datatype = q_.datatype;
    e_.dropout = false;
    e_.tp_overlap = false;
    e_.zero = 1;
    e_.sequence = std::max<std::int64_t>(1, q_.tokens / c_.pieces);
    layout_ = workload::layout_of(e_, q_.system);
    borders_ = balanced_borders();
    const std::vector<LayerCosts> costs = piece_costs();
    for (std::int64_t i = 0; i < c_.pp; ++i) works_.push_back(stage_works(i, costs));
  }

  LongContextChoice run(LongContextPlan* detail) {
    const double link = std::max(1e-9, q_.system.host_gb_s) * kGiga;
    std::vector<std::vector<double>> forward;
    std::vector<std::vector<double>> backward;
    for (std::int64_t i = 0; i < c_.pp; ++i) {
      ratios_.push_back(stage_ratios(i, link));
      forward.push_back(with_stalls(i, link, false));
      backward.push_back(with_stalls(i, link, true));
    }
    forward_ = sequence_pipeline(forward, hop_s(), false);
    backward_ = sequence_pipeline(backward, hop_s(), true);
    times(forward, backward);
    memory(detail);
    if (detail != nullptr) describe(*detail);
    return c_;
  }

 private:
  // Seconds of a layer by token: linear from a piece of average length without its attention, quadratic from attention
  // over the whole sequence; both passes together, as both have to be balanced by one cut.
  std::vector<std::int64_t> balanced_borders() const {
    const double piece = real(e_.sequence);
    const LayerCosts costs = workload::layer_costs(q_.model, e_, q_.system, q_.cost, layout_);
    const AttentionShape own = shape(piece, piece, true);
    const double own_s = attention(own, false) + attention(own, true);
    const double all_s = costs.dense.all_forward() + costs.dense.all_backward();
    const AttentionShape whole = shape(real(q_.tokens), real(q_.tokens), true);
    const double whole_s = attention(whole, false) + attention(whole, true);
    const TokenCost cost{std::max(1e-15, (all_s - own_s) / piece), 2 * whole_s / (real(q_.tokens) * real(q_.tokens))};
    return token_borders(cost, q_.tokens, c_.pieces);
  }
  [[nodiscard]] AttentionShape shape(double queries, double keys, bool causal) const {
    const auto& m = q_.model;
    return {1,
            real(m.heads) / sp_,
            queries,
            keys,
            real(m.q_width()) / real(m.heads),
            real(m.value_width()) / real(m.heads),
            causal};
  }
  [[nodiscard]] double attention(const AttentionShape& s, bool backward) const {
    return workload::attention_s(q_.system, q_.datatype, s, backward);
  }

  [[nodiscard]] std::vector<LayerCosts> piece_costs() const {
    std::vector<LayerCosts> out;
    Execution e = e_;
    for (std::int64_t k = 0; k < c_.pieces; ++k) {
      e.sequence = borders_[at(k + 1)] - borders_[at(k)];
      out.push_back(workload::layer_costs(q_.model, e, q_.system, q_.cost, layout_));
    }
    return out;
  }
  [[nodiscard]] std::vector<Work> stage_works(std::int64_t stage, const std::vector<LayerCosts>& all) const {
    std::int64_t first = 0;
    for (std::int64_t i = 0; i < stage; ++i) first += workload::layers_of_chunk(e_, q_.model, i);
    const std::int64_t end = first + workload::layers_of_chunk(e_, q_.model, stage);
    double moe = 0;
    for (std::int64_t l = first; l < end; ++l) moe += q_.model.is_moe_layer(l) ? 1 : 0;
    std::vector<Work> out;
    for (std::int64_t k = 0; k < c_.pieces; ++k) {
      const LayerCosts& costs = all[at(k)];
      PassTimes pass;
      pass.add(costs.dense, real(end - first) - moe);
      pass.add(costs.moe, moe);
      if (stage == 0) pass.add(costs.embedding, 1);
      if (stage == c_.pp - 1) pass.add(costs.head, 1);
      out.push_back(work(pass, real(end - first), real(borders_[at(k + 1)] - borders_[at(k)]), real(borders_[at(k)])));
    }
    return out;
  }
  [[nodiscard]] Work work(const PassTimes& pass, double layers, double tokens, double earlier) const {
    Work out;
    out.forward = pass.all_forward();
    out.backward = pass.all_backward();
    if (earlier > 0) {  // queries of this piece against the keys of all before it
      const AttentionShape s = shape(tokens, earlier, false);
      out.forward += layers * attention(s, false);
      out.backward += layers * attention(s, true);
    }
    const AttentionShape one = shape(1, 1, true);
    const double heads = real(q_.model.latent.kv_rank > 0 ? q_.model.heads : q_.model.kv_heads) / sp_;
    out.kept = 2 * tokens * heads * (one.width + one.value_width) * layers;
    out.offloadable = std::max(0.0, pass.activation_bytes - out.kept);
    out.working = pass.working_bytes;
    return out;
  }

  [[nodiscard]] std::vector<double> stage_ratios(std::int64_t stage, double link) const {
    const std::vector<Work>& works = works_[at(stage)];
    std::vector<double> bytes;
    std::vector<double> budgets;
    for (std::size_t k = 0; k < works.size(); ++k) {
      bytes.push_back(works[k].offloadable);
      budgets.push_back(k + 1 < works.size() ? link * works[k + 1].forward : 0);
    }
    std::vector<double> out(works.size(), c_.offload == Offload::kFull ? 1.0 : 0.0);
    if (c_.offload == Offload::kAdaptive) out = offload_ratios(bytes, budgets, true);
    const double host = q_.system.host_memory_gib * kGibi;
    const double moved = std::inner_product(bytes.begin(), bytes.end(), out.begin(), 0.0);
    if (moved > host)  // the host is full: every piece keeps its share of the rest
      for (double& ratio : out) ratio *= host / moved;
    return out;
  }
  // A transfer runs beside the next piece's computation (forward: to the host; backward: from it) and lengthens it
  // where it takes longer. What nothing runs beside is added to the last piece of each pass.
  [[nodiscard]] std::vector<double> with_stalls(std::int64_t stage, double link, bool backward) const {
    const std::vector<Work>& works = works_[at(stage)];
    const std::vector<double>& ratio = ratios_[at(stage)];
    const auto moved = [&](std::size_t k) { return ratio[k] * works[k].offloadable / link; };
    std::vector<double> out;
    for (std::size_t k = 0; k < works.size(); ++k) {
      const double computed = backward ? works[k].backward : works[k].forward;
      out.push_back(k > 0 ? std::max(computed, moved(k - 1)) : computed);
    }
    out.back() += moved(works.size() - 1);
    return out;
  }
  [[nodiscard]] double hop_s() const { return workload::stage_transfer_s(q_.model, e_, q_.system, q_.cost); }

  void times(const std::vector<std::vector<double>>& forward, const std::vector<std::vector<double>>& backward) {
    double busy_forward = 0;
    double busy_backward = 0;
    double ends_forward = 0;
    double ends_backward = 0;
    c_.stall_s = 0;
    for (std::size_t i = 0; i < forward.size(); ++i) {
      const double f = std::accumulate(forward[i].begin(), forward[i].end(), 0.0);
      const double b = std::accumulate(backward[i].begin(), backward[i].end(), 0.0);
      double computed = 0;
      for (const Work& w : works_[i]) computed += w.forward + w.backward;
      c_.stall_s = std::max(c_.stall_s, f + b - computed);
      busy_forward = std::max(busy_forward, f);
      busy_backward = std::max(busy_backward, b);
      ends_forward = std::max(ends_forward, forward_[i].back().end_s);
      ends_backward = std::max(ends_backward, backward_[i].front().end_s);
    }
    const double filled = c_.multiplex && c_.pieces >= c_.pp ? 1 - q_.multiplex_fill : 1;
    c_.forward_s = busy_forward + filled * (ends_forward - busy_forward);
    c_.backward_s = busy_backward + filled * (ends_backward - busy_backward);
    c_.bubble = (c_.forward_s + c_.backward_s) / (busy_forward + busy_backward) - 1;
    const workload::Breakdown b = workload::estimate(q_.model, e_, q_.system, q_.cost).breakdown_s;
    const double sequences = real(std::max<std::int64_t>(1, e_.batch / c_.dp));
    c_.step_s = sequences * (c_.forward_s + c_.backward_s) + b.optimizer + b.dp + b.overhead;
    c_.tokens_per_s = real(e_.batch) * real(q_.tokens) / c_.step_s;
    const double flops = workload::model_flops(q_.model, real(e_.batch), q_.tokens, true);
    const double gpus = real(c_.sp * c_.pp * c_.dp);
    c_.mfu = flops / (c_.step_s * gpus * workload::peak_flops(q_.system, q_.datatype));
  }

  // Forward: A of this piece, what earlier ones keep, and the transfer of the piece before that is still under way.
  // Backward: what this piece left, the transfer of the piece before it, keys and values and their gradients.
  void memory(LongContextPlan* detail) {
    const std::vector<StageMemory> fixed = workload::memory_by_stage(q_.model, e_, q_.system, q_.cost);
    c_.peak_bytes = 0;
    c_.host_bytes = 0;
    for (std::int64_t i = 0; i < c_.pp; ++i) {
      const StageMemory& f = fixed[at(i)];
      const double weights = f.weights + f.gradients + f.optimizer;
      const std::vector<Work>& works = works_[at(i)];
      std::vector<double> before(1, 0.0);  // kept by pieces 0 .. k - 1, and their keys and values
      std::vector<double> cache(1, 0.0);
      double host = 0;
      for (std::size_t k = 0; k < works.size(); ++k) {
        const double moved = ratios_[at(i)][k] * works[k].offloadable;
        host += moved;
        before.push_back(before.back() + works[k].offloadable - moved + works[k].kept);
        cache.push_back(cache.back() + works[k].kept);
      }
      c_.host_bytes = std::max(c_.host_bytes, host);
      std::vector<StageMoment> moments;
      for (const bool backward : {false, true}) {
        for (std::size_t step = 0; step < works.size(); ++step) {
          const std::size_t k = backward ? works.size() - 1 - step : step;
          const double moving = k > 0 ? ratios_[at(i)][k - 1] * works[k - 1].offloadable : 0;
          const double held = before[k] + works[k].offloadable + works[k].kept + moving +
                              (backward ? cache[k + 1] : 0) + works[k].working + weights;
          const Span span = (backward ? backward_ : forward_)[at(i)][k];
          const double shift = backward ? end_of_forward() : 0;
          moments.push_back(
              {i, static_cast<std::int64_t>(k), backward, span.start_s + shift, span.end_s + shift, held});
          c_.peak_bytes = std::max(c_.peak_bytes, held);
        }
      }
      if (detail != nullptr) detail->timeline.insert(detail->timeline.end(), moments.begin(), moments.end());
    }
    c_.fits = c_.peak_bytes <= q_.system.memory_gib * kGibi;
  }
  [[nodiscard]] double end_of_forward() const { return forward_.back().back().end_s; }

  void describe(LongContextPlan& detail) const {
    const std::int64_t middle = c_.pp / 2;
    detail.pieces.clear();
    for (std::int64_t k = 0; k < c_.pieces; ++k) {
      const Work& w = works_[at(middle)][at(k)];
      detail.pieces.push_back({borders_[at(k + 1)] - borders_[at(k)], w.forward, w.backward, w.offloadable, w.kept,
                               ratios_[at(middle)][at(k)]});
    }
    if (c_.multiplex) detail.shared = multiplexed_partition(c_.pp, c_.pieces);
    detail.capacity_bytes = q_.system.memory_gib * kGibi;
  }

  const LongContextQuestion& q_;
  LongContextChoice c_;
  double sp_;
  Execution e_;
  workload::Layout layout_;
  std::vector<std::int64_t> borders_;
  std::vector<std::vector<Work>> works_;
  std::vector<std::vector<double>> ratios_;
  std::vector<std::vector<Span>> forward_;
  std::vector<std::vector<Span>> backward_;
};

}  // namespace

LongContextChoice evaluate_long_context(const LongContextQuestion& question, const LongContextChoice& choice,
                                        LongContextPlan* detail) {
  return Evaluator(question, choice).run(detail);
}

}  // namespace comity::plan
