// SPDX-License-Identifier: Apache-2.0
#include "workload/calculon/block.h"

#include <algorithm>

namespace comity::workload::calculon {
namespace {

double real(std::int64_t v) { return static_cast<double>(v); }
std::size_t at(Stage stage) { return static_cast<std::size_t>(stage); }

void accumulate(Pass& to, const Pass& p) {
  to.flops += p.flops;
  to.flops_s += p.flops_s;
  to.mem += p.mem;
  to.mem_s += p.mem_s;
  to.time_s += p.time_s;
  for (const BlockKind kind : {kBase, kEdge}) {
    to.bytes[kind] += p.bytes[kind];
    to.link_s[kind] += p.link_s[kind];
    to.shown_s[kind] += p.shown_s[kind];
  }
}

class Summer {
 public:
  Summer(const Application& app, const Execution& exe, const Machine& machine)
      : app_(app), exe_(exe), machine_(machine), peers_(real(exe.tensor_par)), bytes_(element_bytes(exe.datatype)) {}

  BlockSums run() {
    for (const Layer& layer : block_layers(app_, exe_)) add(layer);
    if (exe_.activation_recompute == ActivationRecompute::kFull) {
      sums_.checkpoint = real(exe_.microbatch_size * app_.seq_size * app_.hidden) * bytes_;
      sums_.storage = 0;
    }
    return sums_;
  }

 private:
  [[nodiscard]] bool split(BlockKind kind) const {
    return exe_.tensor_par_comm_type == TensorParComm::kRsAg ||
           (exe_.tensor_par_comm_type == TensorParComm::kP2pRsAg && kind == kEdge);
  }

  // What runs in a pass: nothing, or an operation over some bytes. Stage::kWgrad stands for what is sent again when
  // the forward pass is repeated.
  struct Comm {
    bool any = false;
    NetOp op = NetOp::kAllReduce;
    double bytes = 0;
  };
  [[nodiscard]] Comm comm_of(const Layer& l, Stage stage, BlockKind kind) const {
    if (l.comm == LayerComm::kNone || peers_ == 1 || stage == Stage::kOptim) return {};
    if (stage == Stage::kWgrad && !l.recomm) return {};
    const bool reduces = (stage == Stage::kAgrad) != l.conjugate;
    if (!split(kind)) return reduces ? Comm{true, NetOp::kAllReduce, l.comm_bytes} : Comm{};
    return {true, reduces ? NetOp::kReduceScatter : NetOp::kAllGather, l.comm_bytes};
  }

  [[nodiscard]] Pass pass_of(const Layer& l, Stage stage) const {
    Pass p;
    p.flops = l.flops[at(stage)];
    p.flops_s = machine_.flops_s(l, stage);
    p.mem = l.mem[at(stage)];
    p.mem_s = machine_.mem1_s(p.mem);
    p.time_s = machine_.joined(p.flops_s, p.mem_s);
    if (l.comm == LayerComm::kBoundary) boundary(l, stage, p);
    if (l.comm == LayerComm::kOverlapped) overlapped(l, stage, p);
    return p;
  }

  // A boundary of its own: its additions and its memory traffic count as communication, and nothing hides it.
  void boundary(const Layer& l, Stage stage, Pass& p) const {
    const bool runs = peers_ > 1 && stage != Stage::kOptim && (stage != Stage::kWgrad || l.recomm);
    for (const BlockKind kind : {kBase, kEdge}) {
      const Comm c = comm_of(l, stage, kind);
      p.bytes[kind] = c.bytes;
      if (runs) p.link_s[kind] = (c.any ? net_s(machine_.tp_net(), c.op, c.bytes, peers_) : 0) + p.time_s;
      p.shown_s[kind] = p.link_s[kind];
    }
    p.time_s = 0;
  }

