// SPDX-License-Identifier: Apache-2.0
// Counts and FLOPs against what was published.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "workload/model.h"
#include "workload/model_import.h"

namespace comity::workload {
namespace {

Model library(const std::string& name) {
  Result<Model> model = load_model(name);
  EXPECT_TRUE(model) << name << ": " << (model ? "" : model.error().text());
  return model ? *model : Model();
}

struct Published {
  const char* name;
  double billions;   // in all
  double active;     // billions a token, 0: all
  double tolerance;  // relative
  const char* why;   // of a tolerance over 1 %, or of a number that needs a word
};

// Totals as their makers give them, with the digits they give; those with four digits are counts of the checkpoint's
// tensors (model cards, from memory). DeepSeek-V3's 671 B leave out its multi-token prediction layer.
constexpr Published kPublished[] = {
    {"bert-large", 0.3351, 0, .01, "checkpoint without the heads; the paper rounds to 340 M"},
    {"bloom-176b", 176.247, 0, .001, ""},
    {"chinchilla-70b", 70.0, 0, .09, "relative positions have a fifth h x h matrix a layer, see below"},
    {"deepseek-moe-16b", 16.4, 2.8, .01, ""},
    {"deepseek-v2", 236, 21, .01, ""},
    {"deepseek-v3", 671, 37, .01, ""},
    {"falcon-180b", 180, 0, .01, ""},
    {"falcon-40b", 41.3, 0, .01, "40 B is its name; the embedding is stored once"},
    {"gemma2-27b", 27.227, 0, .001, ""},
    {"gemma2-9b", 9.242, 0, .001, ""},
    {"gopher-280b", 280, 0, .09, "relative positions have a fifth h x h matrix a layer, see below"},
    {"gpt-neox-20b", 20.55, 0, .001, ""},
    {"gpt2-xl", 1.5576, 0, .001, ""},
    {"gpt3-13b", 13.0, 0, .01, ""},
    {"gpt3-175b", 175.0, 0, .01, ""},
    {"lamda-137b", 137, 0, .01, ""},
    {"llama-moe-3.5b", 6.74, 3.5, .01, ""},
    {"llama2-13b", 13.016, 0, .001, ""},
    {"llama2-70b", 68.977, 0, .001, ""},
    {"llama2-7b", 6.738, 0, .001, ""},
    {"llama3-405b", 405.85, 0, .001, ""},
    {"llama3-70b", 70.554, 0, .001, ""},
    {"llama3-8b", 8.030, 0, .001, ""},
    {"mcore-1.7b", 1.76, 0, .01, ""},
    {"mcore-7.1b", 7.14, 0, .01, ""},
    {"mcore-16b", 16.1, 0, .01, ""},
    {"mcore-32b", 32, 0, .02, "the table gives two digits"},
    {"mcore-70b", 70, 0, .02, "the table gives two digits"},
    {"mcore-119b", 119, 0, .01, ""},
    {"mcore-177b", 177, 0, .01, ""},
    {"mcore-314b", 314, 0, .01, ""},
    {"mcore-462b", 462, 0, .01, ""},
    {"megatron-1.7b", 1.7, 0, .03, "the table gives one decimal; exact in Sc21Rows"},
    {"megatron-3.6b", 3.6, 0, .02, "the table gives one decimal; exact in Sc21Rows"},
    {"megatron-7.5b", 7.5, 0, .01, ""},
    {"megatron-18.4b", 18.4, 0, .01, ""},
    {"megatron-22b", 22, 0, .01, ""},
    {"megatron-39.1b", 39.1, 0, .01, ""},
    {"megatron-76.1b", 76.1, 0, .01, ""},
    {"megatron-145.6b", 145.6, 0, .01, ""},
    {"megatron-175b", 175, 0, .01, ""},
    {"megatron-310.1b", 310.1, 0, .01, ""},
    {"megatron-530b", 529.6, 0, .01, ""},
    {"megatron-1t", 1008.0, 0, .01, ""},
    {"mistral-7b", 7.242, 0, .001, ""},
    {"mixtral-8x22b", 140.6, 39, .01, ""},
    {"mixtral-8x7b", 46.703, 12.9, .001, ""},
    {"opt-13b", 12.85, 0, .01, ""},
    {"opt-175b", 175, 0, .01, ""},
    {"palm-540b", 540.35, 0, .001, ""},
    {"phi3-medium", 14.0, 0, .01, ""},
    {"phi3-mini", 3.821, 0, .001, ""},
    {"qwen1.5-moe-a2.7b", 14.316, 2.7, .001, ""},
    {"qwen2.5-72b", 72.7, 0, .01, ""},
    {"qwen2.5-7b", 7.616, 0, .001, ""},
    {"qwen3-235b-a22b", 235.1, 22, .01, ""},
    {"qwen3-30b-a3b", 30.53, 3.3, .01, ""},
    {"t5-11b", 11.307, 0, .001, ""},
    {"vit-h-14", 0.632, 0, .001, ""},
    {"vit-l-16", 0.3043, 0, .001, ""},
};

TEST(Published, EveryModelOfTheLibraryCountsToItsTotal) {
  std::vector<std::string> names;
  for (const Published& row : kPublished) {
    const Parameters p = parameters(library(row.name));
    const double counted = (p.total - p.mtp) / 1e9;
    EXPECT_NEAR(counted, row.billions, row.billions * row.tolerance) << row.name << ' ' << row.why;
    EXPECT_TRUE(row.tolerance <= .01 || *row.why != '\0') << row.name;
    names.emplace_back(row.name);
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, model_names()) << "a model without a published total, or the other way round";
}

// Published with one or two digits, and with and without embeddings.
TEST(Published, ActiveParameters) {
  for (const Published& row : kPublished) {
    if (row.active == 0) continue;
    const Model model = library(row.name);
    const double with = parameters(model).active / 1e9;
    const double without = with - parameters(model).embedding / 1e9;
    EXPECT_TRUE(std::fabs(with - row.active) < .06 * row.active || std::fabs(without - row.active) < .06 * row.active)
        << row.name << ": " << with << ", without embedding " << without << " for " << row.active;
  }
}

// Transformer-XL's relative positions: a projection of h x a d more in each layer. With it the totals are as published.
TEST(Published, RelativePositionsOfGopherAndChinchilla) {
  for (const auto& [name, billions] : {std::pair{"gopher-280b", 280.0}, std::pair{"chinchilla-70b", 70.0}}) {
    const Model model = library(name);
    const double more = static_cast<double>(model.layers * model.hidden * model.q_width());
    EXPECT_NEAR((parameters(model).total + more) / 1e9, billions, .01 * billions) << name;
  }
}

TEST(Published, Sc21Rows) {
  const std::array<std::pair<const char*, double>, 10> rows = {{{"megatron-1.7b", 1.65},
                                                                {"megatron-3.6b", 3.56},
                                                                {"megatron-7.5b", 7.47},
                                                                {"megatron-18.4b", 18.45},
                                                                {"megatron-39.1b", 39.10},
                                                                {"megatron-76.1b", 76.05},
                                                                {"megatron-145.6b", 145.62},
                                                                {"megatron-310.1b", 310.13},
                                                                {"megatron-530b", 529.60},
                                                                {"megatron-1t", 1008.04}}};
  for (const auto& [name, billions] : rows) EXPECT_NEAR(parameters(library(name)).total / 1e9, billions, .01) << name;
}

TEST(Published, MegatronCoreRowsWithUntiedEmbeddings) {
  for (const auto& [name, billions] :
       {std::pair{"mcore-1.7b", 1.76}, std::pair{"mcore-7.1b", 7.14}, std::pair{"mcore-16b", 16.1}})
    EXPECT_NEAR(parameters(library(name)).total / 1e9, billions, billions < 10 ? .01 : .05) << name;
}

// Calculon's own counts: a block's matrices and biases at their widths, two norms with two vectors, a vocabulary of
// 51200 and learned positions; no norm behind the last block.
TEST(Published, CalculonCounts) {
  struct Row {
    std::int64_t hidden, ffn, heads, width, blocks;
    double billions;
  };
  const Row rows[] = {{6144, 24576, 64, 96, 48, 22.074},      {12288, 49152, 96, 128, 96, 174.616},
                      {20480, 81920, 128, 160, 105, 529.601}, {25600, 102400, 160, 160, 128, 1008.04},
                      {16384, 65536, 128, 128, 80, 258.587},  {18432, 73728, 48, 256, 118, 428.625}};
  for (const Row& row : rows) {
    const std::string json =
        "{\"hidden\": " + std::to_string(row.hidden) + ", \"feedforward\": " + std::to_string(row.ffn) +
        ", \"seq_size\": 2048, \"attn_heads\": " + std::to_string(row.heads) +
        ", \"attn_size\": " + std::to_string(row.width) + ", \"num_blocks\": " + std::to_string(row.blocks) + "}";
    const Result<Model> model = import_model(json, "application.json");
    ASSERT_TRUE(model) << model.error().text();
    EXPECT_NEAR(parameters(*model).total / 1e9, row.billions, row.billions > 1000 ? .005 : .0006) << json;
  }
}

// FLOPs of a step / (GPUs x published TFLOP/s).
TEST(Published, FlopsAndTimesOfSteps) {
  struct Row {
    const char* name;
    double batch;
    bool full;
    double flops;  // 0: only the time
    double tflops;
    double gpus;
    double seconds;
  };
  const Row rows[] = {{"megatron-145.6b", 2304, true, 5.6417e18, 148, 1536, 24.817},
                      {"megatron-530b", 2520, true, 2.2216e19, 163, 2520, 54.085},
                      {"megatron-1t", 3072, true, 5.1391e19, 163, 3072, 102.630},
                      {"megatron-39.1b", 1536, true, 0, 138, 512, 14.453},
                      {"megatron-1.7b", 512, true, 0, 137, 32, 3.528},
                      {"mcore-462b", 3072, false, 3.5932e19, 459.9, 6144, 12.716}};
  for (const Row& row : rows) {
    const Model model = library(row.name);
    const double flops = sc21_flops(model, row.batch, 0, row.full);
    if (row.flops > 0) {
      EXPECT_NEAR(flops / row.flops, 1, 1e-4) << row.name;
    }
    EXPECT_NEAR(flops / (row.gpus * row.tflops * 1e12), row.seconds, 6e-4) << row.name;
  }
}

// For GPT the two conventions agree: all scores counted, nothing recomputed.
TEST(Published, ModelFlopsOfGptAreTheFormula) {
  for (const std::string& name : model_names()) {
    if (!name.starts_with("megatron-") && !name.starts_with("mcore-")) continue;
    const Model model = library(name);
    EXPECT_NEAR(model_flops(model, 7, 1024, false) / sc21_flops(model, 7, 1024, false), 1, 1e-12) << name;
    const double s = 1024;
    const double half = 6 * 7 * s * s * static_cast<double>(model.hidden * model.layers);
    EXPECT_NEAR(model_flops(model, 7, 1024, false) - model_flops(model, 7, 1024, true), half, 1e-9 * half) << name;
  }
}

// Six FLOPs a parameter and token, embeddings looked up and not multiplied, where sequences are short.
TEST(Published, ModelFlopsAreSixAParameterAndToken) {
  for (const std::string& name : model_names()) {
    const Model model = library(name);
    if (model.kind != ModelKind::kDecoder) continue;
    const Parameters p = parameters(model);
    const double tied = model.tied_embeddings ? static_cast<double>(model.vocab * model.hidden) : 0.0;
    const double head = static_cast<double>(model.mtp_layers * model.vocab * model.hidden);
    const double weights = p.active - p.embedding + tied + head;
    EXPECT_NEAR(model_flops(model, 1, 1, true) / (6 * weights), 1, 2e-3) << name;
  }
}

}  // namespace
}  // namespace comity::workload
