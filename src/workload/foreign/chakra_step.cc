// SPDX-License-Identifier: Apache-2.0
#include "workload/foreign/chakra_step.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "workload/estimate.h"
#include "workload/layer_cost.h"
#include "workload/pipeline.h"
#include "workload/traffic.h"
#include "workload/volumes.h"

namespace comity::workload {
namespace {

constexpr double kMicro = 1e6;
constexpr double kElement = 2;  // bytes of an activation

double real(std::int64_t v) { return static_cast<double>(v); }

std::int64_t whole(double v) { return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::llround(v))); }

// What a layer's forward pass is of everything it sends without recomputation (volumes.h).
double tp_forward_share(const Execution& e) { return e.sequence_parallel ? 4.0 / 10 : 4.0 / 8; }
double cp_forward_share(const Execution& e) { return e.context_parallel == ContextParallel::kRing ? 1.0 / 3 : 0.5; }

PassTimes pass_of(const Model& m, const Execution& e, const LayerCosts& costs, std::int64_t chunk) {
  std::int64_t layer = 0;
  for (std::int64_t c = 0; c < chunk; ++c) layer += layers_of_chunk(e, m, c);
  PassTimes out;
  for (const std::int64_t end = layer + layers_of_chunk(e, m, chunk); layer < end; ++layer)
    out.add(m.is_moe_layer(layer) ? costs.moe : costs.dense, 1);
  if (chunk == 0) out.add(costs.embedding, 1);
  if (chunk + 1 < e.pp * e.virtual_stages) return out;
  out.add(costs.head, 1 + real(m.mtp_layers));
  if (m.mtp_layers > 0) out.add(m.has_moe() ? costs.moe : costs.dense, real(m.mtp_layers));
  return out;
}

}  // namespace

Result<StepTraces> StepTraces::make(const Model& model, const Execution& execution, const System& system,
                                    CostModel cost) {
  StepTraces out(model, execution);
  const Execution& e = execution;
  const PipelineShape shape = pipeline_shape(e);
  const RankGrid grid(e);
  out.ranks_ = grid.ranks();
  constexpr std::int64_t kNodesAPass = 8;
  const std::int64_t passes = 3 * shape.microbatches * shape.chunks;
  if (out.ranks_ > kStepTraceRanks || passes > kStepTraceNodes / kNodesAPass / out.ranks_)
    return fail(Code::kInput,
                fmt::format("{} ranks with {} passes each are more than a trace is written of", out.ranks_, passes),
                fmt::format("at most {} ranks and {} nodes in all", kStepTraceRanks, kStepTraceNodes));
  const LayerCosts costs = layer_costs(model, e, system, cost, layout_of(e, system));
  Execution plain = e;
  plain.recompute = Recompute::kNone;
  const double m = real(shape.microbatches);
  for (std::int64_t c = 0; c < shape.stages(); ++c) {
    const PassTimes pass = pass_of(model, e, costs, c);
    Chunk chunk;
    chunk.forward_us = pass.forward * kMicro;
    chunk.input_us = (pass.backward_input + pass.recompute) * kMicro;
    chunk.weight_us = pass.backward_weight * kMicro;
    chunk.tp_forward = tp_forward_share(e) * tp_bytes(model, plain, c) / m;
    chunk.tp_backward = tp_bytes(model, e, c) / m - chunk.tp_forward;
    chunk.cp_forward = cp_forward_share(e) * cp_bytes(model, plain, c) / m;
    chunk.cp_backward = cp_bytes(model, e, c) / m - chunk.cp_forward;
    chunk.ep_forward = ep_bytes(model, plain, c) / m / 2;
    chunk.ep_backward = ep_bytes(model, e, c) / m - chunk.ep_forward;
    const LocalParameters parameters = local_parameters(model, e, c);
    chunk.dense = parameters.dense;
    chunk.experts = parameters.experts;
    out.chunks_.push_back(chunk);
  }
  out.message_bytes_ = e.pp > 1 ? whole(pp_bytes(model, e) / m) : 0;
  out.optimizer_us_ = estimate(model, e, system, cost).breakdown_s.optimizer * kMicro;
  std::int64_t id = 0;
  for (const GroupKind kind : {GroupKind::kTp, GroupKind::kCp, GroupKind::kEp, GroupKind::kDpCp, GroupKind::kExpertDp,
                               GroupKind::kEmbedding}) {
    if (grid.size(kind) < 2) continue;
    for (const auto& members : grid.groups(kind)) {
      out.groups_[++id] = members;
      out.group_ids_[{static_cast<int>(kind), members.front()}] = id;
    }
  }
  return out;
}

