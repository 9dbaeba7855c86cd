// SPDX-License-Identifier: Apache-2.0
#include "workload/estimate.h"

#include <algorithm>
#include <cmath>

#include "workload/kernels.h"

namespace comity::workload {
namespace {

constexpr double kGiga = 1e9;
constexpr double kGibi = 1073741824.0;
constexpr double kBucket = 40e6;  // parameters, Megatron-LM's

double real(std::int64_t v) { return static_cast<double>(v); }

// What one pipeline rank holds.
struct Stage {
  double dense = 0;  // layers
  double moe = 0;
  bool first = false;
  bool last = false;
  friend bool operator==(const Stage&, const Stage&) = default;
};

class Estimator {
 public:
  Estimator(const Model& model, const Execution& execution, const System& system, CostModel cost,
            const LayerCosts& layers)
      : m_(model),
        e_(execution),
        sys_(system),
        cost_(cost),
        layout_(layout_of(execution, system)),
        layers_(layers),
        microbatches_(real(execution.microbatches())),
        attention_parameters_(attention_parameters(model)),
        norm_parameters_(real(model.hidden) * (model.rms_norm ? 2 : 4)) {
    divide(nullptr);
  }

  Estimate run(bool only_if_fits) {
    Estimate out;
    fullest(out);
    if (only_if_fits && !out.fits) return out;
    pipeline(out);
    transfers(out);
    gradients(out);
    out.breakdown_s.overhead = sys_.step_overhead_s;
    out.iteration_s = out.breakdown_s.total();
    out.low_s = out.iteration_s * (1 - sys_.error_band);
    out.high_s = out.iteration_s * (1 + sys_.error_band);
    rates(out);
    return out;
  }

  [[nodiscard]] StageMemory memory(std::int64_t rank) const {
    const Stage& stage = stage_of(rank);
    return memory(stage, microbatch_of(stage), in_flight(rank));
  }
  [[nodiscard]] StageMemory memory(const Stage& stage, const PassTimes& pass, double in_flight) const {
    StageMemory out;
    const double shards = real(e_.dp * e_.cp);
    const double dense = dense_parameters(stage);
    const double experts = expert_parameters(stage);
    const double expert_shards = shards / real(e_.ep);
    const double all = dense + experts;
    const double spread = dense / shards + experts / expert_shards;
    const double copies = e_.schedule == Schedule::kDualPipe ? 2 : 1;
    const double element = e_.datatype == Datatype::kFp32 ? 4 : 2;
    out.weights = copies * element * (e_.zero >= 3 ? spread : all);
    out.gradients = copies * real(e_.gradient_bytes) * (e_.zero >= 2 ? spread : all);
    out.optimizer = e_.optimizer_offload ? 0 : 12 * (e_.zero >= 1 ? spread : all);
    out.activations = pass.activation_bytes * in_flight * (1 - e_.activation_offload);
    out.working = pass.working_bytes;
    if (e_.zero >= 3) out.working += 2 * element * (dense + experts) / std::max(1.0, stage.dense + stage.moe);
    return out;
  }

  [[nodiscard]] std::vector<ChunkTimes> chunks() {
    std::vector<Stage> parts;
    divide(&parts);
    std::vector<ChunkTimes> out;
    for (const Stage& part : parts) {
      const PassTimes pass = microbatch_of(part);
      out.push_back({pass.all_forward(), pass.all_backward(), pass.backward_weight});
    }
    return out;
  }

  [[nodiscard]] double transfer_s() const {
    if (e_.pp == 1) return 0;
    const bool split = e_.sequence_parallel || e_.scatter_gather;
    const double bytes = 2 * real(e_.microbatch * e_.tokens(m_) / e_.cp * m_.hidden) / (split ? real(e_.tp) : 1);
    const Group neighbours{2, layout_.pp_inside_node ? 2 : 1, 1};
    return collective_s(cost_, sys_, Collective::kPointToPoint, bytes, neighbours);
  }

