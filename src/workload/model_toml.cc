// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <utility>

#include "workload/model.h"
#include "workload/model_limits.h"
#include "workload/toml_fields.h"

namespace comity::workload {
namespace {

std::string_view kind_name(ModelKind kind) {
  switch (kind) {
    case ModelKind::kDecoder: return "decoder";
    case ModelKind::kEncoder: return "encoder";
    case ModelKind::kEncoderDecoder: return "encoder_decoder";
    case ModelKind::kVision: return "vision";
  }
  return "";
}

template <class Visitor, class Any>
void main_fields(Visitor& v, Any& m) {
  v.text("name", m.name);
  v.text("source", m.source);
  v.choice("kind", m.kind, 4, kind_name);
  v.integer("layers", m.layers, 1, kMaxLayers);
  v.integer("hidden", m.hidden, 1, kMaxWidth);
  v.integer("heads", m.heads, 1, kMaxHeads);
  v.integer("kv_heads", m.kv_heads, 1, kMaxHeads);
  v.integer("head_width", m.head_width, 1, kMaxHeads);
  v.integer("ffn", m.ffn, 0, kMaxWidth);
  v.integer("vocab", m.vocab, 1, kMaxWidth);
  v.integer("sequence", m.sequence, 1, kMaxTokens);
  v.integer("positions", m.positions, 0, kMaxTokens);
  v.boolean("gated", m.gated);
  v.boolean("rms_norm", m.rms_norm);
  v.boolean("bias", m.bias);
  v.boolean("qkv_bias", m.qkv_bias);
  v.boolean("tied_embeddings", m.tied_embeddings);
  v.boolean("causal", m.causal);
  v.integer("mtp_layers", m.mtp_layers, 0, kMaxLayers);
}

template <class Visitor, class Any>
void moe_fields(Visitor& v, Any& moe) {
  v.integer("experts", moe.experts, 0, kMaxHeads);
  v.integer("top_k", moe.top_k, 0, kMaxHeads);
  v.integer("ffn", moe.ffn, 0, kMaxWidth);
  v.integer("shared_experts", moe.shared_experts, 0, kMaxHeads);
  v.integer("shared_ffn", moe.shared_ffn, 0, kMaxWidth);
  v.integer("dense_layers", moe.dense_layers, 0, kMaxLayers);
  v.integer("every", moe.every, 1, kMaxLayers);
}

template <class Visitor, class Any>
void latent_fields(Visitor& v, Any& latent) {
  v.integer("q_rank", latent.q_rank, 0, kMaxWidth);
  v.integer("kv_rank", latent.kv_rank, 0, kMaxWidth);
  v.integer("nope", latent.nope, 0, kMaxHeads);
  v.integer("rope", latent.rope, 0, kMaxHeads);
  v.integer("value", latent.value, 0, kMaxHeads);
}

template <class Visitor, class Any>
void encoder_fields(Visitor& v, Any& m) {
  v.integer("layers", m.encoder_layers, 0, kMaxLayers);
  v.integer("sequence", m.encoder_sequence, 0, kMaxTokens);
}

template <class Visitor, class Any>
void vision_fields(Visitor& v, Any& m) {
  v.integer("patch", m.patch, 0, kMaxHeads);
  v.integer("image", m.image, 0, kMaxHeads);
  v.integer("channels", m.channels, 1, kMaxHeads);
}

template <class Fields>
Status read_table(TomlReader& reader, std::string_view key, const Fields& fields) {
  std::optional<TomlReader> inner = reader.table(key);
  if (!inner) return {};
  FieldReader v(*inner);
  fields(v);
  return inner->finish();
}

// What a file may leave out because the rest says it.
void fill_in(Model& model, const TomlReader& reader) {
  if (!reader.has("kv_heads")) model.kv_heads = model.heads;
  if (!reader.has("head_width")) {
    const std::int64_t own = model.latent.nope + model.latent.rope;
    model.head_width = own > 0 ? own : model.heads > 0 ? model.hidden / model.heads : 0;
  }
  if (!reader.has("causal"))
    model.causal = model.kind == ModelKind::kDecoder || model.kind == ModelKind::kEncoderDecoder;
}

Status read_model(TomlReader& reader, Model& model) {
  read_schema(reader, kModelSchema);
  for (const char* key : {"name", "layers", "hidden", "heads", "vocab", "sequence"}) reader.require(key);
  FieldReader v(reader);
  main_fields(v, model);
  if (auto s = read_table(reader, "moe", [&](FieldReader& in) { moe_fields(in, model.moe); }); !s) return s;
  if (auto s = read_table(reader, "latent", [&](FieldReader& in) { latent_fields(in, model.latent); }); !s) return s;
  if (auto s = read_table(reader, "encoder", [&](FieldReader& in) { encoder_fields(in, model); }); !s) return s;
  if (auto s = read_table(reader, "vision", [&](FieldReader& in) { vision_fields(in, model); }); !s) return s;
  fill_in(model, reader);
  if (!reader.has("head_width") && model.latent.kv_rank == 0 && model.heads > 0 && model.hidden % model.heads != 0)
    reader.refuse("heads", "does not divide hidden: give head_width");
  return reader.finish();
}

}  // namespace

Result<Model> parse_model(std::string_view toml, const std::string& file) {
  const Result<TomlTable> table = parse_toml(toml, file);
  if (!table) return fail(table.error());
  TomlReader reader(*table, file, "");
  Model model;
  if (auto status = read_model(reader, model); !status) return fail(status.error());
  if (auto status = check_model(model, file); !status) return fail(at_its_line(status.error(), *table));
  return model;
}

std::string model_toml(const Model& model) {
  std::string out = "schema = " + toml_quoted(kModelSchema) + '\n';
  FieldWriter v(out);
  main_fields(v, model);
  if (model.has_moe()) {
    v.heading("[moe]");
    moe_fields(v, model.moe);
  }
  if (model.latent.kv_rank > 0) {
    v.heading("[latent]");
    latent_fields(v, model.latent);
  }
  if (model.kind == ModelKind::kEncoderDecoder) {
    v.heading("[encoder]");
    encoder_fields(v, model);
  }
  if (model.kind == ModelKind::kVision) {
    v.heading("[vision]");
    vision_fields(v, model);
  }
  return out;
}

}  // namespace comity::workload
