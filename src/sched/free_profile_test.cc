// SPDX-License-Identifier: Apache-2.0
#include "sched/free_profile.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace comity::sched {
namespace {

// One number an instant.
class Plain {
 public:
  Plain(std::size_t horizon, std::int64_t free) : free_(horizon, free) {}
  void add(Time from, Time to, std::int64_t g) {
    for (Time t = from; t < std::min<Time>(to, static_cast<Time>(free_.size())); ++t)
      free_[static_cast<std::size_t>(t)] += g;
  }
  [[nodiscard]] std::int64_t at(Time t) const { return free_[static_cast<std::size_t>(t)]; }
  [[nodiscard]] Time earliest(Time from, std::int64_t g, Time length) const {
    for (Time t = from;; ++t) {
      bool good = true;
      for (Time u = t; u < t + length && good; ++u) good = at(u) >= g;
      if (good) return t;
    }
  }

 private:
  std::vector<std::int64_t> free_;
};

TEST(FreeProfile, AgreesWithOneNumberAnInstant) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Rng rng(seed);
    const std::int64_t gpus = 16;
    Plain plain(20000, gpus);
    FreeProfile profile;
    profile.reset(0, gpus);
    Time now = 0;
    for (int step = 0; step < 300; ++step) {
      now += static_cast<Time>(rng.below(4));
      profile.advance(now);
      const auto g = static_cast<std::int64_t>(1 + rng.below(16));
      const auto length = static_cast<Time>(1 + rng.below(40));
      const Time at = profile.earliest(now, g, length);
      ASSERT_EQ(at, plain.earliest(now, g, length)) << "seed " << seed << " step " << step;
      profile.add(at, at + length, -g);
      plain.add(at, at + length, -g);
      const auto probe = now + static_cast<Time>(rng.below(200));
      ASSERT_EQ(profile.free_at(probe), plain.at(probe));
      ASSERT_EQ(profile.holds(probe, g, length), plain.earliest(probe, g, length) == probe);
    }
    EXPECT_GT(profile.steps(), 1U);
  }
}

TEST(FreeProfile, NeverWhenItIsTooWide) {
  FreeProfile profile;
  profile.assign({{0, 2}, {10, 4}});
  EXPECT_EQ(profile.earliest(0, 5, 1), kNever);
  EXPECT_EQ(profile.earliest(0, 3, 100), 10);
  EXPECT_EQ(profile.next_step(0), 10);
  EXPECT_EQ(profile.next_step(10), kNever);
}

}  // namespace
}  // namespace comity::sched
