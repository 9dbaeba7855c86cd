// SPDX-License-Identifier: Apache-2.0
#include "workload/traffic.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace comity::workload {
namespace {

using Ranks = std::vector<std::int64_t>;

constexpr std::array<GroupKind, 7> kPartitions{GroupKind::kTp,   GroupKind::kCp,       GroupKind::kEp, GroupKind::kDp,
                                               GroupKind::kDpCp, GroupKind::kExpertDp, GroupKind::kPp};

Execution degrees(std::int64_t t, std::int64_t c, std::int64_t d, std::int64_t p, std::int64_t e = 1) {
  Execution execution;
  execution.tp = t;
  execution.cp = c;
  execution.dp = d;
  execution.pp = p;
  execution.ep = e;
  return execution;
}

Execution any_execution() {
  Execution e =
      degrees(*rc::gen::inRange(1, 5), *rc::gen::inRange(1, 4), *rc::gen::inRange(1, 7), *rc::gen::inRange(1, 5));
  std::vector<std::int64_t> divisors;
  for (std::int64_t i = 1; i <= e.dp * e.cp; ++i) {
    if (e.dp * e.cp % i == 0) divisors.push_back(i);
  }
  e.ep = *rc::gen::elementOf(divisors);
  for (std::size_t i = 4; i > 0; --i) std::swap(e.order[i], e.order[*rc::gen::inRange<std::size_t>(0, i + 1)]);
  if (*rc::gen::arbitrary<bool>()) e.context_parallel = ContextParallel::kUlysses;
  return e;
}

std::vector<RankBytes> any_bytes(std::int64_t stages) {
  std::vector<RankBytes> out;
  const auto bytes = [] { return static_cast<double>(*rc::gen::inRange(1, 1000)); };
  for (std::int64_t i = 0; i < stages; ++i) {
    out.push_back({bytes(), bytes(), bytes(), bytes(), bytes(), bytes(), bytes(), bytes()});
  }
  return out;
}

// Megatron-LM, default order tp-cp-ep-dp-pp: rank = ((pp d + dp) c + cp) t + tp.
TEST(RankGrid, NumbersRanksAsMegatron) {
  const RankGrid grid(degrees(2, 2, 4, 2, 4));
  EXPECT_EQ(grid.ranks(), 32);
  for (std::int64_t rank = 0; rank < 32; ++rank) {
    const Coordinates at = grid.coordinates(rank);
    EXPECT_EQ(((at.pp * 4 + at.dp) * 2 + at.cp) * 2 + at.tp, rank);
    EXPECT_EQ(grid.rank_of(at), rank);
  }
  EXPECT_EQ(grid.group_of(GroupKind::kTp, 5), (Ranks{4, 5}));
  EXPECT_EQ(grid.group_of(GroupKind::kCp, 5), (Ranks{5, 7}));
  EXPECT_EQ(grid.group_of(GroupKind::kDp, 5), (Ranks{1, 5, 9, 13}));
  EXPECT_EQ(grid.group_of(GroupKind::kDpCp, 5), (Ranks{1, 3, 5, 7, 9, 11, 13, 15}));
  EXPECT_EQ(grid.group_of(GroupKind::kEp, 5), (Ranks{1, 3, 5, 7}));
  EXPECT_EQ(grid.group_of(GroupKind::kExpertDp, 5), (Ranks{5, 13}));
  EXPECT_EQ(grid.group_of(GroupKind::kPp, 5), (Ranks{5, 21}));
  EXPECT_EQ(grid.group_of(GroupKind::kEmbedding, 21), (Ranks{5, 21}));
}

// The example in the comment of Megatron-LM's initialize_model_parallel: 16 GPUs, tensor 2, pipeline 4.
TEST(RankGrid, MegatronsOwnExample) {
  const RankGrid grid(degrees(2, 1, 2, 4));
  EXPECT_EQ(grid.groups(GroupKind::kDp),
            (std::vector<Ranks>{{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15}}));
  EXPECT_EQ(grid.groups(GroupKind::kTp),
            (std::vector<Ranks>{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15}}));
  EXPECT_EQ(grid.groups(GroupKind::kPp),
            (std::vector<Ranks>{{0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15}}));
  EXPECT_EQ(grid.groups(GroupKind::kEmbedding), (std::vector<Ranks>{{0, 12}, {1, 13}, {2, 14}, {3, 15}}));
}