 private:
  // The ranks' shares of the layers; chunks, where asked for, come in the order in which a token passes them.
  void divide(std::vector<Stage>* chunks) {
    stages_.assign(static_cast<std::size_t>(e_.pp), Stage{});
    const std::int64_t all = e_.pp * e_.virtual_stages;
    std::int64_t layer = 0;
    for (std::int64_t c = 0; c < all; ++c) {
      Stage part;
      for (const std::int64_t end = layer + layers_of_chunk(e_, m_, c); layer < end; ++layer)
        (m_.is_moe_layer(layer) ? part.moe : part.dense) += 1;
      part.first = c == 0;
      part.last = c == all - 1;
      Stage& stage = stages_[static_cast<std::size_t>(c % e_.pp)];
      stage.dense += part.dense;
      stage.moe += part.moe;
      stage.first = stage.first || part.first;
      stage.last = stage.last || part.last;
      if (chunks != nullptr) chunks->push_back(part);
    }
  }
  [[nodiscard]] const Stage& stage_of(std::int64_t rank) const { return stages_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] PassTimes microbatch_of(const Stage& stage) const {
    PassTimes out;
    out.add(layers_.dense, stage.dense);
    out.add(layers_.moe, stage.moe);
    if (stage.first) out.add(layers_.embedding, 1);
    if (stage.last) out.add(layers_.head, 1 + real(m_.mtp_layers));
    if (stage.last && m_.mtp_layers > 0) out.add(m_.has_moe() ? layers_.moe : layers_.dense, real(m_.mtp_layers));
    return out;
  }

  void pipeline(Estimate& out) {
    double sum = 0;
    PassTimes slowest;
    double longest = -1;
    PassTimes pass;
    double all = 0;
    for (std::int64_t rank = 0; rank < e_.pp; ++rank) {
      if (rank == 0 || stage_of(rank) != stage_of(rank - 1)) {
        pass = microbatch_of(stage_of(rank));
        all = pass.all_forward() + pass.all_backward();
      }
      sum += all;
      if (all <= longest) continue;
      longest = all;
      slowest = pass;
    }
    pass_ = slowest;
    const double m = microbatches_;
    Breakdown& b = out.breakdown_s;
    b.forward = m * slowest.forward;
    b.backward = m * (slowest.backward_input + slowest.backward_weight);
    b.recompute = m * slowest.recompute;
    b.recompute_communication = m * slowest.recompute_communication;
    b.tp = m * (slowest.tp_forward + slowest.tp_backward);
    b.cp = m * (slowest.cp_forward + slowest.cp_backward);
    b.ep = m * (slowest.ep_forward + slowest.ep_backward);
    b.bubble = bubble(sum - longest, slowest);
    if (e_.activation_offload > 0) {
      const double bytes = slowest.activation_bytes * e_.activation_offload;
      const double each = bytes / (sys_.host_gb_s * kGiga);
      b.offload = m * (std::max(0.0, each - slowest.all_forward()) + std::max(0.0, each - slowest.all_backward()));
    }
  }
  // `others`: one micro-batch on all other ranks.
  [[nodiscard]] double bubble(double others, const PassTimes& slowest) const {
    if (e_.pp == 1) return 0;
    const double w = slowest.backward_weight * real(e_.pp - 1);
    switch (e_.schedule) {
      case Schedule::kGpipe:
      case Schedule::k1f1b: return others;
      case Schedule::kInterleaved: return others / real(e_.virtual_stages);
      case Schedule::kZbH1: return std::max(0.0, others - 2 * w);
      case Schedule::kZbH2: return std::max(0.0, others - 3 * w);
      case Schedule::kDualPipe: {
        // (p/2 - 1)(F&B + B - 3W), an overlapped pair F&B taking what both take.
        const double pairs = real(e_.pp) / 2 - 1;
        const double mean = others / real(e_.pp - 1);
        const double backward = mean * slowest.all_backward() / (slowest.all_forward() + slowest.all_backward());
        return std::max(0.0, pairs * (mean + backward - 3 * slowest.backward_weight));
      }
    }
    return others;
  }

