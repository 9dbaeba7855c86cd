// SPDX-License-Identifier: Apache-2.0
// How long one training step takes, where the time goes and whether it fits: in closed form, in microseconds.
//
// T = m t_max + (sum of t_i - t_max) / v + exposed stage-to-stage, data-parallel and optimizer time, where t_i is what
// rank i of a pipeline spends on one micro-batch (forward and backward of its v chunks, with the communication that
// nothing hides) and the second term is the time in which the pipeline fills and drains; other schedules change that
// term alone (specs: Narayanan et al. SC'21; Qi et al. 2023; DeepSeek-V3). A stage with the output head is longer than
// the others and sets t_max.
#pragma once

#include <cstdint>
#include <vector>

#include "workload/collective_cost.h"
#include "workload/execution.h"
#include "workload/layer_cost.h"
#include "workload/model.h"
#include "workload/system.h"

namespace comity::workload {

// Seconds of the rank that ends last; they add up to the step.
struct Breakdown {
  double forward = 0;
  double backward = 0;
  double optimizer = 0;
  double recompute = 0;
  double recompute_communication = 0;
  double bubble = 0;
  double tp = 0;
  double pp = 0;
  double dp = 0;
  double ep = 0;
  double cp = 0;
  double offload = 0;
  double overhead = 0;
  [[nodiscard]] double total() const;
};

// Bytes on one GPU of a stage.
struct StageMemory {
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;  // kept from forward to backward, of all micro-batches in flight
  double working = 0;      // logits, a layer that is computed again, gathered weights
  [[nodiscard]] double total() const { return weights + gradients + optimizer + activations + working; }
};

struct Estimate {
  double iteration_s = 0;
  double low_s = 0;  // the confidence band: the system's error_band around the estimate
  double high_s = 0;
  Breakdown breakdown_s;
  StageMemory memory;  // of the fullest stage
  std::int64_t fullest_stage = 0;
  double capacity_bytes = 0;
  bool fits = false;
  double model_flops = 0;     // of the step, no recomputation, attention in full
  double hardware_flops = 0;  // with what is computed again
  double tflops_per_gpu = 0;  // model FLOPs
  double hardware_tflops_per_gpu = 0;
  double mfu = 0;  // of the peak of the execution's type
  double hfu = 0;
  double gpu_utilisation = 0;      // achieved / peak while a GPU computes
  double communication_share = 0;  // exposed communication / step
  double dp_gb_s = 0;              // what a GPU sends in the gradients' collective while it lasts
  double tp_gb_s = 0;
};

// `execution` must have passed check_execution.
[[nodiscard]] Estimate estimate(const Model& model, const Execution& execution, const System& system, CostModel cost);

// For searches. `layers` are shared by all candidates that differ in pp, dp, virtual_stages, schedule and zero alone.
// What does not fit comes back with fits = false and without times.
[[nodiscard]] Estimate estimate_if_fits(const Model& model, const Execution& execution, const System& system,
                                        CostModel cost, const LayerCosts& layers);
// No step is shorter, in O(1): all ranks equally loaded, nothing exposed but what the layers themselves wait for.
[[nodiscard]] double least_s(const Model& model, const Execution& execution, const LayerCosts& layers);

// One entry a pipeline rank, first stage first.
[[nodiscard]] std::vector<StageMemory> memory_by_stage(const Model& model, const Execution& execution,
                                                       const System& system, CostModel cost);

// Seconds of each chunk (pp * v of them in the order in which a token passes), for the timeline.
struct ChunkTimes {
  double forward = 0;
  double backward = 0;         // all of it, recomputation and communication included
  double backward_weight = 0;  // the part that can wait
};
[[nodiscard]] std::vector<ChunkTimes> chunk_times(const Model& model, const Execution& execution, const System& system,
                                                  CostModel cost);
// One stage-to-stage transfer of a micro-batch.
[[nodiscard]] double stage_transfer_s(const Model& model, const Execution& execution, const System& system,
                                      CostModel cost);

}  // namespace comity::workload
