// SPDX-License-Identifier: Apache-2.0
#include "plan/long_context.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "plan/space.h"
#include "workload/kernels.h"

namespace comity::plan {
namespace {

constexpr double kGiga = 1e9;
constexpr double kGibi = 1073741824.0;
// Bytes of activations a token, layer and unit of hidden: 2 of keys and values stay, the rest may leave (the paper's
// account: norms 2, Q, K, V 2 each, attention 8, dense 22).
constexpr double kKept = 2;
constexpr double kMovable = 36;
constexpr std::int64_t kLeastTokens = 2048;  // of a sub-sequence on one GPU (the paper: 2K to 16K)

double real(std::int64_t v) { return static_cast<double>(v); }

class Evaluator {
 public:
  explicit Evaluator(const LongContextQuestion& q) : q_(q), hidden_(real(q.model.hidden)) {
    linear_ = 2 * (workload::attention_parameters(q.model) + workload::mlp_parameters(q.model, q.model.ffn));
    quadratic_ = 4 * real(q.model.q_width());
  }

  [[nodiscard]] LongContextWay way(std::int64_t sp, std::int64_t pp, std::int64_t pieces, Offload offload,
                                   bool multiplexed) const {
    LongContextWay w;
    w.sequence_parallel = sp;
    w.pp = pp;
    w.pieces = pieces;
    w.offload = offload;
    w.multiplexed = multiplexed;
    w.lengths = equal_cost_split(real(q_.tokens), pieces, linear_, quadratic_);
    const double layers = real(q_.model.layers) / real(pp);
    // A piece's forward on one stage: all pieces cost the same.
    const double forward = layers * piece_forward_s(w, sp);
    const double backward = 2 * forward;
    std::vector<double> bytes;
    for (const double length : w.lengths) bytes.push_back(kMovable * length * hidden_ * layers / real(sp));
    const double budget = q_.system.host_gb_s * kGiga * forward;
    w.ratios = ratios(bytes, budget, offload);
    double exposed = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      exposed += 2 * std::max(0.0, bytes[i] * w.ratios[i] / (q_.system.host_gb_s * kGiga) - forward);
    const double n = real(pieces);
    const double fill = multiplexed ? multiplexed_fill(pp) : real(pp - 1);
    w.bubble_share = fill / n;
    w.exposed_offload_s = exposed;
    w.step_s = (n + fill) * (forward + backward) + exposed;
    memory(w, bytes, layers, sp, pp);
    return w;
  }
  [[nodiscard]] bool fits(const LongContextWay& w) const {
    return w.peak_bytes <= q_.system.memory_gib * kGibi &&
           (w.host_bytes == 0 || w.host_bytes <= q_.system.host_memory_gib * kGibi);
  }

 private:
  // One layer over the mean piece on sp GPUs, with its tensor-parallel communication.
  [[nodiscard]] double piece_forward_s(const LongContextWay& w, std::int64_t sp) const {
    workload::Execution e;
    e.tp = sp;
    e.sequence_parallel = sp > 1;
    e.dropout = false;
    e.sequence = std::max<std::int64_t>(1, q_.tokens / w.pieces);
    const workload::LayerCosts costs =
        workload::layer_costs(q_.model, e, q_.system, q_.cost, workload::layout_of(e, q_.system));
    const workload::PassTimes& layer = q_.model.has_moe() ? costs.moe : costs.dense;
    // The layer's own attention is over the piece alone; the rest of the prefix is what the split balances.
    const double mean = real(e.sequence);
    const double attention = quadratic_ * (real(q_.tokens) * real(q_.tokens) / 2 / real(w.pieces) - mean * mean / 2);
    const double rate = workload::peak_flops(q_.system, e.datatype) * q_.system.attention_efficiency * real(sp);
    return layer.all_forward() + std::max(0.0, attention) / rate;
  }
  static std::vector<double> ratios(const std::vector<double>& bytes, double budget, Offload offload) {
    switch (offload) {
      case Offload::kNone: return std::vector<double>(bytes.size(), 0);
      case Offload::kFull: return std::vector<double>(bytes.size(), 1);
      case Offload::kAdaptive: return offload_ratios(bytes, budget, true);
    }
    return {};
  }
  // Left and right sub-sequences run on all idle stages together: a stage waits for the last of them alone.
  static double multiplexed_fill(std::int64_t pp) {
    double fill = 0;
    for (std::int64_t i = 1; i < pp; ++i) fill += 1 / real(i + 1);
    return fill;
  }
  void memory(LongContextWay& w, const std::vector<double>& bytes, double layers, std::int64_t sp,
              std::int64_t pp) const {
    const workload::Parameters p = workload::parameters(q_.model);
    // Weights, gradients and optimizer, sharded over all GPUs of a stage, and its weights once whole.
    const double stage = p.total / real(pp) / real(sp);
    const double state = stage * (2 + 16.0 / std::max(1.0, real(q_.gpus / (sp * pp))));
    double held = 0;
    double peak = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const double kept = kKept * w.lengths[i] * hidden_ * layers / real(sp);
      // What leaves is still there while the next piece computes.
      peak = std::max(peak, held + bytes[i] + kept);
      held += kept + bytes[i] * (1 - w.ratios[i]);
      w.host_bytes += bytes[i] * w.ratios[i];
      const double leaving = i > 0 ? bytes[i - 1] * w.ratios[i - 1] : 0;
      peak = std::max(peak, held + leaving + bytes[i] * w.ratios[i]);
      w.memory_over_time.push_back(held + bytes[i] * w.ratios[i]);
    }
    w.peak_bytes = state + peak;
  }

