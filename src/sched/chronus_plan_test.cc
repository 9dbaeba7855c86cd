// SPDX-License-Identifier: Apache-2.0
// Lease arithmetic by hand (specification V4, V5), and plans against branch and bound.
#include "sched/chronus_plan.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace comity::sched::chronus {
namespace {

LeaseJob job(std::uint32_t gpus, int needs, std::vector<Choice> choices) {
  LeaseJob j;
  j.gpus = gpus;
  j.needs = needs;
  j.choices = std::move(choices);
  return j;
}
bool packs(std::vector<LeaseJob> jobs, std::int64_t capacity, bool strict = false) {
  std::vector<LeaseJob*> all;
  for (LeaseJob& j : jobs) all.push_back(&j);
  return pack(all, {capacity}, capacity, strict);
}

TEST(ChronusLeases, ArithmeticByHand) {
  constexpr Time kLease = 20 * kMinute;
  EXPECT_DOUBLE_EQ(coefficient(1, kLease), 1.025);
  EXPECT_DOUBLE_EQ(coefficient(8, kLease), 1.1);
  EXPECT_EQ(estimate(100 * kMinute, 1, kLease, 1.1), 112 * kMinute);
  EXPECT_EQ(estimate(100 * kMinute, 8, kLease, 1.1), 121 * kMinute);
  EXPECT_EQ(leases_for(112 * kMinute, kLease), 6);
  EXPECT_EQ(leases_for(121 * kMinute, kLease), 7);
  EXPECT_EQ(leases_before((30 + 100) * kMinute, kLease, 1), 5);  // 7 leases do not fit in
  EXPECT_EQ(switch_cost(8), 2 * kMinute);
  EXPECT_EQ(lease_gpus(3), 4U);
  EXPECT_EQ(lease_gpus(5), 8U);
  EXPECT_EQ(lease_gpus(16), 16U);
}

TEST(ChronusLeases, PackByHand) {
  const auto a = [](int within) { return job(4, 2, {{within, 10}}); };
  const LeaseJob b = job(2, 2, {{4, 10}});
  const LeaseJob d = job(2, 2, {{2, 10}});
  EXPECT_FALSE(packs({a(3), b, d}, 4));
  std::vector<LeaseJob> exact = {a(3), b, d};
  EXPECT_GT(plan(exact, {4}, Use::kAny, {}).failed, 0U);  // the program has no solution either
  EXPECT_TRUE(packs({a(4), b, d}, 4));
}

TEST(ChronusLeases, AJobIsPackedByTheTightestDeadlineThatFits) {
  const LeaseJob wide = job(4, 2, {{2, 10}});
  const LeaseJob soft = job(2, 2, {{2, 10}, {4, 5}});
  EXPECT_TRUE(packs({wide, soft}, 4));
  EXPECT_FALSE(packs({wide, soft}, 4, true));  // the artifact judges it by its tightest one
}

TEST(ChronusLeases, UsesAsMuchOrAsLittleOfTheFirstLeaseAsDeadlinesAllow) {
  const auto jobs = [] {
    return std::vector<LeaseJob>{job(2, 1, {{4, 10}}), job(2, 2, {{2, 10}}), job(4, 1, {{3, 10}})};
  };
  auto least = jobs();
  const PlanReport few = plan(least, {4}, Use::kLeast, {});
  EXPECT_EQ(few.used, 2);  // the second job must run in both of its leases
  EXPECT_TRUE(few.proved);
  auto most = jobs();
  const PlanReport many = plan(most, {4}, Use::kMost, {});
  EXPECT_EQ(many.used, 4);
  EXPECT_TRUE(many.proved);
}

TEST(ChronusLeases, KeepsWhatItHeldAndFillsInTheOthers) {
  std::vector<LeaseJob> jobs = {job(4, 1, {{3, 10}}), job(4, 1, {{3, 10}})};
  jobs[0].choice = 0;
  jobs[0].runs = {0, 0, 1};
  const PlanReport r = plan(jobs, {4}, Use::kLeast, {});
  EXPECT_EQ(r.failed, 0U);
  EXPECT_EQ(r.used, 0);
  EXPECT_EQ(jobs[0].runs, (std::vector<std::uint8_t>{0, 0, 1}));
  EXPECT_EQ(jobs[1].runs, (std::vector<std::uint8_t>{0, 1, 0}));
}

TEST(ChronusLeases, PlansAnewWhenNodesAreGone) {
  std::vector<LeaseJob> jobs = {job(4, 1, {{2, 10}}), job(4, 1, {{2, 10}})};
  for (LeaseJob& j : jobs) {
    j.choice = 0;
    j.runs = {0, 1};
  }
  EXPECT_EQ(plan(jobs, {4}, Use::kAny, {}).failed, 0U);  // 8 GPUs when they were promised
  EXPECT_NE(jobs[0].runs, jobs[1].runs);
}

TEST(ChronusLeases, AJobThatCannotBeKeptIsLeftOutAlone) {
  for (const Use use : {Use::kLeast, Use::kMost, Use::kAny}) {
    std::vector<LeaseJob> jobs = {job(4, 1, {{2, 10}}), job(4, 5, {{2, 10}}), job(16, 1, {{2, 10}})};
    const PlanReport r = plan(jobs, {4}, use, {});
    EXPECT_EQ(r.failed, 2U);
    EXPECT_FALSE(r.proved);
    EXPECT_EQ(jobs[0].choice, 0);
  }
}

std::vector<LeaseJob> some_jobs() {
  std::vector<LeaseJob> jobs;
  const int n = *rc::gen::inRange(1, 7);
  for (int i = 0; i < n; ++i) {
    LeaseJob j = job(1U << *rc::gen::inRange(0, 4), *rc::gen::inRange(1, 4), {});
    int within = j.needs + *rc::gen::inRange(0, 4);
    double value = 10;
    for (int k = *rc::gen::inRange(1, 3); k > 0; --k, within += *rc::gen::inRange(1, 4), value -= 3)
      j.choices.push_back({within, value});
    jobs.push_back(std::move(j));
  }
  return jobs;
}
void check_plan(const std::vector<LeaseJob>& jobs, std::int64_t capacity) {
  std::vector<std::int64_t> used(32, 0);
  for (const LeaseJob& j : jobs) {
    if (j.choice == kNoChoice) continue;
    RC_ASSERT(static_cast<int>(j.runs.size()) == j.choices[static_cast<std::size_t>(j.choice)].within);
    RC_ASSERT(std::count(j.runs.begin(), j.runs.end(), 1) == j.needs);
    for (std::size_t t = 0; t < j.runs.size(); ++t) used[t] += j.runs[t] != 0 ? j.gpus : 0;
  }
  RC_ASSERT(std::all_of(used.begin(), used.end(), [&](std::int64_t u) { return u <= capacity; }));
}

TEST(ChronusLeasesProperty, APlanIsNeverWorseThanItsStartNorBetterThanItsBound) {
  EXPECT_TRUE(rc::check([] {
    const std::int64_t capacity = *rc::gen::inRange(4, 17);
    const Use use = *rc::gen::element(Use::kLeast, Use::kMost, Use::kAny);
    std::vector<LeaseJob> jobs = some_jobs();
    std::vector<LeaseJob> same = jobs;
    PlanLimits none;
    none.variables = 0;
    const PlanReport greedy = plan(same, {capacity}, use, none);
    check_plan(same, capacity);
    RC_ASSERT(greedy.objective >= greedy.start - 1e-9);
    const PlanReport exact = plan(jobs, {capacity}, use, {.nodes = 100'000});
    check_plan(jobs, capacity);
    if (greedy.failed == 0) {
      RC_ASSERT(exact.failed == 0U);
      RC_ASSERT(exact.proved);
      RC_ASSERT(exact.objective >= greedy.objective - 1e-9);
      RC_ASSERT(exact.objective <= greedy.bound + 1e-6);  // the bound of the heuristics holds
      if (greedy.proved) {
        RC_ASSERT(exact.objective <= greedy.objective + 1e-6);
      }
    }
  }));
}

TEST(ChronusLeasesProperty, WhatPacksIsAPlan) {
  EXPECT_TRUE(rc::check([] {
    const std::int64_t capacity = *rc::gen::inRange(4, 17);
    std::vector<LeaseJob> jobs = some_jobs();
    std::vector<LeaseJob*> all;
    for (LeaseJob& j : jobs) all.push_back(&j);
    const bool fits = pack(all, {capacity}, capacity, false);
    check_plan(jobs, capacity);
    for (const LeaseJob& j : jobs) {
      if (fits) {
        RC_ASSERT(j.choice != kNoChoice);
      }
    }
  }));
}

}  // namespace
}  // namespace comity::sched::chronus
