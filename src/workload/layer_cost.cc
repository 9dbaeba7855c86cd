// SPDX-License-Identifier: Apache-2.0
#include "workload/layer_cost.h"

#include <algorithm>
#include <cmath>

#include "workload/kernels.h"

namespace comity::workload {
namespace {

constexpr double kHalf = 2;  // bytes of a 16-bit element

double real(std::int64_t v) { return static_cast<double>(v); }

// Adds up one layer part by part. Symbols as in model.h; tokens = b s / c.
class Builder {
 public:
  Builder(const Model& model, const Execution& execution, const System& system, CostModel cost, const Layout& layout)
      : m_(model),
        e_(execution),
        sys_(system),
        cost_(cost),
        layout_(layout),
        tp_(real(execution.tp)),
        sequence_(real(execution.tokens(model))),
        tokens_(real(execution.microbatch) * sequence_ / real(execution.cp)),
        hidden_(real(model.hidden)),
        // Between the tensor-parallel blocks a rank has all tokens, or 1/tp of them under sequence parallelism.
        outer_(tokens_ / (execution.sequence_parallel ? tp_ : 1)) {}

  PassTimes dense_layer() {
    attention();
    feed_forward(real(m_.ffn), tokens_);
    return finish();
  }
  PassTimes moe_layer() {
    attention();
    norm();
    experts();
    residual();
    return finish();
  }
  PassTimes moe_block() {
    experts();
    return p_;
  }
  PassTimes embedding() {
    pass(2 * kHalf * outer_ * hidden_, 2 * kHalf * outer_ * hidden_);
    if (e_.dropout) pass((2 * kHalf + 1) * outer_ * hidden_, (2 * kHalf + 1) * outer_ * hidden_);
    if (e_.tp > 1) p_.tp_forward += tp_s(e_.sequence_parallel ? Collective::kReduceScatter : Collective::kAllReduce);
    if (e_.tp > 1 && e_.sequence_parallel) p_.tp_backward += tp_s(Collective::kAllGather);
    p_.activation_bytes += e_.dropout ? outer_ * hidden_ : 0;
    return p_;
  }
  PassTimes head() {
    const double vocab = real(m_.vocab) / tp_;
    norm();
    gemm(tokens_, vocab, hidden_);
    // The loss in fp32: the logits are converted, their maximum, sum and gradient are one pass each.
    pass(16 * tokens_ * vocab, 6 * tokens_ * vocab);
    if (e_.tp > 1) {
      if (e_.sequence_parallel) p_.tp_forward += tp_s(Collective::kAllGather);
      p_.tp_backward += tp_s(e_.sequence_parallel ? Collective::kReduceScatter : Collective::kAllReduce);
    }
    p_.activation_bytes += 2 * kHalf * outer_ * hidden_;
    p_.working_bytes += 4 * tokens_ * vocab;  // the logits
    return p_;
  }

 private:
  void gemm(double m, double n, double k, double count = 1) {
    p_.forward += gemm_s(sys_, e_.datatype, m, n, k, count);
    p_.backward_input += gemm_s(sys_, e_.datatype, m, k, n, count);
    p_.backward_weight += gemm_s(sys_, e_.datatype, n, k, m, count);
    if (e_.datatype != Datatype::kFp8) return;
    // Operands are cast. By the kernel that makes them: one byte written an element, gradients and inputs once more
    // transposed for the weights' gradient. By kernels of their own: two passes over the operand before, for its
    // largest value and to read it, and the weights each time.
    const double read = e_.fused ? 0 : 2 * kHalf;
    const double weights = e_.fused ? 0 : (kHalf + 2) * n * k * count;
    p_.forward += memory_s(sys_, (1 + read) * m * k * count + weights);
    p_.backward_input += memory_s(sys_, (2 + read) * m * n * count + (1 + read) * m * k * count);
  }
  void pass(double forward_bytes, double backward_bytes) {
    p_.forward += memory_s(sys_, forward_bytes);
    p_.backward_input += memory_s(sys_, backward_bytes);
  }
  // Bytes of one element of a pass that a fused kernel does once and separate kernels about twice.
  [[nodiscard]] double fused(double bytes) const { return e_.fused ? bytes : 2 * bytes; }