// One rank's nodes, each behind those it waits for.
class StepWriter {
 public:
  StepWriter(const StepTraces& step, std::int64_t rank)
      : s_(step),
        e_(step.execution_),
        shape_(pipeline_shape(e_)),
        grid_(e_),
        rank_(rank),
        pp_(grid_.coordinates(rank).pp) {
    trace_.version = "0.0.4";
  }

  ChakraTrace take() {
    for (const Op& op : rank_order(shape_, pp_)) pass(op);
    end_of_step();
    return std::move(trace_);
  }

 private:
  using Chunk = StepTraces::Chunk;

  std::uint64_t begin(NodeType type, std::string name, const std::vector<std::uint64_t>& after) {
    trace_.begin_node(next_, type, name);
    for (const std::uint64_t id : after) trace_.add_data(id);
    trace_.add_boolean("is_cpu_op", false);
    return next_++;
  }
  std::uint64_t compute(std::string name, double us, const std::vector<std::uint64_t>& after) {
    const std::uint64_t id = begin(NodeType::kCompute, std::move(name), after);
    trace_.duration_us.back() = static_cast<std::uint64_t>(whole(us));
    return id;
  }
  // `sent`: bytes that each rank sends; nothing where there are none.
  void collective(const char* name, ChakraCollective type, GroupKind kind, double sent) {
    const std::int64_t n = grid_.size(kind);
    if (sent <= 0 || n < 2) return;
    const double factor = (type == ChakraCollective::kAllReduce ? 2 : 1) * real(n - 1) / real(n);
    last_ = begin(NodeType::kCollective, name, {last_});
    trace_.add_integer("comm_type", static_cast<std::int64_t>(type));
    trace_.add_integer("comm_size", whole(sent / factor));
    const std::int64_t first = grid_.member(kind, rank_, 0);
    trace_.add_text("pg_name", std::to_string(s_.group_ids_.at({static_cast<int>(kind), first})));
  }
  // The rank of a neighbouring chunk, or -1 where it is this one.
  [[nodiscard]] std::int64_t peer(std::int64_t stage, std::int64_t microbatch) const {
    const std::int64_t pp = rank_of_stage(shape_, stage, microbatch);
    return pp == pp_ ? -1 : grid_.member(GroupKind::kPp, rank_, pp);
  }
  // A message leaves from `from`, forward or back, for its neighbour.
  [[nodiscard]] std::int64_t tag(bool forward, std::int64_t from, std::int64_t microbatch) const {
    return ((forward ? 0 : shape_.stages()) + from) * shape_.microbatches + microbatch;
  }
  std::uint64_t message(bool send, std::int64_t other, std::int64_t tag, const std::vector<std::uint64_t>& after) {
    const std::uint64_t id = begin(send ? NodeType::kSend : NodeType::kReceive, send ? "send" : "recv", after);
    trace_.add_integer("comm_src", send ? rank_ : other);
    trace_.add_integer("comm_dst", send ? other : rank_);
    trace_.add_integer("comm_size", s_.message_bytes_);
    trace_.add_integer("comm_tag", tag);
    return id;
  }

