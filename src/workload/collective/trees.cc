// SPDX-License-Identifier: Apache-2.0
#include "workload/collective/trees.h"

#include <cstddef>

namespace comity::workload {
namespace {

std::int32_t parent_of(std::int32_t rank, std::int32_t ranks) {
  if (rank == 0) return -1;
  const std::int32_t bit = rank & -rank;
  const std::int32_t above = (rank ^ bit) | (bit << 1);
  return above < ranks ? above : rank ^ bit;
}

}  // namespace

std::vector<std::vector<std::int32_t>> RankTree::children() const {
  std::vector<std::vector<std::int32_t>> children(parent.size());
  for (std::size_t r = 0; r < parent.size(); ++r) {
    if (parent[r] >= 0) children[static_cast<std::size_t>(parent[r])].push_back(static_cast<std::int32_t>(r));
  }
  return children;
}

std::int32_t RankTree::root() const {
  for (std::size_t r = 0; r < parent.size(); ++r) {
    if (parent[r] < 0) return static_cast<std::int32_t>(r);
  }
  return 0;
}

RankTree binary_tree(std::int32_t ranks) {
  RankTree tree;
  for (std::int32_t r = 0; r < ranks; ++r) tree.parent.push_back(parent_of(r, ranks));
  return tree;
}

std::pair<RankTree, RankTree> double_binary_tree(std::int32_t ranks) {
  RankTree second;
  for (std::int32_t r = 0; r < ranks; ++r) {
    const bool even = ranks % 2 == 0;
    const std::int32_t above = parent_of(even ? ranks - 1 - r : (r + ranks - 1) % ranks, ranks);
    second.parent.push_back(above < 0 ? -1 : (even ? ranks - 1 - above : (above + 1) % ranks));
  }
  return {binary_tree(ranks), second};
}

}  // namespace comity::workload