  void transfers(Estimate& out) const {
    const double each = transfer_s();
    if (each == 0) return;
    const double hops = 2 * real(e_.pp - 1);                            // filling and draining: nothing to hide behind
    const double steady = 2 * microbatches_ * real(e_.virtual_stages);  // forward and backward, each chunk
    out.breakdown_s.pp = each * (hops + sys_.pp_exposed * std::max(0.0, steady - hops));
  }

  // Parameters on one GPU of a stage that all data-parallel ranks share.
  [[nodiscard]] double dense_parameters(const Stage& stage) const {
    const double t = real(e_.tp);
    double out = (stage.dense + stage.moe) * (attention_parameters_ / t + norm_parameters_);
    out += stage.dense * mlp_parameters(m_, m_.ffn) / t;
    if (stage.moe > 0) {
      out += stage.moe * real(m_.hidden * m_.moe.experts);  // the router
      out += stage.moe * mlp_parameters(m_, m_.moe.shared_ffn) / t;
    }
    const double embedding = real(m_.vocab) * real(m_.hidden) / t;
    if (stage.first) out += embedding + real(m_.positions) * real(m_.hidden);
    if (stage.last && (e_.pp > 1 || !m_.tied_embeddings)) out += embedding;
    if (stage.last) out += real(m_.mtp_layers) * (attention_parameters_ / t + 2 * real(m_.hidden * m_.hidden) / t);
    return out;
  }
  [[nodiscard]] double expert_parameters(const Stage& stage) const {
    if (!m_.has_moe()) return 0;
    const double layers = stage.moe + (stage.last ? real(m_.mtp_layers) : 0);
    return layers * real(m_.moe.experts) / real(e_.ep) * mlp_parameters(m_, m_.moe.ffn) / real(e_.tp);
  }

