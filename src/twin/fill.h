// SPDX-License-Identifier: Apache-2.0
// How full a cluster of shared GPUs gets under a placement rule: the experiment of Weng et al., "Beware of
// Fragmentation" (USENIX ATC 2023), section 6. Pods arrive one after another and never leave; one that fits nowhere is
// refused and not tried again. The arriving pods are the list itself in random order, inflated by pods drawn from it
// with replacement until the GPUs asked for reach `target` x capacity (or thinned out where the list asks for more).
//
// Curves are over arrived demand, in percent of the GPU capacity, one point a percent, each at the first arrival that
// reaches it:
//   allocation     GPU given out / capacity
//   fragmentation  F(M) of the cluster / capacity    (cluster/fragmentation.h)
//   idle lost      F(M) / GPU not given out; 1 where none is idle
//
// A run ends with its sums: arrived = placed + refused, GPU given out = the sum over placed pods, and the fragmentation
// kept along the way = that of the final state counted afresh. A broken sum is an Error (kFailed).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "cluster/fragmentation.h"
#include "cluster/share_placement.h"
#include "twin/pods.h"

namespace comity::twin {

// kInflate: every pod of the list once, then draws, all shuffled (the paper's artifact). kReplace: draws alone.
enum class Draw { kInflate, kReplace };

struct FillOptions {
  std::vector<cluster::ShareRule> rules;
  double target = 1.3;       // of the GPU capacity, 0.01 to 10
  std::uint32_t seeds = 10;  // runs of each rule, with seed, seed + 1, ...
  std::uint64_t seed = 1;
  Draw draw = Draw::kInflate;
  cluster::ShareScores scores = cluster::ShareScores::kWhole;
  cluster::ShareTies ties = cluster::ShareTies::kIndex;
  cluster::MixOptions mix{};
  std::size_t threads = 1;
  bool quiet = true;  // no progress line
};

struct FillRun {
  cluster::ShareRule rule = cluster::ShareRule::kFgd;
  std::uint64_t seed = 0;
  std::uint64_t arrived = 0, placed = 0, refused = 0;
  std::int64_t arrived_gpu_milli = 0, placed_gpu_milli = 0;
  double cpu_allocation = 0;                                 // at the end, 0 to 1
  std::vector<double> allocation, fragmentation, idle_lost;  // [percent of capacity arrived], 0 to 1
  double wall_s = 0;
  std::uint64_t fingerprint = 0;
};

struct FillResult {
  std::vector<FillRun> runs;  // rule by rule, seed by seed; those that were finished
  std::size_t classes = 0;    // of the task mix
  double mix_coverage = 0;    // part of the pods that they stand for
  bool partial = false;       // interrupted
};

// The same bytes on any number of threads (wall_s apart). kInput when the cluster has no GPU, no pod asks for one, or
// the pods that would arrive are more than kPods.
[[nodiscard]] Result<FillResult> fill(const PodList& pods, const ShareNodes& nodes, const FillOptions& options);

// The pods that arrive, as indices into the list: what fill() draws for one seed.
[[nodiscard]] Result<std::vector<std::uint32_t>> draw_arrivals(const PodList& pods, std::int64_t gpu_milli,
                                                               double target, Draw draw, std::uint64_t seed);

// Distinct requests of a list and which one each pod has.
struct PodShapes {
  std::vector<cluster::ShareRequest> shapes;
  std::vector<std::uint32_t> of_pod;
};
[[nodiscard]] PodShapes pod_shapes(const PodList& pods);

}  // namespace comity::twin
