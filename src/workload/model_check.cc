// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/limits.h"
#include "workload/findings.h"
#include "workload/model.h"
#include "workload/model_limits.h"

namespace comity::workload {
namespace {

void within(Findings& found, std::string_view field, std::int64_t v, std::int64_t low, std::int64_t high) {
  found.need(
      v >= low && v <= high, field,
      [&] { return fmt::format("must be a whole number between {} and {}, not {}", low, high, v); },
      [] { return std::string(); });
}

void check_sizes(Findings& found, const Model& model) {
  found.need(!model.name.empty() && model.name.size() <= limits::kNameBytes, "name", "must be 1 to 4096 bytes long");
  found.need(model.source.size() <= limits::kNameBytes, "source", "longer than 4096 bytes");
  within(found, "layers", model.layers, 1, kMaxLayers);
  within(found, "hidden", model.hidden, 1, kMaxWidth);
  within(found, "heads", model.heads, 1, kMaxHeads);
  within(found, "kv_heads", model.kv_heads, 1, kMaxHeads);
  within(found, "head_width", model.head_width, 1, kMaxHeads);
  const bool all_moe = model.has_moe() && model.moe.every >= 1 && model.moe_layers() == model.layers;
  within(found, "ffn", model.ffn, all_moe ? 0 : 1, kMaxWidth);
  within(found, "vocab", model.vocab, 1, kMaxWidth);
  within(found, "sequence", model.sequence, 1, kMaxTokens);
  within(found, "positions", model.positions, 0, kMaxTokens);
  within(found, "mtp_layers", model.mtp_layers, 0, kMaxLayers);
  found.need(
      model.kv_heads >= 1 && model.heads % model.kv_heads == 0, "kv_heads",
      [&] { return fmt::format("{} key/value heads do not divide {} heads", model.kv_heads, model.heads); },
      [] { return std::string("heads share key/value heads in groups of one size"); });
}

void check_moe(Findings& found, const Model& model) {
  const Moe& moe = model.moe;
  if (moe.experts == 0) {
    found.need(moe == Moe{}, "moe.experts", "is 0 or missing while the table says more of experts",
               "set it, or leave [moe] out");
    return;
  }
  within(found, "moe.experts", moe.experts, 1, kMaxHeads);
  within(found, "moe.ffn", moe.ffn, 1, kMaxWidth);
  within(found, "moe.shared_experts", moe.shared_experts, 0, kMaxHeads);
  within(found, "moe.shared_ffn", moe.shared_ffn, 0, kMaxWidth);
  within(found, "moe.every", moe.every, 1, kMaxLayers);
  found.need(
      moe.top_k >= 1 && moe.top_k <= moe.experts, "moe.top_k",
      [&] { return fmt::format("a token takes {} of {} experts", moe.top_k, moe.experts); },
      [&] { return fmt::format("1 to {}", moe.experts); });
  found.need(
      moe.dense_layers >= 0 && moe.dense_layers <= model.layers, "moe.dense_layers",
      [&] { return fmt::format("{} of {} layers", moe.dense_layers, model.layers); },
      [&] { return fmt::format("0 to {}", model.layers); });
  found.need((moe.shared_experts > 0) == (moe.shared_ffn > 0), "moe.shared_ffn",
             "goes with shared_experts: both are 0 or neither", "it is the width of all shared experts together");
}

void check_latent(Findings& found, const Model& model) {
  const LatentAttention& latent = model.latent;
  if (latent.kv_rank == 0) {
    found.need(latent == LatentAttention{}, "latent.kv_rank",
               "is 0 or missing while the table says more of latent attention", "set it, or leave [latent] out");
    return;
  }
  within(found, "latent.q_rank", latent.q_rank, 0, kMaxWidth);
  within(found, "latent.kv_rank", latent.kv_rank, 1, kMaxWidth);
  within(found, "latent.nope", latent.nope, 0, kMaxHeads);
  within(found, "latent.rope", latent.rope, 0, kMaxHeads);
  within(found, "latent.value", latent.value, 1, kMaxHeads);
  found.need(latent.nope + latent.rope >= 1, "latent.nope", "nope and rope leave a query no width");
}

void check_encoder(Findings& found, const Model& model) {
  if (model.kind == ModelKind::kEncoderDecoder) {
    within(found, "encoder.layers", model.encoder_layers, 1, kMaxLayers);
    within(found, "encoder.sequence", model.encoder_sequence, 1, kMaxTokens);
    return;
  }
  found.need(model.encoder_layers == 0, "encoder.layers",
             "only kind = \"encoder_decoder\" has an encoder beside itself");
  found.need(model.encoder_sequence == 0, "encoder.sequence",
             "only kind = \"encoder_decoder\" has an encoder beside itself");
}

void check_vision(Findings& found, const Model& model) {
  if (model.kind != ModelKind::kVision) {
    found.need(model.patch == 0 && model.image == 0 && model.channels == 3, "vision",
               "only kind = \"vision\" has patches");
    return;
  }
  within(found, "vision.patch", model.patch, 1, kMaxHeads);
  within(found, "vision.image", model.image, 1, kMaxHeads);
  within(found, "vision.channels", model.channels, 1, kMaxHeads);
  if (!found.ok()) return;
  found.need(
      model.image % model.patch == 0, "vision.patch",
      [&] { return fmt::format("{} pixels are no multiple of {}", model.image, model.patch); },
      [] { return std::string("patches cover the image exactly"); });
  const std::int64_t side = model.image / model.patch;
  found.need(
      model.sequence == side * side + 1, "sequence",
      [&] { return fmt::format("{0} x {0} patches and a class token are not {1} tokens", side, model.sequence); },
      [&] { return fmt::format("set it to {}", side * side + 1); });
}

}  // namespace

Status check_model(const Model& model, const std::string& file) {
  Findings found(file);
  check_moe(found, model);
  check_sizes(found, model);
  check_latent(found, model);
  check_encoder(found, model);
  check_vision(found, model);
  return found.status();
}

}  // namespace comity::workload
