// SPDX-License-Identifier: Apache-2.0
// From one block to the batch: the chunks of a processor, the pipeline's bubble, data parallelism and memory.
#pragma once

#include "workload/calculon/block.h"
#include "workload/calculon/cost.h"

namespace comity::workload::calculon {

class Batch {
 public:
  Batch(const Application& app, const Execution& exe, const Machine& machine);

  Breakdown run();

 private:
  // batch.cc
  void describe_block();
  void times();
  void block_times();
  void bubble();
  void totals();
  [[nodiscard]] double over_batch(double base, double edge) const;
  [[nodiscard]] double over_chunk(double base, double edge) const;

  // batch_data_parallel.cc
  void data_parallel();
  void overlap_data_parallel();
  [[nodiscard]] double early_chunks(double chunk_window, double chunk_compute);
  [[nodiscard]] double last_chunk(double chunk_window, double block_compute);
  [[nodiscard]] double bandwidth_in(double window_s) const;

  // batch_memory.cc
  void memory();
  void spaces();
  void tiers();
  void offload_bandwidths();
  [[nodiscard]] double kept_activation() const;
  [[nodiscard]] double forward_offload() const;
  [[nodiscard]] double backward_offload() const;

  [[nodiscard]] const Pass& pass(Stage stage) const { return sums_.stage[static_cast<std::size_t>(stage)]; }
  [[nodiscard]] bool full_recompute() const { return exe_.activation_recompute == ActivationRecompute::kFull; }

  const Application& app_;
  const Execution& exe_;
  const Machine& machine_;
  BlockSums sums_;
  double microbatches_;
  double ranks_;            // processors of a pipeline
  double blocks_ = 0;       // of a processor, the first one
  double missing_ = 0;      // blocks that processors at the end lack
  double chunks_ = 1;       // of a processor
  double base_blocks_ = 0;  // of a chunk, beside its edge block
  double fw_pp_s_ = 0;      // a chunk's transfer to the next processor
  double bw_pp_s_ = 0;
  // Of a block, by BlockKind: without and with what offloading adds.
  std::array<double, kBlockKinds> fw_plain_{};
  std::array<double, kBlockKinds> bw_plain_{};
  std::array<double, kBlockKinds> fw_block_{};
  std::array<double, kBlockKinds> bw_block_{};
  double dp_block_s_ = 0;
  Breakdown out_;
};

}  // namespace comity::workload::calculon
