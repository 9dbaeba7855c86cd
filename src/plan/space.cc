// SPDX-License-Identifier: Apache-2.0
#include "plan/space.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/rng.h"

namespace comity::plan {
namespace {

using workload::Execution;
using workload::Recompute;
using workload::Schedule;

using workload::Axis;
constexpr std::array<Axis, 5> kPipelineOutermost = {Axis::kTp, Axis::kCp, Axis::kEp, Axis::kDp, Axis::kPp};
constexpr std::array<Axis, 5> kDataOutermost = {Axis::kTp, Axis::kCp, Axis::kEp, Axis::kPp, Axis::kDp};

constexpr std::array<Schedule, 5> kSchedules = {Schedule::k1f1b, Schedule::kGpipe, Schedule::kZbH1, Schedule::kZbH2,
                                                Schedule::kDualPipe};

bool divides(std::int64_t a, std::int64_t b) { return b % a == 0; }

bool tp_is_legal(const ParallelismQuestion& q, std::int64_t tp) {
  const workload::Model& m = q.model;
  if (!divides(tp, m.heads) || !divides(tp, m.hidden)) return false;
  if (m.latent.kv_rank == 0 && !divides(tp, m.kv_heads) && !divides(m.kv_heads, tp)) return false;
  if (m.ffn > 0 && !divides(tp, m.ffn)) return false;
  return !m.has_moe() || divides(tp, m.moe.ffn);
}

// The walk's inner half: what shares one set of layer costs.
class Inner {
 public:
  Inner(const ParallelismQuestion& q, const Leaf& leaf) : q_(q), leaf_(leaf) {}

  // e has tp, cp, ep, microbatch, recomputation and sequence parallelism.
  bool run(Execution e) {
    const std::int64_t ranks = q_.gpus / (e.tp * e.cp);
    bool costed = false;
    for (const std::int64_t pp : divisors(ranks)) {
      if (pp > q_.model.layers || (q_.max_pp > 0 && pp > q_.max_pp)) break;
      e.pp = pp;
      e.dp = ranks / pp;
      if (!divides(e.microbatch * e.dp, e.batch) || !divides(e.ep, e.dp * e.cp)) continue;
      if (!costed) {
        layers_ = workload::layer_costs(q_.model, e, q_.system, q_.cost, workload::layout_of(e, q_.system));
        costed = true;
      }
      if (!stages(e)) return false;
    }
    return true;
  }

 private:
  bool stages(Execution e) {
    const std::int64_t per_rank = q_.model.layers / e.pp;
    for (const std::int64_t v : divisors(per_rank)) {
      if (v > 1 && (q_.plain || e.pp == 1 || !divides(e.pp * v, q_.model.layers) || !divides(e.pp, e.microbatches())))
        continue;
      e.virtual_stages = v;
      if (v > 1) {
        e.schedule = Schedule::kInterleaved;
        if (!shards(e)) return false;
        continue;
      }
      for (const Schedule schedule : kSchedules) {
        if (schedule != Schedule::k1f1b && (e.pp == 1 || q_.plain || q_.megatron_only)) break;
        if (schedule == Schedule::kZbH2 && e.microbatches() < 2 * e.pp - 1) continue;
        if (schedule == Schedule::kDualPipe && (e.pp % 2 != 0 || e.microbatches() < 2 * e.pp)) continue;
        e.schedule = schedule;
        if (!shards(e)) return false;
      }
    }
    return true;
  }
  bool shards(Execution e) {
    for (const std::int64_t zero : {0, 1, 2, 3}) {
      if (zero > 0 && e.dp * e.cp == 1) continue;
      if (q_.plain && e.dp * e.cp > 1 && zero != 1) continue;
      if (zero > 1 && e.pp > 1) continue;  // each micro-batch would gather and reduce again
      e.zero = zero;
      e.order = kPipelineOutermost;
      if (!offloads(e)) return false;
      // Pipeline ranks next to each other instead: the same where a node holds no more than tp x cp ranks.
      if (q_.plain || e.pp == 1 || e.dp == 1 || e.tp * e.cp >= q_.system.joined_gpus()) continue;
      e.order = kDataOutermost;
      if (!offloads(e)) return false;
    }
    return true;
  }
  bool offloads(Execution e) {
    if (!leaf_(e, layers_)) return false;
    if (q_.plain || q_.system.host_gb_s <= 0) return true;
    e.optimizer_offload = true;
    if (!leaf_(e, layers_)) return false;
    if (q_.megatron_only) return true;
    for (const double share : {0.5, 1.0}) {
      e.activation_offload = share;
      for (const bool optimizer : {false, true}) {
        e.optimizer_offload = optimizer;
        if (!leaf_(e, layers_)) return false;
      }
    }
    return true;
  }

