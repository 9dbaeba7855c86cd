// SPDX-License-Identifier: Apache-2.0
// Calculon's cost of one batch, term for term (Isaev et al., SC'23; calculon-ai/calculon, calculon/llm).
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "workload/calculon/inputs.h"

namespace comity::workload::calculon {

// Seconds, bytes, FLOPs and B/s of one processor, named as Calculon's statistics are.
struct Breakdown {
  // The batch. bw_time is without recomputation; the exposed times are parts of total_time, the link times are not.
  double fw_time = 0;
  double bw_time = 0;
  double optim_step_time = 0;
  double fw_offload_overhead = 0;
  double bw_offload_overhead = 0;
  double recompute_time = 0;
  double recomm_exposed_time = 0;
  double recomm_link_time = 0;
  double bubble_time = 0;
  double tp_comm_exposed_time = 0;
  double tp_comm_link_time = 0;
  double pp_comm_exposed_time = 0;
  double pp_comm_link_time = 0;
  double dp_comm_exposed_time = 0;
  double dp_comm_link_time = 0;
  double total_time = 0;

  double weight_space = 0;
  double act_space = 0;
  double act_checkpoint_size = 0;
  double act_grad_space = 0;
  double weight_grad_space = 0;
  double optimizer_space = 0;
  double weight_space_with_offload = 0;  // what stays in the first tier if it is offloaded
  double act_space_with_offload = 0;
  double act_checkpoint_size_with_offload = 0;
  double act_grad_space_with_offload = 0;
  double weight_grad_space_with_offload = 0;
  double optimizer_space_with_offload = 0;
  double mem_tier1_cap_req = 0;
  double mem_tier2_cap_req = 0;
  bool fits = true;  // both tiers hold what they must; Calculon stops where one doesn't

  double useful_flops = 0;  // of a block and micro-batch
  double compute_efficiency = 0;
  double system_efficiency = 0;
  double total_efficiency = 0;
  double sample_rate = 0;  // sequences/s

  // Bandwidths that would hide the transfers. 0: nothing to hide, or no time to hide it in.
  double tp_bw_overlap_req = 0;
  double dp_bw_overlap_req_chunk = 0;
  double dp_bw_overlap_req_tail = 0;
  double act_offload_bw_req = 0;
  double weight_offload_bw_req = 0;
  double optim_offload_bw_req = 0;
  double offload_mem_bw_req = 0;

  // One block and micro-batch. re: recomputation, whose flops and mem Calculon adds up as running sums.
  double block_fw_flops = 0, block_fw_flops_time = 0, block_fw_mem_accessed = 0, block_fw_mem_time = 0;
  double block_re_flops = 0, block_re_flops_time = 0, block_re_mem_accessed = 0, block_re_mem_time = 0;
  double block_agrad_flops = 0, block_agrad_flops_time = 0, block_agrad_mem_accessed = 0, block_agrad_mem_time = 0;
  double block_wgrad_flops = 0, block_wgrad_flops_time = 0, block_wgrad_mem_accessed = 0, block_wgrad_mem_time = 0;
  double block_optim_flops = 0, block_optim_flops_time = 0, block_optim_mem_accessed = 0, block_optim_mem_time = 0;
  double block_fw_time = 0, block_agrad_time = 0, block_wgrad_time = 0, block_optim_time = 0, block_re_time = 0;
  // The same of communication, for the last block of a chunk (edge) and the others (base).
  double baseblock_fw_tp_time = 0, baseblock_fw_tp_time_exposed = 0, baseblock_fw_tp_size = 0;
  double edgeblock_fw_tp_time = 0, edgeblock_fw_tp_time_exposed = 0, edgeblock_fw_tp_size = 0;
  double baseblock_agrad_tp_time = 0, baseblock_agrad_tp_time_exposed = 0, baseblock_bw_tp_size = 0;
  double edgeblock_agrad_tp_time = 0, edgeblock_agrad_tp_time_exposed = 0, edgeblock_bw_tp_size = 0;
  double baseblock_recomm_time = 0, baseblock_recomm_time_exposed = 0, baseblock_recomm_size = 0;
  double edgeblock_recomm_time = 0, edgeblock_recomm_time_exposed = 0, edgeblock_recomm_size = 0;
  double block_fw_pp_size = 0, block_bw_pp_size = 0, block_dp_size = 0;
  double block_weight_space = 0;
  double block_act_working_space = 0, block_act_storage_space = 0, block_act_checkpoint_size = 0;
  double block_weight_grad_space = 0, block_weight_grad_space_no_sharding = 0;
  double block_act_grad_space = 0, block_optimizer_space = 0;
};

// Errors (kInput): degrees that don't divide, chunks that don't divide the blocks, tiers too small or not filled, a
// type that the system doesn't have, offload with fewer than three blocks a processor.
[[nodiscard]] Result<Breakdown> evaluate(const Application& app, const Execution& exe, const System& sys);

// Every number of a Breakdown under the key that Calculon's statistics file gives it, in the order of that file.
struct Term {
  std::string_view name;
  double Breakdown::* value;
};
[[nodiscard]] std::span<const Term> terms();

}  // namespace comity::workload::calculon
