// SPDX-License-Identifier: Apache-2.0
#include "sched/cells.h"

#include <algorithm>

#include "base/check.h"

namespace comity::sched {

CellPool::CellPool(std::vector<std::uint32_t> sizes, const std::vector<Cell>& tops)
    : sizes_(std::move(sizes)), tops_(tops), free_(sizes_.size()) {
  std::sort(tops_.begin(), tops_.end(), [&](const Cell& a, const Cell& b) { return begin(a) < begin(b); });
  for (const Cell& top : tops_) free_[top.level].insert(top.index);
}

std::size_t CellPool::top_of(const Cell& cell) const {
  const std::uint64_t at = begin(cell);
  const auto it = std::upper_bound(tops_.begin(), tops_.end(), at,
                                   [&](std::uint64_t x, const Cell& top) { return x < begin(top); });
  COMITY_CHECK(it != tops_.begin());
  return static_cast<std::size_t>(it - tops_.begin()) - 1;
}

std::optional<Cell> CellPool::allocate(std::uint32_t level, const Cost& cost, Split split) {
  std::optional<std::uint32_t> from;
  for (std::uint32_t l = level; l < sizes_.size(); ++l) {
    if (free_[l].empty()) continue;
    from = l;
    if (split == Split::kLowest) break;
  }
  if (!from) return std::nullopt;
  Cell cell{*from, 0};
  std::uint64_t least = ~std::uint64_t{0};
  for (const std::uint32_t index : free_[*from]) {
    const std::uint64_t mine = cost({*from, index});
    if (mine >= least) continue;
    least = mine;
    cell.index = index;
    if (mine == 0) break;
  }
  if (least == ~std::uint64_t{0}) return std::nullopt;
  free_[cell.level].erase(cell.index);
  while (cell.level > level) {  // split: the least unwelcome child goes on, its siblings are free
    const std::uint32_t n = children(cell.level);
    Cell best{cell.level - 1, cell.index * n};
    for (std::uint32_t k = 1; k < n; ++k) {
      const Cell child{cell.level - 1, cell.index * n + k};
      if (cost(child) < cost(best)) best = child;
    }
    for (std::uint32_t k = 0; k < n; ++k) {
      if (cell.index * n + k != best.index) free_[best.level].insert(cell.index * n + k);
    }
    cell = best;
  }
  return cell;
}

void CellPool::release(const Cell& given) {
  Cell cell = given;
  const Cell& top = tops_[top_of(cell)];
  while (cell.level < top.level) {
    const std::uint32_t n = children(cell.level + 1);
    const std::uint32_t first = cell.index / n * n;
    bool all = true;
    for (std::uint32_t k = first; k < first + n && all; ++k) all = k == cell.index || free_[cell.level].contains(k);
    if (!all) break;
    for (std::uint32_t k = first; k < first + n; ++k) free_[cell.level].erase(k);
    cell = {cell.level + 1, cell.index / n};
  }
  COMITY_CHECK(free_[cell.level].insert(cell.index).second);
}

std::vector<std::uint64_t> cells_needed(const std::vector<std::uint32_t>& sizes,
                                        const std::vector<std::uint64_t>& owned) {
  std::vector<std::uint64_t> need(owned);
  for (std::size_t l = 1; l < sizes.size(); ++l) {
    const std::uint64_t fan = sizes[l] / sizes[l - 1];
    need[l] += (need[l - 1] + fan - 1) / fan;
  }
  return need;
}

}  // namespace comity::sched
