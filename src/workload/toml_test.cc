// SPDX-License-Identifier: Apache-2.0
// Models, machines and executions in TOML: what is written reads back equal, and what is wrong is named.
#include <algorithm>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/rng.h"
#include "workload/execution.h"
#include "workload/model.h"
#include "workload/system.h"

namespace comity::workload {
namespace {

std::int64_t draw(Rng& rng, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(high - low + 1)));
}

bool flip(Rng& rng) { return rng.below(2) == 1; }

std::string any_text(Rng& rng) {
  static const std::string kPieces[] = {"a",    "Z",    " ",        "\"", "\\", "\n", "\t",
                                        "\x01", "\x7f", "\xc3\xa9", "#",  "'",  "="};
  std::string out = "n";
  for (std::int64_t i = draw(rng, 0, 20); i > 0; --i) out += kPieces[rng.below(std::size(kPieces))];
  return out;
}

Model any_model(Rng& rng) {
  Model m;
  m.name = any_text(rng);
  m.source = any_text(rng);
  m.kind = static_cast<ModelKind>(rng.below(4));
  m.layers = draw(rng, 1, 200);
  m.hidden = draw(rng, 1, 100000);
  m.kv_heads = draw(rng, 1, 64);
  m.heads = m.kv_heads * draw(rng, 1, 8);
  m.head_width = draw(rng, 1, 300);
  m.ffn = draw(rng, 1, 1000000);
  m.vocab = draw(rng, 1, 1000000);
  m.sequence = draw(rng, 1, 1000000);
  m.positions = flip(rng) ? draw(rng, 0, 100000) : 0;
  for (bool* field : {&m.gated, &m.rms_norm, &m.bias, &m.qkv_bias, &m.tied_embeddings, &m.causal}) *field = flip(rng);
  m.mtp_layers = draw(rng, 0, 3);
  if (m.kind == ModelKind::kEncoderDecoder) {
    m.encoder_layers = draw(rng, 1, 100);
    m.encoder_sequence = draw(rng, 1, 100000);
  }
  if (m.kind == ModelKind::kVision) {
    m.patch = draw(rng, 1, 32);
    m.image = m.patch * draw(rng, 1, 32);
    m.channels = draw(rng, 1, 10);
    m.sequence = (m.image / m.patch) * (m.image / m.patch) + 1;
  }
  if (flip(rng)) {
    m.moe = {draw(rng, 2, 300), draw(rng, 1, 2), draw(rng, 1, 9999), 0, 0, draw(rng, 0, m.layers), draw(rng, 1, 4)};
    if (flip(rng)) std::tie(m.moe.shared_experts, m.moe.shared_ffn) = std::pair(draw(rng, 1, 4), draw(rng, 1, 9999));
  }
  if (flip(rng))
    m.latent = {draw(rng, 0, 2000), draw(rng, 1, 2000), draw(rng, 1, 200), draw(rng, 0, 99), draw(rng, 1, 200)};
  return m;
}

System any_system(Rng& rng) {
  System s;
  s.name = any_text(rng);
  s.gpu = any_text(rng);
  s.calibrated_on = any_text(rng);
  s.gpus_per_node = draw(rng, 1, 72);
  s.gpus = draw(rng, 0, 1) * draw(rng, 1, 8);
  for (double* field : {&s.memory_gib, &s.memory_gb_s, &s.vector_tflops, &s.launch_us, &s.host_gb_s, &s.step_overhead_s,
                        &s.optimizer_gb_s, &s.price_per_gpu_hour})
    *field = rng.uniform(1e-9, 10) * (flip(rng) ? 1 : 1e6);
  for (double* field : {&s.memory_efficiency, &s.attention_efficiency, &s.gemm.max_efficiency, &s.gemm.wave_weight,
                        &s.attention_backward_efficiency, &s.pp_exposed, &s.error_band})
    *field = rng.uniform(0.01, 1);
  for (double& peak : s.tflops) peak = flip(rng) ? rng.uniform(1, 5000) : 0;
  s.tflops[0] = 1.0 / 3;
  s.gemm.tile_m = draw(rng, 1, 512);
  s.gemm.k_half = rng.uniform(0, 1000);
  s.nccl = {flip(rng) ? "hopper" : "volta", draw(rng, 0, 32), rng.uniform(0, 40), rng.uniform(0, 40), flip(rng)};
  std::int64_t domain = 1;
  for (std::int64_t i = draw(rng, 1, 4); i > 0; --i) {
    domain *= draw(rng, 2, 8);
    Network n;
    n.name = any_text(rng);
    n.domain = i == 1 && (flip(rng) || domain < s.gpus) ? 0 : domain;
    n.gb_s = rng.uniform(0.1, 900);
    n.latency_us = rng.uniform(0, 100);
    n.efficiency = rng.uniform(0.1, 1);
    n.all_to_all = flip(rng) ? rng.uniform(0.1, 1) : 0;
    n.oversubscription = rng.uniform(1, 4);
    n.in_network_reduction = flip(rng);
    s.networks.push_back(n);
  }
  return s;
}

