// SPDX-License-Identifier: Apache-2.0
#include "plan/long_context.h"

#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace comity::plan {
namespace {

using Ids = std::vector<std::int64_t>;

TEST(LongContext, MultiplexedPartitionIsThePapersTable) {  // configtuner.md 5: PP = 4, N = 8
  const auto table = multiplexed_partition(4, 8);
  EXPECT_EQ(table[0].left, (Ids{0, 1, 2}));
  EXPECT_EQ(table[0].steady, (Ids{3, 4, 5, 6, 7}));
  EXPECT_EQ(table[0].right, Ids{});
  EXPECT_EQ(table[1].left, (Ids{0, 1}));
  EXPECT_EQ(table[1].steady, (Ids{2, 3, 4, 5, 6}));
  EXPECT_EQ(table[1].right, Ids{7});
  EXPECT_EQ(table[2].left, Ids{0});
  EXPECT_EQ(table[2].steady, (Ids{1, 2, 3, 4, 5}));
  EXPECT_EQ(table[2].right, (Ids{6, 7}));
  EXPECT_EQ(table[3].left, Ids{});
  EXPECT_EQ(table[3].steady, (Ids{0, 1, 2, 3, 4}));
  EXPECT_EQ(table[3].right, (Ids{5, 6, 7}));
}

TEST(LongContext, OffloadRatiosOfThePapersExample) {  // configtuner.md, verify 9
  const std::vector<double> bytes = {10.59, 7.2, 5.9, 4.9, 4.2, 3.7, 3.3, 2.87};
  const auto all = offload_ratios(bytes, 4.3, false);
  EXPECT_NEAR(all.front(), 0.406, 5e-4);
  EXPECT_EQ(all.back(), 1.0);
  EXPECT_EQ(offload_ratios(bytes, 4.3, true).back(), 0.0);
}

RC_GTEST_PROP(LongContextProperty, PiecesCostTheSameAndAddUp, ()) {
  const double tokens = *rc::gen::inRange(4096, 4'000'000);
  const std::int64_t pieces = *rc::gen::inRange(1, 200);
  const double linear = *rc::gen::inRange(0, 1'000'000);
  const double quadratic = *rc::gen::inRange(linear == 0 ? 1 : 0, 100'000);
  const auto lengths = equal_cost_split(tokens, pieces, linear, quadratic);
  RC_ASSERT(static_cast<std::int64_t>(lengths.size()) == pieces);
  const double total = linear * tokens + quadratic * tokens * tokens / 2;
  double at = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const double y = at + lengths[i];
    const double cost = linear * (y - at) + quadratic * (y * y - at * at) / 2;
    RC_ASSERT(std::abs(cost / (total / static_cast<double>(pieces)) - 1) < 1e-6);
    if (i > 0) RC_ASSERT(lengths[i] <= lengths[i - 1] * (1 + 1e-9));  // early long, late short
    at = y;
  }
  RC_ASSERT(std::abs(at - tokens) < 1e-6 * tokens);
}

LongContextQuestion question(const char* model, std::int64_t gpus, std::int64_t tokens) {
  LongContextQuestion q;
  q.model = *workload::load_model(model);
  q.system = *workload::load_system("dgx-a100");
  q.gpus = gpus;
  q.tokens = tokens;
  return q;
}

TEST(LongContext, BubbleAndMemoryOfAWay) {
  const auto plan = plan_long_context(question("llama2-7b", 32, 524'288));
  ASSERT_TRUE(plan.has_value()) << plan.error().text();
  for (const LongContextWay& w : plan->best) {
    EXPECT_EQ(w.sequence_parallel * w.pp, 32);
    EXPECT_LE(w.peak_bytes, 80 * 1073741824.0);
    const double bubble = static_cast<double>(w.pp - 1) / static_cast<double>(w.pieces);
    EXPECT_LE(w.bubble_share, bubble * (1 + 1e-12));
    EXPECT_TRUE(w.multiplexed || w.bubble_share == bubble);
    for (const double ratio : w.ratios) EXPECT_TRUE(ratio >= 0 && ratio <= 1);
  }
  for (std::size_t i = 1; i < plan->best.size(); ++i) EXPECT_LE(plan->best[i - 1].step_s, plan->best[i].step_s);
  EXPECT_LE(plan->best.front().step_s, plan->baselines[1].step_s);  // adaptive or none is no slower than full
}

TEST(LongContext, LongerSequencesFitWithOffloadThanWithout) {
  const auto longest = [](Offload only) {
    std::int64_t most = 0;
    for (std::int64_t tokens = 65'536; tokens <= 8'388'608; tokens *= 2) {
      auto q = question("llama2-7b", 32, tokens);
      q.keep = 100'000;
      const auto plan = plan_long_context(q);
      if (!plan) break;
      for (const LongContextWay& w : plan->best)
        if (w.offload == only) most = tokens;
    }
    return most;
  };
  EXPECT_GT(longest(Offload::kAdaptive), longest(Offload::kNone));
}

TEST(LongContext, RefusesWhatIsShortOrDoesNotFit) {
  EXPECT_EQ(plan_long_context(question("llama2-7b", 32, 1000)).error().code, Code::kUsage);
  EXPECT_EQ(plan_long_context(question("llama2-70b", 8, 16'777'216)).error().code, Code::kInput);
}

}  // namespace
}  // namespace comity::plan
