// SPDX-License-Identifier: Apache-2.0
#include "workload/volumes.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>

namespace comity::workload {
namespace {

Model gpt3() {
  Model model;
  model.layers = 96;
  model.hidden = 12288;
  model.heads = model.kv_heads = 96;
  model.head_width = 128;
  model.ffn = 4 * 12288;
  model.vocab = 51200;
  model.sequence = model.positions = 2048;
  model.bias = false;
  return model;
}

Execution t8_p16_d4() {
  Execution e;
  e.tp = 8;
  e.pp = 16;
  e.dp = 4;
  e.batch = 256;  // 64 micro-batches
  return e;
}

// All expected values are worked out by hand from the formulas, not by this code.
TEST(Volumes, Gpt3TensorParallel) {
  Execution e = t8_p16_d4();
  EXPECT_DOUBLE_EQ(tp_bytes(gpt3(), e, 7), 135291469824.0);  // 6 layers x 64 x 4 x 2 x 7/8 x 2048 x 12288 x 2
  e.sequence_parallel = true;
  EXPECT_DOUBLE_EQ(tp_bytes(gpt3(), e, 7, {.regather = false}), 135291469824.0);
  EXPECT_DOUBLE_EQ(tp_bytes(gpt3(), e, 7), 1.25 * 135291469824.0);
  e.sequence_parallel = false;
  e.recompute = Recompute::kFull;
  EXPECT_DOUBLE_EQ(tp_bytes(gpt3(), e, 7), 1.5 * 135291469824.0);
  e.recompute_share = 0.5;
  EXPECT_DOUBLE_EQ(tp_bytes(gpt3(), e, 7), 1.25 * 135291469824.0);
  e.recompute = Recompute::kSelective;
  EXPECT_DOUBLE_EQ(tp_bytes(gpt3(), e, 7), 135291469824.0);
  e.datatype = Datatype::kFp32;
  EXPECT_DOUBLE_EQ(tp_bytes(gpt3(), e, 7), 2 * 135291469824.0);
  e.tp = 1;
  EXPECT_EQ(tp_bytes(gpt3(), e, 7), 0);
}

TEST(Volumes, Gpt3Pipeline) {
  Execution e = t8_p16_d4();
  EXPECT_DOUBLE_EQ(2 * pp_bytes(gpt3(), e), 805306368.0);  // 2 x 64 x 2048 x 12288 x 2 / 8
  e.scatter_gather = false;
  EXPECT_DOUBLE_EQ(2 * pp_bytes(gpt3(), e), 6442450944.0);
  EXPECT_DOUBLE_EQ(rank_bytes(gpt3(), e, 0).pp_next, 3221225472.0);
  EXPECT_EQ(rank_bytes(gpt3(), e, 0).pp_previous, 0);
  EXPECT_EQ(rank_bytes(gpt3(), e, 15).pp_next, 0);
  e.virtual_stages = 2;  // an interior rank sends 2 v m b s h w
  EXPECT_DOUBLE_EQ(rank_bytes(gpt3(), e, 5).pp_next + rank_bytes(gpt3(), e, 5).pp_previous, 2 * 6442450944.0);
  EXPECT_DOUBLE_EQ(rank_bytes(gpt3(), e, 15).pp_next, 3221225472.0);  // back to rank 0, once
  e.virtual_stages = 1;
  e.schedule = Schedule::kDualPipe;
  EXPECT_DOUBLE_EQ(rank_bytes(gpt3(), e, 5).pp_next, 3221225472.0);
  EXPECT_DOUBLE_EQ(rank_bytes(gpt3(), e, 15).pp_previous, 3221225472.0);
  EXPECT_EQ(rank_bytes(gpt3(), e, 15).pp_next, 0);
}

TEST(Volumes, Gpt3DataParallel) {
  Execution e = t8_p16_d4();
  const double middle = local_parameters(gpt3(), e, 7).dense;
  EXPECT_DOUBLE_EQ(middle, 1359249408.0);  // 6 x (12 h^2 / 8 + 4 h)
  EXPECT_DOUBLE_EQ(local_parameters(gpt3(), e, 0).dense, 1463058432.0);
  EXPECT_DOUBLE_EQ(dp_bytes(e, middle, 4), 8155496448.0);  // 2 x 3/4 x 4 B
  for (const std::int64_t zero : {1, 2}) {
    e.zero = zero;
    EXPECT_DOUBLE_EQ(dp_bytes(e, middle, 4), 6116622336.0);
  }
  e.zero = 3;
  EXPECT_DOUBLE_EQ(dp_bytes(e, middle, 4), 8155496448.0);
  EXPECT_DOUBLE_EQ(dp_bytes(e, middle, 4, {.gather_microbatches = true}), 64 * 8155496448.0);
  EXPECT_EQ(dp_bytes(e, middle, 1), 0);
  e.zero = 0;
  EXPECT_DOUBLE_EQ(rank_bytes(gpt3(), e, 0).dp, 8778350592.0);
  EXPECT_DOUBLE_EQ(rank_bytes(gpt3(), e, 0).embedding, 314572800.0);  // V h / 8 x 4 B
  EXPECT_DOUBLE_EQ(rank_bytes(gpt3(), e, 15).embedding, 314572800.0);
  EXPECT_EQ(rank_bytes(gpt3(), e, 1).embedding, 0);
  e.gradient_bytes = 2;
  EXPECT_DOUBLE_EQ(dp_bytes(e, middle, 4), 8155496448.0 / 2);
}

TEST(Volumes, ContextParallel) {
  Model model;
  model.layers = 80;
  model.hidden = 8192;
  model.heads = 64;
  model.kv_heads = 8;
  model.head_width = 128;
  model.sequence = 131072;
  Execution e;
  e.cp = 8;
  e.pp = 4;
  e.batch = 16;
  EXPECT_DOUBLE_EQ(cp_bytes(model, e, 1), 450971566080.0);  // 20 x 16 x 3 x 7 x 2 x 16384 x 8192/8 x 2
  e.tp = 8;
  EXPECT_DOUBLE_EQ(cp_bytes(model, e, 1), 450971566080.0 / 8);
  e.tp = 16;  // a key head is on two ranks
  EXPECT_DOUBLE_EQ(cp_bytes(model, e, 1), 450971566080.0 / 8);
  e.tp = 1;
  e.recompute = Recompute::kFull;
  EXPECT_DOUBLE_EQ(cp_bytes(model, e, 1), 450971566080.0 / 3 * 4);
  e.recompute = Recompute::kNone;
  e.context_parallel = ContextParallel::kUlysses;  // 20 x 16 x 2 x 7/8 x 16384 x (2 x 8192 + 2 x 1024) x 2
  EXPECT_DOUBLE_EQ(cp_bytes(model, e, 1), 338228674560.0);
  e.cp = 1;
  EXPECT_EQ(cp_bytes(model, e, 1), 0);
}

TEST(Volumes, Experts) {
  Model model;  // as Mixtral 8x7B
  model.layers = 32;
  model.hidden = 4096;
  model.heads = 32;
  model.kv_heads = 8;
  model.head_width = 128;
  model.ffn = 14336;
  model.vocab = 32000;
  model.sequence = 4096;
  model.gated = model.rms_norm = true;
  model.bias = model.tied_embeddings = false;
  model.moe = {.experts = 8, .top_k = 2, .ffn = 14336};
  Execution e;
  e.pp = 4;
  e.dp = 8;
  e.ep = 8;
  e.batch = 64;
  EXPECT_DOUBLE_EQ(ep_bytes(model, e, 2), 15032385536.0);  // 4 x 8 layers x 8 x 7/8 x 4096 x 2 x 4096 x 2
  e.tp = 2;
  EXPECT_DOUBLE_EQ(ep_bytes(model, e, 2), 15032385536.0 / 2);
  e.tp = 1;
  const LocalParameters own = local_parameters(model, e, 1);
  EXPECT_DOUBLE_EQ(own.experts, 8.0 * 3 * 4096 * 14336);  // one expert of each layer
  EXPECT_DOUBLE_EQ(own.dense, 8.0 * (4096.0 * 4096 * 2.5 + 2 * 4096 + 8 * 4096));
  EXPECT_EQ(rank_bytes(model, e, 1).expert_dp, 0);
  e.ep = 4;
  EXPECT_DOUBLE_EQ(rank_bytes(model, e, 1).expert_dp, 8.0 * 2 * 3 * 4096 * 14336 * 4);  // 2 x 1/2 x two experts x 4 B
  model.moe.every = 2;
  EXPECT_DOUBLE_EQ(ep_bytes(model, e, 2), 15032385536.0 / 2 * (3.0 / 4) / (7.0 / 8));
}

// However it is cut, all ranks together send the same for tensor, context and expert parallelism.
TEST(Volumes, PipelineStagesAddUp) {
  EXPECT_TRUE(rc::check([] {
    Model model = gpt3();
    model.moe = {.experts = 16, .top_k = 2, .ffn = 1024, .dense_layers = *rc::gen::inRange(0, 4)};
    Execution e;
    e.tp = *rc::gen::element(1, 2, 8);
    e.cp = *rc::gen::element(1, 4);
    e.dp = 8;
    e.ep = *rc::gen::element(1, 2, 8);
    e.batch = 512;
    RankBytes whole = rank_bytes(model, e, 0);
    e.pp = *rc::gen::element(2, 4, 8);
    e.virtual_stages = *rc::gen::element(1, 2, 3);
    if (e.virtual_stages == 1 && *rc::gen::arbitrary<bool>()) e.schedule = Schedule::kDualPipe;
    for (std::int64_t rank = 0; rank < e.pp; ++rank) {
      const RankBytes part = rank_bytes(model, e, rank);
      whole.tp -= part.tp;
      whole.cp -= part.cp;
      whole.ep -= part.ep;
    }
    RC_ASSERT(std::max({std::abs(whole.tp), std::abs(whole.cp), std::abs(whole.ep)}) < 1);
  }));
}

}  // namespace
}  // namespace comity::workload