TEST(RankGrid, ExpertsApartWhereEpStandsBehindDp) {
  Execution e = degrees(1, 1, 4, 1, 2);
  EXPECT_EQ(RankGrid(e).groups(GroupKind::kEp), (std::vector<Ranks>{{0, 1}, {2, 3}}));
  e.order = {Axis::kTp, Axis::kCp, Axis::kDp, Axis::kEp, Axis::kPp};
  EXPECT_EQ(RankGrid(e).groups(GroupKind::kEp), (std::vector<Ranks>{{0, 2}, {1, 3}}));
  EXPECT_EQ(RankGrid(e).groups(GroupKind::kExpertDp), (std::vector<Ranks>{{0, 1}, {2, 3}}));
}

TEST(RankGrid, GroupsPartitionTheRanks) {
  EXPECT_TRUE(rc::check([] {
    const Execution e = any_execution();
    const RankGrid grid(e);
    for (const GroupKind kind : kPartitions) {
      std::set<std::int64_t> seen;
      for (const Ranks& group : grid.groups(kind)) {
        RC_ASSERT(static_cast<std::int64_t>(group.size()) == grid.size(kind));
        for (std::size_t i = 0; i < group.size(); ++i) {
          RC_ASSERT(seen.insert(group[i]).second);
          RC_ASSERT(grid.position(kind, group[i]) == static_cast<std::int64_t>(i));
          RC_ASSERT(grid.group_of(kind, group[i]) == group);
        }
      }
      RC_ASSERT(static_cast<std::int64_t>(seen.size()) == e.gpus());
    }
    // Experts: inside of one dp x cp group, and one rank in common with each group of copies.
    for (const Ranks& group : grid.groups(GroupKind::kEp)) {
      const Ranks outer = grid.group_of(GroupKind::kDpCp, group[0]);
      for (const std::int64_t rank : group) RC_ASSERT(std::count(outer.begin(), outer.end(), rank) == 1);
      const Ranks copies = grid.group_of(GroupKind::kExpertDp, group[0]);
      RC_ASSERT(std::count_if(copies.begin(), copies.end(), [&](std::int64_t rank) {
                  return std::count(group.begin(), group.end(), rank) > 0;
                }) == 1);
    }
  }));
}

TEST(Traffic, RowsAddUpToWhatEachRankSends) {
  EXPECT_TRUE(rc::check([] {
    const Execution e = any_execution();
    const RankGrid grid(e);
    const std::vector<RankBytes> bytes = any_bytes(e.pp);
    std::map<std::pair<std::int64_t, TrafficKind>, double> out;
    std::map<std::pair<std::int64_t, TrafficKind>, double> in;
    traffic(grid, bytes, [&](const TrafficEdge& edge) {
      RC_ASSERT(edge.from != edge.to && edge.from >= 0 && edge.to >= 0 && edge.from < e.gpus() && edge.to < e.gpus());
      out[{edge.from, edge.kind}] += edge.bytes;
      in[{edge.to, edge.kind}] += edge.bytes;
    });
    for (std::int64_t rank = 0; rank < e.gpus(); ++rank) {
      const std::int64_t stage = grid.coordinates(rank).pp;
      const RankBytes& own = bytes[stage];
      const auto sends = [&](TrafficKind kind, std::int64_t n, double want) {
        RC_ASSERT(std::abs(out[{rank, kind}] - (n > 1 ? want : 0)) < 1e-9);
        // All members of a group of one stage send alike, so that each gets what it sends.
        if (kind < TrafficKind::kPp) RC_ASSERT(std::abs(in[{rank, kind}] - out[{rank, kind}]) < 1e-9);
      };
      const bool end = stage == 0 || stage == e.pp - 1;
      sends(TrafficKind::kTp, e.tp, own.tp);
      sends(TrafficKind::kCp, e.cp, own.cp);
      sends(TrafficKind::kEp, e.ep, own.ep);
      sends(TrafficKind::kDp, e.dp * e.cp, own.dp);
      sends(TrafficKind::kExpertDp, e.dp * e.cp / e.ep, own.expert_dp);
      sends(TrafficKind::kPp, e.pp, own.pp_next + own.pp_previous);
      sends(TrafficKind::kEmbedding, end ? e.pp : 1, own.embedding);
    }
  }));
}

