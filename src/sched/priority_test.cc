// SPDX-License-Identifier: Apache-2.0
// Priority classes: who goes first, who is preempted, who never is.
#include "sched/test_cluster.h"

namespace comity::sched {
namespace {

const std::map<std::string, std::string> kClasses = {{"priority.tenants", "a=1,b=2,c=3"}};

std::map<std::string, std::string> with(const std::string& name, const std::string& value) {
  auto sets = kClasses;
  sets[name] = value;
  return sets;
}

TEST(Priority, AHigherClassTakesThePlaceOfTheLatestLowerOne) {
  TestCluster w(*cluster::parse_nodes("2x8"), "priority", kClasses);
  const auto first = w.submit({0, 8}, "a");
  w.pass();
  w.step();
  const auto second = w.submit({0, 8}, "a");
  w.pass();
  w.step();
  const auto high = w.submit({0, 4}, "b");
  EXPECT_EQ(w.pass(), (std::vector<std::uint32_t>{high}));
  EXPECT_TRUE(w.running(first));
  EXPECT_TRUE(w.waiting(second));
}

TEST(Priority, NobodyIsPreemptedInVain) {
  TestCluster w(*cluster::parse_nodes("2x8"), "priority", kClasses);
  w.submit({0, 8}, "c");
  w.submit({0, 8}, "a");
  w.pass();
  const auto wide = w.submit({2, 8}, "b");  // one of the nodes is c's
  w.pass();
  EXPECT_TRUE(w.waiting(wide));
  EXPECT_EQ(w.preemptions(), 0U);
}

TEST(Priority, VictimsThatAreNotNeededAreSpared) {
  TestCluster w(*cluster::parse_nodes("2x8"), "priority", kClasses);
  const auto node0 = w.submit({0, 8}, "a");
  w.pass();
  w.step();
  const auto node1 = w.submit({0, 6}, "a");
  const auto late = w.submit({0, 2}, "a");  // started last, on the second node
  w.pass();
  w.step();
  w.submit({0, 6}, "b");
  w.pass();
  EXPECT_EQ(w.preemptions(), 1U);  // `late` was looked at first; with node1 gone it may stay
  EXPECT_TRUE(w.running(node0));
  EXPECT_TRUE(w.running(late));
  EXPECT_TRUE(w.waiting(node1));
}

TEST(Priority, SwitchedOffNothingIsPreempted) {
  for (const bool preempt : {true, false}) {
    TestCluster w(*cluster::parse_nodes("1x8"), "priority", with("priority.preempt", preempt ? "true" : "false"));
    w.submit({0, 8}, "a");
    w.pass();
    const auto high = w.submit({0, 1}, "c");
    w.pass();
    EXPECT_EQ(w.running(high), preempt);
  }
}

TEST(Priority, TheCostIsAddedToTheWork) {
  TestCluster w(*cluster::parse_nodes("1x8"), "priority", with("priority.preemption_cost", "60"));
  const auto low = w.submit({0, 8}, "a", kHour);
  w.pass();
  w.step(10 * kMinute);
  w.submit({0, 8}, "b");
  w.pass();
  EXPECT_EQ(w.state().remaining_estimate(JobId(low), w.now()), kHour - 10 * kMinute + kMinute);
}

TEST(Priority, ClassesOfTheClusterFile) {
  cluster::ClusterSpec spec = *cluster::parse_nodes("1x8");
  spec.tenants = {{.name = "prod", .parent = "", .priority = 5, .cells = {}}};
  TestCluster w(spec, "priority");
  const auto low = w.submit({0, 8}, "dev");
  w.pass();
  w.submit({0, 8}, "prod");
  w.pass();
  EXPECT_TRUE(w.waiting(low));
  EXPECT_FALSE(find_policy("priority")
                   .value()
                   ->check(
                       [] {
                         Params p((*find_policy("priority"))->params);
                         EXPECT_TRUE(p.set("priority.tenants", "prod=high").has_value());
                         return p;
                       }(),
                       spec));
}

// Looks at every job: nobody waits who fits, or could fit by preempting lower classes (by count), and only lower
// classes were preempted than the highest that started.
TEST(Priority, RandomLives) {
  std::uint64_t preempted = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const auto placement = static_cast<cluster::Placement>(seed % 5);
    TestCluster w(*cluster::parse_nodes("5x8"), "priority", kClasses, placement);
    RandomLife life;
    life.seed = seed;
    life.gangs = placement != cluster::Placement::kCount;
    const auto level = [&](std::uint32_t job) { return w.tenant(job).at(0) - 'a'; };
    life.after_pass = [&](TestCluster& at) {
      int highest = -1;
      for (const Decision& d : at.decisions()) {
        if (d.action == Action::kStart) highest = std::max(highest, level(d.job.value));
      }
      for (const Decision& d : at.decisions()) {
        if (d.action != Action::kPreempt) continue;
        ++preempted;
        EXPECT_LT(level(d.job.value), highest) << seed;
      }
      for (std::uint32_t j = 0; j < at.jobs(); ++j) {
        if (!at.waiting(j) || !at.state().eligible(JobId(j))) continue;
        const ShapeClass& s = at.state().shape(at.job(j).shape);
        EXPECT_FALSE(at.state().pool().fits(s.shape, s.where)) << "seed " << seed << " job " << j;
        if (placement != cluster::Placement::kCount) continue;
        std::int64_t room = at.state().pool().free_gpus();
        for (const cluster::Running& r : at.state().running())
          room += level(r.job.value) < level(j) ? at.job(r.job.value).gpus : 0;
        EXPECT_LT(room, at.job(j).gpus) << "seed " << seed << " job " << j;
      }
    };
    random_life(w, life);
  }
  EXPECT_GT(preempted, 100U);
}

}  // namespace
}  // namespace comity::sched
