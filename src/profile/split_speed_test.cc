// SPDX-License-Identifier: Apache-2.0
#include "profile/split_speed.h"

#include <numeric>

#include <gtest/gtest.h>

namespace comity::profile {
namespace {

TEST(SplitSpeed, OfTheTable) {
  EXPECT_NEAR(split_speed("alexnet", 8, 2), .508, .001);
  EXPECT_NEAR(split_speed("VGG-16", 8, 2), .572, .001);
  EXPECT_NEAR(split_speed("resnet101", 8, 4), .803, .001);
  EXPECT_NEAR(split_speed("inception", 8, 4), .879, .001);
  EXPECT_EQ(split_speed("alexnet", 8, 1), 1);
  EXPECT_EQ(split_speed("alexnet", 1, 2), 1);
}

TEST(SplitSpeed, BetweenTheColumnsAndWithoutARow) {
  EXPECT_EQ(split_speed("resnet101", 5, 2), split_speed("resnet101", 6, 2));
  EXPECT_EQ(split_speed("resnet101", 8, 3), split_speed("resnet101", 8, 2));
  EXPECT_EQ(split_speed("somebody's", 8, 2), split_speed("alexnet", 8, 2));  // the slowest
}

TEST(SplitSpeed, PiecesAddUp) {
  for (std::uint32_t g = 1; g <= 8; ++g) {
    ASSERT_FALSE(splits(g).empty());
    for (const auto& pieces : splits(g)) EXPECT_EQ(std::accumulate(pieces.begin(), pieces.end(), 0U), g);
  }
  EXPECT_TRUE(splits(9).empty());
}

TEST(SplitSpeed, RefusesWhatIsNoTable) {
  const std::string head = "schema = \"comity.splits/1\"\ngpus = [2, 4]\nnodes = [2, 2]\n";
  EXPECT_TRUE(parse_splits(head + "[[models]]\nname = \"a\"\nspeeds = [0.5, 0.4]\n", "t"));
  EXPECT_FALSE(parse_splits(head, "t"));
  EXPECT_FALSE(parse_splits(head + "[[models]]\nname = \"a\"\nspeeds = [0.5]\n", "t"));
  EXPECT_FALSE(parse_splits(head + "[[models]]\nname = \"a\"\nspeeds = [0.5, -1]\n", "t"));
  EXPECT_FALSE(parse_splits(
      "schema = \"comity.splits/1\"\ngpus = [2]\nnodes = [2, 3]\n[[models]]\nname = \"a\"\nspeeds = [1]\n", "t"));
  EXPECT_FALSE(parse_splits("gpus = 3", "t"));
}

}  // namespace
}  // namespace comity::profile
