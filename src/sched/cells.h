// SPDX-License-Identifier: Apache-2.0
// Cells of HiveD (OSDI 2020): a cell of level l is s_l neighbouring GPUs (a GPU, a PCIe switch, a node, a rack), with
// s_l dividing s_l+1, and holds s_l+1 / s_l cells of the level below. A CellPool keeps which cells are free, by buddy
// allocation: a request takes a free cell of its level, else the lowest higher one is split; a cell that is given back
// merges with its siblings when all of them are free. The same class serves the physical cluster and the virtual one of
// each tenant. GPUs are numbered through, so cell i of level l covers [i s_l, (i + 1) s_l).
//
// Safety (the paper's theorem): let d_l be the cells of level l that all tenants own. If they can be laid out at once,
// i.e. n_l = d_l + ceil(n_l-1 s_l-1 / s_l) fits at the top, then, whatever was allocated and given back in between, a
// tenant that has not all of its d_l cells in use gets another one: a cell is split only when no split one has room.
// Cost of a call: O(levels x free cells of the level).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

namespace comity::sched {

struct Cell {
  std::uint32_t level = 0;
  std::uint32_t index = 0;  // among cells of its level
  friend constexpr auto operator<=>(const Cell&, const Cell&) = default;
};

class CellPool {
 public:
  // How unwelcome a free cell is; the least is taken, ties lowest index.
  using Cost = std::function<std::uint64_t(const Cell&)>;
  enum class Split { kLowest, kHighest };  // kHighest breaks the safety: for tests

  // sizes[l] = GPUs of a cell of level l; `tops` are the cells that there are, none inside another.
  CellPool(std::vector<std::uint32_t> sizes, const std::vector<Cell>& tops);

  [[nodiscard]] std::optional<Cell> allocate(std::uint32_t level, const Cost& cost, Split split = Split::kLowest);
  void release(const Cell& cell);  // must have been allocated
  // The top that holds a cell, as an index into tops().
  [[nodiscard]] std::size_t top_of(const Cell& cell) const;
  [[nodiscard]] const std::vector<Cell>& tops() const { return tops_; }
  [[nodiscard]] std::uint32_t size(std::uint32_t level) const { return sizes_[level]; }
  [[nodiscard]] std::uint64_t begin(const Cell& cell) const { return std::uint64_t{cell.index} * sizes_[cell.level]; }
  [[nodiscard]] std::size_t free_cells(std::uint32_t level) const { return free_[level].size(); }

 private:
  [[nodiscard]] std::uint32_t children(std::uint32_t level) const { return sizes_[level] / sizes_[level - 1]; }

  std::vector<std::uint32_t> sizes_;
  std::vector<Cell> tops_;                     // ascending begin
  std::vector<std::set<std::uint32_t>> free_;  // by level: indices
};

// The n_l of the safety condition for `owned` cells by level; see above.
[[nodiscard]] std::vector<std::uint64_t> cells_needed(const std::vector<std::uint32_t>& sizes,
                                                      const std::vector<std::uint64_t>& owned);

}  // namespace comity::sched
