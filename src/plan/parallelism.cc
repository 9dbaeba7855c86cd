// SPDX-License-Identifier: Apache-2.0
#include "plan/parallelism.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/text.h"
#include "plan/space.h"

namespace comity::plan {
namespace {

using workload::Estimate;
using workload::Execution;

bool better(const Candidate& a, const Candidate& b) {
  if (a.iteration_s != b.iteration_s) return a.iteration_s < b.iteration_s;
  return a.memory_bytes < b.memory_bytes;
}

// The best few, kept in order; insertion is cheap because hardly any candidate gets in.
class Best {
 public:
  explicit Best(std::size_t keep) : keep_(std::max<std::size_t>(1, keep)) {}
  [[nodiscard]] double bound() const {
    return list_.size() < keep_ ? std::numeric_limits<double>::infinity() : list_.back().iteration_s;
  }
  void add(const Candidate& candidate) {
    const auto at = std::upper_bound(list_.begin(), list_.end(), candidate, better);
    if (at == list_.end() && list_.size() >= keep_) return;
    list_.insert(at, candidate);
    if (list_.size() > keep_) list_.pop_back();
  }
  std::vector<Candidate> take() { return std::move(list_); }

 private:
  std::size_t keep_;
  std::vector<Candidate> list_;
};

// Fastest first, each with fewer bytes than all before it.
class Front {
 public:
  [[nodiscard]] bool dominated(double time_s, double bytes) const {
    for (const Candidate& c : list_) {
      if (c.iteration_s > time_s) return false;
      if (c.memory_bytes <= bytes) return true;
    }
    return false;
  }
  void add(const Candidate& candidate) {
    if (dominated(candidate.iteration_s, candidate.memory_bytes)) return;
    std::erase_if(list_, [&](const Candidate& c) {
      return c.iteration_s >= candidate.iteration_s && c.memory_bytes >= candidate.memory_bytes;
    });
    list_.insert(std::upper_bound(list_.begin(), list_.end(), candidate, better), candidate);
  }
  std::vector<Candidate> take() { return std::move(list_); }

