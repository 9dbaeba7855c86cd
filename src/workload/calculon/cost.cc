// SPDX-License-Identifier: Apache-2.0
#include "workload/calculon/cost.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "workload/calculon/layers.h"

namespace comity::workload::calculon {
namespace {

double real(std::int64_t v) { return static_cast<double>(v); }

double step_of(const Steps& steps, double size) {
  for (const auto& [from, efficiency] : steps)
    if (size >= from) return efficiency;
  return steps.back().second;
}

double net_time(const Network& net, NetOp op, double bytes, double ranks) {
  const auto& [scalar, offset] = net.ops[static_cast<std::size_t>(op)];
  const double scaled = bytes * scalar;
  return net.latency + (scaled + scaled / ranks * offset) / (net.bandwidth * net.efficiency);
}

// Seconds of one pass of a layer.
struct Pass {
  double flops_s = 0;
  double mem_s = 0;
  double time_s = 0;
  // In a base block, and in the block at the end of a chunk, where p2p_rs_ag splits.
  double link[2] = {0, 0};
  double exposed[2] = {0, 0};
};

// Sums over the layers of a block, for one micro-batch.
struct BlockSums {
  Pass stage[kStages];
  Pass again;   // recomputation: time_s, and flops_s and mem_s as Calculon adds them up: all layers so far, each time
  Pass recomm;  // communication again
  double weight = 0, working = 0, storage = 0, checkpoint = 0;
  double weight_grad = 0, weight_grad_whole = 0, act_grad = 0, optimizer = 0;
  double useful_flops = 0;
};

class Model {
 public:
  Model(const Application& app, const Execution& exe, const System& sys)
      : app_(app),
        exe_(exe),
        sys_(sys),
        matrix_(sys.matrix[static_cast<std::size_t>(exe.datatype)]),
        vector_(sys.vector[static_cast<std::size_t>(exe.datatype)]),
        tp_net_(sys.networks[static_cast<std::size_t>(exe.tensor_par_net)]),
        pp_net_(sys.networks[static_cast<std::size_t>(exe.pipeline_par_net)]),
        dp_net_(sys.networks[static_cast<std::size_t>(exe.data_par_net)]),
        peers_(real(exe.tensor_par)),
        bytes_(element_bytes(exe.datatype)),
        microbatches_(real(exe.microbatches())) {
    const std::int64_t p = exe.pipeline_par;
    const std::int64_t per_proc = (app.num_blocks + p - 1) / p;
    const std::int64_t rest = app.num_blocks % p;
    blocks_ = real(per_proc);
    missing_ = rest == 0 ? 0 : real(p - rest);
    chunks_ = real(exe.pipeline_interleaving);
    chunk_blocks_ = real(per_proc / exe.pipeline_interleaving);
  }

  Breakdown run() {
    for (const Layer& layer : block_layers(app_, exe_)) add(layer);
    finish_block();
    times();
    data_parallel();
    memory();
    totals();
    return out_;
  }

 private:
  [[nodiscard]] double vector_s(double flops) const {
    return flops / (vector_.flops * step_of(vector_.efficiency, flops));
  }
  [[nodiscard]] double flops_s(const Layer& l, std::size_t stage) const {
    const double flops = l.flops[stage];
    if (!l.matrix || stage == 3) return vector_s(flops);
    return flops / (matrix_.flops * step_of(matrix_.efficiency, flops));
  }
  [[nodiscard]] static double mem_s(const Memory& memory, double bytes) {
    return bytes / (memory.bandwidth * step_of(memory.efficiency, bytes));
  }
  [[nodiscard]] double joined(double flops, double mem) const {
    return sys_.roofline ? std::max(flops, mem) : flops + mem;
  }
  [[nodiscard]] bool split(bool edge) const {
    return exe_.tensor_par_comm_type == TensorParComm::kRsAg ||
           (exe_.tensor_par_comm_type == TensorParComm::kP2pRsAg && edge);
  }

  // --- communication of a layer ---

