// SPDX-License-Identifier: Apache-2.0
#include "workload/foreign/megatron.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "workload/estimate.h"
#include "workload/library.h"

namespace comity::workload {
namespace {

Execution any_execution(const Model& m) {
  Execution e;
  e.tp = *rc::gen::element<std::int64_t>(1, 2, 4, 8);
  e.pp = *rc::gen::element<std::int64_t>(1, 2, 4);
  e.cp = *rc::gen::element<std::int64_t>(1, 2);
  e.dp = *rc::gen::element<std::int64_t>(1, 2, 8);
  e.ep = m.has_moe() && e.dp * e.cp % 2 == 0 ? 2 : 1;
  e.microbatch = *rc::gen::element<std::int64_t>(1, 2);
  e.batch = e.microbatch * e.dp * 8;
  e.virtual_stages = e.pp > 1 && m.layers % (2 * e.pp) == 0 ? *rc::gen::element<std::int64_t>(1, 2) : 1;
  e.schedule = e.virtual_stages > 1 ? Schedule::kInterleaved : Schedule::k1f1b;
  e.sequence_parallel = e.tp > 1 && *rc::gen::arbitrary<bool>();
  e.zero = *rc::gen::element<std::int64_t>(0, 1, 2, 3);
  e.optimizer_offload = e.zero < 2 && *rc::gen::arbitrary<bool>();
  e.recompute = *rc::gen::element(Recompute::kNone, Recompute::kSelective, Recompute::kFull);
  e.tp_overlap = *rc::gen::arbitrary<bool>();
  e.dp_overlap = *rc::gen::arbitrary<bool>();
  e.dropout = *rc::gen::arbitrary<bool>();
  e.gradient_bytes = *rc::gen::element<std::int64_t>(2, 4);
  if (*rc::gen::arbitrary<bool>()) e.order = {Axis::kTp, Axis::kCp, Axis::kEp, Axis::kPp, Axis::kDp};
  return e;
}

RC_GTEST_PROP(MegatronProperty, WhatIsWrittenReadsBackToTheSameEstimate, ()) {
  const Model m = *load_model(*rc::gen::element<std::string>("gpt3-175b", "llama2-7b", "llama3-70b", "mixtral-8x7b"));
  const Execution e = any_execution(m);
  const auto text = megatron_command(m, e);
  RC_ASSERT(text.has_value());
  const auto run = parse_megatron(*text, e.gpus(), "run.sh");
  RC_ASSERT(run.has_value());
  const Execution& got = run->execution;
  RC_ASSERT(got.tp == e.tp && got.pp == e.pp && got.dp == e.dp && got.cp == e.cp && got.ep == e.ep);
  RC_ASSERT(got.microbatch == e.microbatch && got.batch == e.batch && got.virtual_stages == e.virtual_stages);
  RC_ASSERT(got.schedule == e.schedule && got.sequence_parallel == e.sequence_parallel && got.zero == e.zero);
  RC_ASSERT(got.optimizer_offload == e.optimizer_offload);
  RC_ASSERT(got.recompute == e.recompute && got.order == e.order && got.dropout == e.dropout);
  RC_ASSERT(got.gradient_bytes == e.gradient_bytes && got.tp_overlap == e.tp_overlap);
  RC_ASSERT(run->model.layers == m.layers && run->model.kv_heads == m.kv_heads && run->model.ffn == m.ffn);
  RC_ASSERT(parameters(run->model).total == parameters(m).total);
}

// Every decoder of the library on a few machines' worth of GPUs: what the command is read back to costs the same.
TEST(Megatron, EveryModelReadsBackToTheSameCost) {
  const System system = *load_system("dgx-h100");
  int written = 0;
  for (const LibraryFile& file : library_models()) {
    const Model m = *load_model(std::string(file.name));
    for (const std::int64_t zero : {0, 1, 2, 3}) {
      Execution e;
      e.tp = 4;
      e.pp = m.layers % 4 == 0 && zero < 2 ? 4 : 1;
      e.dp = 2;
      e.batch = 16;
      e.zero = zero;
      e.datatype = Datatype::kBf16;
      const auto text = megatron_command(m, e);
      EXPECT_EQ(text.has_value(), m.kind == ModelKind::kDecoder) << file.name;
      if (!text) continue;
      const Estimate before = estimate(m, e, system, CostModel::kNccl);
      const auto run = parse_megatron(*text, e.gpus(), "run.sh");
      ASSERT_TRUE(run.has_value()) << file.name << ": " << run.error().text();
      const Estimate after = estimate(run->model, run->execution, system, CostModel::kNccl);
      EXPECT_NEAR(after.iteration_s / before.iteration_s, 1, 0.005) << file.name << " ZeRO " << zero << "\n" << *text;
      EXPECT_NEAR(after.memory.total() / before.memory.total(), 1, 0.005) << file.name << " ZeRO " << zero;
      ++written;
    }
  }
  EXPECT_GT(written, 100);
}

TEST(Megatron, VariablesOfAScriptAreFilledIn) {
  const auto run = parse_megatron(
      "HS=2048 LAYERS=24\nexport TP=8\npretrain_gpt.py --num-layers ${LAYERS} --hidden-size $HS --num-attention-heads "
      "16 "
      "--seq-length 2048 --micro-batch-size 1 --tensor-model-parallel-size $TP --save ${NOBODY}/x\n",
      8, "run.sh");
  ASSERT_TRUE(run.has_value()) << run.error().text();
  EXPECT_EQ(run->model.layers, 24);
  EXPECT_EQ(run->model.hidden, 2048);
  EXPECT_EQ(run->execution.tp, 8);
}

TEST(Megatron, WordsAreCutAsAShellDoes) {
  const auto run = parse_megatron(
      "# a comment\ntorchrun --nproc-per-node=8 --nnodes 2 pretrain_gpt.py --num-layers 24 --hidden_size 2048 \\\n"
      "  --num-attention-heads '16' --seq-length \"2048\" --micro-batch-size 2 --tensor-model-parallel-size 8 # end\n"
      "  --lr 1e-4 --bf16\n",
      0, "run.sh");
  ASSERT_TRUE(run.has_value()) << run.error().text();
  EXPECT_EQ(run->model.layers, 24);
  EXPECT_EQ(run->model.hidden, 2048);
  EXPECT_EQ(run->execution.dp, 2);
  EXPECT_EQ(run->execution.batch, 4);
  EXPECT_EQ(run->ignored, std::vector<std::string>{"--lr"});
}

TEST(Megatron, ErrorsNameTheOption) {
  const auto field = [](const char* text, std::int64_t gpus = 0) {
    const auto run = parse_megatron(text, gpus, "run.sh");
    return run ? std::string() : run.error().field;
  };
  EXPECT_EQ(field(""), "--num-layers");
  EXPECT_EQ(field("--num-layers x"), "--num-layers");
  EXPECT_EQ(field("--num-layers -1"), "--num-layers");
  const std::string most =
      "--num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 8 --micro-batch-size 1 ";
  EXPECT_EQ(field((most + "--tensor-model-parallel-size 3").c_str(), 8), "--tensor-model-parallel-size");
  EXPECT_EQ(field((most + "--hidden-dropout nan").c_str(), 8), "--hidden-dropout");
  EXPECT_EQ(field((most + "--recompute-granularity weird").c_str(), 8), "--recompute-granularity");
  EXPECT_EQ(field((most + "--recompute-granularity full --recompute-method x").c_str(), 8), "--recompute-method");
  for (const char* chunk : {"0", "3"})
    EXPECT_EQ(field((most + "--num-layers-per-virtual-pipeline-stage " + chunk).c_str(), 8),
              "--num-layers-per-virtual-pipeline-stage");
  EXPECT_EQ(field(most.c_str(), 8), "");
}

TEST(Megatron, WhatItCannotRunIsNotWritten) {
  Execution e;
  e.pp = 4;
  e.batch = 16;
  e.schedule = Schedule::kZbH1;
  EXPECT_FALSE(megatron_command(*load_model("gpt3-175b"), e).has_value());
}

}  // namespace
}  // namespace comity::workload