  // The stage that has most to exchange and to update: all do it at once.
  [[nodiscard]] const Stage& most_parameters() const {
    const Stage* best = &stage_of(0);
    if (!m_.has_moe()) return *best;  // it has the embedding
    double most = -1;
    for (std::int64_t rank = 0; rank < e_.pp; ++rank) {
      const Stage& stage = stage_of(rank);
      const double parameters = dense_parameters(stage) + expert_parameters(stage);
      if (parameters <= most) continue;
      most = parameters;
      best = &stage;
    }
    return *best;
  }
  // Gradients, parameters and the optimizer at the step's end.
  void gradients(Estimate& out) const {
    const Stage& fullest = most_parameters();
    const double dense = dense_parameters(fullest);
    const double experts = expert_parameters(fullest);
    const double shards = real(e_.dp * e_.cp);
    Breakdown& b = out.breakdown_s;
    double sync = reduce_s(dense, layout_.dp) + reduce_s(experts, layout_.expert_dp);
    // While gradients leave beside the backward pass, the same NIC carries that pass' stage-to-stage transfers.
    if (sync > 0 && e_.dp_overlap && layout_.dp.nodes() > 1 && !layout_.pp_inside_node) sync += 2 * transfer_s();
    if (sync > 0) out.dp_gb_s = sent_bytes(dense, layout_.dp) / std::max(1e-12, reduce_s(dense, layout_.dp)) / kGiga;
    b.dp = exposed(sync);
    if (m_.tied_embeddings && e_.pp > 1) {
      const double bytes = real(m_.vocab * m_.hidden) / real(e_.tp) * real(e_.gradient_bytes);
      const Group ends{2, layout_.pp_inside_node ? 2 : 1, 1};
      b.dp += collective_s(cost_, sys_, Collective::kAllReduce, bytes, ends);
    }
    const double expert_shards = std::max(1.0, shards / real(e_.ep));
    const double updated = e_.zero >= 1 ? dense / shards + experts / expert_shards : dense + experts;
    const double bytes = updated * (real(e_.gradient_bytes) + 2 * 12 + 2);
    if (e_.optimizer_offload) {  // gradients go, weights come back, and the host's cores do the update in its memory
      b.optimizer = (bytes + updated * (real(e_.gradient_bytes) + 2)) / (sys_.host_gb_s * kGiga);
    } else {
      const double rate = sys_.optimizer_gb_s > 0 ? sys_.optimizer_gb_s : sys_.memory_gb_s * sys_.memory_efficiency;
      b.optimizer = bytes / (rate * kGiga);
    }
  }
  [[nodiscard]] double sent_bytes(double parameters, const Group& group) const {
    const double n = real(group.ranks);
    return 2 * (n - 1) / n * parameters * real(e_.gradient_bytes);
  }
  // Gradients leave in buckets, sharded weights layer by layer: each pays its own latency.
  [[nodiscard]] double reduce_s(double parameters, const Group& group) const {
    if (group.ranks == 1 || parameters == 0) return 0;
    const double layers = std::max(1.0, real(m_.layers) / real(e_.pp));
    const double buckets = e_.zero == 3 ? layers : e_.dp_overlap ? std::ceil(parameters / kBucket) : 1;
    const auto time = [&](Collective op, double bytes) {
      return buckets * collective_s(cost_, sys_, op, bytes / buckets, group);
    };
    const double gradient = parameters * real(e_.gradient_bytes);
    if (e_.zero == 0) return time(Collective::kAllReduce, gradient);
    const double reduce = time(Collective::kReduceScatter, gradient);
    const double gather = time(Collective::kAllGather, 2 * parameters);
    // Sharded weights come together for each pass of each micro-batch, and gradients are reduced behind each.
    return e_.zero < 3 ? reduce + gather : microbatches_ * (reduce + 2 * gather);
  }
  // What of the synchronisation the computation does not hide: the last bucket, and what exceeds the pass beside it.
  [[nodiscard]] double exposed(double sync) const {
    if (!e_.dp_overlap || sync == 0) return sync;
    const double layers = std::max(1.0, real(m_.layers) / real(e_.pp));
    const double chunks = e_.schedule == Schedule::kInterleaved ? real(e_.virtual_stages) : 1;
    const double backward = pass_.all_backward();
    const double forward = e_.zero > 0 ? pass_.all_forward() : 0;
    // Of v chunks, all but the last one's gradients leave while p micro-batches of each chunk behind it go back.
    const double passes = e_.zero == 3 ? microbatches_ : 1;
    const double window = passes * (backward + forward) * (1 - 1 / layers) +
                          (chunks - 1) / chunks * backward * std::min(microbatches_, real(e_.pp));
    return sync / layers + std::max(0.0, sync * (1 - 1 / layers) - window);
  }

  [[nodiscard]] double in_flight(std::int64_t rank) const {
    const double p = real(e_.pp);
    const double m = microbatches_;
    const double i = real(rank);
    switch (e_.schedule) {
      case Schedule::kGpipe: return m;
      case Schedule::k1f1b:
      case Schedule::kZbH1: return std::min(m, p - i);
      case Schedule::kInterleaved: {
        const double v = real(e_.virtual_stages);
        return std::min(m, (2 * (p - i - 1) + (v - 1) * p + 1) / v);
      }
      case Schedule::kZbH2: return std::min(m, 2 * (p - i) - 1);
      case Schedule::kDualPipe: return std::min(m, p + 1);
    }
    return m;
  }

  void fullest(Estimate& out) const {
    double most = -1;
    for (std::int64_t rank = 0; rank < e_.pp; ++rank) {
      // Of equal stages the earlier one holds more micro-batches.
      if (rank > 0 && stage_of(rank) == stage_of(rank - 1)) continue;
      const StageMemory memory_of_rank = memory(rank);
      if (memory_of_rank.total() <= most) continue;
      most = memory_of_rank.total();
      out.memory = memory_of_rank;
      out.fullest_stage = rank;
    }
    out.capacity_bytes = sys_.memory_gib * kGibi;
    out.fits = most <= out.capacity_bytes;
  }