  // What runs in a pass: nothing, or an operation over some bytes. A pass that repeats the forward one is kWgrad.
  struct Comm {
    bool any = false;
    NetOp op = NetOp::kAllReduce;
    double bytes = 0;
  };
  [[nodiscard]] Comm comm_of(const Layer& l, Stage stage, bool edge) const {
    Comm c;
    if (l.comm == LayerComm::kNone || peers_ == 1 || stage == Stage::kOptim) return c;
    if (stage == Stage::kWgrad && !l.recomm) return c;
    const bool reduces = (stage == Stage::kAgrad) != l.conjugate;  // of forward: conjugate layers
    const bool apart = split(edge);
    c.any = apart || reduces;
    c.op = !apart ? NetOp::kAllReduce : reduces ? NetOp::kReduceScatter : NetOp::kAllGather;
    const bool entering = !l.conjugate;
    c.bytes = c.any ? (entering ? l.comm_in : l.comm_out) : 0;
    return c;
  }
  // A boundary of its own: its reduction and memory traffic count as communication.
  [[nodiscard]] double boundary_s(const Layer& l, Stage stage, bool edge) const {
    if (peers_ == 1 || stage == Stage::kOptim || (stage == Stage::kWgrad && !l.recomm)) return 0;
    const auto i = static_cast<std::size_t>(stage);
    const Comm c = comm_of(l, stage, edge);
    return (c.any ? net_time(tp_net_, c.op, c.bytes, peers_) : 0) + joined(flops_s(l, i), mem_s(sys_.mem1, l.mem[i]));
  }
  // Beside a product: the network, and the additions where the pass reduces.
  [[nodiscard]] double overlapped_s(const Layer& l, Stage stage, bool edge) const {
    const Comm c = comm_of(l, stage, edge);
    if (!c.any) return 0;
    const double net = net_time(tp_net_, c.op, c.bytes, peers_);
    const bool reduces = c.op != NetOp::kAllGather && stage != Stage::kWgrad;
    return net + (reduces ? vector_s(c.bytes / bytes_ * (peers_ - 1) / peers_) : 0);
  }

  [[nodiscard]] Pass pass_of(const Layer& l, Stage stage) const {
    const auto i = static_cast<std::size_t>(stage);
    Pass p;
    p.flops_s = flops_s(l, i);
    p.mem_s = mem_s(sys_.mem1, l.mem[i]);
    p.time_s = joined(p.flops_s, p.mem_s);
    if (l.comm == LayerComm::kBoundary) {
      p.time_s = 0;
      for (const bool edge : {false, true}) p.link[edge] = p.exposed[edge] = boundary_s(l, stage, edge);
    }
    if (l.comm == LayerComm::kOverlapped) {
      for (const bool edge : {false, true}) p.link[edge] = overlapped_s(l, stage, edge);
      overlap(p);
    }
    return p;
  }
  // Tiles of the product and of the transfer take turns; what is exposed is the same in every block.
  void overlap(Pass& p) const {
    const double net = p.link[0];
    if (net == 0) return;
    const double tiles = peers_;
    const double slowed = p.flops_s / (1 - tp_net_.processor_usage);
    const double tile = p.time_s / tiles;
    const double excess = net / tiles - slowed / tiles;
    double exposed = 0;
    double time = 0;
    if (excess > 0) {
      time = tile + (tiles - 1) * joined(slowed, p.mem_s) / tiles;
      exposed = (tiles - 1) * excess;
    } else {
      time = tiles * tile + (tiles - 1) * net / tiles * tp_net_.processor_usage;
    }
    if (exe_.tensor_par_overlap == TensorParOverlap::kPipe) {
      exposed += net / tiles;
      time += net / tiles;
    }
    p.time_s = time;
    p.exposed[0] = p.exposed[1] = exposed;
  }

  static void accumulate(Pass& to, const Pass& p) {
    to.flops_s += p.flops_s;
    to.mem_s += p.mem_s;
    to.time_s += p.time_s;
    for (int i = 0; i < 2; ++i) {
      to.link[i] += p.link[i];
      to.exposed[i] += p.exposed[i];
    }
  }

