// SPDX-License-Identifier: Apache-2.0
#include "workload/calculon/batch.h"

#include <algorithm>
#include <cmath>

namespace comity::workload::calculon {
namespace {

double real(std::int64_t v) { return static_cast<double>(v); }

}  // namespace

Batch::Batch(const Application& app, const Execution& exe, const Machine& machine)
    : app_(app),
      exe_(exe),
      machine_(machine),
      sums_(sum_block(app, exe, machine)),
      microbatches_(real(exe.microbatches())),
      ranks_(real(exe.pipeline_par)),
      chunks_(real(exe.pipeline_interleaving)) {
  const std::int64_t rest = app.num_blocks % exe.pipeline_par;
  const std::int64_t blocks = app.num_blocks / exe.pipeline_par + (rest != 0 ? 1 : 0);
  blocks_ = real(blocks);
  missing_ = rest == 0 ? 0 : real(exe.pipeline_par - rest);
  base_blocks_ = real(blocks / exe.pipeline_interleaving - 1);
}

Breakdown Batch::run() {
  describe_block();
  times();
  data_parallel();
  memory();
  totals();
  return out_;
}

void Batch::describe_block() {
  const auto work = [](const Pass& p, double& flops, double& flops_s, double& mem, double& mem_s, double& time_s) {
    flops = p.flops, flops_s = p.flops_s, mem = p.mem, mem_s = p.mem_s, time_s = p.time_s;
  };
  Breakdown& o = out_;
  work(pass(Stage::kForward), o.block_fw_flops, o.block_fw_flops_time, o.block_fw_mem_accessed, o.block_fw_mem_time,
       o.block_fw_time);
  work(sums_.again, o.block_re_flops, o.block_re_flops_time, o.block_re_mem_accessed, o.block_re_mem_time,
       o.block_re_time);
  work(pass(Stage::kAgrad), o.block_agrad_flops, o.block_agrad_flops_time, o.block_agrad_mem_accessed,
       o.block_agrad_mem_time, o.block_agrad_time);
  work(pass(Stage::kWgrad), o.block_wgrad_flops, o.block_wgrad_flops_time, o.block_wgrad_mem_accessed,
       o.block_wgrad_mem_time, o.block_wgrad_time);
  work(pass(Stage::kOptim), o.block_optim_flops, o.block_optim_flops_time, o.block_optim_mem_accessed,
       o.block_optim_mem_time, o.block_optim_time);
  const auto sent = [](const Pass& p, BlockKind kind, double& link_s, double& shown_s, double& bytes) {
    link_s = p.link_s[kind], shown_s = p.shown_s[kind], bytes = p.bytes[kind];
  };
  const Pass& fw = pass(Stage::kForward);
  const Pass& ag = pass(Stage::kAgrad);
  const Pass& re = sums_.recomm;
  sent(fw, kBase, o.baseblock_fw_tp_time, o.baseblock_fw_tp_time_exposed, o.baseblock_fw_tp_size);
  sent(fw, kEdge, o.edgeblock_fw_tp_time, o.edgeblock_fw_tp_time_exposed, o.edgeblock_fw_tp_size);
  sent(ag, kBase, o.baseblock_agrad_tp_time, o.baseblock_agrad_tp_time_exposed, o.baseblock_bw_tp_size);
  sent(ag, kEdge, o.edgeblock_agrad_tp_time, o.edgeblock_agrad_tp_time_exposed, o.edgeblock_bw_tp_size);
  sent(re, kBase, o.baseblock_recomm_time, o.baseblock_recomm_time_exposed, o.baseblock_recomm_size);
  sent(re, kEdge, o.edgeblock_recomm_time, o.edgeblock_recomm_time_exposed, o.edgeblock_recomm_size);
  o.tp_bw_overlap_req = sums_.tp_bandwidth;
}

double Batch::over_chunk(double base, double edge) const { return base_blocks_ * base + edge; }
double Batch::over_batch(double base, double edge) const { return microbatches_ * chunks_ * over_chunk(base, edge); }

void Batch::times() {
  const Pass& fw = pass(Stage::kForward);
  const Pass& ag = pass(Stage::kAgrad);
  const double all = blocks_ * microbatches_;
  out_.fw_time = all * fw.time_s;
  out_.bw_time = all * ag.time_s + all * pass(Stage::kWgrad).time_s;
  out_.recompute_time = all * sums_.again.time_s;
  out_.optim_step_time = blocks_ * pass(Stage::kOptim).time_s;
  const auto batch = [&](const auto& by_kind) { return over_batch(by_kind[kBase], by_kind[kEdge]); };
  out_.tp_comm_link_time = batch(fw.link_s) + batch(ag.link_s);
  out_.tp_comm_exposed_time = batch(fw.shown_s) + batch(ag.shown_s);
  out_.recomm_link_time = batch(sums_.recomm.link_s);
  out_.recomm_exposed_time = batch(sums_.recomm.shown_s);
  if (exe_.pipeline_par > 1) {
    const std::int64_t tokens = exe_.microbatch_size * app_.seq_size;
    const bool scattered = exe_.tensor_par_comm_type != TensorParComm::kAr;
    out_.block_fw_pp_size =
        real((scattered ? tokens / exe_.tensor_par : tokens) * app_.hidden) * element_bytes(exe_.datatype);
    if (exe_.training) out_.block_bw_pp_size = out_.block_fw_pp_size;
  }
  // Where there is no pipeline the latency still counts to the time of an edge block.
  fw_pp_s_ = net_s(machine_.pp_net(), NetOp::kP2p, out_.block_fw_pp_size, 2);
  bw_pp_s_ = net_s(machine_.pp_net(), NetOp::kP2p, out_.block_bw_pp_size, 2);
  if (exe_.pipeline_par > 1) {
    const double transfers = microbatches_ * chunks_;
    out_.pp_comm_link_time = transfers * fw_pp_s_ + (exe_.training ? transfers * bw_pp_s_ : 0);
  }
  out_.pp_comm_exposed_time = out_.pp_comm_link_time;
  block_times();
  bubble();
}

void Batch::block_times() {
  const Pass& fw = pass(Stage::kForward);
  const Pass& ag = pass(Stage::kAgrad);
  const Pass& wg = pass(Stage::kWgrad);
  const double fw_offload_s = machine_.mem2_s(forward_offload());
  const double bw_offload_s = exe_.training ? machine_.mem2_s(backward_offload()) : 0;
  std::array<double, kBlockKinds> fw_over{};
  std::array<double, kBlockKinds> bw_over{};
  for (const BlockKind kind : {kBase, kEdge}) {
    fw_plain_[kind] = fw.time_s + fw.shown_s[kind];
    bw_plain_[kind] = sums_.again.time_s + sums_.recomm.shown_s[kind] + ag.time_s + wg.time_s + ag.shown_s[kind];
    if (kind == kEdge) fw_plain_[kind] += fw_pp_s_;
    if (kind == kEdge) bw_plain_[kind] += bw_pp_s_;
    // Offloading waits for the block's own traffic to the first tier.
    fw_over[kind] = std::max(0.0, fw_offload_s + fw.mem_s - fw_plain_[kind]);
    bw_over[kind] = std::max(0.0, bw_offload_s + ag.mem_s + wg.mem_s - bw_plain_[kind]);
    fw_block_[kind] = fw_plain_[kind] + fw_over[kind];
    bw_block_[kind] = bw_plain_[kind] + bw_over[kind];
  }
  out_.fw_offload_overhead = over_batch(fw_over[kBase], fw_over[kEdge]);
  out_.bw_offload_overhead = exe_.training ? over_batch(bw_over[kBase], bw_over[kEdge]) : 0;
}

void Batch::bubble() {
  const double chunk = over_chunk(fw_block_[kBase], fw_block_[kEdge]) + over_chunk(bw_block_[kBase], bw_block_[kEdge]);
  // What the missing blocks of the last processors save: an edge is half a block's end, half the next one's.
  const double edge = fw_block_[kEdge] + bw_block_[kEdge];
  const double saved = base_blocks_ > 0 ? (fw_block_[kBase] + bw_block_[kBase] + edge) / 2 : edge;
  // Chunks but the last wait for micro-batches that a full round would have.
  const double over = std::fmod(microbatches_, ranks_);
  const double extra = over != 0 ? (chunks_ - 1) * (ranks_ - over) : 0;
  out_.bubble_time = (ranks_ - 1) * chunk + (extra * chunk - missing_ * saved);
}

void Batch::totals() {
  const double compute = out_.fw_time + out_.bw_time + out_.optim_step_time;
  out_.total_time = compute + out_.fw_offload_overhead + out_.bw_offload_overhead + out_.recompute_time +
                    out_.recomm_exposed_time + out_.bubble_time + out_.tp_comm_exposed_time +
                    out_.pp_comm_exposed_time + out_.dp_comm_exposed_time;
  for (const Pass& p : sums_.stage) out_.useful_flops += p.flops;
  const double perfect = blocks_ * microbatches_ * out_.useful_flops / machine_.matrix_peak();
  out_.compute_efficiency = perfect / compute;
  out_.system_efficiency = compute / out_.total_time;
  out_.total_efficiency = perfect / out_.total_time;
  out_.sample_rate = real(exe_.batch_size) / out_.total_time;
}

}  // namespace comity::workload::calculon
