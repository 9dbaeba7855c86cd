// SPDX-License-Identifier: Apache-2.0
// The pool against a plain reference that scans every node, and its laws: no GPU twice, nothing lost.
#include "cluster/pool.h"

#include <bit>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "cluster/free_counts.h"

namespace comity::cluster {
namespace {

ClusterSpec uniform(std::uint32_t nodes, std::uint32_t gpus) {
  ClusterSpec spec;
  for (std::uint32_t i = 0; i < nodes; ++i) {
    NodeSpec node;
    node.name = "n" + std::to_string(i);
    node.gpus = gpus;
    spec.nodes.push_back(node);
  }
  return spec;
}

// Rule R4 read literally: node -> GPUs taken, or nothing.
std::vector<std::pair<std::uint32_t, std::uint32_t>> by_rule(const std::vector<std::uint32_t>& free, std::uint32_t n,
                                                             std::uint32_t g, Placement rule) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> out;
  const auto one = [&](std::uint32_t want, const std::set<std::uint32_t>& not_these) -> std::int64_t {
    std::int64_t best = -1;
    for (std::uint32_t i = 0; i < free.size(); ++i) {
      if (free[i] < want || not_these.contains(i)) continue;
      if (rule == Placement::kFirstFit) return i;
      if (best < 0 || free[i] < free[static_cast<std::size_t>(best)]) best = i;
    }
    return best;
  };
  std::set<std::uint32_t> whole;
  for (std::uint32_t i = 0; i < free.size() && g > n && whole.size() < g / n; ++i) {
    if (free[i] == n) whole.insert(i);
  }
  if (g > n && whole.size() < g / n) return {};
  const std::uint32_t rest = g > n ? g % n : g;
  for (const std::uint32_t i : whole) out.emplace_back(i, n);
  if (rest == 0) return out;
  std::int64_t at = one(rest, whole);
  for (std::uint32_t i = 0; rule == Placement::kLucid && g > n && i < free.size(); ++i) {
    if (!whole.contains(i) && at >= 0 && free[i] > free[static_cast<std::size_t>(at)]) at = i;
    if (!whole.contains(i) && at > i && free[i] == free[static_cast<std::size_t>(at)]) at = i;
  }
  if (at < 0) return {};
  out.emplace_back(static_cast<std::uint32_t>(at), rest);
  return out;
}

void same_as_rule(Placement rule) {
  const auto nodes = *rc::gen::inRange<std::uint32_t>(1, 9);
  const auto n = *rc::gen::element<std::uint32_t>(1, 4, 8, 64);
  Pool pool(uniform(nodes, n), rule);
  std::vector<std::uint32_t> free(nodes, n);
  std::vector<Allocation> held;
  const auto steps = *rc::gen::inRange(1, 60);
  for (int s = 0; s < steps; ++s) {
    if (!held.empty() && *rc::gen::inRange(0, 3) == 0) {
      const auto i = *rc::gen::inRange<std::size_t>(0, held.size());
      pool.release(held[i]);
      for (const Part& p : held[i].parts) free[p.node.index()] += static_cast<std::uint32_t>(std::popcount(p.gpus));
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    const auto g = *rc::gen::inRange<std::uint32_t>(1, 3 * n + 2);
    const auto want = by_rule(free, n, g, rule);
    Allocation a;
    const bool placed = pool.place({0, g}, {}, a);
    RC_ASSERT(placed == !want.empty());
    RC_ASSERT(placed == pool.fits({0, g}, {}));
    if (!placed) continue;
    RC_ASSERT(a.parts.size() == want.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      RC_ASSERT(a.parts[i].node.value == want[i].first);
      RC_ASSERT(static_cast<std::uint32_t>(std::popcount(a.parts[i].gpus)) == want[i].second);
      free[want[i].first] -= want[i].second;
    }
    pool.allocate(a);
    held.push_back(a);
  }
}

TEST(Pool, BestFitIsRuleR4) {
  EXPECT_TRUE(rc::check([] { same_as_rule(Placement::kBestFit); }));
}
TEST(Pool, LucidGivesTheRemainderOfAGangToTheNodeWithMostFree) {
  EXPECT_TRUE(rc::check([] { same_as_rule(Placement::kLucid); }));
}
TEST(Pool, FirstFitIsRuleR3) {
  EXPECT_TRUE(rc::check([] { same_as_rule(Placement::kFirstFit); }));
}

TEST(Pool, ConsolidatedTakesFewestNodesAndLeastLeftOver) {
  EXPECT_TRUE(rc::check([] {
    const auto n = *rc::gen::element<std::uint32_t>(4, 8);
    const auto nodes = *rc::gen::inRange<std::uint32_t>(2, 7);
    Pool pool(uniform(nodes, n), Placement::kConsolidated);
    std::vector<std::uint32_t> free(nodes, n);
    for (std::uint32_t i = 0; i < nodes; ++i) {  // take some GPUs of each node
      const auto used = *rc::gen::inRange<std::uint32_t>(0, n + 1);
      if (used == 0) continue;
      Allocation a;
      a.gpus = used;
      a.parts.push_back({NodeId(i), (used == 64 ? ~0ULL : (1ULL << used) - 1)});
      pool.allocate(a);
      free[i] -= used;
    }
    const auto g = *rc::gen::inRange<std::uint32_t>(n + 1, nodes * n + 1);
    std::uint32_t fewest = nodes + 1;  // over all subsets
    std::uint32_t least = ~0U;
    for (std::uint32_t set = 1; set < (1U << nodes); ++set) {
      std::uint32_t sum = 0;
      for (std::uint32_t i = 0; i < nodes; ++i) sum += (set >> i & 1) != 0 ? free[i] : 0;
      const auto k = static_cast<std::uint32_t>(std::popcount(set));
      if (sum < g || k > fewest) continue;
      least = k < fewest ? sum - g : std::min(least, sum - g);
      fewest = k;
    }
    Allocation a;
    const bool placed = pool.place({0, g}, {}, a);
    RC_ASSERT(placed == (fewest <= nodes));
    if (!placed) return;
    std::uint32_t sum = 0;
    for (const Part& p : a.parts) sum += free[p.node.index()];
    RC_ASSERT(a.parts.size() == fewest);
    RC_ASSERT(sum - g == least);
    RC_ASSERT(a.gpus == g);
  }));
}

TEST(Pool, BuddyFitsWhatItPlacesOnSeveralNodes) {
  Pool pool(uniform(2, 8), Placement::kBuddy);
  for (std::uint32_t n = 0; n < 2; ++n) {  // GPU 1 and 5 of each: 6 free, no aligned 4
    Allocation a;
    a.gpus = 2;
    a.parts.push_back({NodeId(n), 0b100010});
    pool.allocate(a);
  }
  Allocation out;
  EXPECT_FALSE(pool.place({2, 4}, {}, out));
  EXPECT_FALSE(pool.fits({2, 4}, {}));
  EXPECT_TRUE(pool.fits({2, 2}, {}));
}

TEST(Pool, BuddyStartsAtAMultipleOfThePowerOfTwo) {
  Pool pool(uniform(1, 8), Placement::kBuddy);
  Allocation one;
  Allocation two;
  Allocation four;
  ASSERT_TRUE(pool.place({0, 1}, {}, one));
  pool.allocate(one);
  ASSERT_TRUE(pool.place({0, 2}, {}, two));
  EXPECT_EQ(two.parts[0].gpus, 0b1100U);
  pool.allocate(two);
  ASSERT_TRUE(pool.place({0, 4}, {}, four));
  EXPECT_EQ(four.parts[0].gpus, 0b11110000U);
  pool.allocate(four);
  EXPECT_EQ(pool.free_gpus(), 1);
  EXPECT_FALSE(pool.fits({0, 2}, {}));
}

TEST(Pool, TwoDimensionalShapeTakesDistinctNodesLeastFreeFirst) {
  Pool pool(uniform(4, 8), Placement::kBestFit);
  Allocation a;
  ASSERT_TRUE(pool.place({1, 3}, {}, a));
  pool.allocate(a);  // node 0 has 5 free
  Allocation b;
  ASSERT_TRUE(pool.place({2, 5}, {}, b));
  ASSERT_EQ(b.parts.size(), 2U);
  EXPECT_EQ(b.parts[0].node.value, 0U);
  EXPECT_EQ(b.parts[1].node.value, 1U);
  EXPECT_FALSE(pool.fits({4, 6}, {}));
  EXPECT_FALSE(pool.could_fit({5, 8}, {}));
  EXPECT_FALSE(pool.could_fit({1, 9}, {}));
}

TEST(Pool, ANodeThatIsDownOffersNothing) {
  Pool pool(uniform(2, 8), Placement::kBestFit);
  pool.set_up(NodeId(0), false);
  EXPECT_EQ(pool.free_gpus(), 8);
  EXPECT_FALSE(pool.fits({2, 8}, {}));
  EXPECT_FALSE(pool.could_fit({2, 8}, {}));
  pool.set_up(NodeId(0), true);
  EXPECT_TRUE(pool.fits({2, 8}, {}));
}

TEST(Pool, SmallPoolGivesTheSmallestFreeSlot) {
  ClusterSpec spec = uniform(1, 8);
  for (const std::uint32_t slot : {4U, 2U, 1U, 1U}) {
    NodeSpec node;
    node.name = "small";
    node.gpus = slot;
    node.small = true;
    spec.nodes.push_back(node);
  }
  Pool pool(spec, Placement::kBestFit);
  const auto slot_of = [&](std::uint32_t g) {
    Allocation a;
    if (!pool.place({1, g}, {}, a, Pool::Pools::kSmall)) return 0U;
    pool.allocate(a);
    return a.gpus;
  };
  EXPECT_EQ(slot_of(1), 1U);
  EXPECT_EQ(slot_of(2), 2U);
  EXPECT_EQ(slot_of(4), 4U);
  EXPECT_EQ(slot_of(2), 0U);
  EXPECT_EQ(slot_of(1), 1U);
  EXPECT_EQ(slot_of(1), 0U);
  EXPECT_FALSE(pool.could_fit({2, 8}, {}));  // big jobs are judged by the main pool alone
}

TEST(Pool, AJobTakesTheTypeThatKeepsFewestFreeGpus) {
  ClusterSpec spec = uniform(3, 8);
  spec.nodes[0].gpu_type = "b";
  spec.nodes[1].gpu_type = "b";
  spec.nodes[2].gpu_type = "c";
  Pool pool(spec, Placement::kBestFit);
  Allocation a;
  ASSERT_TRUE(pool.place({1, 8}, {}, a));
  EXPECT_EQ(a.parts[0].node.value, 2U);
  EXPECT_FALSE(pool.fits({3, 8}, {}));  // a gang takes one type
}

TEST(FreeCounts, AgreesWithAPoolThatReallyReleased) {
  EXPECT_TRUE(rc::check([] {
    const auto rule = *rc::gen::element(Placement::kCount, Placement::kBestFit, Placement::kFirstFit);
    Pool pool(uniform(5, 8), rule);
    std::vector<Allocation> held;
    for (int i = 0; i < 20; ++i) {
      Allocation a;
      if (!pool.place({0, *rc::gen::inRange<std::uint32_t>(1, 20)}, {}, a)) continue;
      pool.allocate(a);
      held.push_back(a);
    }
    FreeCounts counts;
    counts.assign(pool);
    Pool copy = pool;
    for (const Allocation& a : held) {
      counts.release(pool, a);
      copy.release(a);
      const Shape shape{*rc::gen::inRange<std::uint32_t>(0, 4), *rc::gen::inRange<std::uint32_t>(1, 20)};
      RC_ASSERT(counts.fits(pool, shape, {}) == copy.fits(shape, {}));
    }
  }));
}

TEST(Spec, NodesAreParsedOrRefused) {
  EXPECT_EQ(parse_nodes("56x8")->gpus(), 448U);
  for (const char* bad : {"", "x", "0x8", "8x0", "-1x8", "8", "8x", "1e9x1", "99999999999999999999x8"})
    EXPECT_FALSE(parse_nodes(bad).has_value()) << bad;
}

TEST(Spec, AClusterFileIsReadOrRefusedWithLineAndField) {
  const auto good = parse_cluster(
      "schema = \"comity.cluster/1\"\n[[nodes]]\ncount = 2\ngpus = 8\n[[nodes]]\nname = \"s\"\ngpus = 8\nslots = [4, "
      "2, 1, 1]\n"
      "[[tenants]]\nname = \"a\"\nmax_gpus = 4\n[limits]\nuser_max_gpus = 3\n",
      "c.toml");
  ASSERT_TRUE(good.has_value()) << good.error().text();
  EXPECT_EQ(good->nodes.size(), 6U);
  EXPECT_EQ(good->gpus(), 24U);
  EXPECT_EQ(good->tenants[0].max_gpus, 4);
  EXPECT_EQ(good->user_max_gpus, 3);
  const auto unknown = parse_cluster("schema = \"comity.cluster/1\"\n[[nodes]]\ngpus = 8\ngpu_typ = \"a\"\n", "c.toml");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().line, 4);
  EXPECT_NE(unknown.error().hint.find("gpu_type"), std::string::npos);
  const auto none = parse_cluster("schema = \"comity.cluster/1\"\n", "c.toml");
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().message, "a cluster without nodes");
}

}  // namespace
}  // namespace comity::cluster
