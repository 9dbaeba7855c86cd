// SPDX-License-Identifier: Apache-2.0
#include "sched/slot_matching.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace comity::sched {
namespace {

double total(const std::vector<double>& times, const std::vector<MachinePool>& pools, const std::vector<Slot>& slots) {
  double sum = 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].pool == Slot::kNone) continue;
    sum += slots[i].from_end * times[i * pools.size() + slots[i].pool] + pools[slots[i].pool].delay;
  }
  return sum;
}

// Every assignment of jobs to pools; in a pool of n machines the jobs that take longest are the last ones.
double least(const std::vector<double>& times, const std::vector<MachinePool>& pools) {
  const std::size_t jobs = times.size() / pools.size();
  double best = std::numeric_limits<double>::infinity();
  std::vector<std::size_t> pool(jobs, 0);
  for (;;) {
    double sum = 0;
    for (std::size_t s = 0; s < pools.size(); ++s) {
      std::vector<double> mine;
      for (std::size_t i = 0; i < jobs; ++i) {
        if (pool[i] == s) mine.push_back(times[i * pools.size() + s]);
      }
      std::sort(mine.rbegin(), mine.rend());
      if (!mine.empty() && (pools[s].machines == 0 || mine.back() < 0)) sum = std::numeric_limits<double>::infinity();
      for (std::size_t n = 0; n < mine.size() && std::isfinite(sum); ++n)
        sum += static_cast<double>(n / pools[s].machines + 1) * mine[n] + pools[s].delay;
    }
    best = std::min(best, sum);
    std::size_t i = 0;
    while (i < jobs && ++pool[i] == pools.size()) pool[i++] = 0;
    if (i == jobs) return best;
  }
}

TEST(SlotMatching, ShortJobsGoFirstAndFastMachinesAreWaitedFor) {
  // One machine: the shortest first, so the longest is last: 30 + 2 x 20 + 3 x 10.
  const std::vector<Slot> one = match_slots({30, 10, 20}, {{1, 0}});
  EXPECT_EQ(one[0].from_end, 1U);
  EXPECT_EQ(one[2].from_end, 2U);
  EXPECT_EQ(one[1].from_end, 3U);
  // 10 on the fast machine, 100 on the slow one: both wait for the fast one, 10 + 20.
  const std::vector<Slot> fast = match_slots({10, 100, 10, 100}, {{1, 0}, {1, 0}});
  EXPECT_EQ(fast[0].pool, 0U);
  EXPECT_EQ(fast[1].pool, 0U);
  EXPECT_NE(fast[0].from_end, fast[1].from_end);
  // It is busy for 85 more: one of them waits for it, 95; the other takes the slow one, 100 instead of 105.
  const std::vector<Slot> busy = match_slots({10, 100, 10, 100}, {{1, 85}, {1, 0}});
  EXPECT_NE(busy[0].pool, busy[1].pool);
}

TEST(SlotMatching, WhoRunsNowhereHasNoSlot) {
  const std::vector<Slot> slots = match_slots({-1, -1, 5, -1}, {{2, 0}, {1, 0}});
  EXPECT_EQ(slots[0].pool, Slot::kNone);
  EXPECT_EQ(slots[1].pool, 0U);
  EXPECT_TRUE(match_slots({}, {}).empty());
  EXPECT_EQ(match_slots({5}, {{0, 0}})[0].pool, Slot::kNone);
}

RC_GTEST_PROP(SlotMatchingProperty, IsTheBestOfAll, ()) {
  std::vector<MachinePool> pools(*rc::gen::inRange<std::size_t>(1, 4));
  for (MachinePool& p : pools)
    p = {*rc::gen::inRange<std::uint32_t>(1, 4), static_cast<double>(*rc::gen::inRange(0, 40))};
  const auto jobs = *rc::gen::inRange<std::size_t>(1, 8);
  std::vector<double> times;
  for (std::size_t i = 0; i < jobs * pools.size(); ++i)
    times.push_back(i % pools.size() > 0 && *rc::gen::inRange(0, 6) == 0 ? -1 : *rc::gen::inRange(1, 60));
  const std::vector<Slot> slots = match_slots(times, pools);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> taken;
  for (const Slot& s : slots) {
    RC_ASSERT(s.pool < pools.size());
    RC_ASSERT(++taken[std::make_pair(s.pool, s.from_end)] <= pools[s.pool].machines);
  }
  RC_ASSERT(std::abs(total(times, pools, slots) - least(times, pools)) < 1e-6);
}

}  // namespace
}  // namespace comity::sched