  void add(const Layer& l) {
    const Pass forward = pass_of(l, Stage::kForward);
    accumulate(b_.stage[0], forward);
    b_.useful_flops += l.flops[0];
    b_.weight += l.weight;
    if (!l.reuses_activation) b_.working += l.activation;
    b_.storage += l.activation;
    if (!exe_.training) return;
    if (l.recompute) {
      b_.again.flops_s += b_.stage[0].flops_s;
      b_.again.mem_s += b_.stage[0].mem_s;
      b_.again.time_s += forward.time_s;
    }
    if (l.recomm) {
      const Pass again = pass_of(l, Stage::kWgrad);
      for (int i = 0; i < 2; ++i) {
        b_.recomm.link[i] += again.link[i];
        // Beside a product, as much shows as in the forward pass.
        b_.recomm.exposed[i] += l.comm == LayerComm::kOverlapped ? forward.exposed[i] : again.exposed[i];
      }
    }
    for (std::size_t stage = 1; stage < kStages; ++stage) {
      accumulate(b_.stage[stage], pass_of(l, static_cast<Stage>(stage)));
      b_.useful_flops += l.flops[stage];
    }
    if (!l.stores_output) b_.storage -= l.output;
    if (!l.stores_activation) b_.storage -= l.activation;
    b_.weight_grad += l.weight_grad;
    b_.weight_grad_whole += l.weight_grad_whole;
    b_.act_grad += l.activation_grad;
    b_.optimizer += l.optimizer;
  }

  void finish_block() {
    const double activation = real(exe_.microbatch_size * app_.seq_size * app_.hidden) * bytes_;
    const bool full = exe_.activation_recompute == ActivationRecompute::kFull;
    if (full) {
      b_.checkpoint = activation;
      b_.storage = 0;
    }
    if (exe_.pipeline_par == 1) return;
    const double shard = real(exe_.microbatch_size * app_.seq_size / exe_.tensor_par * app_.hidden) * bytes_;
    pp_bytes_ = exe_.tensor_par_comm_type == TensorParComm::kAr ? activation : shard;
  }

  // --- the batch ---

  // Sum over all blocks of a processor and all micro-batches of something that differs at the end of a chunk.
  [[nodiscard]] double over_batch(double base, double edge) const {
    return microbatches_ * chunks_ * ((chunk_blocks_ - 1) * base + edge);
  }

  void times() {
    const double all = blocks_ * microbatches_;
    const Pass& fw = b_.stage[0];
    const Pass& ag = b_.stage[1];
    const Pass& wg = b_.stage[2];
    out_.fw_time = all * fw.time_s;
    out_.bw_time = all * (ag.time_s + wg.time_s);
    out_.recompute_time = all * b_.again.time_s;
    out_.optim_step_time = blocks_ * b_.stage[3].time_s;
    out_.tp_comm_link_time = over_batch(fw.link[0] + ag.link[0], fw.link[1] + ag.link[1]);
    out_.tp_comm_exposed_time = over_batch(fw.exposed[0] + ag.exposed[0], fw.exposed[1] + ag.exposed[1]);
    out_.recomm_link_time = over_batch(b_.recomm.link[0], b_.recomm.link[1]);
    out_.recomm_exposed_time = over_batch(b_.recomm.exposed[0], b_.recomm.exposed[1]);
    fw_pp_ = net_time(pp_net_, NetOp::kP2p, pp_bytes_, 2);
    bw_pp_ = net_time(pp_net_, NetOp::kP2p, exe_.training ? pp_bytes_ : 0, 2);
    if (exe_.pipeline_par > 1)
      out_.pp_comm_link_time = microbatches_ * chunks_ * (fw_pp_ + (exe_.training ? bw_pp_ : 0));
    out_.pp_comm_exposed_time = out_.pp_comm_link_time;
    block_times();
    bubble();
  }

