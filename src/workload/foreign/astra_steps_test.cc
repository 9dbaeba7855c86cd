// SPDX-License-Identifier: Apache-2.0
#include "workload/foreign/astra_steps.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace comity::workload::astra {
namespace {

std::uint64_t number(std::uint64_t low, std::uint64_t high) { return *rc::gen::inRange<std::uint64_t>(low, high); }

RC_GTEST_PROP(AstraStepsProperty, RingOfEqualsIsTheClosedForm, ()) {
  const std::uint64_t n = number(2, 20);
  const std::uint64_t edge = number(1, 1000);
  const std::uint64_t start = number(0, 1000);
  const RingSteps ring = {std::vector<std::uint64_t>(n, edge), 2 * (n - 1), n - 1, number(0, 100), number(0, 20)};
  const auto got = ring_finish(ring, std::vector<std::uint64_t>(n, start));
  const std::uint64_t expected =
      start + ring.steps * edge + (ring.steps + 1) * ring.delay + ring.reduced * ring.reduce_ns;
  // A ring that sends s messages waits s times: its last delay is the one after the last arrival.
  for (const std::uint64_t t : got) RC_ASSERT(t == expected);
}

RC_GTEST_PROP(AstraStepsProperty, DirectOverEqualLinks, ()) {
  DirectSteps d;
  d.n = number(2, 40);
  d.window = d.n - 1;
  d.delay = number(0, 20);
  d.reduce_ns = number(0, 100);
  const std::uint64_t t = number(1, 1000);
  d.message_ns = [&](std::uint64_t) { return t; };
  d.kind = DirectSteps::Kind::kOther;
  RC_ASSERT(direct_finish(d) == 2 * d.delay + t);
  d.kind = DirectSteps::Kind::kReduceScatter;
  RC_ASSERT(direct_finish(d) == 2 * d.delay + t + d.reduce_ns);
  d.kind = DirectSteps::Kind::kAllReduce;
  RC_ASSERT(direct_finish(d) == 3 * d.delay + 2 * t + d.reduce_ns);
  // One at a time is a ring of n - 1 steps.
  d.kind = DirectSteps::Kind::kOther;
  d.window = 1;
  RC_ASSERT(direct_finish(d) == (d.n - 1) * t + d.n * d.delay);
}

// The tree written as what it is: a recursion.
struct PlainTree {
  const TreeSteps& steps;
  const std::vector<std::uint64_t>& starts;
  std::vector<std::uint64_t> done;

  // Members first .. last form a subtree below `parent`; returns when its message reaches the parent.
  std::uint64_t up(std::size_t first, std::size_t last, std::size_t parent) const {
    const std::size_t me = (first + last) / 2;
    std::uint64_t sent = starts[me] + steps.delay;
    if (first != last)
      sent = std::max({starts[me], up(first, me - 1, me), up(me + 1, last, me)}) + steps.delay + steps.reduce_ns;
    return sent + steps.message_ns(me, parent);
  }
  void down(std::size_t first, std::size_t last, std::size_t parent) {
    const std::size_t me = (first + last) / 2;
    const std::uint64_t arrival = done[parent] + steps.message_ns(parent, me);
    done[me] = arrival + steps.delay + (first == last ? 0 : steps.reduce_ns);
    if (first == last) return;
    down(first, me - 1, me);
    down(me + 1, last, me);
  }
};

RC_GTEST_PROP(AstraStepsProperty, TreeIsItsRecursion, ()) {
  const std::size_t n = std::size_t{1} << number(1, 6);
  TreeSteps tree;
  tree.root_first = *rc::gen::arbitrary<bool>();
  tree.delay = number(0, 20);
  tree.reduce_ns = number(0, 100);
  tree.message_ns = [](std::size_t a, std::size_t b) { return 100 + 7 * (a > b ? a - b : b - a); };
  std::vector<std::uint64_t> starts(n);
  for (std::uint64_t& s : starts) s = number(0, 500);
  PlainTree plain{tree, starts, std::vector<std::uint64_t>(n)};
  const std::size_t root = tree.root_first ? 0 : n - 1;
  const std::size_t first = tree.root_first ? 1 : 0;
  plain.done[root] = std::max(starts[root], plain.up(first, first + n - 2, root)) + tree.delay + tree.reduce_ns;
  plain.down(first, first + n - 2, root);
  RC_ASSERT(tree_finish(tree, starts) == plain.done);
}

TEST(AstraStepsTest, ChunksTakeTurns) {
  const auto run = [](const std::vector<std::uint64_t>& begin) {
    std::vector<std::uint64_t> end;
    for (const std::uint64_t b : begin) end.push_back(b + 10);
    return end;
  };
  EXPECT_EQ(chunk_by_chunk(std::vector<std::uint64_t>{0, 5}, 4, 1, run), (std::vector<std::uint64_t>{40, 45}));
  EXPECT_EQ(chunk_by_chunk(std::vector<std::uint64_t>{0, 5}, 5, 2, run), (std::vector<std::uint64_t>{30, 35}));
  EXPECT_EQ(chunk_by_chunk(std::vector<std::uint64_t>{0, 5}, 2, 9, run), (std::vector<std::uint64_t>{10, 15}));
}

}  // namespace
}  // namespace comity::workload::astra
