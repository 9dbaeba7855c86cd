// SPDX-License-Identifier: Apache-2.0
// Every bound is five standard errors wide or more, and the seeds are fixed: a failure is a fault, not chance.
#include "base/rng.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace comity {
namespace {

struct Moments {
  double mean = 0;
  double variance = 0;
};

template <class Draw>
Moments moments(int count, Draw draw) {
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < count; ++i) {
    const double x = static_cast<double>(draw());
    sum += x;
    squares += x * x;
  }
  const double mean = sum / count;
  return {mean, squares / count - mean * mean};
}

constexpr int kDraws = 400'000;

// The first numbers of a stream are part of the interface: a recorded run must replay for ever.
TEST(RngTest, StreamIsFixedForEver) {
  Rng rng(42);
  const std::array<std::uint64_t, 4> first = {rng.next(), rng.next(), rng.next(), rng.next()};
  const std::array<std::uint64_t, 4> expected = {0xeb42c2560e9f46d3ULL, 0xba040fc580dff35fULL, 0x73f4cc6df99d830fULL,
                                                 0xbf404b6831adb597ULL};
  EXPECT_EQ(first, expected);
  EXPECT_EQ(Rng(1).exponential(1), 0.28518329561168537);
  EXPECT_EQ(Rng(1).normal(0, 1), -1.5841673365675011);
  EXPECT_EQ(Rng(1).poisson(1e6), 999235U);
}

TEST(RngTest, StreamsDiffer) {
  std::vector<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    for (std::uint64_t stream = 0; stream < 40; ++stream) seen.push_back(Rng(seed, stream).next());
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
}

TEST(RngTest, UniformMomentsAndRange) {
  Rng rng(1);
  double low = 1;
  double high = 0;
  const Moments m = moments(kDraws, [&] {
    const double x = rng.uniform();
    low = std::min(low, x);
    high = std::max(high, x);
    return x;
  });
  EXPECT_GE(low, 0);
  EXPECT_LT(high, 1);
  EXPECT_NEAR(m.mean, 0.5, 0.0025);
  EXPECT_NEAR(m.variance, 1.0 / 12, 0.001);
  for (int i = 0; i < 1000; ++i) EXPECT_LT(rng.uniform(1, 1 + 1e-15), 1 + 1e-15);
  EXPECT_EQ(rng.uniform(3, 3), 3);
}

// chi-square over n cells, n - 1 degrees of freedom: mean n - 1, deviation sqrt(2 (n - 1)).
TEST(RngTest, BelowIsUnbiased) {
  for (const std::uint64_t n : {2ULL, 3ULL, 7ULL, 10ULL, 1000ULL}) {
    Rng rng(7, n);
    std::vector<double> counts(n, 0);
    for (int i = 0; i < kDraws; ++i) ++counts[rng.below(n)];
    const double each = static_cast<double>(kDraws) / static_cast<double>(n);
    double chi = 0;
    for (const double count : counts) chi += (count - each) * (count - each) / each;
    const double freedom = static_cast<double>(n - 1);
    EXPECT_LT(chi, freedom + 6 * std::sqrt(2 * freedom)) << n;
  }
}

// With n = 3 * 2^62 a plain remainder or multiplication would give a third of the values twice the weight.
TEST(RngTest, BelowIsUnbiasedNearTheTopOfTheRange) {
  Rng rng(9);
  const std::uint64_t n = 3ULL << 62;
  std::array<double, 3> thirds{};
  for (int i = 0; i < kDraws; ++i) ++thirds[rng.below(n) >> 62];
  for (const double count : thirds) EXPECT_NEAR(count / kDraws, 1.0 / 3, 0.004);
  EXPECT_EQ(rng.below(1), 0U);
}

TEST(RngTest, ExponentialMoments) {
  Rng rng(2);
  const Moments m = moments(kDraws, [&] { return rng.exponential(5); });
  EXPECT_NEAR(m.mean, 5, 0.04);
  EXPECT_NEAR(m.variance, 25, 0.6);
}

