// SPDX-License-Identifier: Apache-2.0
// One transformer block, one micro-batch: what its layers take together, before there is a pipeline.
#pragma once

#include "workload/calculon/machine.h"

namespace comity::workload::calculon {

// A chunk ends with an edge block, where p2p_rs_ag splits its collectives; all others are base blocks.
enum BlockKind : std::uint8_t { kBase = 0, kEdge = 1 };
inline constexpr std::size_t kBlockKinds = 2;

// A pass over a layer, or the sum over a block.
struct Pass {
  double flops = 0;
  double flops_s = 0;
  double mem = 0;  // bytes accessed
  double mem_s = 0;
  double time_s = 0;                          // arithmetic and memory; beside a transfer also what that costs
  std::array<double, kBlockKinds> bytes{};    // tensor-parallel communication
  std::array<double, kBlockKinds> link_s{};   // its time on the wire
  std::array<double, kBlockKinds> shown_s{};  // what of it nothing hides
};

struct BlockSums {
  std::array<Pass, kStages> stage{};  // by Stage
  Pass again;                         // recomputation
  Pass recomm;                        // communication that is repeated with it: bytes, link_s, shown_s
  double tp_bandwidth = 0;            // B/s that hides all tiles of tensor-parallel communication

  // Bytes.
  double weight = 0;
  double working = 0;     // activations while the block is computed
  double storage = 0;     // ... and kept until its backward pass
  double checkpoint = 0;  // kept in their place where all is recomputed
  double weight_grad = 0;
  double weight_grad_whole = 0;  // before it is sharded
  double act_grad = 0;
  double optimizer = 0;
};

[[nodiscard]] BlockSums sum_block(const Application& app, const Execution& exe, const Machine& machine);

}  // namespace comity::workload::calculon
