// SPDX-License-Identifier: Apache-2.0
// What one layer, the embedding and the output head cost one GPU for one micro-batch: seconds of computation by pass,
// seconds of communication, bytes that stay for the backward pass. Everything is divided over tp and cp ranks already.
//
// Sources: shapes and traffic as in Megatron-LM (Narayanan et al. SC'21; Korthikanti et al. 2022, table 2 for
// activations), mixture of experts with dispatch and combine as all-to-all, latent attention as in DeepSeek-V2.
#pragma once

#include "workload/collective_cost.h"
#include "workload/execution.h"
#include "workload/model.h"
#include "workload/system.h"

namespace comity::workload {

// Seconds of one micro-batch on one GPU; communication is what nothing hides.
struct PassTimes {
  double forward = 0;
  double backward_input = 0;   // gradients of the activations
  double backward_weight = 0;  // gradients of the weights
  double recompute = 0;        // computation done again before the backward pass
  double recompute_communication = 0;
  double tp_forward = 0;
  double tp_backward = 0;
  double cp_forward = 0;
  double cp_backward = 0;
  double ep_forward = 0;
  double ep_backward = 0;
  double activation_bytes = 0;
  double working_bytes = 0;  // held only while the layer is computed again

  [[nodiscard]] double all_forward() const { return forward + tp_forward + cp_forward + ep_forward; }
  [[nodiscard]] double all_backward() const {
    return backward_input + backward_weight + recompute + recompute_communication + tp_backward + cp_backward +
           ep_backward;
  }
  void add(const PassTimes& other, double times);
};

// The ranks of each axis' groups that share a node, by the order of the axes.
struct Layout {
  Group tp, cp, dp, ep, expert_dp;  // dp: dp x cp together, as gradients go
  bool pp_inside_node = false;
};
[[nodiscard]] Layout layout_of(const Execution& execution, const System& system);

struct LayerCosts {
  PassTimes dense;
  PassTimes moe;
  PassTimes embedding;
  PassTimes head;  // norm, logits and loss
};
[[nodiscard]] LayerCosts layer_costs(const Model& model, const Execution& execution, const System& system,
                                     CostModel cost, const Layout& layout);

// The mixture-of-experts block of one layer alone: router, dispatch, experts, combine; no norm, no residual.
[[nodiscard]] PassTimes moe_block(const Model& model, const Execution& execution, const System& system, CostModel cost);

}  // namespace comity::workload