  void block_times() {
    const Pass& fw = b_.stage[0];
    const Pass& ag = b_.stage[1];
    const Pass& wg = b_.stage[2];
    const double fw_offload = mem_s(sys_.mem2, forward_offload());
    const double bw_offload = exe_.training ? mem_s(sys_.mem2, backward_offload()) : 0;
    double fw_over[2];
    double bw_over[2];
    for (int i = 0; i < 2; ++i) {
      fw_block_[i] = fw.time_s + fw.exposed[i] + (i == 1 ? fw_pp_ : 0);
      fw_over[i] = std::max(0.0, fw_offload + fw.mem_s - fw_block_[i]);
      fw_block_[i] += fw_over[i];
      bw_block_[i] =
          b_.again.time_s + b_.recomm.exposed[i] + ag.time_s + wg.time_s + ag.exposed[i] + (i == 1 ? bw_pp_ : 0);
      bw_over[i] = std::max(0.0, bw_offload + ag.mem_s + wg.mem_s - bw_block_[i]);
      bw_block_[i] += bw_over[i];
    }
    out_.fw_offload_overhead = over_batch(fw_over[0], fw_over[1]);
    out_.bw_offload_overhead = exe_.training ? over_batch(bw_over[0], bw_over[1]) : 0;
    chunk_fw_ = (chunk_blocks_ - 1) * fw_block_[0] + fw_block_[1];
    chunk_bw_ = (chunk_blocks_ - 1) * bw_block_[0] + bw_block_[1];
  }
  [[nodiscard]] double offloaded_activation() const {
    if (!exe_.activations_offload) return 0;
    return exe_.activation_recompute == ActivationRecompute::kFull ? b_.checkpoint : b_.storage;
  }
  [[nodiscard]] double forward_offload() const {
    return std::max(exe_.weight_offload ? b_.weight : 0, offloaded_activation());
  }
  [[nodiscard]] double backward_offload() const {
    return (exe_.weight_offload ? b_.weight : 0) + offloaded_activation() + (exe_.optimizer_offload ? b_.optimizer : 0);
  }

  void bubble() {
    const double p = real(exe_.pipeline_par);
    const double chunk = chunk_fw_ + chunk_bw_;
    const double edge = fw_block_[1] + bw_block_[1];
    const double half = chunk_blocks_ > 1 ? (fw_block_[0] + bw_block_[0] + edge) / 2 : edge;
    const double over = std::fmod(microbatches_, p);
    const double extra = over != 0 ? (chunks_ - 1) * (p - over) : 0;
    out_.bubble_time = (p - 1) * chunk + extra * chunk - missing_ * half;
  }

  // --- data parallelism ---

  void data_parallel() {
    if (exe_.data_par == 1 || !exe_.training) return;
    const double ranks = real(exe_.data_par);
    dp_block_ = exe_.optimizer_sharding ? net_time(dp_net_, NetOp::kReduceScatter, b_.weight, ranks) +
                                              net_time(dp_net_, NetOp::kAllGather, b_.weight, ranks)
                                        : net_time(dp_net_, NetOp::kAllReduce, b_.weight, ranks);
    out_.dp_comm_link_time = blocks_ * dp_block_;
    out_.dp_comm_exposed_time = exe_.data_par_overlap ? dp_block_ + dp_exposed() : out_.dp_comm_link_time;
  }
  // What computation hides is what neither waits for memory nor, on a shared network, for other transfers.
  [[nodiscard]] double dp_exposed() const {
    const Pass& ag = b_.stage[1];
    const Pass& wg = b_.stage[2];
    const Pass& optim = b_.stage[3];
    double window[2];
    for (int i = 0; i < 2; ++i) {
      window[i] = bw_block_[i] - (ag.mem_s + wg.mem_s + b_.again.mem_s);
      if (!exe_.optimizer_sharding) window[i] += optim.time_s - optim.mem_s;
      if (exe_.data_par_net == exe_.tensor_par_net) window[i] -= b_.recomm.link[i] + ag.link[i];
    }
    double compute = ag.flops_s + wg.flops_s + b_.again.flops_s;
    if (!exe_.optimizer_sharding) compute += optim.flops_s;
    const double chunk_window = (chunk_blocks_ - 1) * window[0] + window[1];
    return early_chunks(chunk_window, chunk_blocks_ * compute) + last_chunk(chunk_window, compute);
  }
  // All but the last chunk run beside p micro-batches of the chunk behind.
  [[nodiscard]] double early_chunks(double chunk_window, double chunk_compute) const {
    const double p = real(exe_.pipeline_par);
    const double usage = dp_net_.processor_usage;
    const double sync = chunk_blocks_ * dp_block_;
    double collisions = 0;
    if (exe_.data_par_net == exe_.pipeline_par_net) {
      const double over = std::fmod(microbatches_, p);
      collisions = std::min(std::floor(sync / chunk_bw_), over != 0 ? over : p);
    }
    const double excess = sync - (p * chunk_window - collisions * bw_pp_) + p * chunk_compute * usage;
    return (chunks_ - 1) * (excess > 0 ? excess : sync * usage);
  }
  [[nodiscard]] double last_chunk(double chunk_window, double compute) const {
    const double usage = dp_net_.processor_usage;
    const Pass& optim = b_.stage[3];
    double window = 0;
    if (chunk_blocks_ > 1) {
      window = chunk_window - bw_pp_ - (bw_block_[0] + bw_block_[1]) / 2;
      if (!exe_.optimizer_sharding) window += optim.time_s - optim.mem_s;
    }
    const double sync = (chunk_blocks_ - 1) * dp_block_;
    const double excess = sync + compute * usage - window;
    return excess > 0 ? excess : sync * usage;
  }