  // Beside a product: the network, and the additions where the pass reduces (but for what is sent again).
  void overlapped(const Layer& l, Stage stage, Pass& p) const {
    for (const BlockKind kind : {kBase, kEdge}) {
      const Comm c = comm_of(l, stage, kind);
      if (!c.any) continue;
      p.bytes[kind] = c.bytes;
      p.link_s[kind] = net_s(machine_.tp_net(), c.op, c.bytes, peers_);
      if (c.op == NetOp::kAllGather || stage == Stage::kWgrad) continue;
      p.link_s[kind] += machine_.vector_s(c.bytes / bytes_ * (peers_ - 1) / peers_);
    }
    interleave_tiles(p);
  }
  // Tiles of the product and of the transfer take turns, as many as there are peers. Calculon looks at the base
  // block's transfer alone, and takes what shows of it for the edge block too.
  void interleave_tiles(Pass& p) const {
    const double net = p.link_s[kBase];
    if (net == 0) return;
    const double usage = machine_.tp_net().processor_usage;
    const double slowed_s = p.flops_s / (1 - usage);
    const double tile = p.time_s / peers_;
    const double net_tile = net / peers_;
    const double excess = net_tile - slowed_s / peers_;
    double shown = 0;
    if (excess > 0) {
      p.time_s = tile + (peers_ - 1) * (machine_.joined(slowed_s, p.mem_s) / peers_);
      shown = (peers_ - 1) * excess;
    } else {
      p.time_s = tile + (peers_ - 1) * tile + (peers_ - 1) * net_tile * usage;
    }
    // A ring starts with the tile that is there already; a pipe waits for its first one.
    if (exe_.tensor_par_overlap == TensorParOverlap::kPipe) {
      shown += net_tile;
      p.time_s += net_tile;
    }
    p.shown_s = {shown, shown};
  }

  void need_bandwidth(const Layer& l, const Pass& p) {
    if (l.comm != LayerComm::kOverlapped) return;
    const double slowed_s = p.flops_s / (1 - machine_.tp_net().processor_usage);
    for (const double bytes : p.bytes) sums_.tp_bandwidth = std::max(sums_.tp_bandwidth, bytes / slowed_s);
  }

  void add(const Layer& l) {
    const Pass forward = pass_of(l, Stage::kForward);
    accumulate(sums_.stage[at(Stage::kForward)], forward);
    need_bandwidth(l, forward);
    sums_.weight += l.weight;
    if (!l.reuses_activation) sums_.working += l.activation;
    sums_.storage += l.activation;
    if (!exe_.training) return;
    if (l.recompute) recompute(forward);
    if (l.recomm) repeat_communication(l, forward);
    for (const Stage stage : {Stage::kAgrad, Stage::kWgrad, Stage::kOptim}) {
      Pass pass = pass_of(l, stage);
      if (stage == Stage::kAgrad) need_bandwidth(l, pass);
      accumulate(sums_.stage[at(stage)], pass);
    }
    if (!l.stores_output) sums_.storage -= l.output;
    if (!l.stores_activation) sums_.storage -= l.activation;
    sums_.weight_grad += l.weight_grad;
    sums_.weight_grad_whole += l.weight_grad_whole;
    sums_.act_grad += l.activation_grad;
    sums_.optimizer += l.optimizer;
  }
  // Time is the layer's own. FLOPs, bytes and their times are those of all layers up to here, which is Calculon's
  // sum: it counts most layers many times over. It goes into the window of data-parallel overlap.
  void recompute(const Pass& forward) {
    const Pass& so_far = sums_.stage[at(Stage::kForward)];
    sums_.again.flops += so_far.flops;
    sums_.again.flops_s += so_far.flops_s;
    sums_.again.mem += so_far.mem;
    sums_.again.mem_s += so_far.mem_s;
    sums_.again.time_s += forward.time_s;
  }
  void repeat_communication(const Layer& l, const Pass& forward) {
    const Pass again = pass_of(l, Stage::kWgrad);
    for (const BlockKind kind : {kBase, kEdge}) {
      sums_.recomm.bytes[kind] += again.bytes[kind];
      sums_.recomm.link_s[kind] += again.link_s[kind];
      // Beside a product, as much shows as in the forward pass.
      sums_.recomm.shown_s[kind] += l.comm == LayerComm::kOverlapped ? forward.shown_s[kind] : again.shown_s[kind];
    }
  }

  const Application& app_;
  const Execution& exe_;
  const Machine& machine_;
  double peers_;
  double bytes_;  // of an element
  BlockSums sums_;
};

}  // namespace

BlockSums sum_block(const Application& app, const Execution& exe, const Machine& machine) {
  return Summer(app, exe, machine).run();
}

}  // namespace comity::workload::calculon
