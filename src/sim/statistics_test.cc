// SPDX-License-Identifier: Apache-2.0
#include "sim/statistics.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "base/rng.h"

namespace comity::sim {
namespace {

TEST(CompensatedSum, KeepsWhatADoubleDrops) {
  CompensatedSum sum;
  sum.add(1e16);
  for (int i = 0; i < 1000; ++i) {
    sum.add(1);
  }
  sum.add(-1e16);
  EXPECT_EQ(sum.value(), 1000);
}

TEST(TimeWeighted, IntegratesByHand) {
  TimeWeighted signal(2 * kSecond, 1);
  signal.set(4 * kSecond, 3);   // 2 x 1
  signal.add(5 * kSecond, -1);  // 1 x 3
  EXPECT_EQ(signal.value(), 2);
  EXPECT_DOUBLE_EQ(signal.integral(10 * kSecond), 2 + 3 + 10);
  EXPECT_DOUBLE_EQ(signal.mean(10 * kSecond), 15.0 / 8);
  EXPECT_EQ(TimeWeighted(0, 7).mean(0), 7);
}

TEST(BinnedSeries, MeansByHand) {
  BinnedSeries series({"busy", "waiting"}, 0, 10, 4);
  series.set(0, 0, 2);
  series.set(0, 5, 4);    // bin 0: 5 x 2 + 5 x 4 = 30 -> 3
  series.set(1, 15, 10);  // bin 1: busy 4, waiting 5 x 10 -> 5
  series.set(0, 20, 0);
  series.finish(25);
  ASSERT_EQ(series.size(), 3U);
  EXPECT_EQ(series.means(0), (std::vector<double>{3, 4, 0}));
  EXPECT_EQ(series.means(1), (std::vector<double>{0, 5, 10}));
  EXPECT_EQ(series.bin_end(2), 25);
  EXPECT_DOUBLE_EQ(series.total(0), 70e-9);
  EXPECT_EQ(series.name(1), "waiting");
  EXPECT_EQ(series.begins_seconds()[2], 20e-9);
}

TEST(BinnedSeries, TheWidthDoublesWhenTimePassesTheEnd) {
  BinnedSeries series({"busy"}, 0, 10, 4);
  series.set(0, 0, 1);
  series.set(0, 39, 2);
  series.finish(39);
  EXPECT_EQ(series.width(), 10);
  series.set(0, 45, 3);
  series.finish(50);
  EXPECT_EQ(series.width(), 20);
  ASSERT_EQ(series.size(), 3U);
  EXPECT_DOUBLE_EQ(series.integral(0, 0), 20e-9);
  EXPECT_DOUBLE_EQ(series.integral(0, 1), (19 + 2) * 1e-9);
  EXPECT_DOUBLE_EQ(series.integral(0, 2), (10 + 15) * 1e-9);
}

TEST(BinnedSeries, EmptyAndInstantSeriesHaveNoBins) {
  BinnedSeries series({"busy"});
  EXPECT_EQ(series.size(), 0U);
  series.set(0, 0, 5);
  series.finish(0);
  EXPECT_EQ(series.size(), 0U);
  EXPECT_EQ(series.total(0), 0);
  EXPECT_EQ(series.value(0), 5);
  BinnedSeries none({});
  none.finish(kDay);
  EXPECT_GT(none.size(), 0U);
}

TEST(BinnedSeries, SpansSeventyYearsFromASecond) {
  BinnedSeries series({"busy"}, 0, kSecond, 512);
  series.set(0, 0, 1);
  series.finish(kMaxTime);
  EXPECT_LE(series.size(), 512U);
  EXPECT_GT(series.size(), 255U);
  EXPECT_DOUBLE_EQ(series.total(0), to_seconds(kMaxTime));
}

// Law: whatever the events, widths and number of bins, the bins of each channel add up to its exact integral (kept
// here in 128-bit whole numbers), each bin's mean lies between the signal's extremes, and reading in between changes
// nothing.
void check_law(std::uint64_t seed) {
  std::uint64_t dice = seed << 32;
  const auto below = [&](std::uint64_t n) { return mix64(++dice) % n; };
  const Time origin = static_cast<Time>(below(1000));
  BinnedSeries series({"a", "b", "c"}, origin, 1 + static_cast<Time>(below(50)), 2 + below(30));
  __extension__ using Wide = __int128;
  Wide exact[3] = {};
  std::int64_t value[3] = {};
  Time now = origin;
  Time last[3] = {origin, origin, origin};
  for (int i = 0; i < 2000; ++i) {
    now += static_cast<Time>(below(8) == 0 ? below(5000) : below(3));
    const std::size_t c = below(3);
    exact[c] += Wide{value[c]} * (now - last[c]);
    last[c] = now;
    value[c] = static_cast<std::int64_t>(below(1000));
    series.set(c, now, static_cast<double>(value[c]));
    if (below(100) == 0) {
      series.finish(now);
    }
  }
  const Time end = now + static_cast<Time>(below(100'000));
  series.finish(end);
  for (std::size_t c = 0; c < 3; ++c) {
    exact[c] += Wide{value[c]} * (end - last[c]);
    double sum = 0;
    for (std::size_t b = 0; b < series.size(); ++b) {
      sum += series.integral(c, b);
      ASSERT_GE(series.mean(c, b), 0);
      ASSERT_LE(series.mean(c, b), 999);
      ASSERT_LT(series.bin_begin(b), series.bin_end(b));
    }
    ASSERT_EQ(series.total(c), static_cast<double>(exact[c]) * 1e-9);
    ASSERT_NEAR(sum, series.total(c), 1e-12 * sum);
  }
  ASSERT_EQ(series.bin_end(series.size() - 1), end);
}

TEST(BinnedSeries, BinsAddUpToTheExactIntegral) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    check_law(seed);
  }
}

TEST(BinnedSeries, AgreesWithTimeWeighted) {
  BinnedSeries series({"x"}, 0, kMillisecond, 16);
  TimeWeighted whole;
  std::uint64_t dice = 7;
  Time now = 0;
  for (int i = 0; i < 100'000; ++i) {
    now += static_cast<Time>(mix64(++dice) % 1'000'000);
    const double value = static_cast<double>(mix64(++dice) % 1'000'000) * 1e-3;
    series.set(0, now, value);
    whole.set(now, value);
  }
  series.finish(now + 5);
  EXPECT_NEAR(series.total(0), whole.integral(now + 5), 1e-13 * series.total(0));
}

}  // namespace
}  // namespace comity::sim