TEST(Traffic, RingsChainsAndAllToAll) {
  std::map<std::string, std::vector<std::pair<std::int64_t, std::int64_t>>> edges;
  const RankGrid grid(degrees(1, 1, 3, 2, 3));
  const std::vector<RankBytes> bytes{{.ep = 6, .dp = 4, .pp_next = 5}, {.ep = 6, .dp = 4, .pp_previous = 5}};
  traffic(grid, bytes, [&](const TrafficEdge& edge) {
    edges[std::string(traffic_name(edge.kind))].emplace_back(edge.from, edge.to);
    EXPECT_EQ(edge.bytes, edge.kind == TrafficKind::kEp ? 3 : edge.kind == TrafficKind::kDp ? 4 : 5);
  });
  EXPECT_EQ(edges.size(), 3U);
  EXPECT_EQ(edges["dp"],
            (std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 1}, {1, 2}, {2, 0}, {3, 4}, {4, 5}, {5, 3}}));
  EXPECT_EQ(edges["pp"],
            (std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 3}, {1, 4}, {2, 5}, {3, 0}, {4, 1}, {5, 2}}));
  EXPECT_EQ(edges["ep"].size(), 12U);
}

System two_tiers() {
  System system;
  system.gpus_per_node = 4;
  system.networks.resize(3);
  system.networks[0].domain = 4;
  system.networks[1].domain = 8;
  system.networks[2].domain = 16;
  return system;
}

TEST(Traffic, SumsByTier) {
  const System system = two_tiers();
  EXPECT_EQ(path_of(system, 1, 3), EdgePath::kNode);
  EXPECT_EQ(path_of(system, 1, 5), EdgePath::kRail);
  EXPECT_EQ(path_of(system, 1, 6), EdgePath::kAcrossRails);
  EXPECT_EQ(network_of(system, 1, 3), 0U);
  EXPECT_EQ(network_of(system, 1, 6), 1U);
  EXPECT_EQ(network_of(system, 1, 9), 2U);

  const RankGrid grid(degrees(2, 1, 2, 4));
  const std::vector<RankBytes> bytes(4, RankBytes{.tp = 10, .dp = 100, .pp_next = 1});
  const TrafficSums sums = traffic_sums(grid, bytes, system);
  EXPECT_EQ(sums.of(TrafficKind::kTp), 160);
  EXPECT_EQ(sums.of(TrafficKind::kDp), 1600);
  EXPECT_EQ(sums.of(TrafficKind::kPp), 16);
  EXPECT_EQ(sums.of(EdgePath::kNode), 1760);  // nodes are stages
  EXPECT_EQ(sums.of(EdgePath::kRail), 16);
  EXPECT_EQ(sums.of(EdgePath::kAcrossRails), 0);
  EXPECT_EQ(sums.by_network, (std::vector<double>{1760, 8, 8}));
  EXPECT_EQ(sums.most_beyond_node, 1);
  EXPECT_EQ(sums.total, 1776);
}

TEST(Traffic, Csv) {
  std::string text;
  const RankGrid grid(degrees(2, 1, 1, 1));
  traffic_csv(grid, std::vector<RankBytes>{{.tp = 1.5}}, [&](std::string_view piece) { text += piece; });
  EXPECT_EQ(text, "from,to,bytes,kind\n0,1,1.5,tp\n1,0,1.5,tp\n");
}

TEST(Traffic, AMachineOfManyRanks) {
  const Execution e = degrees(8, 1, 64, 32, 64);  // 16,384 GPUs
  const RankGrid grid(e);
  const std::vector<RankBytes> bytes(32, RankBytes{.tp = 1, .ep = 63, .dp = 1, .pp_next = 1});
  const auto begin = std::chrono::steady_clock::now();
  const TrafficSums sums = traffic_sums(grid, bytes, two_tiers());
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  RecordProperty("milliseconds", std::to_string(took * 1e3));
  EXPECT_NEAR(sums.total, 16384.0 * 66, 1e-3);
  EXPECT_LT(took, 20);
}

}  // namespace
}  // namespace comity::workload