  // --- memory ---

  void memory() {
    const bool full = exe_.activation_recompute == ActivationRecompute::kFull;
    const double p = real(exe_.pipeline_par);
    double held = std::min(microbatches_, p);
    if (chunks_ > 1) held *= 1 + (p - 1) / (chunks_ * p);
    out_.weight_space = b_.weight * blocks_;
    out_.act_space = b_.working;
    if (exe_.training) {
      if (!full) out_.act_space += b_.storage * (blocks_ * held - 1);
      if (full) out_.act_checkpoint_size = blocks_ * b_.checkpoint * held;
      out_.act_grad_space = b_.act_grad;
      out_.weight_grad_space = b_.weight_grad_whole + (blocks_ > 1 ? b_.weight_grad * (blocks_ - 1) : 0);
      out_.optimizer_space = b_.optimizer * blocks_;
    }
    double first = out_.act_grad_space;
    double second = 0;
    const auto place = [&](bool offloaded, double here, double least, double there) {
      first += offloaded ? least : here;
      second += offloaded ? there : 0;
    };
    place(exe_.weight_offload, out_.weight_space, 2 * b_.weight, out_.weight_space);
    place(exe_.activations_offload, out_.act_space, b_.working + (full ? 0 : b_.storage), full ? 0 : out_.act_space);
    place(exe_.activations_offload, out_.act_checkpoint_size, full && exe_.training ? 2 * b_.checkpoint : 0,
          out_.act_checkpoint_size);
    place(exe_.optimizer_offload, out_.weight_grad_space + out_.optimizer_space,
          b_.weight_grad_whole + b_.weight_grad + 2 * b_.optimizer, b_.weight_grad * blocks_ + out_.optimizer_space);
    out_.mem_tier1_cap_req = first;
    out_.mem_tier2_cap_req = second;
    out_.fits = first <= sys_.mem1.capacity && second <= sys_.mem2.capacity;
  }

  void totals() {
    const double compute = out_.fw_time + out_.bw_time + out_.optim_step_time;
    out_.total_time = compute + out_.fw_offload_overhead + out_.bw_offload_overhead + out_.recompute_time +
                      out_.recomm_exposed_time + out_.bubble_time + out_.tp_comm_exposed_time +
                      out_.pp_comm_exposed_time + out_.dp_comm_exposed_time;
    out_.useful_flops = b_.useful_flops;
    const double perfect = blocks_ * microbatches_ * b_.useful_flops / matrix_.flops;
    out_.compute_efficiency = perfect / compute;
    out_.system_efficiency = compute / out_.total_time;
    out_.total_efficiency = perfect / out_.total_time;
    out_.sample_rate = real(exe_.batch_size) / out_.total_time;
    out_.block_fw_time = b_.stage[0].time_s;
    out_.block_agrad_time = b_.stage[1].time_s;
    out_.block_wgrad_time = b_.stage[2].time_s;
    out_.block_optim_time = b_.stage[3].time_s;
    out_.block_re_time = b_.again.time_s;
  }

