// SPDX-License-Identifier: Apache-2.0
// Dominant resource fairness: the paper's example and its promises.
#include "sched/drf.h"

#include <numeric>

#include <rapidcheck.h>

#include "sched/test_cluster.h"

namespace comity::sched {
namespace {

// Progressive filling: the owner with the least share that can still be served gets one more task. Tasks of each.
std::vector<int> fill(const std::vector<double>& capacity, const std::vector<std::vector<double>>& demands) {
  DominantShares shares(capacity);
  for (std::size_t i = 0; i < demands.size(); ++i) shares.add_owner(1);
  std::vector<double> left = capacity;
  std::vector<int> tasks(demands.size(), 0);
  for (;;) {
    std::size_t best = demands.size();
    for (std::size_t i = 0; i < demands.size(); ++i) {
      bool fits = true;
      for (std::size_t r = 0; r < capacity.size(); ++r) fits = fits && demands[i][r] <= left[r] + 1e-9;
      if (!fits) continue;
      if (best == demands.size() ||
          shares.share(static_cast<std::uint32_t>(i)) < shares.share(static_cast<std::uint32_t>(best)) - 1e-12)
        best = i;
    }
    if (best == demands.size()) return tasks;
    shares.use(static_cast<std::uint32_t>(best), demands[best]);
    for (std::size_t r = 0; r < capacity.size(); ++r) left[r] -= demands[best][r];
    ++tasks[best];
  }
}

// Ghodsi et al., section 4.1: 9 CPUs, 18 GB; A needs <1 CPU, 4 GB>, B <3 CPUs, 1 GB>: 3 and 2 tasks, 2/3 each.
TEST(Drf, TheExampleOfThePaper) {
  EXPECT_EQ(fill({9, 18}, {{1, 4}, {3, 1}}), (std::vector<int>{3, 2}));
  DominantShares shares({9, 18});
  shares.add_owner(1);
  shares.add_owner(1);
  for (int i = 0; i < 3; ++i) shares.use(0, {1, 4});
  for (int i = 0; i < 2; ++i) shares.use(1, {3, 1});
  EXPECT_DOUBLE_EQ(shares.share(0), 2 / 3.0);
  EXPECT_DOUBLE_EQ(shares.share(1), 2 / 3.0);
}

// Each of n owners gets a dominant share of 1/n, less what the last task of each can round off (10 of 1,000 each: its
// own and that by which the others may be ahead).
TEST(Drf, SharingIncentive) {
  EXPECT_TRUE(rc::check([] {
    const auto n = *rc::gen::inRange<std::size_t>(2, 5);
    std::vector<std::vector<double>> demands(n);
    for (auto& d : demands) d = {*rc::gen::inRange(1, 10) * 1.0, *rc::gen::inRange(1, 10) * 1.0};
    const std::vector<double> capacity = {1000, 1000};
    const auto tasks = fill(capacity, demands);
    for (std::size_t i = 0; i < n; ++i) {
      const double share = tasks[i] * std::max(demands[i][0], demands[i][1]) / 1000.0;
      RC_ASSERT(share + 0.02 >= 1.0 / static_cast<double>(n));
    }
  }));
}

// Who asks for more a task than it needs never gets more useful tasks, rounding apart.
TEST(Drf, AskingForMoreThanNeededDoesNotPay) {
  EXPECT_TRUE(rc::check([] {
    const auto n = *rc::gen::inRange<std::size_t>(2, 5);
    std::vector<std::vector<double>> demands(n);
    for (auto& d : demands) d = {*rc::gen::inRange(1, 10) * 1.0, *rc::gen::inRange(1, 10) * 1.0};
    const auto honest = fill({2000, 2000}, demands);
    demands[0][0] += *rc::gen::inRange(0, 10);
    demands[0][1] += *rc::gen::inRange(0, 10);
    const auto lied = fill({2000, 2000}, demands);
    RC_ASSERT(lied[0] <= honest[0] * 1.02 + 1);
  }));
}

double share_of(TestCluster& w, const std::string& tenant) {
  double gpus = 0;
  for (const cluster::Running& r : w.state().running()) {
    if (w.tenant(r.job.value) == tenant) gpus += w.job(r.job.value).gpus;
  }
  return gpus / static_cast<double>(w.state().pool().capacity());
}

// How often a job started although a tenant with a smaller share had one that fitted, by looking at every job.
int passed_over(std::uint64_t seed, const std::map<std::string, std::string>& sets) {
  TestCluster w(*cluster::parse_nodes("4x8"), "drf", sets, cluster::Placement::kCount);
  int count = 0;
  std::map<std::string, double> before;  // shares when the pass begins
  std::vector<std::uint32_t> waited;
  std::int64_t free = 0;
  RandomLife life;
  life.seed = seed;
  life.failures = false;
  life.gangs = false;
  life.before_pass = [&](TestCluster& at) {
    for (const std::string& t : life.tenants) before[t] = share_of(at, t);
    waited.clear();
    for (std::uint32_t j = 0; j < at.jobs(); ++j) {
      if (at.waiting(j) && at.state().eligible(JobId(j))) waited.push_back(j);
    }
    free = at.state().pool().free_gpus();
  };
  life.after_pass = [&](TestCluster& at) {
    for (const Decision& d : at.decisions()) {
      if (d.action != Action::kStart) continue;
      const std::string mine = at.tenant(d.job.value);
      for (const std::uint32_t other : waited) {
        const std::string& theirs = at.tenant(other);
        if (other != d.job.value && before[theirs] < before[mine] - 1e-12 && at.job(other).gpus <= free) ++count;
      }
      before[mine] += at.job(d.job.value).gpus / 32.0;
      free -= at.job(d.job.value).gpus;
      std::erase(waited, d.job.value);
    }
    for (const std::uint32_t other : waited) count += at.job(other).gpus <= free ? 1 : 0;  // work-conserving
  };
  random_life(w, life);
  return count;
}

TEST(Drf, NoTenantWithASmallerShareIsPassedOver) {
  int unfair = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    EXPECT_EQ(passed_over(seed, {}), 0) << seed;
    unfair += passed_over(seed, {{"drf.fair", "false"}});
  }
  EXPECT_GT(unfair, 0);  // the rule is what does it
}

TEST(Drf, SharesOfTheClusterFileWeigh) {
  cluster::ClusterSpec spec = *cluster::parse_nodes("2x8");
  spec.tenants = {{.name = "a", .share = 3, .parent = "", .cells = {}},
                  {.name = "b", .share = 1, .parent = "", .cells = {}}};
  TestCluster w(spec, "drf");
  for (int i = 0; i < 16; ++i) w.submit({0, 1}, "b");
  for (int i = 0; i < 16; ++i) w.submit({0, 1}, "a");
  w.pass();
  EXPECT_DOUBLE_EQ(share_of(w, "a"), 0.75);
  EXPECT_DOUBLE_EQ(share_of(w, "b"), 0.25);
}

TEST(Drf, TypesOfGpusAreResourcesOfTheirOwn) {
  cluster::ClusterSpec spec = *cluster::parse_nodes("3x4");
  spec.nodes[0].gpu_type = "fast";  // 4 fast, 8 slow
  spec.nodes[1].gpu_type = spec.nodes[2].gpu_type = "slow";
  profile::NameTable names;
  TestCluster w(spec, "drf");
  w.submit({0, 4}, "b");  // by fewest left over: the fast node, all of that type
  w.pass();
  EXPECT_EQ(w.state().pool().free_mask(NodeId(0)), 0U);
  w.submit({0, 4}, "a");
  w.pass();
  w.submit({0, 4}, "b");  // b has 4 of 4, a 4 of 8: a goes first for the last node
  w.submit({0, 4}, "a");
  EXPECT_EQ(w.pass(), (std::vector<std::uint32_t>{3}));
}

TEST(Drf, HeadHoldsUpItsTenantOnly) {
  TestCluster w(*cluster::parse_nodes("1x8"), "drf", {{"drf.blocking", "head"}});
  w.submit({0, 5}, "c");
  w.pass();
  w.submit({0, 4}, "a");
  w.submit({0, 1}, "a");
  const auto b = w.submit({0, 2}, "b");
  EXPECT_EQ(w.pass(), (std::vector<std::uint32_t>{b}));
}

TEST(Drf, RandomLives) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    TestCluster w(*cluster::parse_nodes("5x8"), "drf", {{"drf.blocking", seed % 2 == 0 ? "skip" : "head"}},
                  static_cast<cluster::Placement>(seed % 5 == 0 ? 2 : seed % 5));
    RandomLife life;
    life.seed = seed;
    random_life(w, life);
  }
}

}  // namespace
}  // namespace comity::sched
