// SPDX-License-Identifier: Apache-2.0
#include "workload/hugging_face.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/text.h"
#include "workload/model_limits.h"

namespace comity::workload {
namespace {

// What a type means without saying so.
struct Family {
  std::string_view type;
  ModelKind kind = ModelKind::kDecoder;
  bool gated = false;
  bool rms_norm = false;
  bool bias = true;
  bool qkv_bias = false;
  bool tied = true;        // where tie_word_embeddings is missing
  bool positions = false;  // learned
};

constexpr ModelKind kDec = ModelKind::kDecoder;
constexpr std::array<Family, 22> kFamilies = {{
    //                                             gated  rms    bias   qkv    tied   positions
    {"llama", kDec, true, true, false, false, false, false},
    {"mistral", kDec, true, true, false, false, false, false},
    {"mixtral", kDec, true, true, false, false, false, false},
    {"qwen2", kDec, true, true, false, true, false, false},
    {"qwen2_moe", kDec, true, true, false, true, false, false},
    {"qwen3", kDec, true, true, false, false, false, false},
    {"qwen3_moe", kDec, true, true, false, false, false, false},
    {"deepseek", kDec, true, true, false, false, false, false},
    {"deepseek_v2", kDec, true, true, false, false, false, false},
    {"deepseek_v3", kDec, true, true, false, false, false, false},
    {"phi3", kDec, true, true, false, false, false, false},
    {"gemma", kDec, true, true, false, false, true, false},
    {"gemma2", kDec, true, true, false, false, true, false},
    {"gpt2", kDec, false, false, true, false, true, true},
    {"gpt_neox", kDec, false, false, true, false, false, false},
    {"opt", kDec, false, false, true, false, true, true},
    {"bloom", kDec, false, false, true, false, true, false},
    {"falcon", kDec, false, false, false, false, true, false},
    {"RefinedWeb", kDec, false, false, false, false, true, false},
    {"bert", ModelKind::kEncoder, false, false, true, false, true, true},
    {"t5", ModelKind::kEncoderDecoder, false, true, false, false, true, false},
    {"vit", ModelKind::kVision, false, false, true, false, true, true},
}};

using Keys = std::initializer_list<std::string_view>;

// One key of several that mean the same; the first that is there counts.
class Config {
 public:
  explicit Config(TomlReader& reader) : reader_(reader) {}

  std::int64_t integer(Keys keys, std::int64_t fallback, std::int64_t low, std::int64_t high) {
    for (const std::string_view key : keys)
      if (reader_.has(key)) return reader_.integer(key, fallback, low, high);
    return fallback;
  }
  std::int64_t needed(Keys keys, std::int64_t high) {
    const auto has = [&](std::string_view key) { return reader_.has(key); };
    if (std::none_of(keys.begin(), keys.end(), has))
      reader_.refuse(*keys.begin(), keys.size() == 1 ? std::string("is missing")
                                                     : fmt::format("is missing (as are its other names {})",
                                                                   fmt::join(keys.begin() + 1, keys.end(), ", ")));
    return integer(keys, 1, 1, high);
  }
  bool boolean(std::string_view key, bool fallback) { return reader_.boolean(key, fallback); }
  TomlReader& reader() { return reader_; }

