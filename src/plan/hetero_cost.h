// SPDX-License-Identifier: Apache-2.0
// What a stage of a pipeline costs on one cluster of a mixed machine. Symbols as in hetero.h.
#pragma once

#include "plan/hetero.h"
#include "plan/layer_split.h"

namespace comity::plan {

// How one cluster takes part: pp stages of tp x dp GPUs.
struct ClusterDegrees {
  std::int64_t tp = 1;
  std::int64_t dp = 1;
  std::int64_t pp = 1;
};

struct ClusterCost {
  LayerPrefix prefix;  // forward and backward of a micro-batch; bytes with this dp and the question's ZeRO stage
  double embedding_s = 0;
  double head_s = 0;
  double first_bytes = 0;       // embedding's weights
  double last_bytes = 0;        // head's weights and logits
  double transfer_s = 0;        // one activation to the next stage of the same cluster
  double exposed = 0;           // share of transfers that nothing hides
  double layer_parameters = 0;  // of a GPU, the largest layer
  double end_parameters = 0;    // of embedding or head
  double backward_share = 0;    // backward over forward and backward
  double capacity_bytes = 0;
  workload::Execution execution;
};
[[nodiscard]] ClusterCost cluster_cost(const HeteroQuestion& question, std::size_t cluster,
                                       const ClusterDegrees& degrees, std::int64_t microbatch,
                                       workload::Recompute recompute);

// Gradients (and weights, with ZeRO) of `layers` layers over the cluster's own data-parallel group: seconds that the
// last micro-batch's backward pass of `stage_s` does not hide.
[[nodiscard]] double exposed_sync_s(const HeteroQuestion& question, std::size_t cluster, const ClusterCost& cost,
                                    std::int64_t layers, bool end, double stage_s);
[[nodiscard]] double optimizer_s(const HeteroQuestion& question, std::size_t cluster, const ClusterCost& cost,
                                 std::int64_t layers, bool end);
// One activation of a micro-batch to another cluster.
[[nodiscard]] double cross_transfer_s(const HeteroQuestion& question, const ClusterCost& cost);
// Model FLOP/s of one GPU while it computes layers without any pause, the best over tp and micro-batch.
[[nodiscard]] double layer_flops(const HeteroQuestion& question, std::size_t cluster);

}  // namespace comity::plan
