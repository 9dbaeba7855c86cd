// SPDX-License-Identifier: Apache-2.0
#include "plan/long_context.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

namespace comity::plan {
namespace {

LongContextQuestion question(std::int64_t gpus, std::int64_t tokens) {
  LongContextQuestion q;
  q.model = *workload::load_model("llama2-7b");
  q.system = *workload::load_system("dgx-a100");
  q.gpus = gpus;
  q.tokens = tokens;
  return q;
}

TEST(LongContext, PlansHalfAMillionTokens) {
  const LongContextQuestion q = question(32, 512 * 1024);
  const auto plan = plan_long_context(q);
  ASSERT_TRUE(plan.has_value()) << plan.error().text();
  const LongContextChoice& b = plan->best;
  EXPECT_EQ(b.sp * b.pp * b.dp, 32);
  EXPECT_LE(b.peak_bytes, plan->capacity_bytes);
  std::int64_t tokens = 0;
  for (const SequencePiece& p : plan->pieces) {
    tokens += p.tokens;
    EXPECT_GE(p.ratio, 0);
    EXPECT_LE(p.ratio, 1);
  }
  EXPECT_EQ(tokens, q.tokens);
  EXPECT_EQ(plan->timeline.size(), static_cast<std::size_t>(2 * b.pp * b.pieces));
  double peak = 0;
  for (const StageMoment& m : plan->timeline) peak = std::max(peak, m.bytes);
  EXPECT_DOUBLE_EQ(peak, b.peak_bytes);
  EXPECT_EQ(fields(*plan).size(), 17U);
  EXPECT_EQ(rival_rows(*plan).size(), 8U);
  EXPECT_NE(explain(*plan).find("pieces"), std::string::npos);
}

// The pieces' times are balanced to what whole kernels allow.
TEST(LongContext, PiecesTakeTheSameTime) {
  LongContextQuestion q = question(32, 512 * 1024);
  q.sp = 8;
  q.pp = 4;
  q.pieces = 32;
  const auto plan = plan_long_context(q);
  ASSERT_TRUE(plan.has_value()) << plan.error().text();
  double longest = 0;
  double sum = 0;
  for (const SequencePiece& p : plan->pieces) {
    longest = std::max(longest, p.forward_s + p.backward_s);
    sum += p.forward_s + p.backward_s;
  }
  EXPECT_LT(longest / (sum / 32), 1.15);
}

// The best choice is the best of every choice one by one.
TEST(LongContext, SearchIsExhaustive) {
  LongContextQuestion q = question(8, 128 * 1024);
  q.batch = 2;
  const auto plan = plan_long_context(q);
  ASSERT_TRUE(plan.has_value()) << plan.error().text();
  for (std::int64_t sp = 1; sp <= 8; sp *= 2)
    for (std::int64_t pp = 1; sp * pp <= 8; pp *= 2) {
      if (q.batch % (8 / sp / pp) != 0) continue;
      LongContextQuestion one = q;
      one.sp = sp;
      one.pp = pp;
      const auto other = plan_long_context(one);
      EXPECT_GE(other.has_value() ? other->best.step_s : 1e300, plan->best.step_s);
    }
}

// Without attention and host traffic, T = (p - 1 + N)/N F.
TEST(LongContext, BubbleIsTheClosedForm) {
  LongContextQuestion q = question(4, 65536);
  q.sp = 1;
  q.pp = 4;
  q.pieces = 16;
  q.multiplex = false;
  q.system.host_gb_s = 1e6;
  q.system.host_memory_gib = 1e6;
  q.system.memory_gib = 1e6;
  q.system.attention_efficiency = q.system.attention_backward_efficiency = 1e9;
  q.system.pp_exposed = 0;
  q.system.networks.back().gb_s = q.system.networks.front().gb_s = 1e9;
  q.model.vocab = 128;
  const auto plan = plan_long_context(q);
  ASSERT_TRUE(plan.has_value()) << plan.error().text();
  EXPECT_NEAR(plan->best.bubble, 3.0 / 16, 0.01);
  EXPECT_NEAR(plan->best.stall_s, 0, 1e-9);
}

TEST(LongContext, OffloadTradesMemoryForNothingOrTime) {
  LongContextQuestion q = question(32, 256 * 1024);
  q.system.memory_gib = 1e6;
  LongContextChoice c;
  c.sp = 8;
  c.pp = 4;
  c.pieces = 16;
  c.offload = Offload::kNone;
  const auto none = evaluate_long_context(q, c, nullptr);
  c.offload = Offload::kAdaptive;
  const auto adaptive = evaluate_long_context(q, c, nullptr);
  c.offload = Offload::kFull;
  const auto full = evaluate_long_context(q, c, nullptr);
  EXPECT_LT(adaptive.peak_bytes, none.peak_bytes);
  EXPECT_LE(adaptive.stall_s, 1e-9);
  EXPECT_LE(adaptive.step_s, full.step_s);
  EXPECT_EQ(none.host_bytes, 0);
  EXPECT_GE(full.host_bytes, adaptive.host_bytes);
}

// Between the last piece's forward and backward pass the gradients of all keys and values are added; with everything
// kept, each forward pass adds what its piece leaves.
TEST(LongContext, MemoryOverTimeAddsUp) {
  LongContextQuestion q = question(32, 256 * 1024);
  LongContextChoice c;
  c.sp = 8;
  c.pp = 4;
  c.pieces = 16;
  c.offload = Offload::kNone;
  LongContextPlan detail;
  const auto done = evaluate_long_context(q, c, &detail);
  ASSERT_EQ(detail.pieces.size(), 16U);
  std::vector<const StageMoment*> middle;
  for (const StageMoment& m : detail.timeline)
    if (m.stage == 2) middle.push_back(&m);
  ASSERT_EQ(middle.size(), 32U);
  double kept = 0;
  for (std::size_t k = 0; k < 16; ++k) {
    const SequencePiece& p = detail.pieces[k];
    kept += p.kept_bytes;
    if (k == 0) continue;
    EXPECT_NEAR((middle[k]->bytes - middle[k - 1]->bytes) / (p.kept_bytes + p.offloadable_bytes), 1, 1e-6);
    EXPECT_GE(middle[k]->start_s, middle[k - 1]->end_s - 1e-12);
  }
  EXPECT_NEAR((middle[16]->bytes - middle[15]->bytes) / kept, 1, 1e-6);
  EXPECT_EQ(done.host_bytes, 0);
}

TEST(LongContext, NamesWhatIsWrong) {
  EXPECT_EQ(plan_long_context(question(0, 1024)).error().field, "gpus");
  EXPECT_EQ(plan_long_context(question(8, 0)).error().field, "tokens");
  const auto large = plan_long_context(question(8, 64 << 20));
  ASSERT_FALSE(large.has_value());
  EXPECT_EQ(large.error().code, Code::kInput);
  EXPECT_NE(large.error().hint.find("tokens are the most"), std::string::npos) << large.error().text();
}

// What holds of the paper's claims and what does not: docs/systems/sppo.md.
TEST(LongContext, ClaimsOfThePaper) {
  for (const LongContextClaim& c : long_context_claims(*workload::load_system("dgx-a100"))) {
    EXPECT_GE(c.ours, 1) << c.what;  // never slower than the same split, never under a Mi token
  }
}

}  // namespace
}  // namespace comity::plan
