// SPDX-License-Identifier: Apache-2.0
#include "workload/collective/nccl.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "workload/collective/formulas.h"
#include "workload/collective/nccl_graph.h"
#include "workload/collective/test_systems.h"

namespace comity::workload {
namespace {

constexpr double kGib = 1 << 30;

NcclRow chosen(const System& system, Collective op, double bytes, const Group& group) {
  for (const NcclRow& row : nccl_table(system, op, bytes, group)) {
    if (row.chosen) return row;
  }
  ADD_FAILURE() << "nothing chosen";
  return {};
}

NcclRow row_of(const std::vector<NcclRow>& rows, NcclAlgorithm algorithm, NcclProtocol protocol) {
  for (const NcclRow& row : rows) {
    if (row.algorithm == algorithm && row.protocol == protocol) return row;
  }
  ADD_FAILURE() << "no such row";
  return {};
}

NcclGraphs graphs_of(const System& system, const Group& group) {
  return nccl_graphs(system, reach_of(system, Collective::kAllReduce, group));
}

// What NCCL_DEBUG_SUBSYS=GRAPH prints on these machines.
TEST(NcclGraph, FindsTheChannelsOfKnownMachines) {
  const NcclGraphs h100 = graphs_of(dgx_h100(), {8, 8, 1});
  EXPECT_EQ(h100.ring.count * h100.ring.intra, 360);
  EXPECT_EQ(h100.nvls.count, 8);
  EXPECT_EQ(h100.nvls.intra, 40);
  const NcclGraphs pair = graphs_of(dgx_h100(), {16, 8, 1});
  EXPECT_EQ(pair.ring.count, 8);
  EXPECT_EQ(pair.ring.inter, 45);
  EXPECT_EQ(pair.tree.intra, 48);
  EXPECT_EQ(pair.nvls.intra, 40);
  EXPECT_EQ(pair.nvls.inter, 48);
  const NcclGraphs a100 = graphs_of(dgx_a100(), {8, 8, 1});
  EXPECT_EQ(a100.ring.count, 12);
  EXPECT_EQ(a100.ring.intra, 20);
  EXPECT_EQ(a100.nvls.count, 0);
  EXPECT_EQ(graphs_of(dgx_a100(), {64, 8, 1}).ring.inter, 24);
}

TEST(NcclGraph, TakesWhatTheSystemSays) {
  System system = dgx_a100();
  system.nccl.channels = 4;
  system.nccl.intra_gb_s = 21;
  system.nccl.inter_gb_s = 11;
  const NcclGraphs graphs = graphs_of(system, {16, 8, 1});
  EXPECT_EQ(graphs.ring.count, 4);
  EXPECT_EQ(graphs.ring.intra, 21);
  EXPECT_EQ(graphs.tree.inter, 11);
}

TEST(NcclGraph, KnowsPciByName) {
  System system = dgx_a100();
  EXPECT_TRUE(graphs_of(system, {8, 8, 1}).nvlink);
  system.networks[0].name = "PCIe 4";
  system.networks[0].gb_s = 32;
  const NcclGraphs graphs = graphs_of(system, {8, 8, 1});
  EXPECT_FALSE(graphs.nvlink);
  EXPECT_LE(graphs.ring.count * graphs.ring.intra, 24);
  const std::vector<NcclRow> rows = nccl_table(system, Collective::kAllReduce, 8, {8, 8, 1});
  EXPECT_EQ(rows.size(), 4U);  // no LL128
}

// Eight H100, rings of 360 GB/s: LL of a ring 6.6 + 14 x 0.6 us, of a tree 6.8 + 14 x 0.6 us.
TEST(Nccl, ChoosesLlForEightBytes) {
  const std::vector<NcclRow> rows = nccl_table(dgx_h100(), Collective::kAllReduce, 8, {8, 8, 1});
  const NcclRow ring = row_of(rows, NcclAlgorithm::kRing, NcclProtocol::kLl);
  EXPECT_TRUE(ring.chosen);
  EXPECT_NEAR(ring.latency_us, 15.0, 1e-9);
  EXPECT_NEAR(ring.time_s * 1e6, 15.0, 1e-3);
  EXPECT_NEAR(row_of(rows, NcclAlgorithm::kTree, NcclProtocol::kLl).latency_us, 15.2, 1e-9);
}

TEST(Nccl, ChoosesNvlsOrSimpleForAGib) {
  const NcclRow nvls = chosen(dgx_h100(), Collective::kAllReduce, kGib, {8, 8, 1});
  EXPECT_EQ(nvls.algorithm, NcclAlgorithm::kNvls);
  EXPECT_NEAR(nvls.gb_s * 1.75, 476, 1e-9);  // 8 heads x 40 x .85 x 7/8 x 2
  System system = dgx_h100();
  system.nccl.nvls = false;
  const NcclRow ring = chosen(system, Collective::kAllReduce, kGib, {8, 8, 1});
  EXPECT_EQ(ring.algorithm, NcclAlgorithm::kRing);
  EXPECT_EQ(ring.protocol, NcclProtocol::kSimple);
  EXPECT_NEAR(ring.gb_s * 1.75, 360, 1e-9);
}

TEST(Nccl, ChoosesTheTreeOfSwitchesBetweenTwoNodes) {
  const NcclRow row = chosen(dgx_h100(), Collective::kAllReduce, 8 * kGib, {16, 8, 1});
  EXPECT_EQ(row.algorithm, NcclAlgorithm::kNvlsTree);
  EXPECT_NEAR(row.gb_s * 1.875, 8 * 57.7, 1e-9);
}

TEST(Nccl, RingLatenciesByHand) {
  const Group group{64, 8, 1};
  const std::vector<NcclRow> rows = nccl_table(dgx_a100(), Collective::kReduceScatter, 1024, group);
  // 63 steps, 7 of them between nodes; the others cost at least posting a message.
  EXPECT_NEAR(row_of(rows, NcclAlgorithm::kRing, NcclProtocol::kLl).latency_us, 6.6 + 56 * 1 + 7 * 2.7, 1e-9);
  EXPECT_NEAR(row_of(rows, NcclAlgorithm::kRing, NcclProtocol::kSimple).latency_us, 8.4 + 56 * 3.4 + 7 * 14, 1e-9);
  const std::vector<NcclRow> big = nccl_table(dgx_a100(), Collective::kAllReduce, kGib, group);
  EXPECT_NEAR(row_of(big, NcclAlgorithm::kRing, NcclProtocol::kSimple).latency_us, 1.4 * (8.4 + 112 * 3.4 + 14 * 14),
              1e-9);
  EXPECT_NEAR(row_of(big, NcclAlgorithm::kTree, NcclProtocol::kSimple).latency_us, 8.4 + 2 * (7 * 4 + 3 * 14), 1e-9);
}

TEST(Nccl, PatOnlyWithOneGpuANode) {
  const std::vector<NcclRow> rows = nccl_table(dgx_h100(), Collective::kAllGather, kGib, {16, 1, 1});
  EXPECT_NEAR(row_of(rows, NcclAlgorithm::kPat, NcclProtocol::kSimple).latency_us, 8 + 4 * 4 + 2.8 * 16, 1e-9);
  for (const NcclRow& row : nccl_table(dgx_h100(), Collective::kAllGather, kGib, {16, 8, 1})) {
    EXPECT_NE(row.algorithm, NcclAlgorithm::kPat);
  }
}

TEST(Nccl, SharpAddsItsRows) {
  System system = dgx_h100();
  EXPECT_EQ(nccl_table(system, Collective::kAllReduce, kGib, {32, 8, 1}).size(), 7U);
  system.networks[1].in_network_reduction = true;
  EXPECT_EQ(nccl_table(system, Collective::kAllReduce, kGib, {32, 8, 1}).size(), 10U);
  EXPECT_LT(nccl_s(system, Collective::kAllReduce, kGib, {32, 8, 1}),
            nccl_s(dgx_h100(), Collective::kAllReduce, kGib, {32, 8, 1}));
}

TEST(Nccl, TheTableAndTheCostAgree) {
  rc::check([] {
    const System system = *rc::gen::arbitrary<bool>() ? dgx_h100() : dgx_a100();
    const auto op = static_cast<Collective>(*rc::gen::inRange(0, 7));
    const auto per_node = std::int64_t{1} << *rc::gen::inRange(0, 4);
    const Group group{per_node * *rc::gen::inRange(1, 40), per_node, *rc::gen::inRange(1, 9)};
    const double bytes = std::exp2(*rc::gen::inRange(0, 340) / 10.0);
    const std::vector<NcclRow> rows = nccl_table(system, op, bytes, group);
    const double cost = nccl_s(system, op, bytes, group);
    if (group.ranks == 1) {
      RC_ASSERT(rows.empty() && cost == 0);
      return;
    }
    RC_ASSERT(std::count_if(rows.begin(), rows.end(), [](const NcclRow& row) { return row.chosen; }) == 1);
    for (const NcclRow& row : rows) {
      RC_ASSERT(row.time_s >= cost && row.gb_s > 0 && std::isfinite(row.time_s));
      RC_ASSERT(!row.chosen || row.time_s == cost);
      RC_ASSERT(!nccl_algorithm_name(row.algorithm).empty() && !nccl_protocol_name(row.protocol).empty());
    }
  });
}

}  // namespace
}  // namespace comity::workload
