// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "sched/test_cluster.h"

namespace comity::sched {
namespace {

cluster::ClusterSpec nodes(const std::string& text) { return *cluster::parse_nodes(text); }

profile::Attributes model(TestCluster& w, const std::string& name) {
  profile::Attributes a;
  a.model = w.intern(name);
  return a;
}

std::uint32_t gpus(TestCluster& w, std::uint32_t job) {
  return w.running(job) ? w.state().running()[w.job(job).slot].gpus : 0;
}

TEST(IceFrog, AJobAloneGrowsToTheMostItMayHave) {
  TestCluster w(nodes("1x8"), "icefrog");
  w.allow_resizing({model(w, "resnet50")});
  const auto job = w.submit({0, 2});
  w.pass();
  EXPECT_EQ(gpus(w, job), 4U);  // twice what it asked for
}

TEST(IceFrog, TheShorterOfTwoGetsMore) {
  TestCluster w(nodes("1x6"), "icefrog");
  w.allow_resizing({model(w, "resnet50")});
  const auto longer = w.submit({0, 4}, "", 10 * kHour);
  const auto shorter = w.submit({0, 4}, "", kHour);
  w.pass();
  EXPECT_EQ(gpus(w, shorter), 4U);
  EXPECT_EQ(gpus(w, longer), 2U);
}

TEST(IceFrog, FreezesMoreAsTrainingGoesOnAndNothingWhereItMayNot) {
  for (const bool freeze : {true, false}) {
    TestCluster w(nodes("1x2"), "icefrog", {{"icefrog.freeze", freeze ? "true" : "false"}, {"icefrog.most", "1"}});
    w.allow_resizing({model(w, "vgg16")});
    const auto job = w.submit({0, 2}, "", 100 * kHour);
    double before = 0;
    for (int round = 0; round < 9; ++round) {
      w.pass();
      ASSERT_TRUE(w.running(job));
      const double speed = w.state().running()[w.job(job).slot].speed;
      EXPECT_TRUE(freeze ? speed >= before : speed == 1) << speed;
      before = speed;
      w.step(10 * kHour);
    }
    EXPECT_EQ(before > 1.05, freeze) << before;
  }
}

// Else jobs on few of the GPUs that they ask for would lose more at each change than a round brings.
TEST(IceFrog, ARestartTakesAsLongWhateverTheSpeed) {
  TestCluster w(nodes("1x8"), "icefrog", {{"icefrog.most", "1"}});
  w.allow_resizing({model(w, "somebody's own")});
  const auto wide = w.submit({0, 8}, "", 100 * kHour);
  w.pass();
  ASSERT_EQ(gpus(w, wide), 8U);
  for (int i = 0; i < 7; ++i) w.submit({0, 1}, "", kHour);
  w.step(kMinute);
  w.pass();
  ASSERT_EQ(gpus(w, wide), 1U);
  const double speed = w.state().running()[w.job(wide).slot].speed;
  EXPECT_LT(speed, 0.2);
  EXPECT_NEAR(to_seconds(w.job(wide).estimate - 100 * kHour), 30 * speed, 1e-6);
}

TEST(IceFrog, ARoundMustBeLongerThanARestart) {
  const PolicyInfo* info = *find_policy("icefrog");
  Params params(info->params);
  ASSERT_TRUE(params.set("icefrog.restart", "60").has_value());
  EXPECT_FALSE(info->check(params, nodes("1x8")).has_value());
  ASSERT_TRUE(params.set("icefrog.restart", "59").has_value());
  EXPECT_TRUE(info->check(params, nodes("1x8")).has_value());
}

TEST(IceFrog, AModelWithoutATableKeepsItsSpeed) {
  TestCluster w(nodes("1x2"), "icefrog", {{"icefrog.most", "1"}});
  w.allow_resizing({model(w, "somebody's own")});
  const auto job = w.submit({0, 2}, "", 100 * kHour);
  w.pass();
  w.step(90 * kHour);
  w.pass();
  EXPECT_EQ(w.state().running()[w.job(job).slot].speed, 1);
}

TEST(IceFrog, AGrowthThatDoesNotPayForItsRestartIsLeftOut) {
  TestCluster w(nodes("1x8"), "icefrog", {{"icefrog.restart", "50"}});
  w.allow_resizing({model(w, "resnet50")});
  const auto job = w.submit({0, 4}, "", kHour);
  const auto other = w.submit({0, 4}, "", kHour);
  w.pass();
  EXPECT_EQ(gpus(w, job), 4U);
  w.step(59 * kMinute);
  w.apply(cluster::EventKind::kCancel, other);
  w.pass();  // half a minute is left, a restart takes longer
  EXPECT_EQ(gpus(w, job), 4U);
  TestCluster v(nodes("1x8"), "icefrog", {{"icefrog.restart", "50"}});
  v.allow_resizing({model(v, "resnet50")});
  const auto long_job = v.submit({0, 4}, "", 50 * kHour);
  const auto gone = v.submit({0, 4}, "", 50 * kHour);
  v.pass();
  v.step(60 * kMinute);
  v.apply(cluster::EventKind::kCancel, gone);
  v.pass();
  EXPECT_EQ(gpus(v, long_job), 8U);
}

TEST(IceFrog, HoldsUnderAnyEvents) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    TestCluster w(nodes("4x4"), "icefrog", {{"icefrog.steps", seed % 2 == 0 ? "any" : "power_of_two"}},
                  seed % 3 == 0 ? cluster::Placement::kConsolidated : cluster::Placement::kBestFit);
    w.allow_resizing({model(w, "resnet50"), model(w, "bert"), {}});
    RandomLife life;
    life.seed = seed;
    random_life(w, life);
  }
}

}  // namespace
}  // namespace comity::sched
