// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include <gtest/gtest.h>

#include "sched/typed_cluster.h"

namespace comity::sched {
namespace {

using Sets = std::map<std::string, std::string>;
constexpr Time kRound = 360 * kSecond;

std::uint32_t type_of(TestCluster& w, std::uint32_t job) {
  return w.state().pool().class_type(w.state().running()[w.job(job).slot].allocation.node_class);
}
// How many of so many rounds each job runs.
std::vector<int> rounds_of(TestCluster& w, int rounds) {
  std::vector<int> out(w.jobs(), 0);
  for (int round = 0; round < rounds; ++round, w.step(kRound)) {
    w.pass();
    for (std::uint32_t job = 0; job < w.jobs(); ++job) out[job] += w.running(job) ? 1 : 0;
  }
  return out;
}

// Switched off: whoever came first keeps the GPU.
TEST(Gavel, TakesTurnsByTimeReceived) {
  for (const bool on : {true, false}) {
    TestCluster w(*cluster::parse_nodes("1x1"), "gavel", {{"gavel.by_time_received", on ? "true" : "false"}});
    w.submit({0, 1}, "", 100 * kHour);
    w.submit({0, 1}, "", 100 * kHour);
    EXPECT_EQ(rounds_of(w, 10), on ? (std::vector<int>{5, 5}) : (std::vector<int>{10, 0}));
  }
}

// Both have had what they were due: no reason to change.
TEST(Gavel, StaysWhereItIsAmongEquals) {
  TestCluster w(*cluster::parse_nodes("1x1"), "gavel");
  w.submit({0, 1}, "", 100 * kHour);
  const auto second = w.submit({0, 1}, "", 100 * kHour);
  rounds_of(w, 2);
  EXPECT_TRUE(w.running(second));
  w.pass();
  EXPECT_TRUE(w.running(second));
  EXPECT_EQ(w.preemptions(), 0U);
}

TEST(Gavel, AWeightOfTwoIsTwiceTheTime) {
  TestCluster w(*cluster::parse_nodes("1x1"), "gavel");
  w.allow_sharing({of_model(w, "a", 2), of_model(w, "a", 1)});
  w.submit({0, 1}, "", 100 * kHour);
  w.submit({0, 1}, "", 100 * kHour);
  EXPECT_EQ(rounds_of(w, 30), (std::vector<int>{20, 10}));
}

// X of the example of three jobs on one fast and one slow GPU: (.5128 0), (.4872 .1795), (0 .8205). Where all types
// count as the fast one (no rates), nobody is better off on either.
TEST(Gavel, EachTypeHasItsOwnSpeed) {
  TestCluster w(typed_nodes({{"fast", 1}, {"slow", 1}}), "gavel");
  w.use_rates(test_rates());
  w.allow_sharing({of_model(w, "x"), of_model(w, "y"), of_model(w, "z")});
  for (int i = 0; i < 3; ++i) w.submit({0, 1}, "", 1000 * kHour);
  const std::uint32_t fast = w.state().pool().types()[0] == "fast" ? 0 : 1;
  std::vector<std::vector<double>> time(3, std::vector<double>(2, 0));
  constexpr int kRounds = 400;
  for (int round = 0; round < kRounds; ++round, w.step(kRound)) {
    w.pass();
    for (std::uint32_t job = 0; job < 3; ++job) {
      if (!w.running(job)) continue;
      const bool on_fast = type_of(w, job) == fast;
      time[job][on_fast ? 0 : 1] += 1.0 / kRounds;
      EXPECT_DOUBLE_EQ(speed(w, job), on_fast || job == 2 ? 1 : job == 0 ? 1.0 / 4 : 1.0 / 3);
    }
  }
  EXPECT_NEAR(time[0][0], 0.5128, 0.02);
  EXPECT_NEAR(time[1][0], 0.4872, 0.02);
  EXPECT_NEAR(time[1][1], 0.1795, 0.02);
  EXPECT_NEAR(time[2][1], 0.8205, 0.02);
  EXPECT_EQ(w.figure("plans"), 1);
  EXPECT_EQ(w.figure("jobs_without_rates"), 0);
  TestCluster same(typed_nodes({{"fast", 1}, {"slow", 1}}), "gavel");
  for (int i = 0; i < 3; ++i) same.submit({0, 1}, "", 1000 * kHour);
  const std::vector<int> rounds = rounds_of(same, 300);
  for (const int n : rounds) EXPECT_NEAR(n, 200, 2);
  EXPECT_EQ(same.figure("jobs_without_rates"), 3);
}

TEST(Gavel, PlansAnewOnlyWhenJobsComeOrGoOrOtherGpusAreUp) {
  TestCluster w(*cluster::parse_nodes("2x1"), "gavel");
  for (int i = 0; i < 4; ++i) w.submit({0, 1}, "", 100 * kHour);
  rounds_of(w, 5);
  EXPECT_EQ(w.figure("plans"), 1);
  EXPECT_EQ(w.figure("rounds"), 5);
  w.submit({0, 1});
  rounds_of(w, 2);
  EXPECT_EQ(w.figure("plans"), 2);
  for (std::uint32_t job = 0; job < 5; ++job) {
    if (!w.running(job)) continue;
    w.end(job);
    break;
  }
  rounds_of(w, 2);
  EXPECT_EQ(w.figure("plans"), 3);
  fail_node(w, 0);
  rounds_of(w, 2);
  EXPECT_EQ(w.figure("plans"), 4);
}

TEST(Gavel, NothingStartsBetweenRounds) {
  TestCluster w(*cluster::parse_nodes("1x2"), "gavel");
  w.submit({0, 1});
  w.pass();
  w.step(100 * kSecond);
  const auto late = w.submit({0, 1});
  w.pass();
  EXPECT_FALSE(w.running(late));
  EXPECT_EQ(w.woken(), kRound);
  w.step(kRound - 100 * kSecond);
  w.pass();
  EXPECT_TRUE(w.running(late));
  EXPECT_EQ(w.preemptions(), 0U);  // who was there stays
}

// All run, on one type: nothing can change until something happens.
TEST(Gavel, SleepsWhileNobodyWaits) {
  TestCluster w(*cluster::parse_nodes("1x2"), "gavel");
  w.submit({0, 1});
  w.pass();
  EXPECT_EQ(w.woken(), kNever);
}

TEST(Gavel, ARestartCosts) {
  for (const Time restart : {Time{0}, 30 * kSecond}) {
    TestCluster w(*cluster::parse_nodes("1x1"), "gavel", {{"gavel.restart", restart == 0 ? "0" : "30"}});
    const auto job = w.submit({0, 1}, "", kHour);
    w.submit({0, 1}, "", kHour);
    rounds_of(w, 2);  // it ran, and had to go
    EXPECT_FALSE(w.running(job));
    EXPECT_EQ(w.job(job).estimate, kHour + restart);
  }
}

// Two nodes with a job on each: two GPUs together are free nowhere. Who is behind in the order moves.
TEST(Gavel, MakesRoomForAGangThatIsFirstInTheOrder) {
  TestCluster w(*cluster::parse_nodes("2x2"), "gavel", {}, cluster::Placement::kFirstFit);
  std::vector<std::uint32_t> ones;
  for (int i = 0; i < 4; ++i) ones.push_back(w.submit({0, 1}, "", 100 * kHour));
  w.pass();
  w.end(ones[0]);
  w.end(ones[2]);
  const auto gang = w.submit({1, 2}, "", 100 * kHour);
  w.step(kRound);
  w.pass();
  EXPECT_TRUE(w.running(gang));
  EXPECT_TRUE(w.running(ones[1]) && w.running(ones[3]));
  EXPECT_EQ(w.preemptions(), 1U);
}

TEST(Gavel, AnUnknownModelIsAsFastEverywhereAndCounted) {
  TestCluster w(typed_nodes({{"slow", 1}}), "gavel");
  w.use_rates(test_rates());
  w.allow_sharing({of_model(w, "somebody's own")});
  const auto job = w.submit({0, 1});
  w.pass();
  EXPECT_EQ(speed(w, job), 1);
  EXPECT_EQ(w.figure("jobs_without_rates"), 1);
}

// It runs on the fast type alone, though the slow one is free; where there is no other, it runs there all the same.
TEST(Gavel, DoesNotUseATypeOnWhichTheModelDoesNotRun) {
  TestCluster w(typed_nodes({{"fast", 1}, {"slow", 1}}), "gavel");
  w.use_rates(test_rates());
  w.allow_sharing({of_model(w, "picky")});
  w.submit({0, 1}, "", 100 * kHour);
  w.submit({0, 1}, "", 100 * kHour);
  EXPECT_EQ(rounds_of(w, 10), (std::vector<int>{5, 5}));
  TestCluster alone(typed_nodes({{"slow", 1}}), "gavel");
  alone.use_rates(test_rates());
  alone.allow_sharing({of_model(alone, "picky")});
  const auto job = alone.submit({0, 1});
  alone.pass();
  ASSERT_TRUE(alone.running(job));
  EXPECT_EQ(speed(alone, job), 1e-3);
}

// A long job and a short one on one GPU. max_min: half the time each. makespan: as their work is. finish_time: the one
// that has waited for long has more.
TEST(Gavel, ObjectivesDiffer) {
  const auto run = [](const std::string& objective) {
    TestCluster w(*cluster::parse_nodes("1x1"), "gavel", {{"gavel.objective", objective}});
    w.submit({0, 1}, "", 300 * kHour);
    w.submit({0, 1}, "", 100 * kHour);
    return rounds_of(w, 40);
  };
  EXPECT_EQ(run("max_min"), (std::vector<int>{20, 20}));
  EXPECT_NEAR(run("makespan")[0], 30, 2);
  EXPECT_NEAR(run("finish_time")[0], 20, 1);
}

TEST(Gavel, CostUsesTheCheaperTypeFirst) {
  for (const bool cheap_slow : {true, false}) {
    TestCluster w(typed_nodes({{"fast", 1}, {"slow", 1}}), "gavel",
                  {{"gavel.objective", "cost"}, {"gavel.prices", cheap_slow ? "Fast=5,slow=1" : "fast=3,SLOW=1"}});
    w.use_rates(test_rates());
    w.allow_sharing({of_model(w, "x")});  // four times as fast on the fast one
    const auto job = w.submit({0, 1}, "", 100 * kHour);
    w.pass();
    EXPECT_EQ(speed(w, job), cheap_slow ? 0.25 : 1);
  }
}

TEST(Gavel, MergesJobsOfAboutTheSameWorkWhereRowsAreTooMany) {
  TestCluster w(typed_nodes({{"fast", 2}, {"slow", 2}}), "gavel",
                {{"gavel.objective", "finish_time"}, {"gavel.rows", "4"}});
  w.use_rates(test_rates());
  w.allow_sharing({of_model(w, "x"), of_model(w, "z")});
  for (int i = 0; i < 60; ++i) w.submit({0, 1}, "", (1 + i % 10) * kHour + i * kSecond);
  rounds_of(w, 3);
  EXPECT_EQ(w.figure("plans_merged"), w.figure("plans"));
  EXPECT_EQ(w.figure("plans_without_solution"), 0);
}

TEST(Gavel, RefusesWhatCannotWork) {
  const PolicyInfo* info = *find_policy("gavel");
  for (const Sets& sets : std::vector<Sets>{{{"gavel.restart", "360"}},
                                            {{"gavel.prices", "v100"}},
                                            {{"gavel.prices", "v100=0"}},
                                            {{"gavel.prices", "=1"}},
                                            {{"gavel.prices", "a=1,b=x"}}}) {
    Params params(info->params);
    for (const auto& [name, value] : sets) ASSERT_TRUE(params.set(name, value).has_value());
    EXPECT_FALSE(info->check(params, {}).has_value()) << sets.begin()->second;
  }
  Params params(info->params);
  ASSERT_TRUE(params.set("gavel.prices", "").has_value());
  EXPECT_TRUE(info->check(params, {}).has_value());
}

TEST(Gavel, HoldsUnderAnyEvents) {
  const std::vector<std::string> objectives = {"max_min", "finish_time", "makespan", "cost"};
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    TestCluster w(typed_nodes({{"fast", 4}, {"slow", 4}, {"fast", 8}, {"other", 2}}), "gavel",
                  {{"gavel.objective", objectives[seed % 4]}, {"gavel.restart", seed % 2 == 0 ? "20" : "0"}},
                  seed % 3 == 0 ? cluster::Placement::kConsolidated : cluster::Placement::kBestFit);
    if (seed % 5 != 0) w.use_rates(test_rates());
    w.allow_sharing({of_model(w, "x"), of_model(w, "far"), of_model(w, "picky", 3), {}});
    RandomLife life;
    life.seed = seed;
    random_life(w, life);
    EXPECT_EQ(w.figure("plans_without_solution"), 0) << seed;
  }
}

}  // namespace
}  // namespace comity::sched
