// SPDX-License-Identifier: Apache-2.0
// The time of one kernel on one GPU: matrix products by shape, fused attention, and passes over memory.
#pragma once

#include "workload/execution.h"
#include "workload/system.h"

namespace comity::workload {

// FLOP/s of the matrix units; a type that the GPU does not have runs as the next wider one that it has.
[[nodiscard]] double peak_flops(const System& system, Datatype datatype);

// `count` products of M x N x K each, as one (grouped or batched) kernel. See GemmModel. 0 for an empty product.
[[nodiscard]] double gemm_s(const System& system, Datatype datatype, double m, double n, double k, double count = 1);

// A pass over `bytes` of memory, reads and writes together.
[[nodiscard]] double memory_s(const System& system, double bytes);

// Scores and weighted values of fused attention: 2 x 2 x b a s_q s_k d FLOPs, half of it where `causal`.
struct AttentionShape {
  double batch = 1;
  double heads = 1;
  double queries = 1;
  double keys = 1;
  double width = 1;        // of a query and key head
  double value_width = 1;  // of a value head
  bool causal = true;
};
[[nodiscard]] double attention_flops(const AttentionShape& shape);
[[nodiscard]] double attention_s(const System& system, Datatype datatype, const AttentionShape& shape, bool backward);

}  // namespace comity::workload
