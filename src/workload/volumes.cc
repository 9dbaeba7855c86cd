// SPDX-License-Identifier: Apache-2.0
#include "workload/volumes.h"

#include <algorithm>

namespace comity::workload {
namespace {

double real(std::int64_t v) { return static_cast<double>(v); }

double element_bytes(const Execution& e) { return e.datatype == Datatype::kFp32 ? 4 : 2; }

// Bytes of one activation element of each token that a GPU sees in a step: m b s/c w.
double token_bytes(const Model& m, const Execution& e) {
  return real(e.microbatches()) * real(e.microbatch) * real(e.tokens(m)) / real(e.cp) * element_bytes(e);
}

double repeated(const Execution& e) { return e.recompute == Recompute::kFull ? e.recompute_share : 0; }

struct Layers {
  std::int64_t dense = 0;
  std::int64_t moe = 0;
};
Layers layers_in(const Model& m, const Execution& e, std::int64_t chunk) {
  std::int64_t layer = 0;
  for (std::int64_t c = 0; c < chunk; ++c) layer += layers_of_chunk(e, m, c);
  Layers out;
  for (const std::int64_t end = layer + layers_of_chunk(e, m, chunk); layer < end; ++layer) {
    ++(m.is_moe_layer(layer) ? out.moe : out.dense);
  }
  return out;
}

}  // namespace

double tp_bytes(const Model& model, const Execution& e, std::int64_t chunk, const VolumeRules& rules) {
  if (e.tp == 1) return 0;
  const double t = real(e.tp);
  const double gathered_again = e.sequence_parallel && rules.regather ? 2 : 0;
  const double passes = 8 + gathered_again + 4 * repeated(e);
  return real(layers_of_chunk(e, model, chunk)) * passes * (t - 1) / t * token_bytes(model, e) * real(model.hidden);
}

double cp_bytes(const Model& model, const Execution& e, std::int64_t chunk) {
  if (e.cp == 1) return 0;
  const double c = real(e.cp);
  // Where there are fewer key heads than ranks, each rank has a copy of one.
  const double split = real(std::min(e.tp, std::max<std::int64_t>(1, model.kv_heads)));
  const bool latent = model.latent.kv_rank > 0;  // keys as wide as queries, one of each for each head
  const double q = real(model.q_width()) / real(e.tp);
  const double k = latent ? q : real(model.kv_width()) / split;
  const double v = latent ? real(model.value_width()) / real(e.tp) : k;
  const double all = real(layers_of_chunk(e, model, chunk)) * token_bytes(model, e);
  if (e.context_parallel == ContextParallel::kRing) return all * (3 + repeated(e)) * (c - 1) * (k + v);
  return all * (2 + repeated(e)) * (c - 1) / c * (q + k + v + real(model.value_width()) / real(e.tp));
}

double ep_bytes(const Model& model, const Execution& e, std::int64_t chunk) {
  if (e.ep == 1 || !model.has_moe()) return 0;
  const double n = real(e.ep);
  const double row = real(model.moe.top_k) * real(model.hidden) / real(e.tp);
  return real(layers_in(model, e, chunk).moe) * (4 + 2 * repeated(e)) * (n - 1) / n * token_bytes(model, e) * row;
}

double pp_bytes(const Model& model, const Execution& e) {
  if (e.pp == 1) return 0;
  const bool split = e.scatter_gather || e.sequence_parallel;
  return token_bytes(model, e) * real(model.hidden) / (split ? real(e.tp) : 1);
}

double embedding_bytes(const Model& model, const Execution& e) {
  if (e.pp == 1 || !model.tied_embeddings) return 0;
  return real(model.vocab) * real(model.hidden) / real(e.tp) * real(e.gradient_bytes);
}

LocalParameters local_parameters(const Model& model, const Execution& e, std::int64_t chunk) {
  const double t = real(e.tp);
  const double h = real(model.hidden);
  const Layers layers = layers_in(model, e, chunk);
  const double dense = real(layers.dense);
  const double moe = real(layers.moe);
  const bool last = chunk == e.pp * e.virtual_stages - 1;
  LocalParameters out;
  out.dense = (dense + moe) * (attention_parameters(model) / t + h * (model.rms_norm ? 2 : 4));
  out.dense += dense * mlp_parameters(model, model.ffn) / t;
  if (model.has_moe()) {
    out.dense += moe * h * real(model.moe.experts);
    if (model.moe.shared_ffn > 0) out.dense += moe * mlp_parameters(model, model.moe.shared_ffn) / t;
    out.experts = (moe + (last ? real(model.mtp_layers) : 0)) * real(model.moe.experts) / real(e.ep) *
                  mlp_parameters(model, model.moe.ffn) / t;
  }
  const double embedding = real(model.vocab) * h / t;
  if (chunk == 0) out.dense += embedding + real(model.positions) * h;
  if (last && (e.pp > 1 || !model.tied_embeddings)) out.dense += embedding;
  if (last) out.dense += real(model.mtp_layers) * (attention_parameters(model) + 2 * h * h) / t;
  return out;
}

double dp_bytes(const Execution& e, double parameters, std::int64_t n, const VolumeRules& rules) {
  if (n == 1) return 0;
  const double g = real(e.gradient_bytes);
  const double w = element_bytes(e);
  const double once = real(n - 1) / real(n) * parameters;
  if (e.zero == 0) return once * 2 * g;
  if (e.zero < 3) return once * (g + w);
  return once * (g + 2 * w) * (rules.gather_microbatches ? real(e.microbatches()) : 1);
}

RankBytes rank_bytes(const Model& model, const Execution& e, std::int64_t pp_rank, const VolumeRules& rules) {
  const bool dual = e.schedule == Schedule::kDualPipe && e.pp > 1;
  const std::int64_t chunks = dual ? 2 : e.virtual_stages;
  const double share = dual ? 0.5 : 1;  // of the micro-batches that pass a chunk here
  const std::int64_t all = e.pp * e.virtual_stages;
  const double boundary = pp_bytes(model, e);
  RankBytes out;
  LocalParameters parameters;
  for (std::int64_t i = 0; i < chunks; ++i) {
    const std::int64_t chunk = dual ? (i == 0 ? pp_rank : e.pp - 1 - pp_rank) : i * e.pp + pp_rank;
    out.tp += share * tp_bytes(model, e, chunk, rules);
    out.cp += share * cp_bytes(model, e, chunk);
    out.ep += share * ep_bytes(model, e, chunk);
    const LocalParameters own = local_parameters(model, e, chunk);
    parameters.dense += own.dense;
    parameters.experts += own.experts;
    // Of DualPipe's two directions one sends activations and the other gradients over the same edge.
    const bool mirrored = dual && i == 1;
    (mirrored ? out.pp_previous : out.pp_next) += chunk + 1 < all ? share * boundary : 0;
    (mirrored ? out.pp_next : out.pp_previous) += chunk > 0 ? share * boundary : 0;
  }
  out.dp = dp_bytes(e, parameters.dense, e.dp * e.cp, rules);
  out.expert_dp = dp_bytes(e, parameters.experts, e.dp * e.cp / e.ep, rules);
  if (pp_rank == 0 || pp_rank == e.pp - 1) out.embedding = embedding_bytes(model, e);
  return out;
}

}  // namespace comity::workload
