// SPDX-License-Identifier: Apache-2.0
// The step by step part of astra_collective: what single ranks do, without system and network.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace comity::workload::astra {

// One chunk after the other on every rank, `active` of them at a time: calls run(starts of a chunk) -> finishes.
[[nodiscard]] std::vector<std::uint64_t> chunk_by_chunk(
    std::span<const std::uint64_t> starts, std::uint64_t chunks, std::uint64_t active,
    const std::function<std::vector<std::uint64_t>(const std::vector<std::uint64_t>&)>& run);

// A ring in which rank i sends to i + 1 in edge_ns[i], `steps` times, each step waiting for what came; the first
// `reduced` arrivals cost reduce_ns more.
struct RingSteps {
  std::vector<std::uint64_t> edge_ns;
  std::uint64_t steps = 0;
  std::uint64_t reduced = 0;
  std::uint64_t reduce_ns = 0;
  std::uint64_t delay = 0;
};
[[nodiscard]] std::vector<std::uint64_t> ring_finish(const RingSteps& ring, const std::vector<std::uint64_t>& starts);

// One rank of a direct exchange of n ranks, all alike: `window` messages in flight, message k goes k ranks on and takes
// message_ns(k). `reduces`: arrivals of the first half (all-reduce) or all (reduce-scatter) cost reduce_ns more.
struct DirectSteps {
  enum class Kind : std::uint8_t { kAllReduce, kReduceScatter, kOther };
  Kind kind = Kind::kOther;
  std::uint64_t n = 0;
  std::uint64_t window = 0;
  std::uint64_t delay = 0;
  std::uint64_t reduce_ns = 0;
  std::function<std::uint64_t(std::uint64_t)> message_ns;
};
[[nodiscard]] std::uint64_t direct_finish(const DirectSteps& direct);

// All-reduce over a binary tree of n = 2^k ranks: a root with one child, below which 2^k - 1 ranks stand in order. The
// root is the last rank, or the first (root_first). Every message carries the whole chunk.
struct TreeSteps {
  bool root_first = false;
  std::uint64_t delay = 0;
  std::uint64_t reduce_ns = 0;
  std::function<std::uint64_t(std::size_t, std::size_t)> message_ns;  // between two members
};
[[nodiscard]] std::vector<std::uint64_t> tree_finish(const TreeSteps& tree, const std::vector<std::uint64_t>& starts);

}  // namespace comity::workload::astra
