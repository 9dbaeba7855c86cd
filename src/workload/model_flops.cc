// SPDX-License-Identifier: Apache-2.0
// FLOPs of a step: forward once, backward twice as much.
#include "workload/model_parts.h"

namespace comity::workload {
namespace {

double real(std::int64_t v) { return static_cast<double>(v); }

// Multiply-adds of the scores and of the weighted sum for `queries` tokens that look at `keys` tokens each.
double score_products(const Model& model, double queries, double keys) {
  return queries * keys * (real(model.q_width()) + real(model.value_width()));
}

// Of a MoE layer's feed-forward, a token.
double moe_products(const Model& model) {
  return real(model.moe.top_k) * mlp_weights(model, model.moe.ffn) + mlp_weights(model, model.moe.shared_ffn) +
         real(model.hidden) * real(model.moe.experts);
}

// Of the encoder of an encoder-decoder model and of the decoder's attention to it, a sequence.
double encoder_products(const Model& model, double s) {
  const double tokens = real(model.encoder_sequence);
  const double attention = attention_weights(model);
  const double layer = tokens * (attention + mlp_weights(model, model.ffn)) + score_products(model, tokens, tokens);
  // Queries and outputs are the decoder's tokens, keys and values the encoder's.
  const double keys = 2 * real(model.hidden) * real(model.kv_width());
  const double cross = s * (attention - keys) + tokens * keys + score_products(model, s, tokens);
  return real(model.encoder_layers) * layer + real(model.layers) * cross;
}

// The embedding of patches and the head, a sequence. A look-up of tokens costs no product.
double end_products(const Model& model, double s) {
  const double head = real(model.hidden) * real(model.vocab);
  if (model.kind != ModelKind::kVision) return s * head * (1 + real(model.mtp_layers));
  return (s - 1) * patch_weights(model) + head;  // one class token is no patch, and it alone is classified
}

}  // namespace

double model_flops(const Model& model, double batch, std::int64_t sequence, bool causal_half) {
  const double s = real(sequence > 0 ? sequence : model.sequence);
  const double half = model.causal && causal_half ? 0.5 : 1.0;
  const double attention = s * attention_weights(model) + half * score_products(model, s, s);
  const double dense = s * mlp_weights(model, model.ffn);
  const double moe = model.has_moe() ? s * moe_products(model) : 0.0;
  double products = real(model.layers) * attention + dense_layers(model) * dense + real(model.moe_layers()) * moe;
  products += end_products(model, s);
  if (model.kind == ModelKind::kEncoderDecoder) products += encoder_products(model, s);
  products +=
      real(model.mtp_layers) * (s * mtp_projection_weights(model) + attention + (mtp_is_moe(model) ? moe : dense));
  return 3 * 2 * batch * products;
}

double recomputed_flops(const Model& model, double batch, std::int64_t sequence, bool selective, double share) {
  const double s = real(sequence > 0 ? sequence : model.sequence);
  if (selective) return 3 * 2 * batch * real(model.layers) * score_products(model, s, s);
  return share * (model_flops(model, batch, sequence, false) / 3 - 2 * batch * end_products(model, s));
}

double sc21_flops(const Model& model, double batch, std::int64_t sequence, bool full_recompute) {
  const double s = real(sequence > 0 ? sequence : model.sequence);
  const double h = real(model.hidden);
  const double l = real(model.layers);
  const double factor = full_recompute ? 96 : 72;
  const double head = full_recompute ? 16 : 12;
  return factor * batch * s * l * h * h * (1 + s / (6 * h) + real(model.vocab) / (head * l * h));
}

}  // namespace comity::workload