  void norm() { pass(2 * kHalf * outer_ * hidden_, 3 * kHalf * outer_ * hidden_); }
  void residual() {
    const double mask = e_.dropout ? 1 : 0;
    pass(fused(3 * kHalf + mask) * outer_ * hidden_, e_.dropout ? fused(2 * kHalf + 1) * outer_ * hidden_ : 0);
    p_.activation_bytes += mask * outer_ * hidden_;
  }
  [[nodiscard]] double tp_s(Collective op) const {
    return collective_s(cost_, sys_, op, kHalf * tokens_ * hidden_, layout_.tp);
  }
  // What is left of a collective that runs in chunks beside the product it feeds.
  [[nodiscard]] double beside(double comm, double product) const {
    return e_.tp_overlap ? std::max(comm / tp_, comm - product) : comm;
  }
  // Entering and leaving a tensor-parallel block whose first and last products take the given times.
  void tp_block(double first_s, double last_s) {
    if (e_.tp == 1) return;
    if (!e_.sequence_parallel) {
      p_.tp_forward += beside(tp_s(Collective::kAllReduce), last_s);
      p_.tp_backward += beside(tp_s(Collective::kAllReduce), first_s);
      return;
    }
    const double gather = tp_s(Collective::kAllGather);
    const double scatter = tp_s(Collective::kReduceScatter);
    p_.tp_forward += beside(gather, first_s) + beside(scatter, last_s);
    p_.tp_backward += beside(gather, last_s) + beside(scatter, first_s);
  }

  void attention() {
    norm();
    p_.activation_bytes += 2 * kHalf * outer_ * hidden_;  // inputs of the norm and of the projections
    const double before = p_.forward;
    m_.latent.kv_rank > 0 ? latent_projections() : projections();
    const double first = p_.forward - before;
    core();
    const double width = real(m_.value_width()) / tp_;
    const double last = p_.forward;
    gemm(tokens_, hidden_, width);
    tp_block(first, p_.forward - last);
    p_.activation_bytes += kHalf * tokens_ * width;
    residual();
  }
  void projections() {
    const double q = real(m_.q_width()) / tp_;
    const double kv = 2 * real(m_.kv_width()) / tp_;
    gemm(tokens_, q + kv, hidden_);
    if (m_.positions == 0) pass(2 * kHalf * tokens_ * (q + kv / 2), 2 * kHalf * tokens_ * (q + kv / 2));  // rotary
    p_.activation_bytes += kHalf * tokens_ * (q + kv);
  }
  void latent_projections() {
    const LatentAttention& la = m_.latent;
    const double heads = real(m_.heads) / tp_;
    const double q = heads * real(la.nope + la.rope);
    const double kv = heads * real(la.nope + la.value);
    const double down = real(la.q_rank + la.kv_rank + la.rope);
    gemm(tokens_, down, hidden_);
    gemm(tokens_, q, la.q_rank > 0 ? real(la.q_rank) : hidden_);
    gemm(tokens_, kv, real(la.kv_rank));
    pass(4 * kHalf * tokens_ * down, 5 * kHalf * tokens_ * down);  // the two norms
    p_.activation_bytes += kHalf * tokens_ * (2 * down + q + kv + heads * real(la.rope));
  }

  // Scores, softmax, dropout and weighted values.
  void core() {
    const double heads = real(m_.heads) / tp_;
    const double batch = real(e_.microbatch);
    const double queries = sequence_ / real(e_.cp);
    AttentionShape shape{batch,
                         heads,
                         queries,
                         sequence_,
                         real(m_.q_width()) / real(m_.heads),
                         real(m_.value_width()) / real(m_.heads),
                         m_.causal && e_.causal_skip};
    double forward = 0;
    if (e_.flash_attention) {
      forward = attention_s(sys_, e_.datatype, shape, false);
      p_.backward_input += attention_s(sys_, e_.datatype, shape, true);
      p_.activation_bytes += 4 * heads * tokens_;
    } else {
      forward = score_matrix(shape);
    }
    p_.forward += forward;
    context(shape, forward);
  }
  // Unfused: the s x s matrices go through memory. Returns the forward time.
  double score_matrix(const AttentionShape& s) {
    const double count = s.batch * s.heads;
    const double elements = count * s.queries * s.keys;
    const double scores = gemm_s(sys_, e_.datatype, s.queries, s.keys, s.width, count);
    const double values = gemm_s(sys_, e_.datatype, s.queries, s.value_width, s.keys, count);
    const double softmax = memory_s(sys_, fused(2 * kHalf) * elements);
    const double drop = e_.dropout ? memory_s(sys_, (2 * kHalf + 1) * elements) : 0;
    p_.backward_input += 2 * scores + 2 * values + memory_s(sys_, fused(3 * kHalf) * elements) + drop;
    const double forward = scores + values + softmax + drop;
    if (e_.recompute == Recompute::kSelective) p_.recompute += forward * e_.recompute_share;
    const double kept = e_.recompute == Recompute::kSelective ? 1 - e_.recompute_share : 1;
    const double bytes = (kHalf + (e_.dropout ? kHalf + 1 : 0)) * elements;
    p_.activation_bytes += kept * bytes;
    p_.working_bytes += (1 - kept) * bytes;
    return forward;
  }
  void context(const AttentionShape& s, double attention_forward) {
    if (e_.cp == 1) return;
    const double steps = real(e_.cp - 1);
    const double kv = kHalf * tokens_ * 2 * real(m_.kv_width()) / tp_;
    if (e_.context_parallel == ContextParallel::kRing) {
      const double hop = collective_s(cost_, sys_, Collective::kPointToPoint, kv, layout_.cp);
      const double beside_s = attention_forward / real(e_.cp);
      p_.cp_forward += steps * std::max(0.0, hop - beside_s);
      p_.cp_backward += steps * std::max(0.0, 2 * hop - 2.5 * beside_s);
      p_.working_bytes += 2 * kv;
      return;
    }
    const double q = kHalf * tokens_ * s.heads * (s.width + s.value_width);
    const double once = collective_s(cost_, sys_, Collective::kAllToAll, q + kv, layout_.cp);
    p_.cp_forward += once;
    p_.cp_backward += once;
  }

