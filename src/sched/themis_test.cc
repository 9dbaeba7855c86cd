// SPDX-License-Identifier: Apache-2.0
// Themis: leases, the auction and what it is for.
#include "sched/test_cluster.h"

namespace comity::sched {
namespace {

// Runs jobs to their ends, event by event; returns (JCT / work) of each. Arrivals: (at s, GPUs, work s).
struct Arrival {
  std::int64_t at;
  std::uint32_t gpus;
  std::int64_t work;
};
std::vector<double> stretch(const std::string& policy, const std::vector<Arrival>& jobs,
                            const std::map<std::string, std::string>& sets = {}, std::uint64_t* preempted = nullptr) {
  TestCluster w(*cluster::parse_nodes("1x8"), policy, sets, cluster::Placement::kCount);
  std::vector<double> out(jobs.size(), 0);
  std::size_t next = 0;
  std::size_t left = jobs.size();
  Time woken = kNever;
  while (left > 0) {
    Time at = woken;
    if (next < jobs.size()) at = std::min(at, jobs[next].at * kSecond);
    for (const cluster::Running& r : w.state().running()) at = std::min(at, r.expected_end);
    w.step(at - w.now());
    if (woken <= at) woken = kNever;
    std::vector<std::uint32_t> ends;
    for (const cluster::Running& r : w.state().running()) {
      if (r.expected_end == at) ends.push_back(r.job.value);
    }
    for (const std::uint32_t j : ends) {
      w.end(j);
      out[j] = to_seconds(at) - static_cast<double>(jobs[j].at);
      out[j] /= static_cast<double>(jobs[j].work);
      --left;
    }
    for (; next < jobs.size() && jobs[next].at * kSecond == at; ++next)
      w.submit({0, jobs[next].gpus}, "", jobs[next].work * kSecond);
    w.pass();
    if (preempted != nullptr) *preempted += w.preemptions();
    // No GPU stays idle that somebody fits on.
    for (std::uint32_t j = 0; j < w.jobs(); ++j) {
      EXPECT_FALSE(w.waiting(j) && w.job(j).gpus <= w.state().pool().free_gpus());
    }
    woken = std::min(woken, w.woken());
  }
  return out;
}

std::vector<Arrival> contended(std::uint64_t seed, std::uint32_t gpus) {
  Rng rng(seed);
  std::vector<Arrival> jobs;
  std::int64_t at = 0;
  for (int i = 0; i < 40; ++i) {
    at += static_cast<std::int64_t>(rng.below(600));
    const std::int64_t work = rng.below(5) == 0 ? 20'000 + static_cast<std::int64_t>(rng.below(20'000))
                                                : 300 + static_cast<std::int64_t>(rng.below(3'000));
    jobs.push_back({at, gpus == 0 ? 1U << rng.below(4) : gpus, work});
  }
  return jobs;
}

// With jobs of one size T_ideal is the work times the same factor for all, so rho compares as JCT / work does.
TEST(Themis, FinishTimesAreFairerThanFirstComeFirstServed) {
  int better = 0;
  double themis = 0;
  double fifo = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto jobs = contended(seed, 4);
    const auto fair = stretch("themis", jobs);
    const auto plain = stretch("fifo", jobs);
    const double worst = *std::max_element(fair.begin(), fair.end());
    const double worst_plain = *std::max_element(plain.begin(), plain.end());
    better += worst < worst_plain ? 1 : 0;
    themis += worst;
    fifo += worst_plain;
  }
  EXPECT_GE(better, 18);
  EXPECT_LT(themis, fifo / 2);
}

TEST(Themis, ItIsTheFairnessThatDoesIt) {
  double on = 0;
  double off = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto jobs = contended(seed, 4);
    const auto fair = stretch("themis", jobs);
    const auto blind = stretch("themis", jobs, {{"themis.fair", "false"}});
    on += *std::max_element(fair.begin(), fair.end());
    off += *std::max_element(blind.begin(), blind.end());
  }
  EXPECT_LT(on, off);
}

TEST(Themis, WhoIsWithinItsLeaseIsLeftAlone) {
  TestCluster w(*cluster::parse_nodes("1x8"), "themis");
  const auto first = w.submit({0, 8}, "", 10 * kHour);
  w.pass();
  w.step(kMinute);
  const auto second = w.submit({0, 8}, "", kMinute);
  w.pass();
  EXPECT_TRUE(w.running(first));
  EXPECT_EQ(w.woken(), 20 * kMinute);  // when the lease ends
  w.step(19 * kMinute);
  w.pass();
  EXPECT_TRUE(w.running(second));
  EXPECT_TRUE(w.waiting(first));
}

TEST(Themis, NobodyIsWokenWhileNobodyWaits) {
  TestCluster w(*cluster::parse_nodes("1x8"), "themis");
  const auto first = w.submit({0, 4}, "", 10 * kHour);
  w.pass();
  EXPECT_EQ(w.woken(), kNever);
  w.step(50 * kMinute);  // the lease went on at 20 and 40 min and ends at 60
  w.submit({0, 8}, "", kMinute);
  w.pass();
  EXPECT_TRUE(w.running(first));
  EXPECT_EQ(w.woken(), kHour);
}

TEST(Themis, AJobThatNeedsAllGpusIsServed) {
  std::vector<Arrival> jobs;
  for (int i = 0; i < 60; ++i) jobs.push_back({i * 300, 1, 7'000});
  jobs.insert(jobs.begin() + 8, {7 * 300, 8, 600});
  const auto out = stretch("themis", jobs);
  EXPECT_LT(out[8] * 600, 15'000.0);  // long before the others have run out
}

TEST(Themis, HiddenPaymentsShortenLeases) {
  std::uint64_t with = 0;
  std::uint64_t without = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    stretch("themis", contended(seed, 0), {{"themis.filter", "0"}}, &with);
    stretch("themis", contended(seed, 0), {{"themis.filter", "0"}, {"themis.payments", "false"}}, &without);
  }
  EXPECT_GT(with, without);
}

TEST(Themis, RandomLives) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const auto placement = static_cast<cluster::Placement>(seed % 5);
    TestCluster w(*cluster::parse_nodes("5x8"), "themis",
                  {{"themis.valuation", seed % 2 == 0 ? "0" : "600"}, {"themis.preemption_cost", "5"}}, placement);
    RandomLife life;
    life.seed = seed;
    life.failures = placement != cluster::Placement::kCount;
    life.after_pass = [&](TestCluster& at) {
      for (std::uint32_t j = 0; j < at.jobs(); ++j) {
        if (!at.waiting(j) || !at.state().eligible(JobId(j))) continue;
        const ShapeClass& s = at.state().shape(at.job(j).shape);
        EXPECT_FALSE(at.state().pool().fits(s.shape, s.where)) << "seed " << seed;
      }
    };
    random_life(w, life);
  }
}

}  // namespace
}  // namespace comity::sched
