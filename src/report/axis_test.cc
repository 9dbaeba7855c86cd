// SPDX-License-Identifier: Apache-2.0
#include "report/axis.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "base/rng.h"

namespace comity::report {
namespace {

std::vector<std::string> labels(const PlannedAxis& plan) {
  std::vector<std::string> result;
  for (const Tick& tick : plan.ticks) {
    result.push_back(tick.label);
  }
  return result;
}

PlannedAxis plan(Scale scale, double low, double high, std::size_t most = 6, Ends ends = Ends::kData) {
  return plan_axis({.title = "x", .unit = "u", .scale = scale}, {low, high}, most, ends);
}

TEST(RoundStep, ByHand) {
  EXPECT_DOUBLE_EQ(round_step(10, 5), 2);
  EXPECT_DOUBLE_EQ(round_step(10, 6), 2);
  EXPECT_DOUBLE_EQ(round_step(1, 6), 0.2);
  EXPECT_DOUBLE_EQ(round_step(7000, 7), 1000);
}

TEST(NumberLabel, ByHand) {
  EXPECT_EQ(number_label(0), "0");
  EXPECT_EQ(number_label(12345), "12,345");
  EXPECT_EQ(number_label(-1234.5), "-1,234");
  EXPECT_EQ(number_label(0.125), "0.125");
  EXPECT_EQ(number_label(1.5e6), "1.5 M");
  EXPECT_EQ(number_label(3e13), "30 T");
  EXPECT_EQ(number_label(1e-7), "1e-07");
  EXPECT_EQ(number_label(NAN), "");
  EXPECT_EQ(number_label(0.1, 0.1, 1), "0.1");
  EXPECT_EQ(number_label(1500, 500, 3000), "1,500");
  EXPECT_EQ(number_label(2.5e9, 5e8, 3e9), "2.5 G");
}

TEST(PlanAxis, LinearByHand) {
  EXPECT_EQ(labels(plan(Scale::kLinear, 0, 10)), (std::vector<std::string>{"0", "2", "4", "6", "8", "10"}));
  const PlannedAxis rounded = plan(Scale::kLinear, 3, 97, 5, Ends::kRound);
  EXPECT_EQ(rounded.low, 0);
  EXPECT_EQ(rounded.high, 100);
  EXPECT_EQ(rounded.title, "x (u)");
  EXPECT_DOUBLE_EQ(rounded.place(25), 0.25);
}

TEST(PlanAxis, TimeCountsAsPeopleDo) {
  const PlannedAxis hours = plan(Scale::kTime, 0, 86400, 8);
  EXPECT_EQ(hours.title, "x (h)");
  EXPECT_EQ(labels(hours), (std::vector<std::string>{"0", "3", "6", "9", "12", "15", "18", "21", "24"}));
  EXPECT_EQ(plan(Scale::kTime, 0, 30 * 86400.0).title, "x (d)");
  EXPECT_EQ(plan(Scale::kTime, 0, 600).title, "x (min)");
  EXPECT_EQ(plan(Scale::kTime, 0, 20).title, "x (s)");
  EXPECT_EQ(plan(Scale::kTime, 0, 0.02).title, "x (ms)");
}

TEST(PlanAxis, LogarithmicByHand) {
  const std::vector<std::string> powers{"1", "10", "100", "1,000", "10,000", "100,000"};
  EXPECT_EQ(labels(plan(Scale::kLog, 1, 1e5)), powers);
  EXPECT_EQ(labels(plan(Scale::kLog, 2, 45)), (std::vector<std::string>{"2", "5", "10", "20", "50"}));
  const std::vector<std::string> times{"1 s", "10 s", "1 min", "10 min", "1 h", "6 h", "1 d"};
  EXPECT_EQ(labels(plan(Scale::kLogTime, 1, 86400, 7)), times);
}

TEST(PlanAxis, OneValueAndNoneStillHaveARange) {
  for (const Scale scale : {Scale::kLinear, Scale::kTime, Scale::kLog, Scale::kLogTime}) {
    for (const double v : {1e-12, 1.0, 7.3, 3e9}) {
      const PlannedAxis one = plan(scale, v, v);
      EXPECT_LT(one.low, one.high);
      EXPECT_GE(one.ticks.size(), 1U);
    }
    const PlannedAxis none = plan_axis({.title = "x", .unit = {}, .scale = scale}, {}, 5, Ends::kRound);
    EXPECT_LT(none.low, none.high);
  }
  EXPECT_EQ(plan(Scale::kLinear, 0, 0).high, 1);
}

// Laws for any range: the axis holds the data, ticks rise within it, are few but at least two, and differ in label.
void check_laws(Scale scale, double low, double high, std::size_t most, Ends ends) {
  const PlannedAxis p = plan(scale, low, high, most, ends);
  ASSERT_LE(p.low, low * (low > 0 ? 1 + 1e-9 : 1 - 1e-9));
  ASSERT_GE(p.high, high * (high > 0 ? 1 - 1e-9 : 1 + 1e-9));
  ASSERT_GE(p.ticks.size(), 2U) << low << " " << high << " " << most;
  ASSERT_LE(p.ticks.size(), 2 * most + 2);
  std::set<std::string> seen;
  for (std::size_t i = 0; i < p.ticks.size(); ++i) {
    ASSERT_GE(p.place(p.ticks[i].at), -1e-6);
    ASSERT_LE(p.place(p.ticks[i].at), 1 + 1e-6);
    ASSERT_TRUE(i == 0 || p.ticks[i].at > p.ticks[i - 1].at);
    ASSERT_TRUE(seen.insert(p.ticks[i].label).second) << p.ticks[i].label << " " << low << " " << high;
  }
}

TEST(PlanAxis, LawsOfTicks) {
  std::uint64_t dice = 1;
  const auto uniform = [&] { return static_cast<double>(mix64(++dice) >> 11) * 0x1p-53; };
  for (int i = 0; i < 20'000; ++i) {
    const double size = std::pow(10, 30 * uniform() - 12);
    const double low = (uniform() - 0.3) * size;
    const double high = low + size * std::pow(10, -6 * uniform());
    const std::size_t most = 4 + static_cast<std::size_t>(uniform() * 8);
    const Ends ends = uniform() < 0.5 ? Ends::kData : Ends::kRound;
    check_laws(Scale::kLinear, low, high, most, ends);
    check_laws(Scale::kTime, low, high, most, ends);
    const double positive = std::fabs(low) + size * 1e-6;
    check_laws(Scale::kLog, positive, positive * (1.01 + std::pow(10, 12 * uniform())), most, ends);
    check_laws(Scale::kLogTime, positive, positive * (1.01 + std::pow(10, 12 * uniform())), most, ends);
  }
}

TEST(PlanAxis, HugeValuesStayFinite) {
  Extent extent;
  extent.add(-1.7e308, Scale::kLinear);
  extent.add(1.7e308, Scale::kLinear);
  extent.add(INFINITY, Scale::kLinear);
  const PlannedAxis p = plan_axis({}, extent, 5, Ends::kRound);
  EXPECT_TRUE(std::isfinite(p.place(1.7e308)));
}

}  // namespace
}  // namespace comity::report