  // Two or three products and the activation between them, over `tokens` tokens.
  void feed_forward(double width, double tokens) {
    norm();
    p_.activation_bytes += 2 * kHalf * outer_ * hidden_;  // inputs of the norm and of the first product
    const double before = p_.forward;
    inner(width / tp_, tokens, 1);
    const double all = p_.forward - before;
    tp_block(all / 2, all / 2);
    residual();
  }
  void inner(double width, double tokens, double count) {
    const double wide = m_.gated ? 2 * width : width;
    gemm(tokens, wide, hidden_, count);
    pass(fused(kHalf * (wide + width)) * tokens * count, fused(kHalf * (2 * wide + width)) * tokens * count);
    gemm(tokens, hidden_, width, count);
    p_.activation_bytes += kHalf * tokens * count * (wide + width);
  }
  void experts() {
    const Moe& moe = m_.moe;
    const double rows = tokens_ * real(moe.top_k) * (e_.expert_capacity > 0 ? e_.expert_capacity : e_.expert_skew);
    const double local = real(moe.experts) / real(e_.ep);
    const double sent = rows / tp_;  // a rank sends its share of the tokens, each to its experts
    gemm(outer_, real(moe.experts), hidden_);
    pass(fused(kHalf) * hidden_ * (outer_ + sent), fused(kHalf) * hidden_ * (outer_ + sent));  // permute
    inner(real(moe.ffn) / tp_, rows / local, local);
    pass(fused(kHalf) * hidden_ * (outer_ + sent), fused(2 * kHalf) * hidden_ * (outer_ + sent));  // combine
    p_.activation_bytes += kHalf * hidden_ * (2 * outer_ + sent + rows);
    exchange(sent);
    if (e_.tp > 1) {  // the tokens that arrived are gathered over the tensor ranks
      const double gather = collective_s(cost_, sys_, Collective::kAllGather, kHalf * rows * hidden_, layout_.tp);
      p_.tp_forward += 2 * gather;
      p_.tp_backward += 2 * gather;
    }
    if (moe.shared_ffn > 0) {
      const double first = p_.forward;
      inner(real(moe.shared_ffn) / tp_, tokens_, 1);
      tp_block((p_.forward - first) / 2, (p_.forward - first) / 2);
    }
  }
  // Between nodes a token travels once to each node that holds experts of its own, and is copied there.
  [[nodiscard]] double copies_between_nodes() const {
    const double k = real(m_.moe.top_k);
    const double nodes = real(layout_.ep.nodes());
    const double reached = nodes * (1 - std::pow(1 - 1 / nodes, k));
    return std::min({k, reached, e_.expert_node_limit > 0 ? real(e_.expert_node_limit) : k});
  }
  void exchange(double sent) {
    if (e_.ep == 1) return;
    const double wire = e_.datatype == Datatype::kFp8 ? 1 : kHalf;
    const double share = layout_.ep.nodes() > 1 ? copies_between_nodes() / real(m_.moe.top_k) : 1;
    const auto all_to_all = [&](double bytes) {
      return collective_s(cost_, sys_, Collective::kAllToAll, bytes * share * sent * hidden_, layout_.ep);
    };
    const double dispatch = all_to_all(wire);
    const double combine = all_to_all(kHalf);
    const double forward = dispatch + combine;
    const double backward = 2 * combine;
    p_.ep_forward += forward;
    p_.ep_backward += backward;
  }

