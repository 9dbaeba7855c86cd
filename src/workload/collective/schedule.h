// SPDX-License-Identifier: Apache-2.0
// Collective algorithms as data: who sends which piece to whom, and in which round. A simulator gives the messages
// times, a runtime sends them.
//
// The buffer is cut into chunks: n for all-reduce (but k a tree's), all-gather and reduce-scatter, chunk c being rank
// c's; n x n for all-to-all, chunk s n + d going from s to d; k for broadcast and reduce, whose root is rank 0. The
// messages of a round are independent: each carries what its sender had before the round. `reduce`: the receiver adds
// it to what it has, else it takes the place.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workload/collective_cost.h"

namespace comity::workload {

enum class CollectiveAlgorithm : std::uint8_t {
  kRing,             // neighbours only; a chain for broadcast and reduce
  kTree,             // binary; all-reduce uses two of them, half of the chunks each
  kDirect,           // everything at once
  kPairwise,         // the same, one peer at a time
  kHalvingDoubling,  // log2 n rounds; Bruck's for all-to-all, binomial for broadcast and reduce
};

struct CollectiveStep {
  std::int32_t round = 0;
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int32_t chunk = 0;
  std::int64_t bytes = 0;
  bool reduce = false;
};

struct CollectiveSchedule {
  Collective op = Collective::kAllReduce;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
  std::int32_t ranks = 1;
  std::int32_t chunks = 1;
  std::int32_t rounds = 0;
  std::vector<CollectiveStep> steps;  // by round
};

inline constexpr std::int32_t kMostScheduleRanks = 4096;
inline constexpr std::size_t kMostScheduleSteps = std::size_t{1} << 22;

// `bytes` as in collective_cost.h; chunks differ by a byte at most. `pieces` (1 .. 65536) is k. Errors (kInput), by
// field: ranks, bytes or pieces out of range, more than kMostScheduleSteps messages; point to point has no schedule.
[[nodiscard]] Result<CollectiveSchedule> make_schedule(Collective op, CollectiveAlgorithm algorithm, std::int32_t ranks,
                                                       std::int64_t bytes, std::int32_t pieces = 1);

[[nodiscard]] std::string_view collective_algorithm_name(CollectiveAlgorithm algorithm);

}  // namespace comity::workload
