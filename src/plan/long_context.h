// SPDX-License-Identifier: Apache-2.0
// Very long sequences: SPPO (arXiv 2503.10377), a reconstruction (docs/systems/sppo.md). A sequence of S tokens is cut
// into N sub-sequences of equal FLOPs that follow each other through p pipeline stages; activations go to the host
// while the next sub-sequence computes.
//
//   cost of tokens [x, y) = A (y - x) + C (y^2 - x^2) / 2, A linear layers, C causal attention, FLOPs
//   offload ratio of sub-sequence i: min(1, D2H bandwidth x time of a sub-sequence / its bytes)
//   bubble (p - 1) / N of the ideal time
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "workload/estimate.h"

namespace comity::plan {

// Lengths of N pieces of equal cost, first (and longest) to last; they add up to `tokens`. linear, quadratic: A and C.
[[nodiscard]] std::vector<double> equal_cost_split(double tokens, std::int64_t pieces, double linear, double quadratic);

// Ratio of each sub-sequence's bytes that leaves; the last one's is 0 where `keep_last` (it is used again at once).
[[nodiscard]] std::vector<double> offload_ratios(const std::vector<double>& bytes, double budget_bytes, bool keep_last);

// Multiplexed sequence partition: which sub-sequences a stage computes alone (steady), and which with the stages that
// would idle meanwhile (left: while the pipeline fills, right: while it drains).
struct MultiplexedStage {
  std::vector<std::int64_t> left;
  std::vector<std::int64_t> steady;
  std::vector<std::int64_t> right;
};
[[nodiscard]] std::vector<MultiplexedStage> multiplexed_partition(std::int64_t stages, std::int64_t pieces);

enum class Offload : std::uint8_t { kNone, kFull, kAdaptive };

struct LongContextQuestion {
  workload::Model model;
  workload::System system;
  workload::CostModel cost = workload::CostModel::kNccl;
  std::int64_t gpus = 0;
  std::int64_t tokens = 0;  // S
  std::size_t keep = 10;
};

struct LongContextWay {
  std::int64_t sequence_parallel = 1;  // GPUs that share one sub-sequence (tensor and sequence parallel)
  std::int64_t pp = 1;
  std::int64_t pieces = 1;  // N
  Offload offload = Offload::kNone;
  bool multiplexed = false;
  double step_s = 0;
  double bubble_share = 0;
  double exposed_offload_s = 0;
  double peak_bytes = 0;  // of one GPU
  double host_bytes = 0;
  std::vector<double> lengths;           // tokens of each sub-sequence
  std::vector<double> ratios;            // offload ratio of each
  std::vector<double> memory_over_time;  // bytes of activations on the first stage after each sub-sequence, forward
};

struct LongContextPlan {
  std::vector<LongContextWay> best;       // fastest first
  std::vector<LongContextWay> baselines;  // of the winner's shape: no offload, full offload; whether they fit: peak
  double recompute_s = 0;                 // Megatron with context parallelism and full recomputation; 0: does not fit
  std::int64_t recompute_cp = 0;
  std::uint64_t evaluated = 0;
};
[[nodiscard]] Result<LongContextPlan> plan_long_context(const LongContextQuestion& question);

[[nodiscard]] std::string_view offload_name(Offload offload);

}  // namespace comity::plan
