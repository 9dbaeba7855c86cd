// SPDX-License-Identifier: Apache-2.0
#include "math/minimise.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace comity::math {
namespace {

TEST(Minimise, FindsTheBottomOfRosenbrocksValley) {
  const auto valley = [](const std::vector<double>& x) {
    return 100 * std::pow(x[1] - x[0] * x[0], 2) + std::pow(1 - x[0], 2);
  };
  const Minimum m = minimise(valley, {-1.2, 1}, {0.1, 0.1}, 2000);
  EXPECT_NEAR(m.at[0], 1, 1e-4);
  EXPECT_NEAR(m.at[1], 1, 1e-4);
  EXPECT_LE(m.evaluations, 2010U);
}

TEST(Minimise, StaysWhereTheFunctionIsFinite) {
  const auto wall = [](const std::vector<double>& x) {
    return x[0] > 1 ? std::numeric_limits<double>::infinity() : (x[0] - 3) * (x[0] - 3);
  };
  const Minimum m = minimise(wall, {0}, {0.5}, 400);
  EXPECT_LE(m.at[0], 1);
  EXPECT_NEAR(m.at[0], 1, 1e-3);
}

TEST(Minimise, OfManyVariables) {
  const auto bowl = [](const std::vector<double>& x) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - static_cast<double>(i)) * (x[i] - static_cast<double>(i));
    return sum;
  };
  const Minimum m = minimise(bowl, std::vector<double>(6, 0), std::vector<double>(6, 0.5), 4000);
  EXPECT_NEAR(m.value, 0, 1e-6);
}

}  // namespace
}  // namespace comity::math
