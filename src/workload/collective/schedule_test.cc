// SPDX-License-Identifier: Apache-2.0
#include "workload/collective/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "workload/collective/formulas.h"
#include "workload/collective/trees.h"

namespace comity::workload {
namespace {

constexpr CollectiveAlgorithm kAlgorithms[] = {CollectiveAlgorithm::kRing, CollectiveAlgorithm::kTree,
                                               CollectiveAlgorithm::kDirect, CollectiveAlgorithm::kPairwise,
                                               CollectiveAlgorithm::kHalvingDoubling};
constexpr Collective kOps[] = {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
                               Collective::kAllToAll,  Collective::kBroadcast, Collective::kReduce};

using Mask = std::uint32_t;  // whose contributions are in a chunk

// memory[rank][chunk]. Each message carries what its sender had before the round.
using Memory = std::vector<std::vector<Mask>>;

Memory start(const CollectiveSchedule& s) {
  Memory memory(static_cast<std::size_t>(s.ranks), std::vector<Mask>(static_cast<std::size_t>(s.chunks)));
  for (int rank = 0; rank < s.ranks; ++rank) {
    for (int chunk = 0; chunk < s.chunks; ++chunk) {
      bool has = true;
      if (s.op == Collective::kAllGather) has = chunk == rank;
      if (s.op == Collective::kAllToAll) has = chunk / s.ranks == rank;
      if (s.op == Collective::kBroadcast) has = rank == 0;
      if (has) memory[static_cast<std::size_t>(rank)][static_cast<std::size_t>(chunk)] = Mask{1} << rank;
    }
  }
  return memory;
}

void replay(const CollectiveSchedule& s, Memory& memory) {
  std::size_t at = 0;
  for (int round = 0; round < s.rounds; ++round) {
    const Memory before = memory;
    std::set<std::pair<int, int>> taken;  // what this round has put in place: nothing else may touch it
    const std::size_t first = at;
    for (; at < s.steps.size() && s.steps[at].round == round; ++at) {
      const CollectiveStep& step = s.steps[at];
      ASSERT_TRUE(step.from >= 0 && step.from < s.ranks && step.to >= 0 && step.to < s.ranks && step.from != step.to);
      ASSERT_TRUE(step.chunk >= 0 && step.chunk < s.chunks);
      const auto chunk = static_cast<std::size_t>(step.chunk);
      const Mask sent = before[static_cast<std::size_t>(step.from)][chunk];
      Mask& there = memory[static_cast<std::size_t>(step.to)][chunk];
      ASSERT_NE(sent, 0U) << "rank " << step.from << " sends chunk " << step.chunk << " that it doesn't have";
      if (step.reduce) {
        ASSERT_EQ(there & sent, 0U) << "counted twice: chunk " << step.chunk << " at rank " << step.to;
        there |= sent;
      } else {
        ASSERT_TRUE(taken.emplace(step.to, step.chunk).second);
        ASSERT_NE(there, sent) << "rank " << step.to << " had chunk " << step.chunk;
        there = sent;
      }
    }
    ASSERT_GT(at, first) << "nothing happens in round " << round;
  }
  ASSERT_EQ(at, s.steps.size());
}

void expect_result(const CollectiveSchedule& s, const Memory& memory) {
  const Mask all = (Mask{1} << s.ranks) - 1;
  for (int rank = 0; rank < s.ranks; ++rank) {
    for (int chunk = 0; chunk < s.chunks; ++chunk) {
      const Mask got = memory[static_cast<std::size_t>(rank)][static_cast<std::size_t>(chunk)];
      switch (s.op) {
        case Collective::kAllReduce: ASSERT_EQ(got, all); break;
        case Collective::kAllGather: ASSERT_EQ(got, Mask{1} << chunk); break;
        case Collective::kReduceScatter: ASSERT_TRUE(chunk != rank || got == all); break;
        case Collective::kAllToAll: ASSERT_TRUE(chunk % s.ranks != rank || got == Mask{1} << (chunk / s.ranks)); break;
        case Collective::kBroadcast: ASSERT_EQ(got, 1U); break;
        default: ASSERT_TRUE(rank != 0 || got == all); break;
      }
    }
  }
}

TEST(CollectiveSchedule, EveryRankEndsWithWhatItShould) {
  for (const Collective op : kOps) {
    for (const CollectiveAlgorithm algorithm : kAlgorithms) {
      for (int n = 1; n <= 17; ++n) {
        for (const int pieces : {1, 4, 7}) {
          SCOPED_TRACE(std::string(collective_algorithm_name(algorithm)) + " op " +
                       std::to_string(static_cast<int>(op)) + " n " + std::to_string(n));
          const auto schedule = make_schedule(op, algorithm, n, 1'000'003, pieces);
          ASSERT_TRUE(schedule) << schedule.error().text();
          EXPECT_EQ(schedule->rounds > 0, n > 1);
          Memory memory = start(*schedule);
          replay(*schedule, memory);
          if (HasFatalFailure()) return;
          expect_result(*schedule, memory);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// Bytes that the busiest port sends, over the buffer.
double most_sent(const CollectiveSchedule& s, double bytes) {
  std::map<int, double> sent;
  for (const CollectiveStep& step : s.steps) sent[step.from] += static_cast<double>(step.bytes);
  double most = 0;
  for (const auto& [rank, value] : sent) most = std::max(most, value);
  return most / bytes;
}

TEST(CollectiveSchedule, RoundsAndTrafficAreThoseOfTheClosedForms) {
  for (const int n : {2, 4, 8, 16}) {
    const std::int64_t bytes = 1 << 20;
    const double others = (n - 1.0) / n;
    const auto log = static_cast<int>(closed_form::ceil_log2(n));
    const auto check = [&](Collective op, CollectiveAlgorithm algorithm, int rounds, double sent) {
      const auto schedule = make_schedule(op, algorithm, n, bytes);
      ASSERT_TRUE(schedule);
      EXPECT_EQ(schedule->rounds, rounds) << n << ' ' << collective_algorithm_name(algorithm);
      EXPECT_DOUBLE_EQ(most_sent(*schedule, static_cast<double>(bytes)), sent)
          << n << ' ' << collective_algorithm_name(algorithm);
    };
    using enum CollectiveAlgorithm;
    check(Collective::kAllReduce, kRing, 2 * (n - 1), 2 * others);
    check(Collective::kAllReduce, kHalvingDoubling, 2 * log, 2 * others);
    check(Collective::kAllReduce, kDirect, 2, 2 * others);
    check(Collective::kAllGather, kRing, n - 1, others);
    check(Collective::kReduceScatter, kHalvingDoubling, log, others);
    check(Collective::kAllToAll, kPairwise, n - 1, others);
    check(Collective::kAllToAll, kHalvingDoubling, log, log / 2.0);
    check(Collective::kAllToAll, kRing, n - 1, (n - 1) / 2.0);
    check(Collective::kBroadcast, kHalvingDoubling, log, log);
    check(Collective::kBroadcast, kRing, n - 1, 1);
  }
}

TEST(CollectiveSchedule, TwoTreesShareTheLoad) {
  for (int n = 2; n <= 64; n += 2) {
    const auto schedule = make_schedule(Collective::kAllReduce, CollectiveAlgorithm::kTree, n, 1 << 20, 16);
    ASSERT_TRUE(schedule);
    EXPECT_LE(most_sent(*schedule, 1 << 20), 2);
    // A root is one edge above the top of its tree: 2 (depth + k/2 - 1).
    EXPECT_LE(schedule->rounds, 2 * (closed_form::ceil_log2(n) + 1 + 8 - 1));
  }
}

TEST(CollectiveSchedule, BytesAddUp) {
  const auto gather = make_schedule(Collective::kAllGather, CollectiveAlgorithm::kDirect, 7, 1003);
  ASSERT_TRUE(gather);
  std::int64_t got = 0;
  for (const CollectiveStep& step : gather->steps) got += step.to == 0 ? step.bytes : 0;
  EXPECT_EQ(got, 1003 - 144);  // its own chunk is 144 of 1003 bytes
  const auto exchange = make_schedule(Collective::kAllToAll, CollectiveAlgorithm::kDirect, 7, 1003);
  std::int64_t sent = 0;
  for (const CollectiveStep& step : exchange->steps) sent += step.from == 0 ? step.bytes : 0;
  EXPECT_EQ(sent, 1003 - 144);
}

TEST(CollectiveSchedule, NamesWhatItCannotDo) {
  const auto field = [](Collective op, int ranks, std::int64_t bytes, int pieces) {
    const auto schedule = make_schedule(op, CollectiveAlgorithm::kRing, ranks, bytes, pieces);
    return schedule ? "" : schedule.error().field;
  };
  EXPECT_EQ(field(Collective::kPointToPoint, 2, 1, 1), "op");
  EXPECT_EQ(field(Collective::kAllReduce, 0, 1, 1), "ranks");
  EXPECT_EQ(field(Collective::kAllReduce, 5000, 1, 1), "ranks");
  EXPECT_EQ(field(Collective::kAllToAll, 4096, 1, 1), "ranks");  // billions of messages
  EXPECT_EQ(field(Collective::kAllToAll, 256, 1, 1), "ranks");   // 8,355,840
  EXPECT_EQ(field(Collective::kBroadcast, 4096, 1, 65536), "ranks");
  EXPECT_EQ(field(Collective::kAllReduce, 8, -1, 1), "bytes");
  EXPECT_EQ(field(Collective::kBroadcast, 8, 1, 0), "pieces");
  EXPECT_EQ(field(Collective::kAllReduce, 1, 0, 1), "");
}

int depth_of(const RankTree& tree, int rank) {
  int depth = 0;
  for (; tree.parent[static_cast<std::size_t>(rank)] >= 0 && depth <= 64; ++depth) {
    rank = tree.parent[static_cast<std::size_t>(rank)];
  }
  return depth;
}

TEST(RankTree, BothSpanAndNobodyWorksTwice) {
  for (int n = 1; n <= 300; ++n) {
    const auto [first, second] = double_binary_tree(n);
    std::vector<std::size_t> inner(static_cast<std::size_t>(n));
    for (const RankTree* tree : {&first, &second}) {
      ASSERT_EQ(std::count(tree->parent.begin(), tree->parent.end(), -1), 1);
      const auto children = tree->children();
      for (int rank = 0; rank < n; ++rank) {
        ASSERT_LE(depth_of(*tree, rank), closed_form::ceil_log2(n) + 1);  // reaches the root: no cycles
        ASSERT_LE(children[static_cast<std::size_t>(rank)].size(), 2U);
        inner[static_cast<std::size_t>(rank)] += children[static_cast<std::size_t>(rank)].empty() ? 0 : 1;
      }
    }
    for (int rank = 0; rank < n; ++rank) {
      const bool both = inner[static_cast<std::size_t>(rank)] == 2;
      ASSERT_TRUE(!both || (rank == 0 && n % 2 == 1)) << rank << " of " << n;
    }
  }
}

// Children as NCCL finds them: half of the lowest bit away, less where that is out of range.
TEST(RankTree, ChildrenAreWhereTheBitsSay) {
  for (int n = 2; n <= 130; ++n) {
    const auto children = binary_tree(n).children();
    for (int rank = 1; rank < n; ++rank) {
      const int bit = rank & -rank;
      std::set<int> expected;
      if (bit > 1) expected.insert(rank - bit / 2);
      int low = bit / 2;
      while (low > 0 && rank + low >= n) low /= 2;
      if (low > 0) expected.insert(rank + low);
      const auto& got = children[static_cast<std::size_t>(rank)];
      ASSERT_EQ(std::set<int>(got.begin(), got.end()), expected) << rank << " of " << n;
    }
    int top = 1;
    while (top * 2 < n) top *= 2;
    ASSERT_EQ(children[0], std::vector<std::int32_t>{top});
  }
}

}  // namespace
}  // namespace comity::workload
