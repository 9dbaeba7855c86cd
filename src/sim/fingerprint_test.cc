// SPDX-License-Identifier: Apache-2.0
#include "sim/fingerprint.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>

namespace comity::sim {
namespace {

std::uint64_t of(Time t, std::uint32_t kind, std::uint64_t id) {
  Fingerprint f;
  f.add(t, kind, id);
  return f.value();
}

TEST(Fingerprint, IsTheSameForTheSameEvents) { EXPECT_EQ(of(1, 2, 3), of(1, 2, 3)); }

TEST(Fingerprint, DependsOnTheOrder) {
  Fingerprint a;
  Fingerprint b;
  a.add(1, 1, 1);
  a.add(1, 1, 2);
  b.add(1, 1, 2);
  b.add(1, 1, 1);
  EXPECT_NE(a.value(), b.value());
}

TEST(Fingerprint, SeesAnEventOfZeros) {
  Fingerprint f;
  std::set<std::uint64_t> seen{f.value()};
  for (int i = 0; i < 1000; ++i) {
    f.add(0, 0, 0);
    EXPECT_TRUE(seen.insert(f.value()).second);
  }
}

TEST(Fingerprint, SmallFieldsDoNotCollide) {
  std::set<std::uint64_t> seen;
  for (Time t = -20; t < 20; ++t) {
    for (std::uint32_t kind = 0; kind < 20; ++kind) {
      for (std::uint64_t id = 0; id < 50; ++id) {
        seen.insert(of(t, kind, id));
      }
    }
  }
  EXPECT_EQ(seen.size(), 40U * 20 * 50);
}

TEST(Fingerprint, OneBitMovesHalfOfTheBits) {
  const std::uint64_t base = of(12345, 6, 789);
  double flipped = 0;
  for (int bit = 0; bit < 64; ++bit) {
    flipped += std::popcount(base ^ of(12345 ^ (std::int64_t{1} << (bit % 62)), 6, 789));
    flipped += std::popcount(base ^ of(12345, 6U ^ (1U << (bit % 32)), 789));
    flipped += std::popcount(base ^ of(12345, 6, 789 ^ (std::uint64_t{1} << bit)));
  }
  EXPECT_NEAR(flipped / (3 * 64), 32, 1.5);
}

// A recorded value: a change here breaks every golden file.
TEST(Fingerprint, IsFixedForEver) {
  Fingerprint f;
  for (std::uint64_t i = 0; i < 100; ++i) {
    f.add(static_cast<Time>(i * i), static_cast<std::uint32_t>(i % 5), i);
  }
  EXPECT_EQ(f.value(), 13'405'900'460'060'778'183ULL);
}

}  // namespace
}  // namespace comity::sim
