// SPDX-License-Identifier: Apache-2.0
// HiveD's cells: the safety theorem under random requests, and that it is the buddy rule that keeps it.
#include "sched/cells.h"

#include <map>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/rng.h"
#include "sched/virtual_clusters.h"

namespace comity::sched {
namespace {

std::uint64_t nothing(const Cell&) { return 0; }

TEST(Cells, SplitsTheLowestAndMergesAgain) {
  CellPool pool({1, 2, 4, 8}, {{3, 0}, {3, 1}});
  const auto a = pool.allocate(0, nothing);
  EXPECT_EQ(*a, (Cell{0, 0}));
  EXPECT_EQ(pool.free_cells(0), 1U);
  EXPECT_EQ(pool.free_cells(1), 1U);
  EXPECT_EQ(pool.free_cells(2), 1U);
  EXPECT_EQ(pool.free_cells(3), 1U);
  EXPECT_EQ(*pool.allocate(0, nothing), (Cell{0, 1}));  // its sibling, no other cell is split
  EXPECT_EQ(*pool.allocate(1, nothing), (Cell{1, 1}));
  pool.release({0, 1});
  pool.release({1, 1});
  EXPECT_EQ(pool.free_cells(3), 1U);
  pool.release(*a);
  EXPECT_EQ(pool.free_cells(3), 2U);
  EXPECT_EQ(pool.free_cells(0) + pool.free_cells(1) + pool.free_cells(2), 0U);
}

struct Life {
  std::uint64_t asked = 0;
  std::uint64_t broken = 0;
};

// Random tenants with cells that can be laid out at once ask for single cells and give them back. Who of its d_l cells
// of a level has fewer than all in use (it asks for no others) must get one: counted here, apart from the code.
Life random_cells(std::uint64_t seed, CellPool::Split split) {
  Rng rng(seed);
  const std::vector<std::uint32_t> sizes =
      rng.below(2) == 0 ? std::vector<std::uint32_t>{1, 2, 4, 8} : std::vector<std::uint32_t>{1, 4, 8, 32};
  const auto nodes = static_cast<std::uint32_t>(sizes.back() == 32 ? 8 + rng.below(6) : 3 + rng.below(6));
  VirtualClusters cells(sizes, nodes, 8);
  cells.set_split(split);
  std::vector<std::vector<std::uint64_t>> owned;
  for (int tries = 0; tries < 60; ++tries) {
    std::vector<std::uint64_t> mine(sizes.size(), 0);
    for (std::uint64_t& n : mine) n = rng.below(3);
    VirtualClusters trial(sizes, nodes, 8);
    for (const auto& other : owned) trial.add(other);
    trial.add(mine);
    if (!trial.feasible()) continue;
    owned.push_back(mine);
    cells.add(mine);
  }
  struct Held {
    std::size_t tenant;
    std::size_t level;
    CellGrant grant;
  };
  std::vector<Held> held;
  std::map<std::pair<std::size_t, std::size_t>, std::uint64_t> used;
  Life life;
  for (int step = 0; step < 400 && !owned.empty(); ++step) {
    if (!held.empty() && rng.below(5) < 2) {
      const std::size_t i = rng.below(held.size());
      cells.release(held[i].tenant, held[i].grant);
      --used[{held[i].tenant, held[i].level}];
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    const std::size_t tenant = rng.below(owned.size());
    const std::size_t level = rng.below(sizes.size());
    if (used[{tenant, level}] >= owned[tenant][level]) continue;
    ++life.asked;
    auto grant = cells.allocate(tenant, 0, sizes[level], nothing);
    if (!grant) {
      ++life.broken;
      continue;
    }
    // One cell, as wide as asked, in one piece within a cell of its level.
    EXPECT_EQ(grant->windows.size(), 1U);
    EXPECT_EQ(grant->windows[0].first % sizes[level], 0U);
    EXPECT_LE(grant->windows[0].first + sizes[level], std::uint64_t{nodes} * 8);
    for (const Held& other : held) {  // no GPU twice
      const auto [at, n] = other.grant.windows[0];
      EXPECT_TRUE(at + n <= grant->windows[0].first || grant->windows[0].first + sizes[level] <= at);
    }
    ++used[{tenant, level}];
    held.push_back({tenant, level, std::move(*grant)});
  }
  return life;
}

TEST(Cells, WhatATenantOwnsItGets) {
  Life all;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Life life = random_cells(seed, CellPool::Split::kLowest);
    EXPECT_EQ(life.broken, 0U) << "seed " << seed;
    all.asked += life.asked;
  }
  EXPECT_GT(all.asked, 10'000U);
}

TEST(Cells, WithoutTheBuddyRuleItDoesNot) {
  Life all;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) all.broken += random_cells(seed, CellPool::Split::kHighest).broken;
  EXPECT_GT(all.broken, 0U);
}

// Feasibility of cells by trying to lay them out, widest first, which is exact where sizes divide one another.
TEST(Cells, NodesNarrowerThanWhatIsAskedOfEachHoldNothing) {
  VirtualClusters plain({1, 2}, 2, 2);
  const std::size_t a = plain.add_rest();
  EXPECT_FALSE(plain.could(a, 2, 3));
  EXPECT_FALSE(plain.allocate(a, 2, 3, nothing).has_value());
  VirtualClusters racks({1, 2, 4}, 2, 2);
  const std::size_t b = racks.add_rest();
  EXPECT_FALSE(racks.could(b, 1, 4));
  EXPECT_FALSE(racks.allocate(b, 1, 4, nothing).has_value());
  EXPECT_TRUE(racks.allocate(b, 0, 4, nothing).has_value());
}

TEST(Cells, FeasibleIsWhatCanBeLaidOut) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<std::uint32_t> sizes = {1, 2, 8};
    const auto nodes = *rc::gen::inRange<std::uint32_t>(1, 5);
    VirtualClusters cells(sizes, nodes, 8);
    std::vector<std::uint64_t> owned(3);
    for (auto& n : owned) n = *rc::gen::inRange<std::uint64_t>(0, 12);
    cells.add(owned);
    std::vector<Cell> tops;
    for (std::uint32_t i = 0; i < nodes; ++i) tops.push_back({2, i});
    CellPool pool(sizes, tops);
    bool fits = true;
    for (std::uint32_t l = 3; l-- > 0;) {
      for (std::uint64_t i = 0; i < owned[l]; ++i) fits = fits && pool.allocate(l, nothing).has_value();
    }
    RC_ASSERT(cells.feasible() == fits);
  }));
}

TEST(Cells, TheRestIsWhatNobodyOwns) {
  VirtualClusters cells({1, 2, 4, 8}, 10, 8);
  cells.add({0, 0, 3, 5});  // 3 halves need 2 nodes
  const std::size_t rest = cells.add_rest();
  EXPECT_TRUE(cells.could(rest, 0, 24));
  EXPECT_FALSE(cells.could(rest, 0, 25));
  EXPECT_TRUE(cells.feasible());
}

}  // namespace
}  // namespace comity::sched
