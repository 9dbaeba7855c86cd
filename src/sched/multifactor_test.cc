// SPDX-License-Identifier: Apache-2.0
// slurm_multifactor: order, main scheduler, backfill and when it wakes.
#include "sched/test_cluster.h"

namespace comity::sched {
namespace {

using Sets = std::map<std::string, std::string>;

Sets sets(const Sets& given) {
  Sets out;
  for (const auto& [name, value] : given) out["slurm_multifactor." + name] = value;
  return out;
}

TEST(Multifactor, WithTheDefaultWeightsItIsFirstComeFirstServedAndBackfill) {
  TestCluster w(*cluster::parse_nodes("1x8"), "slurm_multifactor");
  w.submit({0, 6}, "", kHour);
  w.pass();
  w.step(kMinute);
  const auto head = w.submit({0, 8}, "", kHour);
  w.pass();
  w.step(kMinute);
  const auto late = w.submit({0, 2}, "", 2 * kHour);      // would delay the head
  const auto early = w.submit({0, 2}, "", 30 * kMinute);  // would not
  EXPECT_EQ(w.pass(), (std::vector<std::uint32_t>{early}));
  EXPECT_TRUE(w.waiting(head));
  EXPECT_TRUE(w.waiting(late));
}

TEST(Multifactor, SwitchedOffNothingPassesTheHead) {
  TestCluster w(*cluster::parse_nodes("1x8"), "slurm_multifactor", sets({{"backfill", "false"}}));
  w.submit({0, 6}, "", kHour);
  w.submit({0, 8}, "", kHour);
  w.submit({0, 2}, "", kMinute);
  EXPECT_EQ(w.pass().size(), 1U);
}

// Two users of one tenant; the one that used the cluster goes behind the other, if fair share has a weight.
TEST(Multifactor, UsageCostsPriority) {
  for (const std::string kind : {"fair_tree", "classic"}) {
    for (const bool on : {true, false}) {
      TestCluster w(*cluster::parse_nodes("1x8"), "slurm_multifactor",
                    sets({{"weight_fair_share", on ? "1000" : "0"}, {"fair_share", kind}}));
      const auto used = w.submit({0, 8}, "t", 2 * kHour, "heavy");
      w.pass();
      w.step(kHour);
      const auto heavy = w.submit({0, 8}, "t", kHour, "heavy");
      const auto light = w.submit({0, 8}, "t", kHour, "light");
      w.pass();
      w.step(kHour);
      w.end(used);
      EXPECT_EQ(w.pass(), (std::vector<std::uint32_t>{on ? light : heavy})) << kind;
    }
  }
}

TEST(Multifactor, SizeAgeAssociationAndQosOrderTheQueue) {
  cluster::ClusterSpec spec = *cluster::parse_nodes("1x8");
  cluster::TenantSpec vip;
  vip.name = "vip";
  vip.priority = 10;
  spec.tenants = {vip};
  const auto first = [&](const Sets& given) {
    TestCluster w(spec, "slurm_multifactor", sets(given));
    const auto hold = w.submit({0, 8}, "t");
    w.pass();
    w.submit({0, 5}, "t");
    w.step(kHour);
    w.submit({0, 8}, "t");
    w.submit({0, 7}, "vip");
    w.submit({0, 6}, "gold");
    w.step(kHour);
    w.end(hold);
    return w.pass().at(0);
  };
  EXPECT_EQ(first({}), 1U);
  EXPECT_EQ(first({{"weight_age", "1000"}}), 1U);
  EXPECT_EQ(first({{"weight_job_size", "1000"}}), 2U);
  EXPECT_EQ(first({{"weight_gpus", "1000"}}), 2U);
  EXPECT_EQ(first({{"weight_job_size", "1000"}, {"favor_small", "true"}}), 1U);
  EXPECT_EQ(first({{"weight_assoc", "1000"}}), 3U);
  EXPECT_EQ(first({{"weight_qos", "1000"}, {"qos", "gold=5,t=1"}}), 4U);
  EXPECT_EQ(first({{"weight_job_size", "1000"}, {"weight_age", "1000000"}}), 1U);  // an hour of 7 days beats 3 / 8
}

TEST(Multifactor, WakesOnlyWhileSomethingCouldChange) {
  TestCluster w(*cluster::parse_nodes("1x8"), "slurm_multifactor", sets({{"weight_age", "1000"}}));
  const auto one = w.submit({0, 7}, "", kHour);
  w.pass();
  EXPECT_EQ(w.woken(), kNever);  // nobody waits
  w.step(kSecond);
  w.submit({0, 8}, "", kHour);
  w.pass();
  EXPECT_EQ(w.woken(), kNever);  // nobody who waits fits
  w.step(kSecond);
  w.submit({0, 1}, "", 2 * kHour);
  w.pass();
  EXPECT_EQ(w.woken(), 5 * kMinute);  // planned at once; priorities change at the next period
  w.step(10 * kSecond);
  w.submit({0, 1}, "", 3 * kHour);
  w.pass();
  EXPECT_EQ(w.woken(), 32 * kSecond);  // something changed: the next backfill, 30 s after the one at 2 s
  w.step(20 * kSecond);
  w.pass();
  EXPECT_EQ(w.woken(), 5 * kMinute);
  w.step(kMinute);
  w.end(one);
  EXPECT_EQ(w.pass().size(), 1U);
  EXPECT_EQ(w.woken(), kNever);
}

TEST(Multifactor, DepthBoundsAMainPass) {
  TestCluster w(*cluster::parse_nodes("1x8"), "slurm_multifactor",
                sets({{"default_queue_depth", "3"}, {"backfill", "false"}}));
  for (int i = 0; i < 8; ++i) w.submit({0, 1});
  EXPECT_EQ(w.pass().size(), 3U);
  EXPECT_EQ(w.woken(), kMinute);
  w.step(kMinute);
  EXPECT_EQ(w.pass().size(), 3U);
}

// With exact estimates and by count, a job that was first in the plan starts no later than it was promised: the
// reference is the earliest instant at which enough GPUs are free by the ends of what ran when it became the head.
TEST(Multifactor, BackfillDelaysNoHead) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Rng rng(seed);
    TestCluster w(*cluster::parse_nodes("2x8"), "slurm_multifactor",
                  sets({{"bf_interval", "0"}, {"bf_resolution", "1"}}), cluster::Placement::kCount);
    std::map<std::uint32_t, Time> promised;
    for (int step = 0; step < 400; ++step) {
      Time at = w.now() + static_cast<Time>(1 + rng.below(60)) * kSecond;
      for (const cluster::Running& r : w.state().running()) at = std::min(at, r.expected_end);
      w.step(at - w.now());
      std::vector<std::uint32_t> ends;
      for (const cluster::Running& r : w.state().running()) {
        if (r.expected_end <= at) ends.push_back(r.job.value);
      }
      for (const std::uint32_t j : ends) w.end(j);
      if (rng.below(2) == 0)
        w.submit({0, static_cast<std::uint32_t>(1 + rng.below(16))}, "",
                 static_cast<Time>(1 + rng.below(600)) * kSecond);
      w.pass();
      std::uint32_t head = 0;
      while (head < w.jobs() && !w.waiting(head)) ++head;
      for (auto it = promised.begin(); it != promised.end();) {
        if (w.waiting(it->first)) {
          EXPECT_LT(w.now(), it->second) << "seed " << seed << " job " << it->first;
          ++it;
        } else {
          it = promised.erase(it);
        }
      }
      if (head == w.jobs() || promised.contains(head)) continue;
      std::vector<std::pair<Time, std::int64_t>> release;
      for (const cluster::Running& r : w.state().running())
        release.push_back({r.expected_end, w.job(r.job.value).gpus});
      std::sort(release.begin(), release.end());
      std::int64_t free = w.state().pool().free_gpus();
      for (const auto& [end, gpus] : release) {
        free += gpus;
        if (free < w.job(head).gpus) continue;
        promised[head] = end + 1;  // the pass at `end` itself must start it
        break;
      }
    }
  }
}

TEST(Multifactor, RandomLives) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    TestCluster w(*cluster::parse_nodes("5x8"), "slurm_multifactor",
                  sets({{"weight_age", "100"},
                        {"weight_fair_share", "1000"},
                        {"weight_job_size", "10"},
                        {"fair_share", seed % 2 == 0 ? "fair_tree" : "classic"}}),
                  static_cast<cluster::Placement>(seed % 5));
    RandomLife life;
    life.seed = seed;
    life.failures = seed % 5 != 0;
    random_life(w, life);
  }
}

}  // namespace
}  // namespace comity::sched
