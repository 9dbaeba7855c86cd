// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "workload/calculon/batch.h"

namespace comity::workload::calculon {

// What a block leaves behind for its backward pass.
double Batch::kept_activation() const { return full_recompute() ? sums_.checkpoint : sums_.storage; }

// Forward, weights come while activations go; backward, all comes one behind the other.
double Batch::forward_offload() const {
  return std::max(exe_.weight_offload ? sums_.weight : 0, exe_.activations_offload ? kept_activation() : 0);
}
double Batch::backward_offload() const {
  if (!exe_.training) return 0;
  return (exe_.weight_offload ? sums_.weight : 0) + (exe_.activations_offload ? kept_activation() : 0) +
         (exe_.optimizer_offload ? sums_.optimizer : 0);
}

void Batch::memory() {
  spaces();
  tiers();
  offload_bandwidths();
}

void Batch::spaces() {
  Breakdown& o = out_;
  o.block_weight_space = sums_.weight;
  o.block_act_working_space = sums_.working;
  o.block_act_storage_space = sums_.storage;
  o.block_act_checkpoint_size = sums_.checkpoint;
  o.block_weight_grad_space = sums_.weight_grad;
  o.block_weight_grad_space_no_sharding = sums_.weight_grad_whole;
  o.block_act_grad_space = sums_.act_grad;
  o.block_optimizer_space = sums_.optimizer;

  o.weight_space = sums_.weight * blocks_;
  o.act_space = sums_.working;
  o.weight_space_with_offload = 2 * sums_.weight;
  o.act_space_with_offload = sums_.working + sums_.storage;
  if (!exe_.training) return;
  // One forward, one backward: as many micro-batches as processors are under way, and with chunks some more.
  double held = std::min(microbatches_, ranks_);
  if (chunks_ > 1) held *= 1 + (ranks_ - 1) / (chunks_ * ranks_);
  if (full_recompute()) {
    o.act_checkpoint_size = blocks_ * sums_.checkpoint * held;
    o.act_checkpoint_size_with_offload = 2 * sums_.checkpoint;
  } else {
    o.act_space += sums_.storage * (blocks_ * held - 1);
  }
  o.act_grad_space = o.act_grad_space_with_offload = sums_.act_grad;
  o.weight_grad_space = sums_.weight_grad_whole + sums_.weight_grad * (blocks_ - 1);
  o.weight_grad_space_with_offload = sums_.weight_grad_whole + sums_.weight_grad;
  o.optimizer_space = sums_.optimizer * blocks_;
  o.optimizer_space_with_offload = 2 * sums_.optimizer;
}

void Batch::tiers() {
  Breakdown& o = out_;
  double first = 0;
  double second = 0;
  const auto place = [&](bool offloaded, double here, double stays, double there) {
    first += offloaded ? stays : here;
    if (offloaded) second += there;
  };
  place(exe_.weight_offload, o.weight_space, o.weight_space_with_offload, o.weight_space);
  // With full recomputation the checkpoints leave, and the activations of one block stay.
  place(exe_.activations_offload, o.act_space, o.act_space_with_offload, full_recompute() ? 0 : o.act_space);
  place(exe_.activations_offload, o.act_checkpoint_size, o.act_checkpoint_size_with_offload, o.act_checkpoint_size);
  place(exe_.optimizer_offload, o.weight_grad_space + o.optimizer_space,
        o.weight_grad_space_with_offload + o.optimizer_space_with_offload,
        sums_.weight_grad * blocks_ + o.optimizer_space);
  o.mem_tier1_cap_req = first + o.act_grad_space;
  o.mem_tier2_cap_req = second;
  o.fits = o.mem_tier1_cap_req <= machine_.mem1_capacity() && o.mem_tier2_cap_req <= machine_.mem2_capacity();
}

// What hides offloading in the time that a block does not wait for the first tier.
void Batch::offload_bandwidths() {
  const double fw_s = std::min(fw_plain_[kBase], fw_plain_[kEdge]) - pass(Stage::kForward).mem_s;
  const double bw_s =
      std::min(bw_plain_[kBase], bw_plain_[kEdge]) - (pass(Stage::kAgrad).mem_s + pass(Stage::kWgrad).mem_s);
  const auto rate = [](double bytes, double seconds) { return seconds != 0 ? bytes / seconds : 0; };
  out_.act_offload_bw_req = rate(kept_activation(), fw_s);
  out_.weight_offload_bw_req = rate(sums_.weight, fw_s);
  out_.offload_mem_bw_req = rate(forward_offload(), fw_s);
  if (!exe_.training) return;
  out_.optim_offload_bw_req = rate(sums_.weight_grad + sums_.optimizer, bw_s);
  out_.offload_mem_bw_req = std::max(out_.offload_mem_bw_req, rate(backward_offload(), bw_s));
}

}  // namespace comity::workload::calculon
