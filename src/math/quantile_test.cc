// SPDX-License-Identifier: Apache-2.0
#include "math/quantile.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace comity::math {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

double sorted_reference(std::vector<double> x, double q) {
  std::sort(x.begin(), x.end());
  const double h = static_cast<double>(x.size() - 1) * q;
  const auto j = static_cast<std::size_t>(h);
  return j + 1 == x.size() ? x[j] : x[j] + (h - static_cast<double>(j)) * (x[j + 1] - x[j]);
}

std::vector<double> to_doubles(const std::vector<int>& whole) { return {whole.begin(), whole.end()}; }

TEST(Quantile, ByHand) {
  std::vector<double> x{3, 1, 2, 4};
  EXPECT_DOUBLE_EQ(quantile(x, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(x, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(quantile(x, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile(x, 0.9), 3.7);
  EXPECT_DOUBLE_EQ(quantile(x, 1), 4);
  std::vector<double> one{7};
  EXPECT_EQ(quantile(one, 0.3), 7);
  EXPECT_TRUE(std::isnan(quantile({}, 0.5)));
}

TEST(Quantile, InfinitiesAreOrderedLikeNumbers) {
  std::vector<double> x{kInf, 1, -kInf};
  EXPECT_EQ(quantile(x, 0.5), 1);
  EXPECT_EQ(quantile(x, 1), kInf);
  std::vector<double> same{kInf, kInf};
  EXPECT_EQ(quantile(same, 0.4), kInf);
}

TEST(Quantiles, InTheOrderAsked) {
  std::vector<double> x{10, 0, 5, 15, 20};
  const std::vector<double> qs{1, 0.5, 0, 0.5, 0.125};
  EXPECT_EQ(quantiles(x, qs), (std::vector<double>{20, 10, 0, 10, 2.5}));
  EXPECT_TRUE(std::isnan(quantiles({}, qs)[4]));
  EXPECT_TRUE(quantiles(x, {}).empty());
}

TEST(Quantiles, AgreeWithASortedReference) {
  EXPECT_TRUE(rc::check([](const std::vector<int>& whole, const std::vector<unsigned char>& asked) {
    RC_PRE(!whole.empty());
    std::vector<double> qs;
    for (const unsigned char a : asked) {
      qs.push_back(a / 255.0);
    }
    const std::vector<double> original = to_doubles(whole);
    std::vector<double> x = original;
    const std::vector<double> got = quantiles(x, qs);
    for (std::size_t i = 0; i < qs.size(); ++i) {
      RC_ASSERT(std::fabs(got[i] - sorted_reference(original, qs[i])) <= 1e-6);
      RC_ASSERT(quantile(x, qs[i]) == got[i]);
    }
  }));
}

TEST(Mean, IsCompensated) {
  EXPECT_EQ(mean(std::vector<double>{1e100, 1, -1e100}), 1.0 / 3);
  EXPECT_EQ(mean(std::vector<double>{kInf, 1}), kInf);
  EXPECT_TRUE(std::isnan(mean({})));
}

TEST(DropNan, KeepsTheRestInOrder) {
  std::vector<double> x{NAN, 2, NAN, 1, kInf};
  EXPECT_EQ(drop_nan(x), 2U);
  EXPECT_EQ(x, (std::vector<double>{2, 1, kInf}));
}

TEST(Ecdf, ByHand) {
  std::vector<double> x{2, 1, 2, 5};
  const Ecdf e = ecdf(x);
  EXPECT_EQ(e.x, (std::vector<double>{1, 2, 5}));
  EXPECT_EQ(e.f, (std::vector<double>{0.25, 0.75, 1}));
  EXPECT_TRUE(ecdf({}).x.empty());
  std::vector<double> one{3};
  EXPECT_EQ(ecdf(one).f, std::vector<double>{1});
}

TEST(Ecdf, IsExactAtItsPointsAndKeepsTheEnds) {
  EXPECT_TRUE(rc::check([](const std::vector<int>& whole, unsigned char limit) {
    RC_PRE(!whole.empty());
    std::vector<double> x = to_doubles(whole);
    const Ecdf e = ecdf(x, limit);
    RC_ASSERT(e.x.size() <= std::max<std::size_t>(limit, 2));
    RC_ASSERT(e.x.size() == e.f.size());
    RC_ASSERT(e.x.front() == *std::min_element(x.begin(), x.end()));
    RC_ASSERT(e.x.back() == *std::max_element(x.begin(), x.end()));
    RC_ASSERT(e.f.back() == 1);
    for (std::size_t i = 0; i < e.x.size(); ++i) {
      const auto under = std::count_if(x.begin(), x.end(), [&](double v) { return v <= e.x[i]; });
      RC_ASSERT(e.f[i] == static_cast<double>(under) / static_cast<double>(x.size()));
      const bool rises = i == 0 || (e.x[i] > e.x[i - 1] && e.f[i] > e.f[i - 1]);
      RC_ASSERT(rises);
    }
  }));
}

TEST(Histogram, ByHand) {
  const std::vector<double> x{-1, 0, 0.5, 1, 2, 2.5, NAN, kInf};
  const Histogram h = histogram(x, {0, 1, 2});
  EXPECT_EQ(h.counts, (std::vector<std::uint64_t>{2, 2}));
  EXPECT_EQ(h.below, 1U);
  EXPECT_EQ(h.above, 2U);
}

TEST(Histogram, CountsEverySampleOnce) {
  EXPECT_TRUE(rc::check([](const std::vector<int>& whole) {
    const std::vector<double> x = to_doubles(whole);
    const Histogram h = histogram(x, linear_edges(-50, 50, 7));
    const auto inside = std::accumulate(h.counts.begin(), h.counts.end(), std::uint64_t{0});
    RC_ASSERT(inside + h.below + h.above == x.size());
  }));
}

TEST(Edges, Linear) { EXPECT_EQ(linear_edges(0, 1, 4), (std::vector<double>{0, 0.25, 0.5, 0.75, 1})); }

TEST(Edges, LogarithmicCoverTheRangeWithExactPowersOfTen) {
  EXPECT_EQ(log_edges(1, 1000, 1), (std::vector<double>{1, 10, 100, 1000}));
  EXPECT_EQ(log_edges(5, 5, 1), (std::vector<double>{1, 10}));
  EXPECT_EQ(log_edges(10, 10, 1), (std::vector<double>{10, 100}));
  for (const double low : {1e-9, 0.3, 1.0, 7.7, 1e5}) {
    for (const double ratio : {1.0, 1.5, 1e3, 1e12}) {
      const std::vector<double> e = log_edges(low, low * ratio, 5);
      EXPECT_LE(e.front(), low);
      EXPECT_GE(e.back(), low * ratio);
      EXPECT_TRUE(std::is_sorted(e.begin(), e.end(), std::less_equal<>()));
      EXPECT_LT(static_cast<double>(e.size()), 5 * std::log10(ratio) + 4);
    }
  }
}

}  // namespace
}  // namespace comity::math
