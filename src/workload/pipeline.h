// SPDX-License-Identifier: Apache-2.0
// A training step as a pipeline: which operation each rank does when, what it waits for, how much it holds.
//
// p ranks ("stages" of the pipeline), v chunks a rank, m micro-batches. Stage = chunk of the model, 0 .. p*v - 1 in the
// order in which tokens pass them. F is a forward pass of one chunk, B the full backward pass, W its part that computes
// weight gradients and that nobody waits for; B - W is the part that computes input gradients.
//
//   gpipe        all F, then all B, last micro-batch first (Huang et al. 2019)
//   1f1b         p - 1 - rank F, then F and B in turn (PipeDream-Flush; Narayanan et al. SC'21)
//   interleaved  Megatron-LM's: micro-batches in groups of N pass chunk after chunk of a rank; 2(p - 1 - rank) + (v -
//   1)N
//                F first. N is p where p divides m; else the smallest N in [p, m] that leaves no last group of fewer
//                than p, which Megatron-LM refuses; m where m < p.
//   zb_h1        1F1B whose rank r does W r micro-batches late (Qi et al. 2023)
//   zb_h2        2(p - 1 - rank) F first, W 2r micro-batches late; m >= 2p - 1
//   dualpipe     half of the micro-batches from either end, rank r holds stages r and p - 1 - r, F and B of opposite
//                directions run as one (DeepSeek-V3); p and m even, m >= 2p
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workload/execution.h"

namespace comity::workload {

enum class OpKind : std::uint8_t { kForward, kBackward, kInput, kWeight };  // F, B, B - W, W
[[nodiscard]] std::string_view op_name(OpKind kind);                        // "F", "B", "I", "W"

struct Op {
  OpKind kind = OpKind::kForward;
  bool overlapped = false;  // runs as one with the operation behind it
  std::int32_t stage = 0;
  std::int32_t microbatch = 0;
  friend bool operator==(const Op&, const Op&) = default;
};

struct PipelineShape {
  Schedule schedule = Schedule::k1f1b;
  std::int64_t ranks = 1;         // p
  std::int64_t chunks = 1;        // v; more than one with kInterleaved only
  std::int64_t microbatches = 1;  // m, of one replica
  std::int64_t group = 0;         // N of the interleaved schedule; 0: the rule above
  [[nodiscard]] std::int64_t stages() const { return ranks * chunks; }
};
// k1f1b with virtual stages is kInterleaved, kInterleaved without is k1f1b.
[[nodiscard]] PipelineShape pipeline_shape(const Execution& execution);
// What the schedule asks of p, v and m. Everything below wants a shape that passes.
[[nodiscard]] Status check_pipeline(const PipelineShape& shape);

[[nodiscard]] std::int64_t rank_of_stage(const PipelineShape& shape, std::int64_t stage, std::int64_t microbatch);
[[nodiscard]] std::int64_t interleaved_group(const PipelineShape& shape);  // N
[[nodiscard]] std::vector<Op> rank_order(const PipelineShape& shape, std::int64_t rank);

// Of one chunk and one micro-batch.
struct StageTimes {
  double forward_s = 0;
  double backward_s = 0;  // all of it
  double weight_s = 0;    // of backward_s
};

struct PipelineTimes {
  std::vector<StageTimes> stages;  // p*v of them, or one for all
  StageTimes first_extra;          // added to stage 0 (the embedding) ...
  StageTimes last_extra;           // ... and to the last one (the head and the loss)
  double transfer_s = 0;           // from one rank to the next, either direction
  double transfer_exposed = 0;     // share of it in which the sender computes nothing
  double pair_factor = 1;          // an overlapped F and B take this times their sum, at least the longer one
};

struct OpTime {
  double start_s = 0;
  double end_s = 0;
};

struct RankRun {
  std::vector<Op> order;
  std::vector<OpTime> times;     // of order; the two of an overlapped pair have the same
  double busy_s = 0;             // computes
  double idle_s = 0;             // makespan - busy, with exposed transfers
  std::int64_t peak_chunks = 0;  // most pairs (chunk, micro-batch) held at a time: from the start of F to the end of
                                 // the last of B, B - W and W
};

struct PipelineRun {
  std::vector<RankRun> ranks;
  double makespan_s = 0;
  double period_s = 0;  // longest time between a rank's first start and last end: what a step costs where no barrier
                        // follows (post-validation of Qi et al.)
  double bubble_s = 0;  // makespan - the busiest rank's busy_s
};

// Earliest start of every operation, in O(operations). An Error (kInput) names a value that cannot be, or, for
// simulate_orders, an operation that is missing, twice or on the wrong rank, or ranks that wait for each other.
[[nodiscard]] Result<PipelineRun> simulate(const PipelineShape& shape, const PipelineTimes& times);
[[nodiscard]] Result<PipelineRun> simulate_orders(const PipelineShape& shape, std::vector<std::vector<Op>> orders,
                                                  const PipelineTimes& times);

// What a rank holds over time: after each change, from time 0. `weights` of `chunks` only wait for W.
struct Held {
  double at_s = 0;
  std::int64_t chunks = 0;
  std::int64_t weights = 0;
};
[[nodiscard]] std::vector<Held> held_over_time(const RankRun& rank);

// --- closed forms, O(1): all stages alike, transfers take no time ---

// Exactly simulate()'s, for every shape that passes check_pipeline.
[[nodiscard]] double makespan_s(const PipelineShape& shape, const StageTimes& stage, double pair_factor = 1);
[[nodiscard]] double period_s(const PipelineShape& shape, const StageTimes& stage, double pair_factor = 1);
[[nodiscard]] double bubble_s(const PipelineShape& shape, const StageTimes& stage, double pair_factor = 1);
// What the papers print. gpipe, 1f1b (p-1)(F+B); interleaved (p-1)(F+B) of a chunk; zb_h1 (p-1)(F+B-2W); zb_h2
// (p-1)(F+B-3W); dualpipe (p/2-1)(FB+B-3W). Equal to bubble_s (zb_h2: period - ideal) for F = B - W = W and enough m.
[[nodiscard]] double published_bubble_s(const PipelineShape& shape, const StageTimes& stage, double pair_factor = 1);
// What a transfer that overlaps with computation adds to makespan_s: exact for gpipe and 1f1b, where a rank has too few
// micro-batches under way to hide it; for the others the way of one micro-batch through the ranks, which is less than
// what the simulator finds.
[[nodiscard]] double transfer_wait_s(const PipelineShape& shape, double transfer_s);
// No schedule of this order takes less, whatever its stages: on some rank everything has to come in, be done and go
// out.
[[nodiscard]] double least_makespan_s(const PipelineShape& shape, const PipelineTimes& times);

// Most micro-batches that a rank holds at a time, in activations of all its chunks; of those that wait for W the share
// `weight_share` is kept (1: all, 0: none). Interleaved on rank 0: p(1 + (p - 1)/(pv)) (Korthikanti et al.).
[[nodiscard]] double peak_in_flight(const PipelineShape& shape, std::int64_t rank, double weight_share = 1);

}  // namespace comity::workload
