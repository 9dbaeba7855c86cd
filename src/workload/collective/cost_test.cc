// SPDX-License-Identifier: Apache-2.0
// Laws that both cost models keep.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "workload/collective/formulas.h"
#include "workload/collective/test_systems.h"
#include "workload/collective_cost.h"

namespace comity::workload {
namespace {

constexpr double kGib = 1 << 30;

struct Draw {
  System system;
  CostModel model = CostModel::kNccl;
  Collective op = Collective::kAllReduce;
  Group group;
};

Draw draw() {
  Draw d;
  d.system = *rc::gen::arbitrary<bool>() ? dgx_h100() : dgx_a100();
  d.system.networks[0].efficiency = *rc::gen::inRange(3, 11) / 10.0;
  d.system.networks[1].efficiency = *rc::gen::inRange(3, 11) / 10.0;
  d.system.networks[1].oversubscription = *rc::gen::inRange(1, 4);
  d.system.networks[1].in_network_reduction = *rc::gen::arbitrary<bool>();
  d.model = *rc::gen::arbitrary<bool>() ? CostModel::kNccl : CostModel::kAlphaBeta;
  d.op = static_cast<Collective>(*rc::gen::inRange(0, 7));
  const std::int64_t per_node = std::int64_t{1} << *rc::gen::inRange(0, 4);
  d.group = {per_node * *rc::gen::inRange(1, 70), per_node, *rc::gen::inRange(1, 9)};
  return d;
}

double cost(const Draw& d, double bytes) { return collective_s(d.model, d.system, d.op, bytes, d.group); }

// Bytes that must leave or enter some rank over its ports, whatever the algorithm.
double least_traffic(const Draw& d, double bytes) {
  const auto n = static_cast<double>(d.group.ranks);
  const bool switches = d.system.networks[0].in_network_reduction || d.system.networks[1].in_network_reduction;
  switch (d.op) {
    case Collective::kAllReduce: return switches ? bytes : 2 * (n - 1) / n * bytes;
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllToAll: return (n - 1) / n * bytes;
    default: return bytes;
  }
}

TEST(CollectiveCost, NothingToDoTakesNoTime) {
  rc::check([] {
    Draw d = draw();
    RC_ASSERT(cost(d, 0) == 0);
    d.group = {1, 1, 1};
    RC_ASSERT(cost(d, 1e9) == 0);
    d.system.networks.clear();
    d.group = {8, 8, 1};
    RC_ASSERT(cost(d, 1e9) == 0);
  });
}

TEST(CollectiveCost, MoreBytesTakeNoLess) {
  rc::check([] {
    const Draw d = draw();
    const double bytes = std::exp2(*rc::gen::inRange(0, 3500) / 100.0);
    const double more = bytes * (1 + *rc::gen::inRange(1, 2000) / 1000.0);
    RC_ASSERT(cost(d, more) >= cost(d, bytes) * (1 - 1e-12));
  });
}

TEST(CollectiveCost, NeverFasterThanTheLines) {
  rc::check([] {
    const Draw d = draw();
    RC_PRE(d.group.ranks > 1);
    const double bytes = std::exp2(*rc::gen::inRange(0, 3500) / 100.0);
    const auto line = [](const Network& tier) { return tier.gb_s * 1e9 * tier.efficiency; };
    double rate = 0;  // of all ports of a rank
    if (d.group.per_node > 1) rate += line(d.system.networks[0]);
    if (d.group.nodes() > 1) rate += line(d.system.networks[1]);
    const double latency = d.model == CostModel::kNccl ? 6.6e-6 : 1e-6;
    RC_ASSERT(cost(d, bytes) >= latency);
    RC_ASSERT(cost(d, bytes) >= least_traffic(d, bytes) / rate * (1 - 1e-9));
    // What the nodes have to say to each other passes their NICs.
    if (d.group.nodes() > 1 && d.op != Collective::kPointToPoint) {
      const double nics = line(d.system.networks[1]) * static_cast<double>(d.group.per_node);
      RC_ASSERT(cost(d, bytes) >= bytes / 2 / nics * (1 - 1e-9));
    }
  });
}

TEST(CollectiveCost, WorseNetworksTakeNoLess) {
  rc::check([] {
    const Draw d = draw();
    const double bytes = std::exp2(*rc::gen::inRange(0, 3500) / 100.0);
    Draw worse = d;
    worse.group.groups_on_nic += *rc::gen::inRange(0, 20);
    worse.system.networks[1].oversubscription *= 2;
    worse.system.networks[*rc::gen::inRange(0, 2)].efficiency *= .5;
    RC_ASSERT(cost(worse, bytes) >= cost(d, bytes) * (1 - 1e-12));
  });
}

TEST(CollectiveCost, SharesNicsOnlyWhereThereAreTooFew) {
  const System system = dgx_h100();
  for (const CostModel model : {CostModel::kNccl, CostModel::kAlphaBeta}) {
    const auto time = [&](std::int64_t per_node, std::int64_t groups) {
      return collective_s(model, system, Collective::kAllGather, 4 * kGib, {4 * per_node, per_node, groups});
    };
    EXPECT_EQ(time(1, 1), time(1, 8));  // eight groups of one GPU a node each: a NIC each
    EXPECT_GT(time(1, 16), 1.8 * time(1, 8));
    EXPECT_GT(time(8, 2), 1.5 * time(8, 1));
  }
}

TEST(CollectiveCost, AlphaBetaByHand) {
  System system = dgx_a100();
  system.networks[0].efficiency = .5;  // 150 GB/s, 1 us
  system.networks[1].all_reduce = .8;  // 20 GB/s, 5 us
  const auto time = [&](Collective op, double bytes, Group group) {
    return collective_s(CostModel::kAlphaBeta, system, op, bytes, group);
  };
  EXPECT_NEAR(time(Collective::kAllReduce, 1e9, {8, 8, 1}), 6e-6 + 1.75e9 / 150e9, 1e-12);
  EXPECT_NEAR(time(Collective::kAllReduce, 8, {8, 8, 1}), 3e-6 + 24 / 150e9, 1e-12);
  // 11.67 ms inside and, in 25 pieces of which one shows, 6.25 ms between nodes.
  EXPECT_NEAR(time(Collective::kAllReduce, 1e9, {16, 8, 1}),
              6e-6 + 10e-6 + 1.75e9 / 150e9 + 2 * std::sqrt(1e9 / 8 / 20e9 * 10e-6) - 10e-6, 1e-12);
  EXPECT_NEAR(time(Collective::kAllGather, 1e9, {4, 1, 1}), 10e-6 + .75e9 / 25e9, 1e-12);
  EXPECT_NEAR(time(Collective::kAllToAll, 1e9, {16, 8, 1}), 7e-6 + 40e-6 + .5e9 / 25e9, 1e-12);
  EXPECT_NEAR(time(Collective::kPointToPoint, 1e6, {2, 2, 1}), 1e-6 + 1e6 / 150e9, 1e-12);
  EXPECT_NEAR(time(Collective::kPointToPoint, 1e6, {2, 1, 1}), 5e-6 + 1e6 / 25e9, 1e-12);
}

// Three tiers: pods of 32 GPUs, joined with a quarter of the bandwidth.
TEST(CollectiveCost, OversubscriptionSlowsWhatCrosses) {
  System system = dgx_h100();
  system.networks.push_back(system.networks[1]);
  system.networks[1].domain = 32;
  system.networks[2].oversubscription = 4;
  const auto time = [&](Collective op, std::int64_t ranks) {
    return collective_s(CostModel::kAlphaBeta, system, op, kGib, {ranks, 8, 1});
  };
  EXPECT_NEAR(time(Collective::kAllToAll, 32), 7e-6 + 24 * 5e-6 + .75 * kGib / 50e9, 1e-9);
  // Half of the bytes leave the pod, at a quarter of the rate.
  EXPECT_NEAR(time(Collective::kAllToAll, 64), 7e-6 + 56 * 5e-6 + .5 * kGib / 12.5e9, 2e-5);
  // Rings of four nodes cross once: they keep their rate, of two nodes they don't.
  const double pod_of_four = time(Collective::kAllGather, 128);
  system.networks[1].domain = 16;
  EXPECT_GT(time(Collective::kAllGather, 128), 1.2 * pod_of_four);
}

TEST(CollectiveCost, IsQuick) {
  const System system = dgx_h100();
  for (const CostModel model : {CostModel::kNccl, CostModel::kAlphaBeta}) {
    const char* name = model == CostModel::kNccl ? "nccl" : "alpha-beta";
    for (int op = 0; op < 7; ++op) {
      double best = 1e9;  // ns a call, the best of five tries
      for (int tries = 0; tries < 5; ++tries) {
        double sum = 0;
        constexpr int kCalls = 20'000;
        const std::clock_t start = std::clock();  // of the processor: others use the machine
        for (int i = 0; i < kCalls; ++i) {
          sum += collective_s(model, system, static_cast<Collective>(op), 1e3 * (i + 1), {64, 8, 1});
        }
        const double ns = 1e9 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
        EXPECT_GT(sum, 0);
        best = std::min(best, ns / kCalls);
      }
      std::printf("%s op %d: %.0f ns a call\n", name, op, best);
      EXPECT_LT(best, 5000);  // sanitizers included
    }
  }
}

}  // namespace
}  // namespace comity::workload
