// SPDX-License-Identifier: Apache-2.0
#include "workload/collective_cost.h"

#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "workload/nccl.h"

namespace comity::workload {
namespace {

System h100() {
  System s;
  s.networks = {{.name = "nvlink", .domain = 8, .gb_s = 450, .latency_us = 2},
                {.name = "ib", .gb_s = 50, .latency_us = 0}};
  s.nccl.arch = "hopper";
  return s;
}

double time_of(const NcclTable& table, NcclAlgorithm a, NcclProtocol p) {
  for (const NcclChoice& c : table)
    if (c.algorithm == a && c.protocol == p) return c.time_us;
  return -1;
}

TEST(Nccl, SmallMessagesTakeTheLatencyOfTheTables) {  // mixnet.md V17: 8 x H100, ring 360 GB/s
  const Group node{8, 8, 1};
  const NcclChannels channels = nccl_channels(h100(), node);
  EXPECT_EQ(channels.count * channels.gb_s, 360);
  const NcclTable table = nccl_table(h100(), Collective::kAllReduce, 8, node);
  EXPECT_NEAR(time_of(table, NcclAlgorithm::kRing, NcclProtocol::kLl), 6.6 + 14 * 0.6, 0.01);
  EXPECT_NEAR(time_of(table, NcclAlgorithm::kTree, NcclProtocol::kLl), 6.8 + 2 * 7 * 0.6, 0.01);
  EXPECT_EQ(nccl_choice(h100(), Collective::kAllReduce, 8, node).protocol, NcclProtocol::kLl);
}

TEST(Nccl, LargeMessagesAreSimpleOrNvls) {
  const Group node{8, 8, 1};
  System s = h100();
  EXPECT_EQ(nccl_choice(s, Collective::kAllReduce, 1 << 30, node).protocol, NcclProtocol::kSimple);
  EXPECT_EQ(nccl_choice(s, Collective::kAllReduce, 1 << 30, node).algorithm, NcclAlgorithm::kRing);
  s.nccl.nvls = true;
  EXPECT_EQ(nccl_choice(s, Collective::kAllReduce, 1 << 30, node).algorithm, NcclAlgorithm::kNvls);
}

TEST(Nccl, BusBandwidthIsNearThePublicTables) {  // nccl-tests, GB/s: fabric/nccl/allreduce_busbw_measured.csv
  System s = h100();
  s.nccl.nvls = true;
  const auto busbw = [&](double bytes, const Group& g) {
    const double n = static_cast<double>(g.ranks);
    return 2 * (n - 1) / n * bytes / collective_s(CostModel::kNccl, s, Collective::kAllReduce, bytes, g) * 1e-9;
  };
  EXPECT_NEAR(busbw(4.0 * (1LL << 30), {8, 8, 1}), 474, 0.05 * 474);
  System a100 = h100();
  a100.nccl = {.arch = "ampere"};
  a100.networks[0].gb_s = 300;
  s = a100;
  EXPECT_NEAR(busbw(1.0 * (1LL << 30), {4, 4, 1}), 230, 0.06 * 230);
}

TEST(Nccl, ChannelsFillTheLinks) {
  System s = h100();
  const auto total = [&](double gb_s, const char* arch) {
    s.networks[0].gb_s = gb_s;
    s.nccl.arch = arch;
    const NcclChannels c = nccl_channels(s, {8, 8, 1});
    return c.count * c.gb_s;
  };
  EXPECT_EQ(total(300, "ampere"), 240);  // 12 links of 20
  EXPECT_EQ(total(200, "hopper"), 160);  // H800: 8 links of 20.6
  EXPECT_EQ(total(900, "blackwell"), 720);
}

System any_system() {
  System s = h100();
  s.nccl.nvls = *rc::gen::arbitrary<bool>();
  s.nccl.arch = *rc::gen::element<std::string>("volta", "ampere", "hopper", "blackwell");
  return s;
}
Group any_group() {
  Group g;
  g.per_node = *rc::gen::element<std::int64_t>(1, 2, 4, 8);
  g.ranks = g.per_node * *rc::gen::element<std::int64_t>(1, 2, 4, 16, 128);
  return g;
}
Collective any_op() {
  return *rc::gen::element(Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
                           Collective::kAllToAll, Collective::kBroadcast, Collective::kReduce,
                           Collective::kPointToPoint);
}

RC_GTEST_PROP(CollectiveProperty, MoreBytesNeverTakeLess, ()) {
  const System s = any_system();
  const Group g = any_group();
  const Collective op = any_op();
  for (const CostModel model : {CostModel::kNccl, CostModel::kAlphaBeta}) {
    double before = 0;
    for (double bytes = 1; bytes < 1e11; bytes *= 4) {
      const double t = collective_s(model, s, op, bytes, g);
      RC_ASSERT(std::isfinite(t) && t >= 0);
      // NCCL's correction of trees is a table by size and steps down where it does.
      if (model == CostModel::kAlphaBeta || bytes > 1e9) RC_ASSERT(t >= before);
      before = t;
      RC_ASSERT((t == 0) == (g.ranks == 1));
    }
  }
}

RC_GTEST_PROP(CollectiveProperty, NobodySendsFasterThanItsLinks, ()) {
  const System s = any_system();
  const Group g = any_group();
  const double bytes = 1e10;
  if (g.ranks == 1) return;
  const double n = static_cast<double>(g.ranks);
  const double rate = g.nodes() == 1 ? 450e9 : std::min(450e9, static_cast<double>(g.per_node) * 50e9);
  for (const CostModel model : {CostModel::kNccl, CostModel::kAlphaBeta}) {
    const double gather = collective_s(model, s, Collective::kAllGather, bytes, g);
    // Whatever comes in from other ranks, or other nodes, passes the links of a node.
    const double foreign = g.nodes() == 1 ? (n - 1) / n : 1 - 1 / static_cast<double>(g.nodes());
    RC_ASSERT(gather >= foreign * bytes / rate * (1 - 1e-9));
    // A ring all-reduce is a reduce-scatter and an all-gather; a switch that reduces saves at most half of it.
    RC_ASSERT(collective_s(model, s, Collective::kAllReduce, bytes, g) >= gather * 0.99);
  }
}

}  // namespace
}  // namespace comity::workload
