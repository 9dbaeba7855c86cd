// SPDX-License-Identifier: Apache-2.0
// Bytes that one GPU sends in one training step, by purpose: ring collectives, in closed form, exact for dense models
// and the mean over routings for experts.
//
// Symbols as in model.h, and t, c, p, d, e degrees, v chunks a rank, b micro-batch, m micro-batches, w bytes of an
// element, g bytes of a gradient, P parameters of the rank:
//
//   tp         layers m 8 (t-1)/t b s/c h w; with sequence parallelism 10 instead of 8 where the input is gathered
//   again
//              for the weight gradients; full recomputation adds 4: the forward pass once more
//   cp, ring   layers m 3 (c-1) 2 b s/c (k/a) h/t w: keys and values forward, backward with their gradients
//   cp, ulysses  layers m 2 (c-1)/c b s/c (q + 2 k + o)/t w: four all-to-all forward, four backward
//   ep         moe layers m 4 (e-1)/e b s/c K h w/t: dispatch and combine, forward and backward
//   pp         m b s/c h w a boundary of chunks and direction, /t with scatter-gather or sequence parallelism
//   dp         (n-1)/n P (2g | g + w | g + w | g + 2w) for ZeRO 0 .. 3; n = d c, of experts d c / e
//   embedding  V h/t g: the all-reduce of two copies, where they are tied (both ends together send twice that)
//
// Full recomputation repeats the forward part of cp and ep as well. Left out: the all-reduces of the embedding and of
// the loss inside a tensor-parallel group, and DualPipe's second copy of the gradients.
#pragma once

#include <cstdint>

#include "workload/execution.h"
#include "workload/model.h"

namespace comity::workload {

struct VolumeRules {
  bool regather = true;  // sequence parallelism keeps a shard of the input and gathers it again (Megatron-LM)
  bool gather_microbatches = false;  // ZeRO-3 gathers and reduces for each micro-batch, instead of once a step
};

// Of one chunk (0 .. p*v - 1 in the order in which tokens pass them), all micro-batches of a step.
[[nodiscard]] double tp_bytes(const Model& model, const Execution& execution, std::int64_t chunk,
                              const VolumeRules& rules = {});
[[nodiscard]] double cp_bytes(const Model& model, const Execution& execution, std::int64_t chunk);
[[nodiscard]] double ep_bytes(const Model& model, const Execution& execution, std::int64_t chunk);
// Across one boundary between chunks in one direction; 0 where p = 1.
[[nodiscard]] double pp_bytes(const Model& model, const Execution& execution);
[[nodiscard]] double embedding_bytes(const Model& model, const Execution& execution);

// Parameters on one GPU, of one chunk.
struct LocalParameters {
  double dense = 0;    // all d c ranks have the same
  double experts = 0;  // d c / e ranks have the same
};
[[nodiscard]] LocalParameters local_parameters(const Model& model, const Execution& execution, std::int64_t chunk);
// Gradients and parameters of `parameters` over n ranks.
[[nodiscard]] double dp_bytes(const Execution& execution, double parameters, std::int64_t n,
                              const VolumeRules& rules = {});

// What each GPU of one pipeline rank sends in a step.
struct RankBytes {
  double tp = 0;
  double cp = 0;
  double ep = 0;
  double dp = 0;
  double expert_dp = 0;
  double pp_next = 0;      // to the rank behind it (the last one's next is the first)
  double pp_previous = 0;  // to the rank before it
  double embedding = 0;
  [[nodiscard]] double total() const { return tp + cp + ep + dp + expert_dp + pp_next + pp_previous + embedding; }
};
[[nodiscard]] RankBytes rank_bytes(const Model& model, const Execution& execution, std::int64_t pp_rank,
                                   const VolumeRules& rules = {});

}  // namespace comity::workload