Execution any_execution(Rng& rng) {
  Execution e;
  for (std::int64_t* field : {&e.tp, &e.cp, &e.pp, &e.dp, &e.ep, &e.virtual_stages, &e.microbatch, &e.batch})
    *field = draw(rng, 1, 1000000);
  e.sequence = draw(rng, 0, 1000000);
  e.schedule = static_cast<Schedule>(rng.below(6));
  e.recompute = static_cast<Recompute>(rng.below(3));
  e.context_parallel = static_cast<ContextParallel>(rng.below(2));
  e.datatype = static_cast<Datatype>(rng.below(4));
  e.recompute_share = rng.uniform();
  e.activation_offload = rng.uniform();
  e.expert_capacity = rng.uniform(0, 4);
  e.expert_skew = rng.uniform(1, 9);
  e.zero = draw(rng, 0, 3);
  e.gradient_bytes = draw(rng, 1, 2) * 2;
  for (bool* field : {&e.sequence_parallel, &e.flash_attention, &e.fused, &e.dropout, &e.tp_overlap, &e.dp_overlap,
                      &e.ep_overlap, &e.scatter_gather, &e.causal_skip, &e.optimizer_offload})
    *field = flip(rng);
  for (std::size_t i = 4; i > 0; --i) std::swap(e.order[i], e.order[rng.below(i + 1)]);
  for (std::int64_t i = draw(rng, 0, 9); i > 0; --i) e.stage_layers.push_back(draw(rng, 0, 99));
  return e;
}

RC_GTEST_PROP(WorkloadToml, ModelsReadBackEqual, (std::uint64_t seed)) {
  Rng rng(seed);
  const Model model = any_model(rng);
  const Status sound = check_model(model, "f");
  if (!sound) RC_FAIL(sound.error().text());
  const Result<Model> got = parse_model(model_toml(model), "f");
  if (!got) RC_FAIL(got.error().text());
  RC_ASSERT(*got == model);
}

RC_GTEST_PROP(WorkloadToml, SystemsReadBackEqual, (std::uint64_t seed)) {
  Rng rng(seed);
  const System system = any_system(rng);
  const Result<System> got = parse_system(system_toml(system), "f");
  if (!got) RC_FAIL(got.error().text());
  RC_ASSERT(*got == system);
}

RC_GTEST_PROP(WorkloadToml, ExecutionsReadBackEqual, (std::uint64_t seed)) {
  Rng rng(seed);
  const Execution execution = any_execution(rng);
  const Result<Execution> got = parse_execution(execution_toml(execution), "f");
  if (!got) RC_FAIL(got.error().text());
  RC_ASSERT(*got == execution);
}

constexpr const char* kModel =
    "schema = \"comity.model/1\"\n"
    "name = \"m\"\n"
    "layers = 4\n"
    "hidden = 64\n"
    "heads = 8\n"
    "ffn = 256\n"
    "vocab = 1000\n"
    "sequence = 128\n";

std::string model_error(const std::string& more, const std::string& text = kModel) {
  const Result<Model> got = parse_model(text + more, "m.toml");
  return got ? std::string("none") : got.error().text();
}

TEST(WorkloadToml, ModelsMayLeaveOutWhatTheRestSays) {
  const Model m = *parse_model(kModel, "m.toml");
  EXPECT_EQ(m.kv_heads, 8);
  EXPECT_EQ(m.head_width, 8);
  EXPECT_TRUE(m.causal);
  EXPECT_FALSE(parse_model(std::string(kModel) + "kind = \"encoder\"\n", "m.toml")->causal);
}

