// SPDX-License-Identifier: Apache-2.0
// What a transformer is made of, as far as its cost goes: shapes, not weights. From Comity's own TOML
// (schema "comity.model/1"), a Hugging Face config.json or a Calculon application (model_import.h).
//
// Symbols used throughout: l layers, h hidden, a heads, k key/value heads, d head width, f feed-forward width, s
// sequence (tokens), V vocabulary, E experts, K experts a token.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace comity::workload {

enum class ModelKind : std::uint8_t { kDecoder, kEncoder, kEncoderDecoder, kVision };

// Mixture of experts; experts = 0: none.
struct Moe {
  std::int64_t experts = 0;         // E, routed
  std::int64_t top_k = 0;           // K
  std::int64_t ffn = 0;             // width of one expert
  std::int64_t shared_experts = 0;  // always taken
  std::int64_t shared_ffn = 0;      // width of all shared experts together
  std::int64_t dense_layers = 0;    // leading layers with a dense feed-forward
  std::int64_t every = 1;           // one layer in `every` is a MoE layer (the last of each run of `every`)

  friend bool operator==(const Moe&, const Moe&) = default;
};

// Multi-head latent attention (DeepSeek-V2); kv_rank = 0: plain attention.
struct LatentAttention {
  std::int64_t q_rank = 0;  // 0: the query is not compressed
  std::int64_t kv_rank = 0;
  std::int64_t nope = 0;  // width of a head without rotary part
  std::int64_t rope = 0;
  std::int64_t value = 0;

  friend bool operator==(const LatentAttention&, const LatentAttention&) = default;
};

struct Model {
  std::string name;
  std::string source;
  ModelKind kind = ModelKind::kDecoder;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_width = 0;
  std::int64_t ffn = 0;
  std::int64_t vocab = 0;
  std::int64_t sequence = 0;   // the usual length of a training sequence
  std::int64_t positions = 0;  // learned positions, 0: none (rotary and the like)
  bool gated = false;          // SwiGLU, GeGLU: three matrices instead of two
  bool rms_norm = false;       // one vector a norm instead of two
  bool bias = true;            // of the linear layers
  bool qkv_bias = false;       // where bias is false: only these have one
  bool tied_embeddings = true;
  bool causal = true;
  std::int64_t mtp_layers = 0;      // multi-token prediction heads, a layer each
  std::int64_t encoder_layers = 0;  // kEncoderDecoder
  std::int64_t encoder_sequence = 0;
  std::int64_t patch = 0;  // kVision: pixels of a patch's side; vocab = classes
  std::int64_t image = 0;
  std::int64_t channels = 3;
  Moe moe;
  LatentAttention latent;

  [[nodiscard]] bool has_moe() const { return moe.experts > 0; }
  [[nodiscard]] bool is_moe_layer(std::int64_t layer) const;
  [[nodiscard]] std::int64_t moe_layers() const;
  [[nodiscard]] std::int64_t q_width() const;      // a*d, or the latent form's
  [[nodiscard]] std::int64_t kv_width() const;     // k*d
  [[nodiscard]] std::int64_t value_width() const;  // what the output projection reads

  friend bool operator==(const Model&, const Model&) = default;
};

// Parameters by part, for the whole model.
struct Parameters {
  double embedding = 0;  // tokens and learned positions
  double output = 0;     // the head, when not tied
  double attention = 0;
  double mlp = 0;      // dense feed-forwards
  double experts = 0;  // routed
  double shared = 0;   // shared experts
  double router = 0;
  double norms = 0;
  double mtp = 0;
  double total = 0;
  double active = 0;  // a token's share: K of E experts
};
[[nodiscard]] Parameters parameters(const Model& model);
// Of one layer's parts.
[[nodiscard]] double attention_parameters(const Model& model);
[[nodiscard]] double mlp_parameters(const Model& model, std::int64_t ffn);

// Model FLOPs of one step over `batch` sequences, forward and backward, without any recomputation. `causal_half`:
// attention counted at half, as Megatron-LM does since 2024. Matrix products only (2 a multiply-add).
[[nodiscard]] double model_flops(const Model& model, double batch, std::int64_t sequence, bool causal_half);
// What is computed again in that step as Korthikanti et al. 2022 count it (section 5 and appendix): the forward pass of
// a `share` of the layers, which makes 96 of 72, or with `selective` the products of the scores thrice, which makes 1 +
// s/3h of 1 + s/6h.
[[nodiscard]] double recomputed_flops(const Model& model, double batch, std::int64_t sequence, bool selective,
                                      double share);
// The published conventions of Narayanan et al. (SC'21): 72 (no recomputation) or 96 (full) x B s l h^2 (1 + s/6h +
// V/(12 or 16) lh).
[[nodiscard]] double sc21_flops(const Model& model, double batch, std::int64_t sequence, bool full_recompute);

// Everything that holds of a model: positive sizes, heads that divide, at most 10^6 layers and so on.
[[nodiscard]] Status check_model(const Model& model, const std::string& file);

[[nodiscard]] Result<Model> parse_model(std::string_view toml, const std::string& file);
[[nodiscard]] std::string model_toml(const Model& model);  // reads back equal
// A name of the library, or a file: .toml, Hugging Face's or Calculon's .json (told apart by their keys).
[[nodiscard]] Result<Model> load_model(const std::string& name_or_file);
[[nodiscard]] const std::vector<std::string>& model_names();  // of the library, sorted

}  // namespace comity::workload
