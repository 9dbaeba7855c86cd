// SPDX-License-Identifier: Apache-2.0
// The binary trees over ranks 0 .. n-1 that NCCL reduces and broadcasts along.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace comity::workload {

struct RankTree {
  std::vector<std::int32_t> parent;  // by rank; -1: the root
  [[nodiscard]] std::vector<std::vector<std::int32_t>> children() const;
  [[nodiscard]] std::int32_t root() const;
};

// The in-order tree: leaves are the odd ranks, rank 0 is the root and has one child. Depth at most ceil(log2 n) + 1.
[[nodiscard]] RankTree binary_tree(std::int32_t ranks);

// The second one mirrors the first (even n) or is shifted by a rank (odd n): who is inner in one of them is a leaf in
// the other, except for rank 0 of an odd number, which has one child in both.
[[nodiscard]] std::pair<RankTree, RankTree> double_binary_tree(std::int32_t ranks);

}  // namespace comity::workload