  const LongContextQuestion& q_;
  double hidden_;
  double linear_ = 0;
  double quadratic_ = 0;
};

// Context parallelism and full recomputation, the usual way: the best degree that fits.
void megatron(const LongContextQuestion& q, LongContextPlan& plan) {
  for (const std::int64_t cp : divisors(q.gpus)) {
    for (const std::int64_t tp : divisors(q.system.gpus_per_node)) {
      if (q.gpus % (cp * tp) != 0) continue;
      workload::Execution e;
      e.tp = tp;
      e.cp = cp;
      e.pp = q.gpus / (cp * tp);
      e.zero = cp > 1 ? 1 : 0;
      e.sequence = q.tokens;
      e.sequence_parallel = tp > 1;
      e.recompute = workload::Recompute::kFull;
      e.dropout = false;
      if (!workload::check_execution(e, q.model, q.system, "")) continue;
      const workload::Estimate got = workload::estimate(q.model, e, q.system, q.cost);
      if (!got.fits || (plan.recompute_s > 0 && got.iteration_s >= plan.recompute_s)) continue;
      plan.recompute_s = got.iteration_s;
      plan.recompute_cp = cp;
    }
  }
}

Status check(const LongContextQuestion& q) {
  if (q.gpus < 1) return fail(Code::kUsage, "at least one GPU is needed", "--gpus N");
  if (q.tokens < kLeastTokens)
    return fail(Code::kUsage, fmt::format("a sequence of {} tokens is not long", q.tokens),
                fmt::format("from {} tokens on; shorter ones go with plan parallelism", kLeastTokens));
  if (q.system.host_gb_s <= 0)
    return fail(Code::kInput, fmt::format("{} has no link to host memory", q.system.name), "set host_gb_s");
  return {};
}

}  // namespace

std::vector<double> equal_cost_split(double tokens, std::int64_t pieces, double linear, double quadratic) {
  const double total = linear * tokens + quadratic * tokens * tokens / 2;
  std::vector<double> out;
  double at = 0;
  for (std::int64_t i = 1; i <= pieces; ++i) {
    const double cost = total * real(i) / real(pieces);
    // The y with linear y + quadratic y^2 / 2 = cost.
    const double root = std::sqrt(linear * linear + 2 * quadratic * cost);
    double y = quadratic > 0 ? 2 * cost / (linear + root) : cost / linear;
    if (i == pieces) y = tokens;
    out.push_back(y - at);
    at = y;
  }
  return out;
}

std::vector<double> offload_ratios(const std::vector<double>& bytes, double budget_bytes, bool keep_last) {
  std::vector<double> out;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const bool last = i + 1 == bytes.size();
    out.push_back(last && keep_last ? 0 : bytes[i] > 0 ? std::min(1.0, budget_bytes / bytes[i]) : 0);
  }
  return out;
}

std::vector<MultiplexedStage> multiplexed_partition(std::int64_t stages, std::int64_t pieces) {
  std::vector<MultiplexedStage> out;
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    MultiplexedStage s;
    for (std::int64_t id = 0; id < pieces; ++id) {
      if (id < stages - 1 - stage)
        s.left.push_back(id);
      else if (id < pieces - stage)
        s.steady.push_back(id);
      else
        s.right.push_back(id);
    }
    out.push_back(std::move(s));
  }
  return out;
}

Result<LongContextPlan> plan_long_context(const LongContextQuestion& q) {
  if (auto status = check(q); !status) return fail(status.error());
  const Evaluator evaluator(q);
  LongContextPlan plan;
  for (const std::int64_t pp : divisors(q.gpus)) {
    const std::int64_t sp = q.gpus / pp;
    if (pp > q.model.layers || q.model.layers % pp != 0 || q.model.heads % sp != 0) continue;
    for (std::int64_t pieces = pp; pieces * sp * kLeastTokens <= 2 * q.tokens && pieces <= 4096; pieces *= 2) {
      for (const Offload offload : {Offload::kNone, Offload::kFull, Offload::kAdaptive}) {
        for (const bool multiplexed : {false, true}) {
          if (multiplexed && pp == 1) continue;
          ++plan.evaluated;
          LongContextWay w = evaluator.way(sp, pp, pieces, offload, multiplexed);
          if (evaluator.fits(w)) plan.best.push_back(std::move(w));
        }
      }
    }
  }
  std::stable_sort(plan.best.begin(), plan.best.end(),
                   [](const LongContextWay& a, const LongContextWay& b) { return a.step_s < b.step_s; });
  megatron(q, plan);
  if (plan.best.empty())
    return fail(Code::kInput,
                fmt::format("{} tokens do not fit on {} GPUs in any of {} ways", q.tokens, q.gpus, plan.evaluated),
                "take more GPUs, or a machine with more host memory");
  if (plan.best.size() > q.keep) plan.best.resize(q.keep);
  const LongContextWay& w = plan.best.front();
  for (const Offload offload : {Offload::kNone, Offload::kFull})
    plan.baselines.push_back(evaluator.way(w.sequence_parallel, w.pp, w.pieces, offload, false));
  return plan;
}

std::string_view offload_name(Offload offload) {
  switch (offload) {
    case Offload::kNone: return "none";
    case Offload::kFull: return "full";
    case Offload::kAdaptive: return "adaptive";
  }
  return "";
}

}  // namespace comity::plan