 private:
  std::vector<Candidate> list_;
};

Candidate candidate_of(const Execution& execution, const Estimate& e) {
  return {execution, e.iteration_s, e.memory.total(), e.mfu};
}

Status check(const ParallelismQuestion& q) {
  if (q.gpus < 1) return fail(Code::kUsage, "at least one GPU is needed", "--gpus N");
  if (q.base.batch < 1) return fail(Code::kUsage, "at least one sequence a step is needed", "--batch N");
  return {};
}

Error nothing_fits(const ParallelismQuestion& q, const ParallelismPlan& plan) {
  Error error;
  error.code = Code::kInput;
  if (plan.legal == 0) {
    error.message =
        fmt::format("no way to spread {} over {} GPUs with {} sequences a step", q.model.name, q.gpus, q.base.batch);
    error.hint =
        "the batch must be a multiple of the data-parallel ranks: take a larger batch, or a number of GPUs "
        "with more divisors";
    return error;
  }
  error.message = fmt::format("none of {} ways to spread {} over {} GPUs fits in {:.4g} GiB of memory each",
                              format_count(plan.legal), q.model.name, q.gpus, q.system.memory_gib);
  error.hint = "take more GPUs or a smaller sequence";
  return error;
}

}  // namespace

bool megatron_runs(const Execution& e) {
  using workload::Schedule;
  return (e.schedule == Schedule::k1f1b || e.schedule == Schedule::kInterleaved) && e.activation_offload == 0;
}

Result<ParallelismPlan> plan_parallelism(const ParallelismQuestion& q) {
  if (auto status = check(q); !status) return fail(status.error());
  ParallelismPlan plan;
  Best best(q.keep);
  Best megatron(1);
  Front front;
  const double capacity = q.system.memory_gib * 1073741824.0;
  const auto leaf = [&](const Execution& execution, const workload::LayerCosts& layers) {
    ++plan.legal;
    if ((plan.legal & 1023) == 0 && q.stop && q.stop()) return false;
    const bool runs = megatron_runs(execution);
    const double bound = runs ? std::max(best.bound(), megatron.bound()) : best.bound();
    if (q.exact_pruning && workload::least_s(q.model, execution, layers) > bound) {
      ++plan.pruned;
      return true;
    }
    const Estimate e = workload::estimate_if_fits(q.model, execution, q.system, q.cost, layers);
    if (!e.fits) {
      ++plan.too_large;
      return true;
    }
    ++plan.evaluated;
    const Candidate candidate = candidate_of(execution, e);
    best.add(candidate);
    if (runs) megatron.add(candidate);
    if (candidate.memory_bytes < capacity) front.add(candidate);
    return true;
  };
  plan.partial = !for_each_execution(q, leaf);
  plan.best = best.take();
  plan.megatron = megatron.take();
  plan.pareto = front.take();
  if (plan.best.empty() && !plan.partial) return fail(nothing_fits(q, plan));
  return plan;
}

Result<Candidate> megatron_rule(const ParallelismQuestion& q) {
  if (auto status = check(q); !status) return fail(status.error());
  for (const workload::Recompute recompute : {workload::Recompute::kNone, workload::Recompute::kFull}) {
    for (const auto& [tp, pp] : model_parallel_degrees(q)) {
      Candidate best;
      for (const std::int64_t microbatch : {1, 2, 4}) {
        Execution e = q.base;
        e.tp = tp;
        e.pp = pp;
        e.dp = q.gpus / (tp * pp);
        e.ep = expert_degree(q, e);
        e.microbatch = microbatch;
        e.recompute = recompute;
        e.zero = 1;
        e.sequence_parallel = tp > 1;
        e.schedule = workload::Schedule::k1f1b;
        if (!workload::check_execution(e, q.model, q.system, "")) continue;
        const Estimate got = workload::estimate(q.model, e, q.system, q.cost);
        if (got.fits && (best.iteration_s == 0 || got.iteration_s < best.iteration_s)) best = candidate_of(e, got);
      }
      if (best.iteration_s > 0) return best;
    }
  }
  return fail(Code::kInput, "nothing fits by Megatron's rule", "take more GPUs");
}

Result<ParallelismPlan> random_search(const ParallelismQuestion& q, std::size_t samples, std::uint64_t seed) {
  if (auto status = check(q); !status) return fail(status.error());
  ParallelismPlan plan;
  Best best(q.keep);
  std::uint64_t legal = 0;
  for_each_execution(q, [&](const Execution&, const workload::LayerCosts&) {
    ++legal;
    return true;
  });
  const std::vector<std::uint64_t> drawn = draw_indices(legal, samples, seed);
  auto next = drawn.begin();
  for_each_execution(q, [&](const Execution& execution, const workload::LayerCosts& layers) {
    if (next == drawn.end()) return false;
    if (plan.legal++ != *next) return true;
    ++next;
    const Estimate e = workload::estimate_if_fits(q.model, execution, q.system, q.cost, layers);
    if (!e.fits) {
      ++plan.too_large;
      return true;
    }
    ++plan.evaluated;
    best.add(candidate_of(execution, e));
    return true;
  });
  plan.legal = legal;
  plan.best = best.take();
  if (plan.best.empty()) return fail(Code::kInput, "none of the drawn candidates fits in memory", "draw more");
  return plan;
}

std::vector<std::string> explain(const ParallelismQuestion& q, const Candidate& a, const Candidate& b) {
  const workload::Breakdown x = workload::estimate(q.model, a.execution, q.system, q.cost).breakdown_s;
  const workload::Breakdown y = workload::estimate(q.model, b.execution, q.system, q.cost).breakdown_s;
  struct Part {
    const char* name;
    double gain;
  };
  std::vector<Part> parts = {
      {"computation", y.forward + y.backward - x.forward - x.backward},
      {"recomputation", y.recompute + y.recompute_communication - x.recompute - x.recompute_communication},
      {"pipeline bubble", y.bubble - x.bubble},
      {"tensor-parallel communication", y.tp - x.tp},
      {"stage-to-stage transfers", y.pp - x.pp},
      {"gradient synchronisation", y.dp - x.dp},
      {"expert all-to-all", y.ep - x.ep},
      {"context-parallel communication", y.cp - x.cp},
      {"optimizer", y.optimizer - x.optimizer}};
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& p, const Part& r) { return std::abs(p.gain) > std::abs(r.gain); });
  std::vector<std::string> out;
  const double step = b.iteration_s;
  out.push_back(fmt::format("{:.4g} s against {:.4g} s a step: {:.2f} times as fast", a.iteration_s, b.iteration_s,
                            b.iteration_s / a.iteration_s));
  for (const Part& part : parts) {
    if (std::abs(part.gain) < 0.001 * step) break;
    out.push_back(fmt::format("{} {:.4g} s ({:.1f} % of the other's step) {}", part.name, std::abs(part.gain),
                              100 * std::abs(part.gain) / step, part.gain > 0 ? "less" : "more"));
  }
  return out;
}

}  // namespace comity::plan