  void pass(const Op& op) {
    const Chunk& chunk = s_.chunks_[static_cast<std::size_t>(op.stage)];
    const bool forward = op.kind == OpKind::kForward;
    const std::int64_t stage = op.stage;
    std::vector<std::uint64_t> after;
    if (any_) after.push_back(last_);
    any_ = true;
    const std::int64_t from = forward ? stage - 1 : stage + 1;
    const bool waits = op.kind != OpKind::kWeight && from >= 0 && from < shape_.stages();
    if (const std::int64_t other = waits ? peer(from, op.microbatch) : -1; other >= 0)
      after.push_back(message(false, other, tag(forward, from, op.microbatch), {}));
    double us = chunk.forward_us;
    if (op.kind == OpKind::kBackward) us = chunk.input_us + chunk.weight_us;
    if (op.kind == OpKind::kInput) us = chunk.input_us;
    if (op.kind == OpKind::kWeight) us = chunk.weight_us;
    last_ = compute(fmt::format("{} {}.{}", op_name(op.kind), op.microbatch, stage), us, after);
    if (op.kind == OpKind::kWeight) return;
    collectives(chunk, forward);
    const std::int64_t to = forward ? stage + 1 : stage - 1;
    if (to < 0 || to >= shape_.stages()) return;
    if (const std::int64_t other = peer(to, op.microbatch); other >= 0)
      message(true, other, tag(forward, stage, op.microbatch), {last_});
  }
  void collectives(const Chunk& chunk, bool forward) {
    const double tp = forward ? chunk.tp_forward : chunk.tp_backward;
    if (e_.sequence_parallel) {
      collective("tp all-gather", ChakraCollective::kAllGather, GroupKind::kTp, tp / 2);
      collective("tp reduce-scatter", ChakraCollective::kReduceScatter, GroupKind::kTp, tp / 2);
    } else {
      collective("tp all-reduce", ChakraCollective::kAllReduce, GroupKind::kTp, tp);
    }
    const bool ring = e_.context_parallel == ContextParallel::kRing;
    collective(ring ? "cp keys and values" : "cp all-to-all",
               ring ? ChakraCollective::kAllGather : ChakraCollective::kAllToAll, GroupKind::kCp,
               forward ? chunk.cp_forward : chunk.cp_backward);
    collective("ep all-to-all", ChakraCollective::kAllToAll, GroupKind::kEp,
               forward ? chunk.ep_forward : chunk.ep_backward);
  }

  void gradients(const char* what, GroupKind kind, double parameters) {
    const std::int64_t n = grid_.size(kind);
    if (n < 2 || parameters <= 0) return;
    const double part = real(n - 1) / real(n) * parameters;
    if (e_.zero == 0) return collective(what, ChakraCollective::kAllReduce, kind, 2 * part * real(e_.gradient_bytes));
    collective(what, ChakraCollective::kReduceScatter, kind, part * real(e_.gradient_bytes));
    collective("weights", ChakraCollective::kAllGather, kind, part * kElement * (e_.zero == 3 ? 2 : 1));
  }
  void end_of_step() {
    double dense = 0;
    double experts = 0;
    for (std::int64_t c = 0; c < shape_.stages(); ++c) {
      if (rank_of_stage(shape_, c, 0) != pp_) continue;
      dense += s_.chunks_[static_cast<std::size_t>(c)].dense;
      experts += s_.chunks_[static_cast<std::size_t>(c)].experts;
    }
    gradients("gradients", GroupKind::kDpCp, dense);
    gradients("gradients of experts", GroupKind::kExpertDp, experts);
    if (grid_.position(GroupKind::kEmbedding, rank_) >= 0 && s_.model_.tied_embeddings && e_.pp > 1)
      collective("embedding", ChakraCollective::kAllReduce, GroupKind::kEmbedding, embedding_bytes(s_.model_, e_));
    compute("optimizer", s_.optimizer_us_, {last_});
  }

  const StepTraces& s_;
  const Execution& e_;
  PipelineShape shape_;
  RankGrid grid_;
  std::int64_t rank_;
  std::int64_t pp_;
  ChakraTrace trace_;
  std::uint64_t next_ = 1;
  std::uint64_t last_ = 0;
  bool any_ = false;
};

ChakraTrace StepTraces::trace(std::int64_t rank) const { return StepWriter(*this, rank).take(); }

}  // namespace comity::workload