TEST(WorkloadToml, ModelErrorsNameFileLineFieldAndWhatWouldDo) {
  EXPECT_EQ(model_error("kv_heds = 2\n"), "m.toml:9: kv_heds: unknown key (did you mean kv_heads?)");
  EXPECT_EQ(model_error("kv_heads = 3\n"),
            "m.toml:9: kv_heads: 3 key/value heads do not divide 8 heads (heads share key/value heads in groups of one "
            "size)");
  EXPECT_EQ(model_error("[moe]\nexperts = 4\nffn = 8\ntop_k = 5\n"),
            "m.toml:12: moe.top_k: a token takes 5 of 4 experts (1 to 4)");
  EXPECT_EQ(model_error("kind = \"decodr\"\n"), "m.toml:9: kind: no 'decodr' is known here, did you mean 'decoder'?");
  EXPECT_EQ(model_error("layers = 4\n", "schema = \"comity.system/1\"\nname = \"m\"\n"),
            "m.toml:1: schema: must be \"comity.model/1\", not \"comity.system/1\"");
  EXPECT_NE(model_error("[latent]\nrope = 3\n").find("latent.kv_rank"), std::string::npos);
  EXPECT_NE(model_error("[vision]\npatch = 4\n").find("only kind"), std::string::npos);
  EXPECT_NE(model_error("", "schema = \"comity.model/1\"\nname = \"m\"\n").find("layers: is missing"),
            std::string::npos);
  EXPECT_NE(model_error("head_width = 0\n").find("between 1 and"), std::string::npos);
}

TEST(WorkloadToml, MoeLayers) {
  Model m;
  m.layers = 8;
  m.moe.experts = 4;
  m.moe.every = 2;
  m.moe.dense_layers = 3;
  std::int64_t counted = 0;
  for (std::int64_t i = 0; i < m.layers; ++i) counted += m.is_moe_layer(i) ? 1 : 0;
  EXPECT_EQ(counted, m.moe_layers());
  EXPECT_TRUE(m.is_moe_layer(7));
  EXPECT_FALSE(m.is_moe_layer(6));
  EXPECT_FALSE(m.is_moe_layer(1));
}

std::string system_error(const std::string& more) {
  const Result<System> got = parse_system(
      "schema = \"comity.system/1\"\nname = \"s\"\nmemory_gib = 80\nmemory_gb_s = 2000\nvector_tflops = 19\n" + more,
      "s.toml");
  return got ? std::string("none") : got.error().text();
}

TEST(WorkloadToml, SystemErrors) {
  const std::string peak = "[tflops]\nbf16 = 300\n";
  EXPECT_EQ(system_error(peak + "[[network]]\nname = \"a\"\ngb_s = 1\n"), "none");
  EXPECT_EQ(system_error("gpus = 1\n" + peak), "none");
  EXPECT_NE(system_error(peak).find("network: no network joins the GPUs"), std::string::npos);
  for (const char* bad :
       {"error_band = 1", "error_band = 5", "optimizer_gb_s = 5e-324", "memory_gb_s = 1e-300", "memory_gib = 1e300"})
    EXPECT_FALSE(system_error(bad + ("\n" + peak) + "[[network]]\ngb_s = 1\n").empty()) << bad;
  EXPECT_NE(system_error(peak + "[[network]]\ngb_s = 1\ndomain = 8\n[[network]]\ngb_s = 1\ndomain = 12\n")
                .find("network[1].domain: 12 GPUs are no multiple of the 8"),
            std::string::npos);
  EXPECT_NE(system_error(peak + "[[network]]\ngb_s = 1\n[[network]]\ngb_s = 1\n").find("network[0].domain"),
            std::string::npos);
  EXPECT_NE(system_error("[tflops]\nbf16 = 0\n").find("no datatype has a peak"), std::string::npos);
  EXPECT_NE(system_error(peak + "[nccl]\narch = \"pascal\"\n[[network]]\ngb_s = 1\n").find("one of volta"),
            std::string::npos);
  EXPECT_NE(system_error(peak + "[[network]]\ngb_s = 1\nlatncy_us = 3\n").find("did you mean latency_us?"),
            std::string::npos);
}

TEST(WorkloadToml, ExecutionErrors) {
  const auto error = [](const std::string& more) {
    const Result<Execution> got = parse_execution("schema = \"comity.execution/1\"\n" + more, "e.toml");
    return got ? std::string("none") : got.error().text();
  };
  EXPECT_EQ(error(""), "none");
  EXPECT_EQ(error("order = [\"tp\", \"dp\", \"pp\", \"cp\"]\n"),
            "e.toml:2: order: must name tp, cp, ep, dp and pp once each, innermost first");
  EXPECT_NE(error("order = [\"tp\", \"dp\", \"pp\", \"cp\", \"cp\"]\n"), "none");
  EXPECT_EQ(error("schedule = \"1f2b\"\n"), "e.toml:2: schedule: no '1f2b' is known here, did you mean '1f1b'?");
  EXPECT_EQ(error("zero = 4\n"), "e.toml:2: zero: must be a whole number between 0 and 3");
  EXPECT_EQ(error("dp_overlp = true\n"), "e.toml:2: dp_overlp: unknown key (did you mean dp_overlap?)");
}

}  // namespace
}  // namespace comity::workload
