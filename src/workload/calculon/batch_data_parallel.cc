// SPDX-License-Identifier: Apache-2.0
// Gradients of a chunk are reduced beside the backward pass of the chunks behind it; those of the last chunk beside
// its own remaining blocks.
#include <algorithm>
#include <cmath>

#include "workload/calculon/batch.h"

namespace comity::workload::calculon {

void Batch::data_parallel() {
  if (exe_.data_par == 1 || !exe_.training) return;
  const auto ranks = static_cast<double>(exe_.data_par);
  const Network& net = machine_.dp_net();
  out_.block_dp_size = sums_.weight;
  dp_block_s_ = exe_.optimizer_sharding ? net_s(net, NetOp::kReduceScatter, sums_.weight, ranks) +
                                              net_s(net, NetOp::kAllGather, sums_.weight, ranks)
                                        : net_s(net, NetOp::kAllReduce, sums_.weight, ranks);
  out_.dp_comm_link_time = blocks_ * dp_block_s_;
  out_.dp_comm_exposed_time = out_.dp_comm_link_time;
  if (exe_.data_par_overlap) overlap_data_parallel();
}

// What computation hides is what neither waits for memory nor, on a shared network, for other transfers.
void Batch::overlap_data_parallel() {
  const Pass& ag = pass(Stage::kAgrad);
  const Pass& wg = pass(Stage::kWgrad);
  const Pass& optim = pass(Stage::kOptim);
  std::array<double, kBlockKinds> window{};
  for (const BlockKind kind : {kBase, kEdge}) {
    window[kind] = bw_block_[kind] - (ag.mem_s + wg.mem_s + sums_.again.mem_s);
    if (!exe_.optimizer_sharding) window[kind] += optim.time_s - optim.mem_s;
    if (exe_.data_par_net == exe_.tensor_par_net) window[kind] -= sums_.recomm.link_s[kind] + ag.link_s[kind];
  }
  double compute = ag.flops_s + wg.flops_s + sums_.again.flops_s;
  if (!exe_.optimizer_sharding) compute += optim.flops_s;
  const double chunk_window = over_chunk(window[kBase], window[kEdge]);
  const double exposed = early_chunks(chunk_window, (base_blocks_ + 1) * compute) + last_chunk(chunk_window, compute);
  out_.dp_comm_exposed_time = dp_block_s_ + exposed;
}

// All but the last chunk run beside p micro-batches of the chunk behind.
double Batch::early_chunks(double chunk_window, double chunk_compute) {
  const double usage = machine_.dp_net().processor_usage;
  const double window = ranks_ * chunk_window;
  const double slowed = ranks_ * chunk_compute * usage;
  const double sync = (base_blocks_ + 1) * dp_block_s_;
  const bool shared = exe_.data_par_net == exe_.pipeline_par_net;
  double collisions = 0;
  if (shared) {
    const double over = std::fmod(microbatches_, ranks_);
    const double chunk_bw = over_chunk(bw_block_[kBase], bw_block_[kEdge]);
    collisions = std::min(std::floor(sync / chunk_bw), over != 0 ? over : ranks_);
  }
  out_.dp_bw_overlap_req_chunk = bandwidth_in((chunks_ - 1) * (window + slowed - (shared ? bw_pp_s_ : 0)));
  const double excess = sync - (window - collisions * bw_pp_s_) + slowed;
  return (chunks_ - 1) * (excess > 0 ? excess : sync * usage);
}

double Batch::last_chunk(double chunk_window, double block_compute) {
  const double usage = machine_.dp_net().processor_usage;
  const Pass& optim = pass(Stage::kOptim);
  double window = 0;
  if (base_blocks_ > 0) {
    window = chunk_window - bw_pp_s_ - (bw_block_[kBase] + bw_block_[kEdge]) / 2;
    if (!exe_.optimizer_sharding) window += optim.time_s - optim.mem_s;
  }
  const double sync = base_blocks_ * dp_block_s_;
  out_.dp_bw_overlap_req_tail = bandwidth_in(window + sync * usage);
  const double excess = sync + (block_compute * usage - window);
  return excess > 0 ? excess : sync * usage;
}

// That moves a chunk's gradients within the window; 0 where there is none.
double Batch::bandwidth_in(double window_s) const {
  if (window_s <= 0) return 0;
  const auto scalar = [&](NetOp op) { return machine_.dp_net().ops[static_cast<std::size_t>(op)].first; };
  const double factor =
      exe_.optimizer_sharding ? scalar(NetOp::kReduceScatter) + scalar(NetOp::kAllGather) : scalar(NetOp::kAllReduce);
  return (base_blocks_ + 1) * out_.block_dp_size / window_s * factor;
}

}  // namespace comity::workload::calculon
