// SPDX-License-Identifier: Apache-2.0
// The accounting of long-term fairness, the discrete index and the choice of a tenant: worked out by hand, and laws.
#include "sched/astraea_ltgf.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace comity::sched::astraea {
namespace {

TEST(AstraeaLtgf, DiscreteIndexByHand) {
  EXPECT_EQ(discrete_index(0), 0);
  EXPECT_EQ(discrete_index(0.05), 1);
  EXPECT_EQ(discrete_index(0.5), 2);
  EXPECT_EQ(discrete_index(1), 3);
  EXPECT_EQ(discrete_index(2), 4);
}

TEST(AstraeaLtgf, DiscreteIndexNeverFalls) {
  EXPECT_TRUE(rc::check([] {
    const double a = *rc::gen::inRange(0, 1'000'000) * 1e-5;
    const double b = a + *rc::gen::inRange(0, 1'000'000) * 1e-5;
    const int k = *rc::gen::inRange(1, 12);
    RC_ASSERT(discrete_index(a, k) <= discrete_index(b, k));
    RC_ASSERT(discrete_index(b, k) >= 0);
    RC_ASSERT(discrete_index(b, k) <= k);
  }));
}

// Quota 4, demand 8, for one hour.
TEST(AstraeaLtgf, ATenantByHand) {
  Window all(24);
  all.advance({4, 4, 8}, 0, 3600);
  EXPECT_DOUBLE_EQ(all.recent().utilized / 3600, 4);
  EXPECT_DOUBLE_EQ(all.recent().deserved / 3600, 4);
  EXPECT_DOUBLE_EQ(all.recent().ltgf(), 1);
  Window half(24);
  half.advance({4, 2, 8}, 0, 3600);
  EXPECT_DOUBLE_EQ(half.recent().ltgf(), 0.5);
  EXPECT_DOUBLE_EQ(half.recent().of_quota(), 0.5);
  EXPECT_DOUBLE_EQ(Window(24).recent().ltgf(), 1);
  EXPECT_DOUBLE_EQ(Window(24).recent().of_quota(), 1);
}

TEST(AstraeaLtgf, TheWindowForgets) {
  Window w(2);
  w.advance({4, 4, 4}, 0, 1800);
  EXPECT_DOUBLE_EQ(w.closed().utilized, 0);  // the hour is open
  EXPECT_DOUBLE_EQ(w.recent().utilized, 7200);
  w.advance({4, 0, 0}, 1800, 3600);
  EXPECT_DOUBLE_EQ(w.closed().utilized, 7200);
  EXPECT_DOUBLE_EQ(w.recent().utilized, 7200);
  w.advance({4, 0, 0}, 3600, 7200);
  EXPECT_DOUBLE_EQ(w.closed().utilized, 7200);
  EXPECT_DOUBLE_EQ(w.recent().utilized, 0);  // one closed hour and the open one
  w.advance({4, 0, 0}, 7200, 10800);
  EXPECT_DOUBLE_EQ(w.closed().utilized, 0);
}

TEST(AstraeaLtgf, HowTheTimeIsCutDoesNotMatter) {
  EXPECT_TRUE(rc::check([] {
    const std::size_t buckets = *rc::gen::inRange<std::size_t>(1, 6);
    const auto cuts = *rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 9000));
    Window once(buckets);
    Window often(buckets);
    double at = 0;
    for (const int cut : cuts) {
      often.advance({4, 3, 8}, at, at + cut);
      at += cut;
    }
    once.advance({4, 3, 8}, 0, at);
    RC_ASSERT(std::abs(once.recent().utilized - often.recent().utilized) < 1e-6);
    RC_ASSERT(std::abs(once.closed().deserved - often.closed().deserved) < 1e-6);
  }));
}

TEST(AstraeaLtgf, Quotas) {
  EXPECT_EQ(quotas(88, std::vector<double>(11, 1), true), std::vector<double>(11, 8));
  EXPECT_EQ(quotas(10, {2, 1}, true), (std::vector<double>{6, 3}));
  EXPECT_DOUBLE_EQ(quotas(10, {2, 1}, false)[0], 20.0 / 3);
}