 private:
  TomlReader& reader_;
};

std::optional<Family> family_of(const std::string& type) {
  const auto found = std::find_if(kFamilies.begin(), kFamilies.end(), [&](const Family& f) { return f.type == type; });
  if (found == kFamilies.end()) return std::nullopt;
  return *found;
}

// Of a type that is not known, from the keys that tell.
Family guessed(Config& config, TomlReader& reader) {
  Family family;
  const std::string act = reader.text("hidden_act", reader.text("activation_function", ""));
  family.gated = act.find("silu") != act.npos || act.find("swiglu") != act.npos || act.find("swish") != act.npos;
  family.rms_norm = reader.has("rms_norm_eps");
  family.bias = config.boolean("use_bias", !family.rms_norm);
  family.tied = !family.gated;
  return family;
}

void read_sizes(Config& config, Model& model, const Family& family) {
  model.layers = config.needed({"num_hidden_layers", "n_layer", "n_layers", "num_layers"}, kMaxLayers);
  model.hidden = config.needed({"hidden_size", "n_embd", "n_embed", "d_model"}, kMaxWidth);
  model.heads = config.needed({"num_attention_heads", "n_head", "n_heads", "num_heads"}, kMaxHeads);
  model.kv_heads = config.integer({"num_key_value_heads", "num_kv_heads", "n_head_kv"}, model.heads, 1, kMaxHeads);
  model.head_width =
      config.integer({"head_dim", "d_kv"}, std::max<std::int64_t>(1, model.hidden / model.heads), 1, kMaxHeads);
  TomlReader& reader = config.reader();
  if (!reader.has("head_dim") && !reader.has("d_kv") && model.heads > 0 && model.hidden % model.heads != 0)
    reader.refuse("head_dim",
                  fmt::format("is missing, and {} heads don't divide a width of {}", model.heads, model.hidden));
  // Four times the width is what the types that leave it out mean.
  model.ffn = config.integer({"intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim", "d_ff"}, 4 * model.hidden,
                             0, kMaxWidth);
  if (family.kind == ModelKind::kVision) return;
  model.vocab = config.needed({"vocab_size"}, kMaxWidth);
  model.sequence = config.integer(
      {"max_position_embeddings", "n_positions", "seq_length", "n_ctx", "max_sequence_length"}, 2048, 1, kMaxTokens);
  if (family.positions) model.positions = model.sequence;
}

// Long contexts are stretched afterwards: training began with the original length.
void read_original_sequence(TomlReader& reader, Model& model) {
  if (model.positions > 0 || !reader.has("rope_scaling")) return;
  std::optional<TomlReader> scaling = reader.table("rope_scaling");
  if (scaling) model.sequence = scaling->integer("original_max_position_embeddings", model.sequence, 1, kMaxTokens);
}

void read_switches(Config& config, Model& model, const Family& family) {
  model.kind = family.kind;
  model.causal = family.kind == ModelKind::kDecoder || family.kind == ModelKind::kEncoderDecoder;
  model.gated = family.gated;
  model.rms_norm = family.rms_norm;
  const bool attention = config.boolean("attention_bias", family.bias || family.qkv_bias);
  model.bias = family.bias || (attention && config.boolean("mlp_bias", false));
  model.qkv_bias = !model.bias && attention;
  model.tied_embeddings = config.boolean("tie_word_embeddings", family.tied);
}

// A step of k and a list of dense layers that must be the leading ones.
std::int64_t leading_dense(TomlReader& reader) {
  std::vector<std::int64_t> dense = reader.integers("mlp_only_layers", 0, kMaxLayers);
  std::sort(dense.begin(), dense.end());
  for (std::size_t i = 0; i < dense.size(); ++i)
    if (dense[i] != static_cast<std::int64_t>(i))
      reader.refuse("mlp_only_layers", "only leading layers can be dense here: 0, 1, 2...");
  return static_cast<std::int64_t>(dense.size());
}

void read_moe(Config& config, Model& model) {
  Moe moe;
  moe.experts = config.integer({"num_local_experts", "n_routed_experts", "num_experts"}, 0, 0, kMaxHeads);
  if (moe.experts == 0) return;
  moe.top_k = config.needed({"num_experts_per_tok", "num_selects", "top_k"}, kMaxHeads);
  moe.ffn = config.integer({"moe_intermediate_size"}, model.ffn, 1, kMaxWidth);
  moe.shared_experts = config.integer({"n_shared_experts"}, 0, 0, kMaxHeads);
  moe.shared_ffn = std::min(moe.shared_experts * moe.ffn, kMaxWidth);
  if (config.reader().has("shared_expert_intermediate_size")) {
    moe.shared_ffn = config.integer({"shared_expert_intermediate_size"}, 0, 0, kMaxWidth);
    moe.shared_experts = moe.shared_ffn > 0 ? 1 : 0;
  }
  moe.every = config.integer({"decoder_sparse_step"}, 1, 1, kMaxLayers);
  moe.dense_layers = config.integer({"first_k_dense_replace"}, 0, 0, kMaxLayers);
  if (config.reader().has("mlp_only_layers")) moe.dense_layers = leading_dense(config.reader());
  if (config.integer({"moe_layer_freq"}, 1, 1, kMaxLayers) != 1)
    config.reader().refuse("moe_layer_freq", "only 1 is read: every layer behind the dense ones has experts");
  model.moe = moe;
}

void read_latent(Config& config, Model& model) {
  LatentAttention latent;
  latent.kv_rank = config.integer({"kv_lora_rank"}, 0, 0, kMaxWidth);
  if (latent.kv_rank == 0) return;
  latent.q_rank = config.integer({"q_lora_rank"}, 0, 0, kMaxWidth);
  latent.nope = config.needed({"qk_nope_head_dim"}, kMaxHeads);
  latent.rope = config.needed({"qk_rope_head_dim"}, kMaxHeads);
  latent.value = config.needed({"v_head_dim"}, kMaxHeads);
  model.latent = latent;
  model.head_width = std::min(latent.nope + latent.rope, kMaxHeads);
}

void read_falcon(Config& config, Model& model) {
  const bool bias = config.boolean("bias", false);
  model.bias = bias;
  if (!config.boolean("new_decoder_architecture", model.kv_heads != model.heads))
    model.kv_heads = config.boolean("multi_query", true) ? 1 : model.heads;
}

void read_t5(Config& config, Model& model) {
  // num_layers is the encoder's.
  model.encoder_layers = model.layers;
  model.layers = config.integer({"num_decoder_layers"}, model.layers, 1, kMaxLayers);
  if (!config.reader().has("n_positions")) model.sequence = 512;
  model.encoder_sequence = model.sequence;
  model.gated = config.reader().text("feed_forward_proj", "relu").starts_with("gated");
}

void read_vit(Config& config, Model& model) {
  model.patch = config.integer({"patch_size"}, 16, 1, kMaxHeads);
  model.image = config.integer({"image_size"}, 224, 1, kMaxHeads);
  model.channels = config.integer({"num_channels"}, 3, 1, kMaxHeads);
  const std::int64_t side = model.image / model.patch;
  model.sequence = std::min(side * side + 1, kMaxTokens);
  model.positions = model.sequence;
  model.vocab = config.integer({"num_labels", "num_classes"}, 1000, 1, kMaxWidth);
  const TomlValue* labels = config.reader().value("id2label");
  const TomlTable* table = labels == nullptr ? nullptr : std::get_if<TomlTable>(&labels->v);
  if (table != nullptr && !table->empty()) model.vocab = static_cast<std::int64_t>(table->size());
}

// A little more than the sequence: the first two positions are never used.
void read_opt(Config& config, Model& model) {
  model.positions = std::min(model.positions + 2, kMaxTokens);
  const std::int64_t projected = config.integer({"word_embed_proj_dim"}, model.hidden, 1, kMaxWidth);
  if (projected != model.hidden)
    config.reader().refuse("word_embed_proj_dim", "embeddings of another width than hidden_size are not read");
}

void read_special(Config& config, Model& model, std::string_view type) {
  if (type == "falcon" || type == "RefinedWeb") read_falcon(config, model);
  if (type == "t5") read_t5(config, model);
  if (type == "vit") read_vit(config, model);
  if (type == "opt") read_opt(config, model);
}

Result<Model> read_config(const TomlTable& table, const std::string& file, const std::string& where,
                          std::int64_t line) {
  TomlReader reader(table, file, where, line);
  Config config(reader);
  Model model;
  const std::string type = reader.text("model_type", "");
  const std::optional<Family> known = family_of(type);
  const Family family = known ? *known : guessed(config, reader);
  model.name = reader.text("_name_or_path", "");
  if (model.name.empty() || model.name.size() > limits::kNameBytes)
    model.name = std::filesystem::path(file).stem().string();
  model.source = known ? fmt::format("a Hugging Face config.json of type {}", type)
                       : "a Hugging Face config.json of a type that is not known here: common keys only";
  read_sizes(config, model, family);
  read_switches(config, model, family);
  read_original_sequence(reader, model);
  read_moe(config, model);
  read_latent(config, model);
  model.mtp_layers = config.integer({"num_nextn_predict_layers"}, 0, 0, kMaxLayers);
  read_special(config, model, family.type);
  for (const auto& [key, value] : table) reader.known(key);  // what says nothing of the shape
  Status status = reader.finish();
  if (status) return model;
  if (!known && status.error().hint.empty())
    status.error().hint = type.empty() ? "the document has no model_type: is it a config.json?"
                                       : fmt::format("model_type '{}' is not known here", printable(type));
  return fail(std::move(status.error()));
}

}  // namespace

Result<Model> import_hugging_face(const TomlTable& config, const std::string& file) {
  // Models of several parts keep their language model's shape in a table of its own.
  const auto inner = config.find("text_config");
  const TomlTable* text = inner == config.end() ? nullptr : std::get_if<TomlTable>(&inner->second.v);
  if (text != nullptr && !config.contains("hidden_size"))
    return read_config(*text, file, "text_config", inner->second.line);
  return read_config(config, file, "", 0);
}

}  // namespace comity::workload