TEST(RngTest, ExponentialTail) {
  Rng rng(12);
  int above = 0;
  for (int i = 0; i < kDraws; ++i) above += rng.exponential(1) > 3 ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(above) / kDraws, std::exp(-3.0), 0.002);
}

TEST(RngTest, NormalMomentsAndTail) {
  Rng rng(3);
  int beyond = 0;
  const Moments m = moments(kDraws, [&] {
    const double x = rng.normal(-2, 3);
    beyond += std::fabs(x + 2) > 6 ? 1 : 0;
    return x;
  });
  EXPECT_NEAR(m.mean, -2, 0.025);
  EXPECT_NEAR(m.variance, 9, 0.12);
  EXPECT_NEAR(static_cast<double>(beyond) / kDraws, 0.0455, 0.002);
}

TEST(RngTest, PoissonMomentsOnBothMethods) {
  for (const double mean : {0.01, 0.7, 4.0, 9.99, 10.0, 30.0, 1000.0, 1e9}) {
    Rng rng(4, static_cast<std::uint64_t>(mean * 100));
    const Moments m = moments(kDraws, [&] { return static_cast<double>(rng.poisson(mean)) - mean; });
    EXPECT_NEAR(m.mean, 0, 5 * std::sqrt(mean / kDraws)) << mean;
    EXPECT_NEAR(m.variance / mean, 1, 5 * std::sqrt((2 + 1 / mean) / kDraws)) << mean;
  }
  EXPECT_EQ(Rng(4).poisson(0), 0U);
}

// The rejection method against the probabilities themselves.
TEST(RngTest, PoissonProbabilities) {
  const double mean = 12;
  Rng rng(5);
  std::vector<double> counts(60, 0);
  for (int i = 0; i < kDraws; ++i) ++counts[std::min<std::uint64_t>(rng.poisson(mean), 59)];
  for (int k = 0; k < 30; ++k) {
    const double p = std::exp(k * std::log(mean) - mean - std::lgamma(k + 1.0));
    const double error = 5.5 * std::sqrt(p / kDraws) + 1e-5;
    EXPECT_NEAR(counts[static_cast<std::size_t>(k)] / kDraws, p, error) << k;
  }
}

TEST(RngTest, PickFollowsTheWeights) {
  Rng rng(6);
  const std::array<double, 5> weights = {0, 1, 3, 0, 0};
  std::array<double, 5> counts{};
  for (int i = 0; i < kDraws; ++i) ++counts[rng.pick(weights)];
  EXPECT_EQ(counts[0] + counts[3] + counts[4], 0);
  EXPECT_NEAR(counts[1] / kDraws, 0.25, 0.004);
}

TEST(RngTest, SenselessArgumentsAreBugs) {
  Rng rng(1);
  EXPECT_EXIT((void)rng.below(0), testing::ExitedWithCode(70), "n > 0");
  EXPECT_EXIT((void)rng.poisson(-1), testing::ExitedWithCode(70), "mean");
  EXPECT_EXIT((void)rng.pick({}), testing::ExitedWithCode(70), "sum");
}

// The generator's own logarithm, seen through exponential(): u is known from a twin generator.
RC_GTEST_PROP(RngProperty, ExponentialIsTheInverseOfItsDistribution, (std::uint64_t seed)) {
  const double u = Rng(seed).uniform();
  const double x = Rng(seed).exponential(1);
  const double expected = -std::log(1 - u);
  RC_ASSERT(std::fabs(x - expected) <= 4e-16 * expected);
}

RC_GTEST_PROP(RngProperty, BelowStaysBelow, (std::uint64_t seed, std::uint64_t n)) {
  RC_PRE(n > 0U);
  RC_ASSERT(Rng(seed).below(n) < n);
}

}  // namespace
}  // namespace comity
