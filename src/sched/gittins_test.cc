// SPDX-License-Identifier: Apache-2.0
// The table of Gittins indices against the definition, sample by sample.
#include "sched/gittins.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace comity::sched {
namespace {

// The definition: no sorting, no sums kept.
double plain_index(const std::vector<double>& samples, double quantum, double attained) {
  double v = -1;
  const double last = *std::max_element(samples.begin(), samples.end());
  for (const double d : samples) {
    if (d > attained && (v < 0 || d < v)) v = d;
  }
  if (v < 0) return 0;
  double ends = 0;
  double left = 0;
  double sum = 0;
  double greatest_out = v + quantum > last ? 1 : 0;  // one of the greatest never counts as ending
  for (const double d : samples) {
    if (d < v) continue;
    ++left;
    const bool within = v + quantum > last || d < v + quantum;
    if (!within || (d == last && greatest_out-- > 0)) {
      sum += quantum;
    } else {
      ++ends;
      sum += d;
    }
  }
  const auto round_to = [](double x, double digits) { return std::nearbyint(x * digits) / digits; };
  const double p = round_to(ends / left, 1e5);
  const double e = round_to(sum / left, 1e5);
  return e > 0 ? round_to(p * 1e6 / e, 1e4) : 0;
}

TEST(Gittins, TheTableIsTheDefinition) {
  EXPECT_TRUE(rc::check([] {
    const auto whole = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 300)));
    const std::vector<double> samples(whole.begin(), whole.end());
    const double quantum = *rc::gen::inRange(1, 200);
    const GittinsTable table(samples, quantum);
    std::uint32_t from = 0;
    for (int a = 0; a <= 310; ++a) {
      const GittinsTable::Step step = table.at(a);
      RC_ASSERT(std::abs(step.index - plain_index(samples, quantum, a)) < 1e-9);
      RC_ASSERT(table.at(a, from).index == step.index);
      from = step.next;
      const GittinsTable::Step other = table.at(*rc::gen::inRange(0, 310));
      RC_ASSERT((step.index < other.index) == (step.level < other.level));
    }
  }));
}

TEST(Gittins, TheIndexHoldsUntilItSays) {
  EXPECT_TRUE(rc::check([] {
    const auto whole = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 300)));
    const GittinsTable table(std::vector<double>(whole.begin(), whole.end()), 50);
    for (int a = 0; a <= 310; ++a) {
      const GittinsTable::Step step = table.at(a);
      RC_ASSERT(step.until > a);
      for (int b = a; b < 310 && b < step.until; ++b) RC_ASSERT(table.at(b).level == step.level);
    }
  }));
}

// By hand: samples 10, 20, 30, quantum 15. At 0: v = 10, one of three ends below 25 ... 10 and 20 do; P = 2/3,
// E = (10 + 20 + 15) / 3 = 15. At 25: v = 30 is the last, which never counts.
TEST(Gittins, ThreeSamplesByHand) {
  const GittinsTable table({30, 10, 20}, 15);
  EXPECT_NEAR(table.at(0).index, 0.66667e6 / 15, 1e-4);
  EXPECT_NEAR(table.at(10).index, 0.5e6 / 17.5, 1e-4);
  EXPECT_EQ(table.at(25).index, 0);
  EXPECT_EQ(table.at(30).index, 0);
}

}  // namespace
}  // namespace comity::sched