  // Forward of one micro-batch and backward of another run as one: what the one sends, the other's computation hides.
  void overlap_exchange() {
    const double sends = p_.ep_forward + p_.ep_backward;
    const double computes = p_.forward + p_.backward_input + p_.backward_weight;
    if (!e_.ep_overlap || sends == 0) return;
    const double left = std::max(0.0, 1 - computes / sends);
    p_.ep_forward *= left;
    p_.ep_backward *= left;
  }
  PassTimes finish() {
    overlap_exchange();
    if (e_.recompute != Recompute::kFull) return p_;
    const double share = e_.recompute_share;
    p_.recompute += share * p_.forward;
    p_.recompute_communication += share * (p_.tp_forward + p_.cp_forward + p_.ep_forward);
    const double input = kHalf * outer_ * hidden_;
    const double whole = p_.activation_bytes;
    p_.activation_bytes = (1 - share) * whole + share * input;
    p_.working_bytes += share > 0 ? whole - input : 0;
    return p_;
  }

  const Model& m_;
  const Execution& e_;
  const System& sys_;
  CostModel cost_;
  const Layout& layout_;
  double tp_;
  double sequence_;
  double tokens_;
  double hidden_;
  double outer_;
  PassTimes p_;
};

}  // namespace

void PassTimes::add(const PassTimes& o, double times) {
  forward += times * o.forward;
  backward_input += times * o.backward_input;
  backward_weight += times * o.backward_weight;
  recompute += times * o.recompute;
  recompute_communication += times * o.recompute_communication;
  tp_forward += times * o.tp_forward;
  tp_backward += times * o.tp_backward;
  cp_forward += times * o.cp_forward;
  cp_backward += times * o.cp_backward;
  ep_forward += times * o.ep_forward;
  ep_backward += times * o.ep_backward;
  activation_bytes += times * o.activation_bytes;
  working_bytes = std::max(working_bytes, o.working_bytes);
}

Layout layout_of(const Execution& e, const System& system) {
  const std::int64_t node = system.joined_gpus();
  Layout out;
  std::int64_t stride = 1;
  // Ranks of an axis lie `stride` apart; those of one node are what fits between.
  const auto group = [&](std::int64_t ranks, std::int64_t from) {
    Group g;
    g.ranks = ranks;
    g.per_node = std::clamp<std::int64_t>(node / std::max<std::int64_t>(1, from), 1, ranks);
    return g;
  };
  const std::int64_t replicas = e.dp * e.cp / e.ep;  // of an expert
  for (const Axis axis : e.order) {
    switch (axis) {
      case Axis::kTp:
        out.tp = group(e.tp, stride);
        stride *= e.tp;
        break;
      case Axis::kCp:
        out.cp = group(e.cp, stride);
        out.dp = group(e.cp * e.dp, stride);
        stride *= e.cp;
        break;
      case Axis::kEp:  // lies inside of cp x dp, its ranks next to each other
        out.ep = group(e.ep, e.cp > 1 ? stride / e.cp : stride);
        out.expert_dp = group(replicas, (e.cp > 1 ? stride / e.cp : stride) * e.ep);
        break;
      case Axis::kDp:
        if (e.cp == 1) out.dp = group(e.dp, stride);
        stride *= e.dp;
        break;
      case Axis::kPp:
        out.pp_inside_node = stride * e.pp <= node;
        stride *= e.pp;
        break;
    }
  }
  return out;
}

LayerCosts layer_costs(const Model& model, const Execution& execution, const System& system, CostModel cost,
                       const Layout& layout) {
  const auto build = [&] { return Builder(model, execution, system, cost, layout); };
  LayerCosts out;
  if (model.moe_layers() < model.layers) out.dense = build().dense_layer();
  if (model.has_moe()) out.moe = build().moe_layer();
  out.embedding = build().embedding();
  out.head = build().head();
  return out;
}

PassTimes moe_block(const Model& model, const Execution& execution, const System& system, CostModel cost) {
  const Layout layout = layout_of(execution, system);
  return Builder(model, execution, system, cost, layout).moe_block();
}

}  // namespace comity::workload