  void rates(Estimate& out) const {
    const Breakdown& b = out.breakdown_s;
    out.model_flops = model_flops(m_, real(e_.batch), e_.tokens(m_), false);
    const double compute = b.forward + b.backward;
    out.hardware_flops = out.model_flops;
    if (e_.recompute != Recompute::kNone)
      out.hardware_flops += recomputed_flops(m_, real(e_.batch), e_.tokens(m_), e_.recompute == Recompute::kSelective,
                                             e_.recompute_share);
    const double gpus = real(e_.gpus());
    out.tflops_per_gpu = out.model_flops / (out.iteration_s * gpus) * 1e-12;
    out.hardware_tflops_per_gpu = out.hardware_flops / (out.iteration_s * gpus) * 1e-12;
    const double peak = peak_flops(sys_, e_.datatype) * 1e-12;
    out.mfu = out.tflops_per_gpu / peak;
    out.hfu = out.hardware_tflops_per_gpu / peak;
    out.gpu_utilisation = compute > 0 ? out.model_flops / (gpus * compute * peak * 1e12) : 0;
    const double waits = b.tp + b.pp + b.dp + b.ep + b.cp + b.recompute_communication;
    out.communication_share = waits / out.iteration_s;
    if (e_.tp > 1) {
      const double bytes = 2 * real(e_.microbatch * e_.tokens(m_) / e_.cp * m_.hidden);
      const double time = collective_s(cost_, sys_, Collective::kAllReduce, bytes, layout_.tp);
      out.tp_gb_s = 2 * real(e_.tp - 1) / real(e_.tp) * bytes / time / kGiga;
    }
  }

  const Model& m_;
  const Execution& e_;
  const System& sys_;
  CostModel cost_;
  Layout layout_;
  const LayerCosts& layers_;
  std::vector<Stage> stages_;
  double microbatches_;
  double attention_parameters_;
  double norm_parameters_;
  PassTimes pass_;  // of the slowest rank
};

}  // namespace

double Breakdown::total() const {
  return forward + backward + optimizer + recompute + recompute_communication + bubble + tp + pp + dp + ep + cp +
         offload + overhead;
}

Estimate estimate(const Model& model, const Execution& execution, const System& system, CostModel cost) {
  const LayerCosts layers = layer_costs(model, execution, system, cost, layout_of(execution, system));
  return Estimator(model, execution, system, cost, layers).run(false);
}

Estimate estimate_if_fits(const Model& model, const Execution& execution, const System& system, CostModel cost,
                          const LayerCosts& layers) {
  return Estimator(model, execution, system, cost, layers).run(true);
}

double least_s(const Model& model, const Execution& execution, const LayerCosts& layers) {
  const auto both = [](const PassTimes& pass) { return pass.all_forward() + pass.all_backward(); };
  const double moe = real(model.moe_layers());
  const double all = both(layers.dense) * (real(model.layers) - moe) + both(layers.moe) * moe + both(layers.embedding) +
                     both(layers.head);
  const double mean = all / real(execution.pp);
  const bool weights_wait = execution.schedule == Schedule::kZbH1 || execution.schedule == Schedule::kZbH2 ||
                            execution.schedule == Schedule::kDualPipe;
  return real(execution.microbatches()) * mean + (weights_wait ? 0 : (all - mean) / real(execution.virtual_stages));
}

std::vector<StageMemory> memory_by_stage(const Model& model, const Execution& execution, const System& system,
                                         CostModel cost) {
  const LayerCosts layers = layer_costs(model, execution, system, cost, layout_of(execution, system));
  const Estimator estimator(model, execution, system, cost, layers);
  std::vector<StageMemory> out;
  for (std::int64_t rank = 0; rank < execution.pp; ++rank) out.push_back(estimator.memory(rank));
  return out;
}

std::vector<ChunkTimes> chunk_times(const Model& model, const Execution& execution, const System& system,
                                    CostModel cost) {
  const LayerCosts layers = layer_costs(model, execution, system, cost, layout_of(execution, system));
  return Estimator(model, execution, system, cost, layers).chunks();
}

double stage_transfer_s(const Model& model, const Execution& execution, const System& system, CostModel cost) {
  const LayerCosts layers;
  return Estimator(model, execution, system, cost, layers).transfer_s();
}

}  // namespace comity::workload
