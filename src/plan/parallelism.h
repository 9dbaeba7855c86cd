// SPDX-License-Identifier: Apache-2.0
// The best way to spread a model over equal GPUs: a search over the whole legal space in the manner of ConfigTuner
// (arXiv 2512.24750, a reconstruction: docs/systems/configtuner.md). Every candidate costs O(stages) arithmetic, layers
// being equal, so that nothing has to be profiled or sampled.
//
// The space: tp (divides heads, inside of a node), cp, pp, ep, virtual stages, micro-batch, recomputation
// and its share of the layers, sequence parallelism, ZeRO stage, schedule, order of the ranks, what is offloaded
// to the host.
// Pruning is exact: a candidate is left out when its weights alone exceed memory or when a lower bound of its time
// (workload::least_s) exceeds the worst of the kept ones.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "workload/estimate.h"

namespace comity::plan {

struct ParallelismQuestion {
  workload::Model model;
  workload::System system;
  workload::CostModel cost = workload::CostModel::kNccl;
  workload::Execution base;  // batch, sequence, datatype and every switch that is not searched
  std::int64_t gpus = 0;
  std::size_t keep = 10;       // candidates returned, best first
  bool exact_pruning = true;   // false: every candidate is estimated
  bool plain = false;          // only what Alpa decides: tp, pp, dp and the micro-batch; the rest as in `base`
  std::int64_t max_pp = 0;     // 0: no bound but the layers
  bool megatron_only = false;  // only what Megatron-LM can run: no GPipe, zero bubble, DualPipe, activation offload
  std::function<bool()> stop;  // asked now and then; true ends the search with what it has
};

struct Candidate {
  workload::Execution execution;
  double iteration_s = 0;
  double memory_bytes = 0;
  double mfu = 0;
};

struct ParallelismPlan {
  std::vector<Candidate> best;      // fastest first; ties by fewer bytes, then in the order of the search
  std::vector<Candidate> pareto;    // time against memory, fastest first
  std::vector<Candidate> megatron;  // the best one that Megatron-LM can run; empty: none
  std::uint64_t legal = 0;          // candidates of the space
  std::uint64_t evaluated = 0;      // estimated in full
  std::uint64_t pruned = 0;         // by bound
  std::uint64_t too_large = 0;      // do not fit in memory
  bool partial = false;             // stopped early
};

// Errors (kInput): no GPU, a batch that no replica count divides, nothing that fits (the hint says what comes nearest).
[[nodiscard]] Result<ParallelismPlan> plan_parallelism(const ParallelismQuestion& question);

// What Megatron-LM's users are told: tensor parallelism up to the node until the model fits, then pipeline stages; the
// least tp x pp that fits, no recomputation before full, micro-batch the best of 1, 2, 4; virtual stages 1.
[[nodiscard]] Result<Candidate> megatron_rule(const ParallelismQuestion& question);

// `samples` legal candidates drawn by `seed`; the best of them.
[[nodiscard]] Result<ParallelismPlan> random_search(const ParallelismQuestion& question, std::size_t samples,
                                                    std::uint64_t seed);

// Alpa's way (Zheng et al., OSDI'22, inter-operator part): for each micro-batch and each bound t_max on a stage's time,
// a dynamic programme cuts the layers into stages on submeshes of 1, 2, 4 .. GPUs of a node or whole nodes, each stage
// with the best of its inner (tp, dp) splits: min over t_max of sum t_i + (m - 1) t_max. Evaluations = inner splits
// costed.
struct AlpaPlan {
  std::vector<std::int64_t> stage_layers;
  std::vector<std::int64_t> stage_gpus;
  std::vector<std::int64_t> stage_tp;
  std::int64_t microbatch = 0;
  double iteration_s = 0;
  std::uint64_t evaluations = 0;
};
[[nodiscard]] Result<AlpaPlan> alpa_search(const ParallelismQuestion& question);

[[nodiscard]] bool megatron_runs(const workload::Execution& execution);

// Sentences that say where `a` gains and loses against `b`, largest difference first.
[[nodiscard]] std::vector<std::string> explain(const ParallelismQuestion& question, const Candidate& a,
                                               const Candidate& b);

}  // namespace comity::plan
