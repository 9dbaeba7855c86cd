// SPDX-License-Identifier: Apache-2.0
// Counts of parameters. What is left out everywhere, because no model's total moves by a permille: norms of queries and
// keys, gates of shared experts, the biases of routers, token types and poolers of encoders.
#include <algorithm>

#include "workload/model_parts.h"

namespace comity::workload {
namespace {

double real(std::int64_t v) { return static_cast<double>(v); }

double norm_parameters(const Model& model) { return (model.rms_norm ? 1.0 : 2.0) * real(model.hidden); }

double router_parameters(const Model& model) { return real(model.hidden) * real(model.moe.experts); }

double routed_parameters(const Model& model) { return real(model.moe.experts) * mlp_parameters(model, model.moe.ffn); }

double shared_parameters(const Model& model) {
  return model.moe.shared_ffn > 0 ? mlp_parameters(model, model.moe.shared_ffn) : 0.0;
}

// One multi-token prediction layer: its projection of two vectors, a layer, and a norm for each of the two vectors and
// for what comes out. Embedding and head are the model's.
double mtp_parameters(const Model& model) {
  const double mlp = mtp_is_moe(model) ? routed_parameters(model) + shared_parameters(model) + router_parameters(model)
                                       : mlp_parameters(model, model.ffn);
  return mtp_projection_weights(model) + attention_parameters(model) + mlp + 5 * norm_parameters(model);
}

void add_ends(const Model& model, Parameters& out) {
  const double h = real(model.hidden);
  if (model.kind == ModelKind::kVision) {
    // patches and their bias, the class token; the head has one
    out.embedding = patch_weights(model) + h + h + real(model.positions) * h;
    out.output = (h + 1) * real(model.vocab);
    return;
  }
  out.embedding = (real(model.vocab) + real(model.positions)) * h;
  out.output = model.tied_embeddings ? 0 : real(model.vocab) * h;
}

}  // namespace

double attention_weights(const Model& model) {
  const double h = real(model.hidden);
  const double out = real(model.value_width()) * h;
  const LatentAttention& latent = model.latent;
  if (latent.kv_rank == 0) return h * (real(model.q_width()) + 2 * real(model.kv_width())) + out;
  const double query =
      latent.q_rank > 0 ? real(latent.q_rank) * (h + real(model.q_width())) : h * real(model.q_width());
  const double up = real(model.heads) * real(latent.nope + latent.value);
  return query + real(latent.kv_rank) * (h + up) + h * real(latent.rope) + out;
}

double mlp_weights(const Model& model, std::int64_t ffn) {
  return (model.gated ? 3.0 : 2.0) * real(model.hidden) * real(ffn);
}

double patch_weights(const Model& model) {
  return real(model.patch) * real(model.patch) * real(model.channels) * real(model.hidden);
}

double mtp_projection_weights(const Model& model) { return 2 * real(model.hidden) * real(model.hidden); }

double attention_parameters(const Model& model) {
  double bias = 0;
  if (model.bias || model.qkv_bias) bias += real(model.q_width()) + 2 * real(model.kv_width());
  if (model.bias) bias += real(model.hidden);
  // The compressed forms carry biases nowhere; they norm what they compress.
  if (model.latent.kv_rank > 0)
    bias = real(model.latent.q_rank + model.latent.kv_rank) + (model.bias ? real(model.hidden) : 0.0);
  return attention_weights(model) + bias;
}

double mlp_parameters(const Model& model, std::int64_t ffn) {
  const double bias = model.bias ? (model.gated ? 2.0 : 1.0) * real(ffn) + real(model.hidden) : 0.0;
  return mlp_weights(model, ffn) + bias;
}

Parameters parameters(const Model& model) {
  Parameters out;
  const double moe_layers = real(model.moe_layers());
  const bool two = model.kind == ModelKind::kEncoderDecoder;
  const double encoder = two ? real(model.encoder_layers) : 0.0;
  const double decoder = real(model.layers);
  add_ends(model, out);
  out.attention = (encoder + decoder + (two ? decoder : 0.0)) * attention_parameters(model);
  out.mlp = (encoder + dense_layers(model)) * mlp_parameters(model, model.ffn);
  if (moe_layers > 0) {
    out.experts = moe_layers * routed_parameters(model);
    out.shared = moe_layers * shared_parameters(model);
    out.router = moe_layers * router_parameters(model);
  }
  const double norms = 2 * encoder + (two ? 3 : 2) * decoder + (two ? 2 : 1);
  out.norms = norms * norm_parameters(model);
  out.mtp = real(model.mtp_layers) * mtp_parameters(model);
  out.total = out.embedding + out.output + out.attention + out.mlp + out.experts + out.shared + out.router + out.norms +
              out.mtp;
  out.active = out.total;
  if (model.has_moe()) {
    const double layers = moe_layers + (mtp_is_moe(model) ? real(model.mtp_layers) : 0.0);
    const double idle = 1 - real(std::min(model.moe.top_k, model.moe.experts)) / real(model.moe.experts);
    out.active -= idle * layers * routed_parameters(model);
  }
  return out;
}

}  // namespace comity::workload
