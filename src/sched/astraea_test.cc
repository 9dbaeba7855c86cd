// SPDX-License-Identifier: Apache-2.0
// The policy astraea by its rules: each test fails without one of them.
#include <gtest/gtest.h>

#include "sched/test_cluster.h"

namespace comity::sched {
namespace {

cluster::ClusterSpec with_tenants(std::uint32_t gpus, const std::vector<std::pair<std::string, double>>& shares) {
  cluster::ClusterSpec spec = *cluster::parse_nodes("1x" + std::to_string(gpus));
  for (const auto& [name, share] : shares) {
    cluster::TenantSpec& t = spec.tenants.emplace_back();
    t.name = name;
    t.share = share;
  }
  return spec;
}
void play(TestCluster& w, Time until, Time by = 10 * kSecond) {
  for (w.pass(); w.now() < until;) {
    w.step(by);
    w.pass();
  }
}

TEST(Astraea, ALeaseThatIsOverGivesOthersTheirTurn) {
  TestCluster w(with_tenants(8, {{"a", 1}, {"b", 1}}), "astraea", {{"astraea.lease", "100"}});
  const auto first = w.submit({0, 8}, "a");
  play(w, 50 * kSecond);
  const auto second = w.submit({0, 8}, "b");
  play(w, 90 * kSecond);
  EXPECT_TRUE(w.running(first));
  play(w, 110 * kSecond);
  EXPECT_TRUE(w.running(second));
  EXPECT_TRUE(w.waiting(first));
  EXPECT_EQ(w.job(first).estimate, kHour + 25 * kSecond);  // saved and loaded
}

TEST(Astraea, ALeaseIsRenewedForNothingWhileNobodyWaits) {
  TestCluster w(with_tenants(8, {{"a", 1}}), "astraea", {{"astraea.lease", "100"}});
  const auto job = w.submit({0, 8}, "a");
  play(w, 500 * kSecond);
  EXPECT_TRUE(w.running(job));
  EXPECT_EQ(w.job(job).estimate, kHour);
}

TEST(Astraea, QuotasFollowShares) {
  TestCluster w(with_tenants(8, {{"a", 3}, {"b", 1}}), "astraea");
  for (int i = 0; i < 8; ++i) {
    w.submit({0, 1}, "b");
    w.submit({0, 1}, "a");
  }
  w.pass();
  int of_a = 0;
  for (const auto& run : w.state().running()) of_a += w.tenant(run.job.value) == "a" ? 1 : 0;
  EXPECT_EQ(w.state().running().size(), 8U);
  EXPECT_EQ(of_a, 6);
}

TEST(Astraea, AStaticQuotaIsALimitAndADynamicOneOnlyWhileOthersNeedTheirs) {
  for (const std::string quota : {"fair", "static", "dynamic"}) {
    TestCluster w(with_tenants(10, {{"a", 1}, {"b", 1}}), "astraea", {{"astraea.quota", quota}});
    for (int i = 0; i < 10; ++i) w.submit({0, 1}, "a");
    w.pass();
    EXPECT_EQ(w.state().running().size(), quota == "fair" ? 10U : quota == "static" ? 5U : 6U) << quota;
    w.step(10 * kSecond);
    for (int i = 0; i < 10; ++i) w.submit({0, 1}, "b");
    w.pass();
    int of_b = 0;
    for (const auto& run : w.state().running()) of_b += w.tenant(run.job.value) == "b" ? 1 : 0;
    EXPECT_EQ(of_b, quota == "fair" ? 0 : 5) << quota;
  }
}

TEST(Astraea, AWideJobThatStarvesKeepsWhatIsFree) {
  for (const bool hold : {true, false}) {
    TestCluster w(with_tenants(8, {{"a", 7}, {"b", 1}}), "astraea",
                  {{"astraea.starvation", "60"},
                   {"astraea.hold", hold ? "true" : "false"},
                   {"astraea.selection", "smallestfirst"}});
    const auto small = w.submit({0, 4}, "a");
    w.submit({0, 1}, "b");
    w.pass();
    w.step(10 * kSecond);
    const auto wide = w.submit({0, 8}, "a");
    play(w, 90 * kSecond);
    const auto later = w.submit({0, 2}, "b");
    play(w, 120 * kSecond);
    EXPECT_EQ(w.running(later), !hold);
    EXPECT_TRUE(w.running(small));
    EXPECT_TRUE(w.waiting(wide));
  }
}

TEST(Astraea, ANewcomerCancelsARunThatIsEarlyInItsLease) {
  for (const bool delay : {true, false}) {
    TestCluster w(with_tenants(8, {{"a", 1}}), "astraea", {{"astraea.delay", delay ? "300" : "0"}});
    const auto run = w.submit({0, 8}, "a");
    play(w, 150 * kSecond);
    const auto newcomer = w.submit({0, 8}, "a");
    play(w, 160 * kSecond);
    EXPECT_EQ(w.running(newcomer), delay);
    if (delay) {
      EXPECT_GE(w.job(run).estimate, kHour + 150 * kSecond);  // what it did is lost
    }
  }
}

TEST(Astraea, TheOrderOfATenantsJobs) {
  for (const std::string selection : {"fairness", "smallestfirst", "shortestremain", "fifo"}) {
    TestCluster w(with_tenants(4, {{"a", 1}}), "astraea", {{"astraea.selection", selection}});
    const auto blocker = w.submit({0, 4}, "a");
    w.pass();
    w.step(10 * kSecond);
    const auto early = w.submit({0, 4}, "a", 3 * kHour);
    w.step(kSecond);
    const auto small = w.submit({0, 3}, "a", 2 * kHour);
    w.step(kSecond);
    const auto quick = w.submit({0, 4}, "a", kHour);
    w.step(8 * kSecond);
    w.end(blocker);
    w.pass();
    EXPECT_TRUE(w.running(selection == "smallestfirst"    ? small
                          : selection == "shortestremain" ? quick
                                                          : early))
        << selection;
  }
}

TEST(Astraea, RandomLives) {
  for (const std::string quota : {"fair", "static", "dynamic"}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      cluster::ClusterSpec spec = *cluster::parse_nodes("3x8");
      TestCluster w(
          spec, "astraea",
          {{"astraea.quota", quota}, {"astraea.delay", "300"}, {"astraea.lease", "200"}, {"astraea.tick", "1"}});
      RandomLife life;
      life.seed = seed;
      random_life(w, life);
    }
  }
}

}  // namespace
}  // namespace comity::sched
