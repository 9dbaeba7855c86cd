// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "sched/typed_cluster.h"

namespace comity::sched {
namespace {

TEST(Allox, OnOneTypeTheShortestGoesFirst) {
  TestCluster w(*cluster::parse_nodes("1x1"), "allox");
  const auto longer = w.submit({0, 1}, "", 2 * kHour);
  const auto shorter = w.submit({0, 1}, "", kHour);
  w.pass();
  EXPECT_TRUE(w.running(shorter));
  EXPECT_FALSE(w.running(longer));
}

// One fast GPU and one slow one; x is four times as fast on the fast one, z as fast on either.
TEST(Allox, WhoGainsMostFromAFastGpuGetsIt) {
  TestCluster w(typed_nodes({{"fast", 1}, {"slow", 1}}), "allox");
  w.use_rates(test_rates());
  w.allow_sharing({of_model(w, "z"), of_model(w, "x")});
  const auto same = w.submit({0, 1}, "", kHour);
  const auto faster = w.submit({0, 1}, "", kHour);
  w.pass();
  EXPECT_EQ(speed(w, faster), 1);
  EXPECT_EQ(speed(w, same), 1);
  EXPECT_EQ(w.figure("matchings"), 1);
}

// The fast GPU is busy for an hour more. A job of an hour there, four on the slow one, waits for it (2 < 4); where busy
// GPUs count as free it waits, too, but when the fast one is busy for ten hours only the delay tells.
TEST(Allox, WaitsForAFasterGpuAsLongAsThatPays) {
  for (const int busy : {1, 10}) {
    for (const bool delays : {true, false}) {
      TestCluster w(typed_nodes({{"fast", 1}, {"slow", 1}}), "allox", {{"allox.delays", delays ? "true" : "false"}});
      w.use_rates(test_rates());
      w.allow_sharing({of_model(w, "x")});
      const auto first = w.submit({0, 1}, "", busy * kHour);
      w.pass();
      EXPECT_EQ(speed(w, first), 1);
      const auto second = w.submit({0, 1}, "", kHour);
      w.step();
      w.pass();
      EXPECT_EQ(w.running(second), busy == 10 && delays) << busy << delays;
      if (w.running(second)) {
        EXPECT_EQ(speed(w, second), 0.25);
      }
      w.end(first);
      w.pass();
      EXPECT_TRUE(w.running(second));
    }
  }
}

TEST(Allox, NobodyIsPreempted) {
  TestCluster w(typed_nodes({{"fast", 1}, {"slow", 1}}), "allox");
  w.use_rates(test_rates());
  w.allow_sharing({of_model(w, "x")});
  for (int i = 0; i < 10; ++i, w.step(100 * kSecond)) {
    w.submit({0, 1}, "", (20 - i) * kMinute);
    w.pass();
    EXPECT_EQ(w.preemptions(), 0U);
  }
}

// A wide job counts as the GPU time that it takes.
TEST(Allox, AWideJobIsAsLongAsItsGpuTime) {
  TestCluster w(*cluster::parse_nodes("1x4"), "allox");
  const auto wide = w.submit({0, 4}, "", kHour);
  const auto narrow = w.submit({0, 1}, "", 3 * kHour);
  w.pass();
  EXPECT_TRUE(w.running(narrow));
  EXPECT_FALSE(w.running(wide));
}

TEST(Allox, ConsidersTheJobsWithLeastWork) {
  TestCluster w(typed_nodes({{"fast", 1}, {"slow", 1}}), "allox", {{"allox.jobs", "1"}});
  w.use_rates(test_rates());
  w.allow_sharing({of_model(w, "z")});
  w.submit({0, 1}, "", 2 * kHour);
  const auto shortest = w.submit({0, 1}, "", kHour);
  w.pass();
  EXPECT_TRUE(w.running(shortest));
}

TEST(Allox, HoldsUnderAnyEvents) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    TestCluster w(typed_nodes({{"fast", 4}, {"slow", 4}, {"fast", 8}, {"other", 2}}), "allox", {},
                  seed % 3 == 0 ? cluster::Placement::kConsolidated : cluster::Placement::kBestFit);
    if (seed % 5 != 0) w.use_rates(test_rates());
    w.allow_sharing({of_model(w, "x"), of_model(w, "far"), of_model(w, "picky"), {}});
    RandomLife life;
    life.seed = seed;
    random_life(w, life);
  }
}

}  // namespace
}  // namespace comity::sched
