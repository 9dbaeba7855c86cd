// SPDX-License-Identifier: Apache-2.0
#include "workload/model_import.h"

#include <string>

#include <gtest/gtest.h>

#include "workload/model.h"

namespace comity::workload {
namespace {

Model read(const std::string& json) {
  const Result<Model> model = import_model(json, "dir/config.json");
  EXPECT_TRUE(model) << (model ? "" : model.error().text());
  return model ? *model : Model();
}

std::string error_of(const std::string& json) {
  const Result<Model> model = import_model(json, "config.json");
  return model ? std::string("none") : model.error().text();
}

// The same shape under each type's own names.
const std::string kCommon =
    "\"hidden_size\": 64, \"intermediate_size\": 96, \"num_hidden_layers\": 3, \"num_attention_heads\": 8, "
    "\"vocab_size\": 500, \"max_position_embeddings\": 256";

std::string typed(const std::string& type, const std::string& more = "") {
  return "{\"model_type\": \"" + type + "\", " + kCommon + (more.empty() ? "" : ", " + more) + "}";
}

TEST(ImportModel, LlamaAndItsKin) {
  const Model m =
      read(typed("llama", "\"num_key_value_heads\": 2, \"torch_dtype\": \"bfloat16\", \"rope_scaling\": null"));
  EXPECT_EQ(m.name, "config");
  EXPECT_EQ(m.layers, 3);
  EXPECT_EQ(m.hidden, 64);
  EXPECT_EQ(m.kv_heads, 2);
  EXPECT_EQ(m.head_width, 8);
  EXPECT_EQ(m.ffn, 96);
  EXPECT_EQ(m.sequence, 256);
  EXPECT_TRUE(m.gated && m.rms_norm && m.causal);
  EXPECT_FALSE(m.bias || m.qkv_bias || m.tied_embeddings);
  EXPECT_TRUE(read(typed("qwen2")).qkv_bias);
  EXPECT_TRUE(read(typed("llama", "\"attention_bias\": true")).qkv_bias);
  EXPECT_TRUE(read(typed("llama", "\"attention_bias\": true, \"mlp_bias\": true")).bias);
  EXPECT_TRUE(read(typed("llama", "\"tie_word_embeddings\": true")).tied_embeddings);
  EXPECT_EQ(read(typed("qwen3", "\"head_dim\": 32")).head_width, 32);
  EXPECT_TRUE(read(typed("gemma2", "\"head_dim\": 32")).tied_embeddings);
  EXPECT_EQ(read(typed("phi3", "\"_name_or_path\": \"a/b\"")).name, "a/b");
  EXPECT_EQ(read(typed("llama", "\"rope_scaling\": {\"original_max_position_embeddings\": 64}")).sequence, 64);
}

TEST(ImportModel, Experts) {
  const Model mixtral = read(typed("mixtral", "\"num_local_experts\": 4, \"num_experts_per_tok\": 2"));
  EXPECT_EQ(mixtral.moe.experts, 4);
  EXPECT_EQ(mixtral.moe.ffn, 96);
  const Model qwen = read(typed("qwen2_moe",
                                "\"num_experts\": 6, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 24, "
                                "\"shared_expert_intermediate_size\": 48, \"decoder_sparse_step\": 2, "
                                "\"mlp_only_layers\": [0]"));
  EXPECT_EQ(qwen.moe.shared_ffn, 48);
  EXPECT_EQ(qwen.moe.every, 2);
  EXPECT_EQ(qwen.moe_layers(), 1);
  EXPECT_NE(error_of(typed("qwen3_moe", "\"num_experts\": 6, \"num_experts_per_tok\": 2, \"mlp_only_layers\": [1]"))
                .find("mlp_only_layers: only leading"),
            std::string::npos);
  const std::string deep =
      "\"n_routed_experts\": 16, \"n_shared_experts\": 2, \"num_experts_per_tok\": 3, \"moe_intermediate_size\": 10, "
      "\"first_k_dense_replace\": 1, \"moe_layer_freq\": 1, \"kv_lora_rank\": 20, \"q_lora_rank\": null, "
      "\"qk_nope_head_dim\": 6, \"qk_rope_head_dim\": 4, \"v_head_dim\": 6, \"num_nextn_predict_layers\": 1";
  const Model v3 = read(typed("deepseek_v3", deep));
  EXPECT_EQ(v3.latent.q_rank, 0);
  EXPECT_EQ(v3.head_width, 10);
  EXPECT_EQ(v3.moe.shared_ffn, 20);
  EXPECT_EQ(v3.moe_layers(), 2);
  EXPECT_EQ(v3.mtp_layers, 1);
  EXPECT_NE(error_of(typed("deepseek_v2", "\"kv_lora_rank\": 20")).find("qk_nope_head_dim: is missing"),
            std::string::npos);
}

TEST(ImportModel, OlderGpts) {
  const Model gpt2 = read(
      "{\"model_type\": \"gpt2\", \"n_embd\": 48, \"n_layer\": 2, \"n_head\": 4, \"n_positions\": 128, \"n_inner\": "
      "null, \"vocab_size\": 99}");
  EXPECT_EQ(gpt2.ffn, 192);
  EXPECT_EQ(gpt2.positions, 128);
  EXPECT_TRUE(gpt2.bias && gpt2.tied_embeddings);
  EXPECT_FALSE(gpt2.gated || gpt2.rms_norm);
  EXPECT_FALSE(read(typed("gpt_neox")).tied_embeddings);
  const Model opt = read(
      "{\"model_type\": \"opt\", \"hidden_size\": 64, \"ffn_dim\": 256, \"num_hidden_layers\": 2, "
      "\"num_attention_heads\": 4, \"vocab_size\": 99, \"max_position_embeddings\": 128, \"word_embed_proj_dim\": 64}");
  EXPECT_EQ(opt.positions, 130);
  EXPECT_EQ(opt.sequence, 128);
  const Model bloom = read(
      "{\"model_type\": \"bloom\", \"n_embed\": 64, \"n_layer\": 2, \"num_attention_heads\": 4, \"vocab_size\": 99, "
      "\"seq_length\": 64}");
  EXPECT_EQ(bloom.ffn, 256);
  EXPECT_EQ(bloom.sequence, 64);
  EXPECT_EQ(bloom.positions, 0);
}

TEST(ImportModel, Falcon) {
  EXPECT_EQ(read(typed("falcon", "\"num_kv_heads\": 2, \"new_decoder_architecture\": true")).kv_heads, 2);
  EXPECT_EQ(
      read(typed("falcon", "\"multi_query\": true, \"new_decoder_architecture\": false, \"num_kv_heads\": 8")).kv_heads,
      1);
  EXPECT_EQ(read(typed("RefinedWeb", "\"n_head_kv\": 4")).kv_heads, 4);
}

TEST(ImportModel, OthersThanDecoders) {
  const Model bert = read(typed("bert"));
  EXPECT_EQ(bert.kind, ModelKind::kEncoder);
  EXPECT_FALSE(bert.causal);
  EXPECT_EQ(bert.positions, 256);
  const Model t5 = read(
      "{\"model_type\": \"t5\", \"d_model\": 64, \"d_ff\": 128, \"d_kv\": 16, \"num_layers\": 3, "
      "\"num_decoder_layers\": 2, \"num_heads\": 8, \"vocab_size\": 99, \"feed_forward_proj\": \"gated-gelu\"}");
  EXPECT_EQ(t5.encoder_layers, 3);
  EXPECT_EQ(t5.layers, 2);
  EXPECT_EQ(t5.head_width, 16);
  EXPECT_TRUE(t5.gated);
  const Model vit = read(
      "{\"model_type\": \"vit\", \"hidden_size\": 64, \"intermediate_size\": 128, \"num_hidden_layers\": 2, "
      "\"num_attention_heads\": 4, \"patch_size\": 8, \"image_size\": 32, \"id2label\": {\"0\": \"a\", \"1\": \"b\"}}");
  EXPECT_EQ(vit.sequence, 17);
  EXPECT_EQ(vit.vocab, 2);
  EXPECT_EQ(vit.patch, 8);
}

// The library's shapes under Hugging Face's names count the same.
TEST(ImportModel, AgreesWithTheLibrary) {
  const Model imported = read(
      "{\"architectures\": [\"DeepseekV3ForCausalLM\"], \"model_type\": \"deepseek_v3\", \"vocab_size\": 129280, "
      "\"hidden_size\": 7168, \"intermediate_size\": 18432, \"moe_intermediate_size\": 2048, \"num_hidden_layers\": "
      "61, "
      "\"num_attention_heads\": 128, \"num_key_value_heads\": 128, \"q_lora_rank\": 1536, \"kv_lora_rank\": 512, "
      "\"qk_nope_head_dim\": 128, \"qk_rope_head_dim\": 64, \"v_head_dim\": 128, \"n_routed_experts\": 256, "
      "\"n_shared_experts\": 1, \"num_experts_per_tok\": 8, \"first_k_dense_replace\": 3, "
      "\"num_nextn_predict_layers\": 1, \"max_position_embeddings\": 163840, \"rope_scaling\": {\"factor\": 40, "
      "\"original_max_position_embeddings\": 4096}, \"tie_word_embeddings\": false}");
  Model known = *load_model("deepseek-v3");
  known.name = imported.name;
  known.source = imported.source;
  EXPECT_EQ(imported, known);
}

TEST(ImportModel, UnknownTypes) {
  const Model m = read(typed("new_thing", "\"hidden_act\": \"silu\", \"rms_norm_eps\": 1e-5"));
  EXPECT_TRUE(m.gated && m.rms_norm);
  EXPECT_FALSE(m.bias);
  const Model inner = read("{\"model_type\": \"two_parts\", \"text_config\": " + typed("llama") + "}");
  EXPECT_EQ(inner.hidden, 64);
  EXPECT_EQ(error_of("{\"model_type\": \"mamba\", \"hidden_size\": 64}"),
            "config.json: num_hidden_layers: is missing (as are its other names n_layer, n_layers, num_layers) "
            "(model_type 'mamba' is not known here)");
  EXPECT_EQ(error_of("{\"a\": 1}"),
            "config.json: num_hidden_layers: is missing (as are its other names n_layer, n_layers, num_layers) (the "
            "document has no model_type: is it a config.json?)");
  EXPECT_NE(error_of("[1]").find("no object"), std::string::npos);
  EXPECT_NE(error_of(typed("llama", "\"num_key_value_heads\": 3")).find("kv_heads"), std::string::npos);
  EXPECT_NE(error_of(typed("llama", "\"head_dim\": \"x\"")).find("config.json:1: head_dim: must be a whole number"),
            std::string::npos);
}

TEST(ImportModel, Calculon) {
  const std::string app =
      "{\"hidden\": 64, \"feedforward\": 256, \"seq_size\": 128, \"attn_heads\": 4, \"attn_size\": 16, \"num_blocks\": "
      "2";
  const Model m = read(app + "}");
  EXPECT_EQ(m.vocab, 51200);
  EXPECT_EQ(m.positions, 128);
  EXPECT_NE(error_of(app + ", \"num_block\": 3}").find("did you mean num_blocks?"), std::string::npos);
  EXPECT_NE(error_of("{\"num_blocks\": 3}").find("is missing"), std::string::npos);
}

}  // namespace
}  // namespace comity::workload
