// SPDX-License-Identifier: Apache-2.0
// Training on sequences too long for the GPUs' memory, in the manner of SPPO (arXiv 2503.10377; docs/systems/sppo.md
// says what of it is here): the sequence is cut into N pieces of equal time, the pieces go through a pipeline of PP
// stages, SP GPUs share each stage (tensor and sequence parallel), and activations go to host memory as fast as the
// link allows without making anybody wait.
//
// The search: every SP x PP x DP = GPUs with SP inside of a node, every N (in steps of a quarter) that gives a GPU
// between least_piece and most_piece tokens of a piece; adaptive and full offload. O(choices x N x PP) arithmetic,
// milliseconds. Seconds and bytes are of one step and one GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/fields.h"
#include "plan/sequence_split.h"
#include "workload/estimate.h"

namespace comity::plan {

struct LongContextQuestion {
  workload::Model model;
  workload::System system;
  workload::CostModel cost = workload::CostModel::kNccl;
  workload::Datatype datatype = workload::Datatype::kBf16;
  std::int64_t gpus = 0;
  std::int64_t tokens = 0;          // S, of one sequence
  std::int64_t batch = 1;           // sequences of a step over all GPUs
  std::int64_t least_piece = 2048;  // tokens of a piece that one GPU has
  std::int64_t most_piece = 16384;
  std::int64_t max_sp = 0;      // 0: the GPUs of a node
  std::int64_t sp = 0;          // 0: searched; else only this one
  std::int64_t pp = 0;          // the same
  std::int64_t pieces = 0;      // the same
  bool multiplex = true;        // fill bubbles by sharing pieces between stages (MSP)
  double multiplex_fill = 0.5;  // of the bubble that MSP fills; the paper's two points give .81 and .29
};

enum class Offload : std::uint8_t { kNone, kAdaptive, kFull };
[[nodiscard]] std::string offload_name(Offload offload);

struct LongContextChoice {
  std::int64_t sp = 1;
  std::int64_t pp = 1;
  std::int64_t dp = 1;
  std::int64_t pieces = 1;  // N
  Offload offload = Offload::kAdaptive;
  bool multiplex = false;
  double step_s = 0;
  double forward_s = 0;   // of one sequence, from the first piece's start to the last one's end
  double backward_s = 0;  // the same
  double stall_s = 0;     // of them, waiting for the host link (slowest stage)
  double bubble = 0;      // idle over useful time
  double peak_bytes = 0;  // of the fullest stage
  double host_bytes = 0;  // in host memory, the most of any stage
  double tokens_per_s = 0;
  double mfu = 0;
  bool fits = false;
};

struct SequencePiece {
  std::int64_t tokens = 0;
  double forward_s = 0;  // of one stage in the middle
  double backward_s = 0;
  double offloadable_bytes = 0;  // A_i
  double kept_bytes = 0;         // keys and values, which later pieces read
  double ratio = 0;              // alpha_i
};

// What a stage holds while it computes a piece.
struct StageMoment {
  std::int64_t stage = 0;
  std::int64_t piece = 0;
  bool backward = false;
  double start_s = 0;
  double end_s = 0;
  double bytes = 0;  // with weights, gradients and optimizer
};

struct LongContextRival {
  std::string name;
  std::string how;  // its degrees
  double step_s = 0;
  double peak_bytes = 0;
  bool fits = false;
};

struct LongContextPlan {
  LongContextChoice best;
  std::vector<SequencePiece> pieces;
  std::vector<StageMoment> timeline;     // by stage, then time
  std::vector<MultiplexedStage> shared;  // MSP's table; empty without it
  std::vector<LongContextRival> rivals;  // the same step without SPPO, and with parts of it
  double capacity_bytes = 0;
  std::int64_t evaluated = 0;
};

// Errors: kUsage for impossible numbers, kInput where nothing fits (the hint names the longest sequence that does).
[[nodiscard]] Result<LongContextPlan> plan_long_context(const LongContextQuestion& question);

// The longest sequence that fits, in whole `grain` tokens and within 1.6 %; 0: none.
enum class LongContextWay : std::uint8_t { kSppo, kMegatron, kMegatronWithoutContextParallel };
[[nodiscard]] std::int64_t longest_context(const LongContextQuestion& question, LongContextWay way,
                                           std::int64_t grain = 16384);

// Megatron-LM: every tp x cp x pp x dp (cp = 1 without context_parallel), with and without full recomputation. Ulysses:
// the sequence over as many GPUs as heads allow, ZeRO-3.
[[nodiscard]] LongContextRival best_megatron(const LongContextQuestion& question, bool context_parallel);
[[nodiscard]] LongContextRival same_split_megatron(const LongContextQuestion& question, std::int64_t sp,
                                                   std::int64_t pp);
[[nodiscard]] LongContextRival best_ulysses(const LongContextQuestion& question);

// One choice in full; `detail` may be null.
[[nodiscard]] LongContextChoice evaluate_long_context(const LongContextQuestion& question,
                                                      const LongContextChoice& choice, LongContextPlan* detail);

[[nodiscard]] Fields fields(const LongContextPlan& plan);
[[nodiscard]] FieldRows piece_rows(const LongContextPlan& plan);
[[nodiscard]] FieldRows timeline_rows(const LongContextPlan& plan);
[[nodiscard]] FieldRows rival_rows(const LongContextPlan& plan);
[[nodiscard]] std::string explain(const LongContextPlan& plan);

// The paper's claims beside what this model gives for the same models and numbers of GPUs on `system` (dgx-a100).
struct LongContextClaim {
  std::string what;
  double paper = 0;
  double ours = 0;
  std::string unit;
};
[[nodiscard]] std::vector<LongContextClaim> long_context_claims(const workload::System& system);

}  // namespace comity::plan
