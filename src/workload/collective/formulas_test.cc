// SPDX-License-Identifier: Apache-2.0
#include "workload/collective/formulas.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <vector>

namespace comity::workload::closed_form {
namespace {

Port draw_port() {
  return {*rc::gen::inRange(0, 100) * 1e-7, *rc::gen::inRange(1, 100) * 1e-12, *rc::gen::inRange(0, 10) * 1e-13};
}

TEST(ClosedForm, LogarithmsRoundBothWays) {
  const std::vector<std::int64_t> n = {0, 1, 2, 3, 4, 5, 8, 9, 1023, 1024, 1025};
  const std::vector<std::int64_t> up = {0, 0, 1, 2, 2, 3, 3, 4, 10, 10, 11};
  const std::vector<std::int64_t> down = {0, 0, 1, 1, 2, 2, 3, 3, 9, 10, 10};
  for (std::size_t i = 0; i < n.size(); ++i) {
    EXPECT_EQ(ceil_log2(n[i]), up[i]);
    EXPECT_EQ(floor_log2(n[i]), down[i]);
  }
}

TEST(ClosedForm, OneRankHasNothingToDo) {
  const Port port{1e-6, 1e-9, 1e-10};
  for (auto* form :
       {ring_all_reduce, recursive_doubling_all_reduce, halving_doubling_all_reduce, direct_all_reduce,
        full_mesh_all_reduce, one_shot_all_reduce, in_network_all_reduce, ring_scatter, halving_scatter,
        pairwise_all_to_all, bruck_all_to_all, ring_all_to_all, binomial_broadcast, scatter_gather_broadcast}) {
    EXPECT_EQ(form(1, 1e9, port), 0);
  }
  EXPECT_EQ(tree_all_reduce(1, 1e9, 4, port), 0);
  EXPECT_EQ(double_tree_all_reduce(1, 1e9, 4, port), 0);
  EXPECT_EQ(chain_broadcast(1, 1e9, 4, port), 0);
  EXPECT_EQ(hierarchical_all_reduce(1, 1, 1e9, port, port), 0);
  EXPECT_EQ(hierarchical_all_to_all(1, 1, 1e9, port, port), 0);
}

TEST(ClosedForm, AllReduceIsReduceScatterAndAllGather) {
  rc::check([] {
    const std::int64_t n = *rc::gen::inRange(1, 5000);
    const double bytes = *rc::gen::inRange(1, 1 << 30);
    const Port port = draw_port();
    const Port plain{port.alpha, port.beta, 0};
    const auto near = [](double a, double b) { return std::abs(a - b) <= 1e-12 * (a + b); };
    RC_ASSERT(near(ring_all_reduce(n, bytes, port), ring_scatter(n, bytes, port) + ring_scatter(n, bytes, plain)));
    const std::int64_t power = std::int64_t{1} << floor_log2(n);
    RC_ASSERT(near(halving_doubling_all_reduce(power, bytes, port),
                   halving_scatter(power, bytes, port) + halving_scatter(power, bytes, plain)));
    RC_ASSERT(near(scatter_gather_broadcast(n, bytes, plain),
                   halving_scatter(n, bytes, plain) + ring_scatter(n, bytes, plain)));
    // One level of the hierarchy alone is a ring.
    RC_ASSERT(near(hierarchical_all_reduce(n, 1, bytes, port, port), ring_all_reduce(n, bytes, port)));
    RC_ASSERT(near(hierarchical_all_reduce(1, n, bytes, port, port), ring_all_reduce(n, bytes, port)));
    RC_ASSERT(near(hierarchical_all_to_all(n, 1, bytes, port, port), pairwise_all_to_all(n, bytes, port)));
  });
}

TEST(ClosedForm, TreesByHand) {
  const Port port{1e-6, 1e-9, 0};
  EXPECT_NEAR(tree_all_reduce(8, 1e6, 10, port), 2 * 12 * (1e-6 + 2e-4), 1e-12);
  EXPECT_NEAR(double_tree_all_reduce(8, 1e6, 10, port), 2 * 12 * (1e-6 + 1e-4), 1e-12);
  // Many pieces without latency: 2 S over the port, half of what one tree takes.
  const Port free{0, 1e-9, 0};
  EXPECT_NEAR(double_tree_all_reduce(1024, 1e9, 1e6, free), 2, 1e-4);
  EXPECT_NEAR(tree_all_reduce(1024, 1e9, 1e6, free), 4, 1e-4);
}

TEST(ClosedForm, OthersByHand) {
  const Port port{1e-6, 1e-9, 1e-10};
  EXPECT_NEAR(halving_doubling_all_reduce(6, 1e6, port), 4e-6 + 1.5e-3 + .75e-4 + 2e-6 + 2e-3 + 1e-4,
              1e-12);  // two of six fold into four
  EXPECT_NEAR(recursive_doubling_all_reduce(8, 1e6, port), 3 * (1e-6 + 1.1e-3), 1e-12);
  EXPECT_NEAR(direct_all_reduce(8, 1e6, port), 2e-6 + 1.75e-3, 1e-12);
  EXPECT_NEAR(full_mesh_all_reduce(8, 1e6, port), 2e-6 + .25e-3, 1e-12);
  EXPECT_NEAR(one_shot_all_reduce(8, 1e6, port), 1e-6 + 7 * 1.1e-3, 1e-12);
  EXPECT_NEAR(in_network_all_reduce(8, 1e6, port), 2e-6 + 1.125e-3, 1e-12);
  EXPECT_NEAR(bruck_all_to_all(9, 1e6, port), 4 * (1e-6 + .5e-3), 1e-12);
  EXPECT_NEAR(ring_all_to_all(8, 1e6, port), 7e-6 + 3.5e-3, 1e-12);
  EXPECT_NEAR(message(1e6, port), 1e-6 + 1e-3, 1e-12);
  EXPECT_NEAR(hierarchical_all_reduce(8, 4, 1e6, {1e-6, 1e-9, 0}, {5e-6, 1e-8, 0}),
              14e-6 + 1.75e-3 + 30e-6 + 1.5 * 125e3 * 1e-8, 1e-12);
}

TEST(ClosedForm, NoNumberOfPiecesBeatsTheBest) {
  rc::check([] {
    const std::int64_t n = *rc::gen::inRange(2, 500);
    const double bytes = *rc::gen::inRange(1, 1 << 30);
    Port port = draw_port();
    port.alpha += 1e-8;
    const double best = chain_broadcast(n, bytes, chain_pieces(n, bytes, port), port);
    const double pieces = *rc::gen::inRange(1, 100000);
    RC_ASSERT(chain_broadcast(n, bytes, pieces, port) >= best * (1 - 1e-12));
  });
}

TEST(ClosedForm, SkewIsBoundByTheFullestPort) {
  const Port port{0, 1e-9, 0};
  const std::vector<double> even(16, 100);
  EXPECT_NEAR(skewed_all_to_all_bound(even, 4, port), 300e-9, 1e-18);
  std::vector<double> hot = even;
  hot[1 * 4 + 2] = 1000;  // rank 1 to rank 2
  EXPECT_NEAR(skewed_all_to_all_bound(hot, 4, port), 1200e-9, 1e-18);
  hot[0 * 4 + 2] = 500;  // more into rank 2
  EXPECT_NEAR(skewed_all_to_all_bound(hot, 4, port), 1600e-9, 1e-18);
  hot[3 * 4 + 3] = 1e9;  // stays at home
  EXPECT_NEAR(skewed_all_to_all_bound(hot, 4, port), 1600e-9, 1e-18);
  EXPECT_EQ(skewed_all_to_all_bound({}, 0, port), 0);
}

// nccl-tests printed: eight ranks, all-reduce of 4 GiB in 15870 us, 270.63 and 473.60 GB/s. The time is rounded to a
// microsecond, which is worth 0.015 GB/s of the latter: from 15870 us sharp it would be 473.61.
TEST(ClosedForm, BusBandwidthAsNcclTestsPrintIt) {
  const double algbw = 4294967296.0 / 15870e-6 / 1e9;
  EXPECT_NEAR(algbw, 270.63, .005);
  EXPECT_NEAR(algbw * busbw_factor(Collective::kAllReduce, 8), 473.60, .015);
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::kAllGather, 8), .875);
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::kReduceScatter, 8), .875);
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::kAllToAll, 8), .875);
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::kBroadcast, 8), 1);
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::kAllReduce, 1), 0);
}

}  // namespace
}  // namespace comity::workload::closed_form
