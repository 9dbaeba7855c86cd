// SPDX-License-Identifier: Apache-2.0
// HiveD as a policy: a tenant's own cells are its own, whatever the others do.
#include "sched/test_cluster.h"

namespace comity::sched {
namespace {

cluster::TenantSpec tenant(const std::string& name, std::vector<cluster::CellSpec> cells) {
  cluster::TenantSpec t;
  t.name = name;
  t.cells = std::move(cells);
  return t;
}

cluster::ClusterSpec shared() {  // a owns 2 nodes, b 3 halves and 2 GPUs; what is left is everybody else's
  cluster::ClusterSpec spec = *cluster::parse_nodes("6x8");
  spec.tenants = {tenant("a", {{2, 8, ""}}), tenant("b", {{3, 4, ""}, {2, 1, ""}})};
  return spec;
}

TEST(HiveD, GuaranteedJobsPreemptOpportunisticOnes) {
  for (const auto placement : {cluster::Placement::kBestFit, cluster::Placement::kCount, cluster::Placement::kBuddy}) {
    TestCluster w(shared(), "hived", {{"hived.opportunistic", "spare"}}, placement);
    for (int i = 0; i < 6; ++i) w.submit({0, 8}, "spare");
    EXPECT_EQ(w.pass().size(), 6U);  // idle GPUs are lent
    const auto mine = w.submit({0, 8}, "a");
    EXPECT_EQ(w.pass(), (std::vector<std::uint32_t>{mine}));
    EXPECT_EQ(w.preemptions(), 1U);
    w.end(mine);
    EXPECT_EQ(w.pass().size(), 1U);  // and lent again
  }
}

TEST(HiveD, ATenantCannotUseAnothersCells) {
  TestCluster w(shared(), "hived");
  for (int i = 0; i < 4; ++i) w.submit({0, 8}, "a");
  EXPECT_EQ(w.pass().size(), 2U);
}

TEST(HiveD, WiderThanAllItsCellsRunsOpportunistically) {
  TestCluster w(shared(), "hived");
  const auto wide = w.submit({0, 24}, "a");
  w.pass();
  EXPECT_TRUE(w.running(wide));
  w.submit({0, 16}, "a");
  w.submit({0, 16}, "c");
  w.pass();
  EXPECT_TRUE(w.waiting(wide));
}

TEST(HiveD, CellsThatCannotBeLaidOutAreRefused) {
  cluster::ClusterSpec spec = *cluster::parse_nodes("2x8");
  spec.tenants = {tenant("a", {{1, 8, ""}}), tenant("b", {{3, 4, ""}})};
  const PolicyInfo* info = *find_policy("hived");
  const auto refused = info->check(Params(info->params), spec);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().text().find("more cells than the nodes can hold"), std::string::npos);
  spec.tenants[1].cells = {{1, 3, ""}};
  const auto odd = info->check(Params(info->params), spec);
  ASSERT_FALSE(odd.has_value());
  EXPECT_NE(odd.error().text().find("cells of 3 GPUs"), std::string::npos);
  Params params(info->params);
  EXPECT_TRUE(params.set("hived.levels", "2,3").has_value());
  EXPECT_FALSE(info->check(params, spec).has_value());
}

// Amid anybody's jobs of any shape, a asks for whole nodes and b for halves and at most two single GPUs at a time. By
// counting alone: while a runs fewer than 2 of its jobs, or b fewer than 3 halves or 2 singles, none of them may wait.
std::uint64_t waits(std::uint64_t seed, const std::string& split) {
  const auto placement = static_cast<cluster::Placement>(seed % 5);
  TestCluster w(shared(), "hived", {{"hived.split", split}}, placement);
  const auto count = [&](const std::string& who, std::uint32_t gpus, bool running) {
    std::uint64_t n = 0;
    for (std::uint32_t j = 0; j < w.jobs(); ++j) {
      if (w.ended(j) || w.tenant(j) != who || w.job(j).gpus != gpus) continue;
      n += (running ? w.running(j) : w.waiting(j) && w.state().eligible(JobId(j))) ? 1 : 0;
    }
    return n;
  };
  std::uint64_t broken = 0;
  Rng rng(seed + 1000);
  RandomLife life;
  life.seed = seed;
  life.tenants = {"c", "d"};
  life.failures = false;
  life.holds = false;
  life.gangs = placement != cluster::Placement::kCount;
  life.before_pass = [&](TestCluster& at) {
    if (rng.below(3) == 0) at.submit({0, 8}, "a");
    if (rng.below(3) == 0) at.submit({0, 4}, "b");
    if (rng.below(4) == 0 && count("b", 1, true) + count("b", 1, false) < 2) at.submit({0, 1}, "b");
  };
  life.after_pass = [&](TestCluster&) {
    if (count("a", 8, true) < 2 && count("a", 8, false) > 0) ++broken;
    if (count("b", 4, true) < 3 && count("b", 4, false) > 0) ++broken;
    if (count("b", 1, true) < 2 && count("b", 1, false) > 0) ++broken;
  };
  random_life(w, life);
  return broken;
}

TEST(HiveD, VcSafety) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) EXPECT_EQ(waits(seed, "lowest"), 0U) << "seed " << seed;
}

TEST(HiveD, RandomLivesWithFailures) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const auto placement = static_cast<cluster::Placement>(seed % 5 == 0 ? 2 : seed % 5);
    TestCluster w(shared(), "hived",
                  {{"hived.opportunistic", "c"},
                   {"hived.rack_nodes", seed % 2 == 0 ? "2" : "0"},
                   {"hived.blocking", seed % 3 == 0 ? "head" : "skip"},
                   {"hived.preemption_cost", "5"}},
                  placement);
    RandomLife life;
    life.seed = seed;
    random_life(w, life);
  }
}

}  // namespace
}  // namespace comity::sched
