// SPDX-License-Identifier: Apache-2.0
// Training on clusters of different GPUs and networks as one machine, after HETHUB (arXiv 2405.16256) and Holmes
// (arXiv 2312.03549); docs/systems/hethub-holmes.md says what of them is here.
//
// Two layouts. Pipelines across: one pipeline runs through all clusters, stages are cut at cluster borders, each stage
// with as many layers as its GPUs are fast (layer_split.h), and data-parallel groups stay inside of a cluster, so that
// they never join different NICs. Replicas across: each cluster has pipelines of its own and gradients are summed over
// all of them; only where all NICs are of one kind, with micro-batches shared out by speed.
//
// The search is exhaustive over orders of the clusters, tp of each, dp, micro-batch and recomputation: some thousand
// splits, each O(p L^2). Seconds are of one step. Symbols as in workload/model.h; m micro-batches of a replica.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/fields.h"
#include "workload/estimate.h"

namespace comity::plan {

struct HeteroCluster {
  std::string name;
  workload::System system;
  std::int64_t gpus = 0;
  std::string nic;  // "infiniband", "roce", "ethernet": equal words can form one group
};

struct HeteroQuestion {
  workload::Model model;
  std::vector<HeteroCluster> clusters;
  workload::CostModel cost = workload::CostModel::kNccl;
  workload::Execution base;      // batch, sequence, datatype, zero and the switches that are not searched
  double cross_gb_s = 1.25;      // what a GPU sends to another cluster
  double cross_latency_us = 50;  // of one message there
  std::int64_t max_tp = 8;
  std::vector<std::int64_t> microbatches = {1, 2, 4, 8};
  bool even_layers = false;  // every stage as many layers: what planners for one kind of GPU do
  bool alone = true;         // plan each cluster alone too, for share_of_alone
};

struct HeteroStage {
  std::size_t cluster = 0;
  std::int64_t tp = 1;
  std::int64_t dp = 1;
  std::int64_t layers = 0;
  double seconds = 0;  // of a micro-batch, forward and backward
  double bytes = 0;    // on one GPU
  double capacity_bytes = 0;
  std::int64_t microbatches = 0;  // m of its pipeline
};

struct HeteroPlan {
  bool replicas_across = false;
  std::int64_t microbatch = 1;
  workload::Recompute recompute = workload::Recompute::kNone;
  std::vector<HeteroStage> stages;  // of one pipeline, or of one pipeline of each cluster in turn
  double step_s = 0;
  double pipeline_s = 0;  // of it: computation, bubbles and exposed transfers
  double sync_s = 0;      // exposed gradients
  double optimizer_s = 0;
  double tflops = 0;          // model FLOP/s of all GPUs together
  double tflops_per_gpu = 0;  //
  double layer_bound = 0;     // TFLOP/s: every GPU computes layers of this model all the time at its type's best
  double peak_bound = 0;      // TFLOP/s: sum of data-sheet peaks
  double alone_bound = 0;     // TFLOP/s: sum of what each cluster reaches alone; 0: one of them cannot hold the model
  double even_step_s = 0;     // the best with as many layers in every stage; 0: does not fit
  std::uint64_t evaluated = 0;
  [[nodiscard]] double share_of_layers() const { return layer_bound > 0 ? tflops / layer_bound : 0; }
  [[nodiscard]] double share_of_peak() const { return peak_bound > 0 ? tflops / peak_bound : 0; }
  [[nodiscard]] double share_of_alone() const { return alone_bound > 0 ? tflops / alone_bound : 0; }
};

// Errors: kUsage for impossible numbers, kInput where no split fits.
[[nodiscard]] Result<HeteroPlan> plan_hetero(const HeteroQuestion& question);

// Micro-batches for each of several kinds of replicas so that the slowest ends first: replicas[c] pipelines that take
// fill_s[c] + m each_s[c]; the sum of replicas[c] m[c] is at least `total` and less by no whole round of any kind.
[[nodiscard]] std::vector<std::int64_t> share_microbatches(const std::vector<std::int64_t>& replicas,
                                                           const std::vector<double>& fill_s,
                                                           const std::vector<double>& each_s, std::int64_t total);

// `system` with the network between nodes that Holmes' table compares, per GPU (assumptions: docs).
[[nodiscard]] workload::System with_nic(workload::System system, const std::string& nic);

[[nodiscard]] Fields fields(const HeteroPlan& plan);
[[nodiscard]] FieldRows stage_rows(const HeteroQuestion& question, const HeteroPlan& plan);
[[nodiscard]] std::string explain(const HeteroQuestion& question, const HeteroPlan& plan);

struct HeteroClaim {
  std::string what;
  double paper = 0;
  double ours = 0;
  std::string unit;
};
// Holmes' table for GPT-3.6B and HETHUB's share of its bound. Systems: dgx-a100 and mi300x of the library.
[[nodiscard]] std::vector<HeteroClaim> hetero_claims(const workload::System& a100, const workload::System& amd);

}  // namespace comity::plan