  const ParallelismQuestion& q_;
  const Leaf& leaf_;
  workload::LayerCosts layers_;
};

struct Recomputation {
  Recompute kind;
  double share;
};
std::vector<Recomputation> recomputations(const ParallelismQuestion& q) {
  if (q.plain) return {{q.base.recompute, q.base.recompute_share}};
  std::vector<Recomputation> out = {{Recompute::kNone, 1}};
  // Fused attention keeps no score matrix that could be computed again.
  if (!q.base.flash_attention) out.push_back({Recompute::kSelective, 1});
  for (int eighths = 1; eighths <= 8; ++eighths) out.push_back({Recompute::kFull, eighths / 8.0});
  return out;
}

std::vector<std::int64_t> context_degrees(const ParallelismQuestion& q) {
  std::vector<std::int64_t> out;
  const std::int64_t tokens = q.base.tokens(q.model);
  // Below 4,096 tokens a rank, attention is too short to hide the exchange: nobody splits further.
  for (std::int64_t cp = 1; cp <= std::max<std::int64_t>(1, tokens / 4096); cp *= 2)
    if (tokens % (2 * cp) == 0 || cp == 1) out.push_back(cp);
  return out;
}

std::vector<std::int64_t> expert_degrees(const ParallelismQuestion& q, std::int64_t ranks) {
  if (!q.model.has_moe()) return {1};
  std::vector<std::int64_t> out;
  for (const std::int64_t ep : divisors(q.model.moe.experts))
    if (divides(ep, ranks)) out.push_back(ep);
  return out;
}

}  // namespace

std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> low;
  std::vector<std::int64_t> high;
  for (std::int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    low.push_back(d);
    if (d != n / d) high.push_back(n / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

bool for_each_execution(const ParallelismQuestion& q, const Leaf& leaf) {
  Inner inner(q, leaf);
  Execution e = q.base;
  for (const std::int64_t tp : divisors(q.system.joined_gpus())) {
    if (!divides(tp, q.gpus) || !tp_is_legal(q, tp)) continue;
    e.tp = tp;
    for (const std::int64_t cp : context_degrees(q)) {
      if (!divides(tp * cp, q.gpus)) continue;
      e.cp = cp;
      for (const std::int64_t ep : expert_degrees(q, q.gpus / tp)) {
        e.ep = ep;
        for (const std::int64_t microbatch : divisors(q.base.batch)) {
          e.microbatch = microbatch;
          for (const Recomputation& again : recomputations(q)) {
            e.recompute = again.kind;
            e.recompute_share = again.share;
            for (const bool sequence_parallel : {true, false}) {
              if (sequence_parallel ? tp == 1 : q.plain && tp > 1) continue;
              e.sequence_parallel = sequence_parallel;
              if (!inner.run(e)) return false;
            }
          }
        }
      }
    }
  }
  return true;
}

std::vector<std::pair<std::int64_t, std::int64_t>> model_parallel_degrees(const ParallelismQuestion& q) {
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  for (const std::int64_t tp : divisors(q.system.joined_gpus())) {
    if (!divides(tp, q.gpus) || !tp_is_legal(q, tp)) continue;
    for (const std::int64_t pp : divisors(q.gpus / tp))
      if (pp <= q.model.layers) out.emplace_back(tp, pp);
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    const std::int64_t x = a.first * a.second;
    const std::int64_t y = b.first * b.second;
    return x != y ? x < y : a.first > b.first;
  });
  return out;
}

std::int64_t expert_degree(const ParallelismQuestion& q, const Execution& e) {
  std::int64_t best = 1;
  if (!q.model.has_moe()) return best;
  const std::int64_t local = std::max<std::int64_t>(1, q.system.joined_gpus() / e.tp);
  for (const std::int64_t ep : divisors(q.model.moe.experts))
    if (divides(ep, e.dp * e.cp) && (ep <= local || best < local)) best = ep;
  return best;
}

std::vector<std::uint64_t> draw_indices(std::uint64_t below, std::size_t samples, std::uint64_t seed) {
  std::set<std::uint64_t> drawn;
  if (samples >= below) {
    for (std::uint64_t i = 0; i < below; ++i) drawn.insert(i);
  } else {
    Rng rng(seed);
    while (drawn.size() < samples) drawn.insert(rng.below(below));
  }
  return {drawn.begin(), drawn.end()};
}

}  // namespace comity::plan