  const Application& app_;
  const Execution& exe_;
  const System& sys_;
  const Processor& matrix_;
  const Processor& vector_;
  const Network& tp_net_;
  const Network& pp_net_;
  const Network& dp_net_;
  double peers_;
  double bytes_;
  double microbatches_;
  double blocks_ = 0;        // of a processor
  double missing_ = 0;       // blocks that the last processors lack
  double chunks_ = 1;        // of a processor
  double chunk_blocks_ = 1;  // of a chunk; the last one is the edge
  double pp_bytes_ = 0;
  double fw_pp_ = 0;
  double bw_pp_ = 0;
  double fw_block_[2] = {0, 0};
  double bw_block_[2] = {0, 0};
  double chunk_fw_ = 0;
  double chunk_bw_ = 0;
  double dp_block_ = 0;
  BlockSums b_;
  Breakdown out_;
};

tl::unexpected<Error> refuse(std::string field, std::string message) {
  return fail(Error{Code::kInput, std::move(message), {}, 0, std::move(field), {}, {}});
}

Status check_networks(const Execution& exe, const System& sys) {
  struct Use {
    const char* field;
    std::int64_t ranks, net;
  };
  const Use uses[] = {{"tensor_par_net", exe.tensor_par, exe.tensor_par_net},
                      {"pipeline_par_net", exe.pipeline_par, exe.pipeline_par_net},
                      {"data_par_net", exe.data_par, exe.data_par_net}};
  for (const Use& use : uses)
    if (use.net >= static_cast<std::int64_t>(sys.networks.size()))
      return refuse(use.field, fmt::format("the system has no network {}", use.net));
  for (std::size_t tier = 0; tier < sys.networks.size(); ++tier) {
    std::int64_t ranks = 1;
    const char* field = nullptr;
    for (const Use& use : uses) {
      if (use.ranks == 1 || use.net != static_cast<std::int64_t>(tier)) continue;
      ranks *= use.ranks;
      field = use.field;
    }
    if (field == nullptr) continue;
    const Network& net = sys.networks[tier];
    if (ranks > net.size)
      return refuse(field, fmt::format("network {} joins {} processors, not {}", tier, net.size, ranks));
    if (net.must_be_filled && net.size % ranks != 0)
      return refuse(field, fmt::format("network {} of {} processors is not filled by {}", tier, net.size, ranks));
  }
  return {};
}

Status check(const Application& app, const Execution& exe, const System& sys) {
  if (auto status = check_networks(exe, sys); !status) return status;
  const auto type = static_cast<std::size_t>(exe.datatype);
  if (sys.matrix[type].flops == 0 || sys.vector[type].flops == 0)
    return refuse("datatype", "the system does not have this type");
  const std::int64_t t = exe.tensor_par;
  if (app.hidden % t != 0 || app.feedforward % t != 0 || app.attn_heads % t != 0)
    return refuse("tensor_par", "does not divide hidden, feedforward and attn_heads");
  if (exe.tensor_par_overlap != TensorParOverlap::kNone && app.attn_heads * app.attn_size % t != 0)
    return refuse("tensor_par", "does not divide attn_heads x attn_size");
  if (exe.tensor_par_comm_type != TensorParComm::kAr && exe.microbatch_size * app.seq_size % t != 0)
    return refuse("tensor_par", "does not divide microbatch_size x seq_size");
  const std::int64_t blocks = (app.num_blocks + exe.pipeline_par - 1) / exe.pipeline_par;
  if (exe.pipeline_interleaving > blocks || blocks % exe.pipeline_interleaving != 0)
    return refuse("pipeline_interleaving", fmt::format("does not divide the {} blocks of a processor", blocks));
  if ((exe.weight_offload || exe.activations_offload || exe.optimizer_offload) && blocks <= 2)
    return refuse("weight_offload", "offloading needs three blocks a processor or more");
  return {};
}

}  // namespace

Result<Breakdown> evaluate(const Application& app, const Execution& exe, const System& sys) {
  if (auto status = check(app, exe, sys); !status) return fail(status.error());
  return Model(app, exe, sys).run();
}

}  // namespace comity::workload::calculon
