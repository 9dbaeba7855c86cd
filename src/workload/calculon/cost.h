// SPDX-License-Identifier: Apache-2.0
// Calculon's cost of one batch, term for term (Isaev et al., SC'23; calculon-ai/calculon, calculon/llm).
#pragma once

#include "base/result.h"
#include "workload/calculon/inputs.h"

namespace comity::workload::calculon {

// Seconds and bytes of one processor, named as Calculon's statistics are.
struct Breakdown {
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
  double mem_tier1_cap_req = 0;
  double mem_tier2_cap_req = 0;
  bool fits = true;  // both tiers hold what they must; Calculon stops where one doesn't

  double useful_flops = 0;  // of a block and micro-batch
  double compute_efficiency = 0;
  double system_efficiency = 0;
  double total_efficiency = 0;
  double sample_rate = 0;  // sequences/s

  // of one block and micro-batch
  double block_fw_time = 0, block_agrad_time = 0, block_wgrad_time = 0, block_optim_time = 0, block_re_time = 0;
};

// Errors (kInput): degrees that don't divide, chunks that don't divide the blocks, tiers too small or not filled, a
// type that the system doesn't have, offload with fewer than three blocks a processor.
[[nodiscard]] Result<Breakdown> evaluate(const Application& app, const Execution& exe, const System& sys);

}  // namespace comity::workload::calculon
