// SPDX-License-Identifier: Apache-2.0
// Against every subset of up to ten nodes.
#include "cluster/consolidate.h"

#include <bit>
#include <numeric>
#include <tuple>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace comity::cluster {
namespace {

std::vector<std::uint32_t> by_trying_all(const std::vector<std::uint32_t>& free, std::uint32_t gpus) {
  std::vector<std::uint32_t> best;
  std::tuple<std::size_t, std::uint32_t, std::vector<std::uint32_t>> least{~std::size_t{0}, 0, {}};
  for (std::uint32_t set = 1; set < (1U << free.size()); ++set) {
    std::vector<std::uint32_t> nodes;
    std::uint32_t sum = 0;
    bool usable = true;
    for (std::uint32_t i = 0; i < free.size(); ++i) {
      if ((set >> i & 1) == 0) continue;
      nodes.push_back(i);
      sum += free[i];
      usable = usable && free[i] > 0;
    }
    if (!usable || sum < gpus) continue;
    const auto mine = std::make_tuple(nodes.size(), sum - gpus, nodes);
    if (mine < least) least = mine;
  }
  return std::get<2>(least);
}

TEST(Consolidate, TiesGoToTheLowestIndices) {
  EXPECT_EQ(fewest_nodes({6, 6, 8, 4}, 12), (std::vector<std::uint32_t>{0, 1}));  // not 8 and 4
  EXPECT_EQ(fewest_nodes({8, 8, 8}, 20), (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_TRUE(fewest_nodes({1, 0, 2}, 4).empty());
  EXPECT_TRUE(fewest_nodes({}, 1).empty());
}

TEST(Consolidate, IsTheBestOfAllSubsets) {
  EXPECT_TRUE(rc::check([] {
    const auto free = *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange(0U, 9U)).as("free");
    RC_PRE(free.size() <= 10);
    const auto gpus = *rc::gen::inRange(1U, 40U);
    RC_ASSERT(fewest_nodes(free, gpus) == by_trying_all(free, gpus));
  }));
}

}  // namespace
}  // namespace comity::cluster
