// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "sched/test_cluster.h"

namespace comity::sched {
namespace {

// A cluster under chronus, played tick by tick. Jobs end when their work is done.
class Leases {
 public:
  explicit Leases(const std::string& nodes, const std::map<std::string, std::string>& sets = {})
      : w(*cluster::parse_nodes(nodes), "chronus", sets) {}

  // Minutes; deadlines after the submission.
  std::uint32_t submit(std::uint32_t gpus, Time minutes, std::vector<Time> deadlines) {
    std::vector<profile::Deadline> list;
    double value = 10;
    for (const Time d : deadlines) {
      list.push_back({.after = d * kMinute, .value = value, .strict = deadlines.size() == 1});
      value -= 3;
    }
    const auto job = w.submit_with_deadlines({0, gpus}, minutes * kMinute, list);
    work_.push_back(minutes * kMinute);
    return job;
  }
  void until(Time minute) {
    while (w.now() <= minute * kMinute) {
      for (std::uint32_t j = 0; j < w.jobs(); ++j) {
        if (!w.running(j)) continue;
        const auto& run = w.state().running()[w.job(j).slot];
        if (w.job(j).estimate - w.job(j).executed <= run.progress(w.now())) end(j);
      }
      w.pass();
      w.step(kMinute);
    }
  }
  void end(std::uint32_t j) {
    ends[j] = w.now() / kMinute;
    w.end(j);
  }
  double figure(const std::string& name) {
    for (const auto& [key, value] : w.figures()) {
      if (key == name) return value;
    }
    ADD_FAILURE() << name;
    return -1;
  }

  TestCluster w;
  std::map<std::uint32_t, Time> ends;

 private:
  std::vector<Time> work_;
};

TEST(Chronus, AcceptsWhatFitsInBeforeItsDeadlineAndNothingElse) {
  Leases l("1x4");
  l.submit(4, 50, {200});  // 55 min with the margin and switches: 3 leases of 9
  l.submit(4, 50, {200});
  l.submit(4, 50, {65});  // 2 whole leases
  l.until(5);
  EXPECT_EQ(l.figure("accepted"), 2);
  EXPECT_EQ(l.figure("not_accepted"), 1);
}

TEST(Chronus, AnAcceptedJobMeetsItsDeadlineBesideShorterOnes) {
  Leases l("1x4");
  const auto slo = l.submit(4, 50, {130});
  for (int i = 0; i < 20; ++i) l.submit(4, 10, {});
  l.until(400);
  ASSERT_TRUE(l.ends.count(slo));
  EXPECT_LE(l.ends.at(slo), 130);
  EXPECT_EQ(l.ends.size(), 21U);
}

// With the least of the GPUs guaranteed the others go first; with the most the accepted job does.
TEST(Chronus, TheObjectiveSaysWhoGoesFirst) {
  for (const std::string objective : {"minimize", "maximize"}) {
    Leases l("1x4", {{"chronus.objective", objective}});
    const auto slo = l.submit(4, 30, {600});
    const auto other = l.submit(4, 60, {});
    l.until(300);
    ASSERT_EQ(l.ends.size(), 2U);
    EXPECT_EQ(l.ends.at(other) < l.ends.at(slo), objective == "minimize") << objective;
  }
}

TEST(Chronus, AdaptiveLeavesGPUsToThoseThatWereNotAccepted) {
  Leases l("1x4");
  const auto accepted = l.submit(4, 30, {900});
  const auto hopeless = l.submit(4, 60, {62});  // too tight to be promised, but possible
  l.until(300);
  EXPECT_LE(l.ends.at(hopeless), 90);
  EXPECT_GT(l.ends.at(accepted), l.ends.at(hopeless));
}

TEST(Chronus, TheSpotIsGivenToTheLeastWork) {
  Leases l("1x4");
  const auto longer = l.submit(4, 100, {});
  const auto shorter = l.submit(4, 10, {});
  l.until(150);
  EXPECT_LT(l.ends.at(shorter), l.ends.at(longer));
}

TEST(Chronus, StoppingAtEachLeaseCostsASwitch) {
  for (const bool stop : {false, true}) {
    Leases l("1x4", {{"chronus.boundary", stop ? "stop" : "keep"}});
    const auto job = l.submit(4, 60, {});
    l.until(100);
    EXPECT_EQ(l.ends.at(job), stop ? 65 : 60);  // 1.5 min at 20, 40 and 60 min
  }
}

TEST(Chronus, AJobThatEndsWithinTheLeaseIsGuaranteedTheRestOfIt) {
  for (const bool guarantee : {false, true}) {
    Leases l("1x4", {{"chronus.guarantee", guarantee ? "true" : "false"}});
    l.submit(4, 90, {});
    l.until(0);
    l.submit(4, 10, {12});  // no whole lease is left before its deadline
    l.until(30);
    EXPECT_EQ(l.figure("forced"), guarantee ? 1 : 0);
  }
}

TEST(Chronus, SplitsWhatNoNodeHasRoomFor) {
  for (const std::string split : {"never", "slower", "free"}) {
    Leases l("2x4", {{"chronus.split", split}});
    for (const std::uint32_t gpus : {3U, 3U, 2U}) l.submit(gpus, 300, {});
    l.until(5);
    EXPECT_EQ(l.figure("split_starts"), split == "never" ? 0 : 1) << split;
    double slowest = 1;
    for (const cluster::Running& run : l.w.state().running()) slowest = std::min(slowest, run.speed);
    EXPECT_EQ(slowest < 1, split == "slower") << slowest;
    EXPECT_EQ(l.w.state().running().size(), split == "never" ? 2U : 3U);
  }
}

TEST(Chronus, SoftDeadlinesAreWorthTheirValues) {
  Leases l("1x4");
  l.submit(4, 35, {60, 200});
  l.submit(4, 35, {60, 200});  // no room for both before 60 min
  l.until(300);
  EXPECT_EQ(l.figure("accepted"), 2);
  EXPECT_LE(l.ends.at(1), 200);
}

TEST(Chronus, NoJobThatWasAcceptedIsLateWhereEstimatesHold) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Leases l("2x4");
    Rng rng(seed);
    for (int i = 0; i < 40; ++i) {
      const auto minutes = static_cast<Time>(5 + rng.below(120));
      const auto gpus = 1U << rng.below(3);
      if (rng.below(3) == 0) {
        l.submit(gpus, minutes, {});
      } else {
        l.submit(gpus, minutes, {minutes + static_cast<Time>(rng.below(600))});
      }
      l.until(l.w.now() / kMinute + static_cast<Time>(rng.below(30)));
    }
    l.until(6000);
    EXPECT_EQ(l.ends.size(), 40U) << seed;
    EXPECT_EQ(l.figure("unplanned"), 0) << seed;
    EXPECT_EQ(l.figure("accepted_and_late"), 0) << seed;
  }
}

TEST(Chronus, RandomLives) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    TestCluster w(*cluster::parse_nodes("3x8"), "chronus");
    RandomLife life;
    life.seed = seed;
    random_life(w, life);
  }
}

}  // namespace
}  // namespace comity::sched
