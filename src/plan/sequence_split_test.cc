// SPDX-License-Identifier: Apache-2.0
#include "plan/sequence_split.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace comity::plan {
namespace {

TEST(SequenceSplit, PiecesCostTheSame) {
  const TokenCost cost{24.0 * 8192 * 8192, 4.0 * 8192};
  const auto borders = equal_cost_borders(cost, 131072, 8);
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_NEAR(cost.of(borders[i], borders[i + 1]) / (cost.of(0, 131072) / 8), 1, 1e-12);
  for (std::size_t i = 1; i < 8; ++i)
    EXPECT_LT(borders[i + 1] - borders[i], borders[i] - borders[i - 1]) << "early long, late short";
}

// Figure 5 of the paper, LLaMA-65B and 128K tokens: 36 S h bytes of one layer fall from 10.59 to 2.87 GB with N = 8 and
// from 6.04 to 1.3 GB with N = 16. Plain FLOPs give 8.68 and 3.17. With attention 2.2
// times as long a FLOP as matrix products (fitted on N = 8, where A100 kernels are near 2) N = 16 comes out near too.
TEST(SequenceSplit, FigureFive) {
  const double h = 8192;
  const double tokens = 131072;
  const auto gb = [&](double weight, std::int64_t n, std::int64_t piece) {
    const auto b = equal_cost_borders({24 * h * h, 4 * h * weight}, tokens, n);
    const auto i = static_cast<std::size_t>(piece);
    return 36 * h * (b[i + 1] - b[i]) / 1e9;
  };
  EXPECT_NEAR(gb(1, 8, 0), 8.68, 0.01);
  EXPECT_NEAR(gb(1, 8, 7), 3.17, 0.01);
  EXPECT_NEAR(gb(2.2, 8, 0), 10.59, 0.10);
  EXPECT_NEAR(gb(2.2, 8, 7), 2.87, 0.03);
  EXPECT_NEAR(gb(2.2, 16, 0), 6.04, 0.40);
  EXPECT_NEAR(gb(2.2, 16, 15), 1.30, 0.12);
}

TEST(SequenceSplit, OffloadRatiosOfTheSpecification) {
  const std::vector<double> bytes = {10.59, 6.5, 4.9, 4.2, 3.7, 3.3, 3.05, 2.87};
  const std::vector<double> budget(8, 4.3);
  const auto moved = offload_ratios(bytes, budget, false);
  EXPECT_NEAR(moved.front(), 0.406, 5e-4);
  EXPECT_EQ(moved.back(), 1);
  const auto kept = offload_ratios(bytes, budget, true);
  EXPECT_EQ(kept.back(), 0);
  const auto held = resident_bytes(bytes, moved);
  EXPECT_DOUBLE_EQ(held[0], 10.59);
  EXPECT_NEAR(held[1], 10.59 + 6.5 - 4.3, 1e-12);
}

TEST(SequenceSplit, BubbleOfSixteenPiecesOverFourStages) {
  EXPECT_DOUBLE_EQ(sequence_bubble(4, 16), 0.1875);
  const std::vector<std::vector<double>> equal(4, std::vector<double>(16, 1.0));
  const auto rows = sequence_pipeline(equal, 0, false);
  EXPECT_DOUBLE_EQ(rows[3][15].end_s, 16 + 3);
  const auto back = sequence_pipeline(equal, 0, true);
  EXPECT_DOUBLE_EQ(back[0][0].end_s, 16 + 3);
  EXPECT_DOUBLE_EQ(back[3][15].start_s, 0);
}

TEST(SequenceSplit, MultiplexedTableOfThePaper) {
  const auto t = multiplexed_partition(4, 8);
  ASSERT_EQ(t.size(), 4U);
  // stage: left ids, steady ids, right ids
  const std::int64_t left[] = {3, 2, 1, 0};
  const std::int64_t steady_from[] = {3, 2, 1, 0};
  const std::int64_t steady_to[] = {8, 7, 6, 5};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(t[i].left_pieces, left[i]);
    EXPECT_EQ(t[i].steady_from, steady_from[i]);
    EXPECT_EQ(t[i].steady_to, steady_to[i]);
    EXPECT_EQ(t[i].right_from, steady_to[i]);
    EXPECT_EQ(t[i].pieces - t[i].right_from, static_cast<std::int64_t>(i));
    EXPECT_EQ(t[i].left_stages_from, static_cast<std::int64_t>(i));
    EXPECT_EQ(t[i].left_stages_to, 4);
    EXPECT_EQ(t[i].right_stages_to, static_cast<std::int64_t>(i) + 1);
  }
  EXPECT_TRUE(multiplexed_partition(4, 3).empty());
}

RC_GTEST_PROP(SequenceSplit, Laws, ()) {
  const auto n = *rc::gen::inRange<std::int64_t>(1, 200);
  const auto tokens = *rc::gen::inRange<std::int64_t>(n, 2'000'000);
  const TokenCost cost{static_cast<double>(*rc::gen::inRange(1, 1000)),
                       static_cast<double>(*rc::gen::inRange(0, 1000)) / 1e3};
  const auto borders = token_borders(cost, tokens, n);
  RC_ASSERT(borders.size() == static_cast<std::size_t>(n) + 1);
  RC_ASSERT(borders.front() == 0);
  RC_ASSERT(borders.back() == tokens);
  for (std::size_t i = 1; i < borders.size(); ++i) RC_ASSERT(borders[i] > borders[i - 1]);
}

RC_GTEST_PROP(SequenceSplit, EveryPieceIsOnceOnEveryStage, ()) {
  const auto p = *rc::gen::inRange<std::int64_t>(1, 12);
  const auto n = *rc::gen::inRange<std::int64_t>(p, 60);
  for (const MultiplexedStage& s : multiplexed_partition(p, n)) {
    RC_ASSERT(s.left_pieces == s.steady_from);
    RC_ASSERT(s.steady_to == s.right_from);
    RC_ASSERT(s.steady_to - s.steady_from == n - p + 1);
  }
}

RC_GTEST_PROP(SequenceSplit, WhatTheLinkCarriesIsNeverExceeded, ()) {
  const auto bytes = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 1000)));
  std::vector<double> a(bytes.begin(), bytes.end());
  const double budget = *rc::gen::inRange(1, 1000);
  const std::vector<double> budgets(a.size(), budget);
  const auto alpha = offload_ratios(a, budgets, *rc::gen::arbitrary<bool>());
  for (std::size_t i = 0; i < a.size(); ++i) {
    RC_ASSERT(alpha[i] >= 0 && alpha[i] <= 1);
    RC_ASSERT(alpha[i] * a[i] <= budget * (1 + 1e-12));
  }
  const auto held = resident_bytes(a, alpha);
  const std::vector<double> none(a.size(), 0.0);
  const auto all = resident_bytes(a, none);
  for (std::size_t i = 0; i < a.size(); ++i) RC_ASSERT(held[i] <= all[i] + 1e-9 && held[i] >= a[i] - 1e-9);
}

}  // namespace
}  // namespace comity::plan