// Two jobs of 1 and 8 GPUs share a quota of 8 for 10 s, then the wide one is alone for 10 s.
TEST(AstraeaLtgf, WhatJobsDeserve) {
  Entitlement e;
  EXPECT_DOUBLE_EQ(e.of(1), 0);
  EXPECT_DOUBLE_EQ(e.of(8), 0);
  e.advance(8, 2, 10);
  e.advance(8, 1, 10);
  e.advance(8, 0, 10);
  EXPECT_DOUBLE_EQ(e.of(1), 20);
  EXPECT_DOUBLE_EQ(e.of(8), 40 + 80);
}

// Quota 4 each: what they have had of their quota in an hour, and what they use.
std::size_t first(double had_1, double had_2, double used_1, double used_2) {
  TenantPick pick(1800);
  pick.add(4, 4 * used_1, {14400, 14400 * had_1, 14400}, true);
  pick.add(4, 4 * used_2, {14400, 14400 * had_2, 14400}, true);
  return pick.next();
}
TEST(AstraeaLtgf, WhoIsNextByHand) {
  EXPECT_EQ(first(.9, .3, .5, .5), 1U);
  EXPECT_EQ(first(.9, .3, .1, .5), 0U);  // uses less than a fifth of its quota
  EXPECT_EQ(first(.9, .3, .2, .5), 1U);  // just a fifth
  EXPECT_EQ(first(.3, .3, .5, .5), 0U);
}
TEST(AstraeaLtgf, AGrantCountsAsAWholeLease) {
  TenantPick pick(1800);
  pick.add(4, 2, {14400, 4000, 14400}, true);
  pick.add(4, 2, {14400, 5000, 14400}, true);
  EXPECT_EQ(pick.next(), 0U);
  pick.grant(0, 1);  // (4000 + 1800) / (14400 + 7200) = .27 < 5000 / 14400 = .35
  EXPECT_EQ(pick.next(), 0U);
  pick.grant(0, 1);  // .35
  EXPECT_EQ(pick.next(), 1U);
  EXPECT_DOUBLE_EQ(pick.used(0), 4);
  pick.drop(1);
  EXPECT_EQ(pick.next(), 0U);
  pick.drop(0);
  EXPECT_EQ(pick.next(), kNobody);
}

TEST(AstraeaLtgf, FinishTimeRatioByHand) {
  EXPECT_DOUBLE_EQ(finish_time_ratio(0, 0, 100, 0, 0), 1);
  // Ran 100 of 200 s at what it deserves: (100 x 1 + 100) + 50.
  EXPECT_DOUBLE_EQ(finish_time_ratio(200, 100, 50, 100, 100), 0.8);
}

TEST(AstraeaLtgf, ChanceToEndInTheNextLease) {
  Lifetimes l(100);
  EXPECT_DOUBLE_EQ(l.ends_in_next_lease(1, 0), 1);
  for (const double d : {10.0, 20.0, 150.0, 450.0}) l.add(1, d);
  l.add(8, 10);
  EXPECT_DOUBLE_EQ(l.ends_in_next_lease(1, 0), 0.5);
  EXPECT_DOUBLE_EQ(l.ends_in_next_lease(1, 100), 0.5);
  EXPECT_DOUBLE_EQ(l.ends_in_next_lease(1, 200), 0);
  EXPECT_DOUBLE_EQ(l.ends_in_next_lease(1, 500), 1);
  EXPECT_DOUBLE_EQ(l.ends_in_next_lease(8, 0), 0.6);  // one bin is too few: all jobs
}

TEST(AstraeaLtgf, ATieIsBrokenByWhoHasHadLeast) {
  for (const bool fair : {false, true}) {
    TenantPick pick(100, fair);
    pick.add(4, 0, Usage{400, 400, 400}, true);
    pick.add(4, 0, Usage{400, 0, 400}, true);
    EXPECT_EQ(pick.next(), fair ? 1U : 0U);
  }
}

}  // namespace
}  // namespace comity::sched::astraea
