// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/check.h"
#include "sched/virtual_clusters.h"

namespace comity::sched {
namespace {

// Whole racks first, what does not fill one as nodes.
std::vector<Cell> physical_tops(const std::vector<std::uint32_t>& sizes, std::uint32_t nodes, std::uint32_t node_gpus) {
  std::vector<Cell> tops;
  const auto top = static_cast<std::uint32_t>(sizes.size() - 1);
  const std::uint32_t nodes_a_top = sizes[top] / node_gpus;
  const auto node_level = static_cast<std::uint32_t>(std::find(sizes.begin(), sizes.end(), node_gpus) - sizes.begin());
  for (std::uint32_t i = 0; i < nodes / nodes_a_top; ++i) tops.push_back({top, i});
  for (std::uint32_t i = nodes / nodes_a_top * nodes_a_top; i < nodes; ++i) tops.push_back({node_level, i});
  return tops;
}

}  // namespace

VirtualClusters::VirtualClusters(std::vector<std::uint32_t> sizes, std::uint32_t nodes, std::uint32_t node_gpus)
    : sizes_(std::move(sizes)),
      nodes_(nodes),
      node_gpus_(node_gpus),
      node_level_(static_cast<std::uint32_t>(std::find(sizes_.begin(), sizes_.end(), node_gpus) - sizes_.begin())),
      physical_(sizes_, physical_tops(sizes_, nodes, node_gpus)),
      owned_(sizes_.size(), 0) {
  COMITY_CHECK(node_level_ < sizes_.size());
}

// Wide cells first, so that each begins at a multiple of its size.
CellPool VirtualClusters::lay_out(const std::vector<std::uint32_t>& sizes, const std::vector<std::uint64_t>& owned) {
  std::vector<Cell> tops;
  std::uint64_t at = 0;
  for (std::size_t l = sizes.size(); l-- > 0;) {
    for (std::uint64_t i = 0; i < owned[l]; ++i, at += sizes[l])
      tops.push_back({static_cast<std::uint32_t>(l), static_cast<std::uint32_t>(at / sizes[l])});
  }
  return CellPool(sizes, tops);
}

std::size_t VirtualClusters::add(const std::vector<std::uint64_t>& owned) {
  Tenant t{lay_out(sizes_, owned), {}, {}};
  t.bound.resize(t.pool.tops().size());
  t.in_use.resize(t.pool.tops().size());
  for (std::size_t l = 0; l < owned.size(); ++l) owned_[l] += owned[l];
  tenants_.push_back(std::move(t));
  return tenants_.size() - 1;
}

std::size_t VirtualClusters::add_rest() {
  std::vector<std::uint64_t> rest(sizes_.size(), 0);
  const bool nobody = std::all_of(owned_.begin(), owned_.end(), [](std::uint64_t n) { return n == 0; });
  if (nobody) {
    for (const Cell& top : physical_.tops()) ++rest[top.level];
    return add(rest);
  }
  const std::vector<std::uint64_t> need = cells_needed(sizes_, owned_);
  std::uint64_t nodes = need[node_level_];
  for (std::size_t l = node_level_ + 1; l < sizes_.size(); ++l) nodes += owned_[l] * (sizes_[l] / node_gpus_);
  rest[node_level_] = nodes < nodes_ ? nodes_ - nodes : 0;
  // Nodes and racks must still be laid out together: give up nodes until they can.
  for (; rest[node_level_] > 0; --rest[node_level_]) {
    owned_[node_level_] += rest[node_level_];
    const bool fits = feasible();
    owned_[node_level_] -= rest[node_level_];
    if (fits) break;
  }
  return add(rest);
}

bool VirtualClusters::feasible() const {
  const std::vector<std::uint64_t> need = cells_needed(sizes_, owned_);
  if (node_level_ + 1 == sizes_.size()) return need[node_level_] <= nodes_;
  const std::uint64_t fan = sizes_.back() / node_gpus_;
  const std::uint64_t racks = nodes_ / fan;
  const std::uint64_t loose = nodes_ % fan;  // nodes that fill no rack
  const std::uint64_t in_racks = need[node_level_] > loose ? need[node_level_] - loose : 0;
  return owned_.back() + (in_racks + fan - 1) / fan <= racks;
}

std::uint32_t VirtualClusters::level_of(std::uint32_t gpus) const {
  return static_cast<std::uint32_t>(std::lower_bound(sizes_.begin(), sizes_.end(), gpus) - sizes_.begin());
}

// The GPUs that a job uses of each of its cells, wide ones first.
std::vector<std::uint32_t> VirtualClusters::pieces(std::uint32_t nodes, std::uint32_t gpus, bool racks) const {
  if (nodes > 0) return std::vector<std::uint32_t>(nodes, gpus);
  std::vector<std::uint32_t> list;
  for (std::size_t l = racks ? sizes_.size() - 1 : node_level_; l > node_level_; --l) {
    for (; gpus >= sizes_[l]; gpus -= sizes_[l]) list.push_back(sizes_[l]);
  }
  for (; gpus > node_gpus_; gpus -= node_gpus_) list.push_back(node_gpus_);
  if (gpus > 0) list.push_back(gpus);
  return list;
}

Cell VirtualClusters::mapped(const Tenant& t, const Cell& cell) const {
  const std::size_t top = t.pool.top_of(cell);
  const std::uint64_t inside = t.pool.begin(cell) - t.pool.begin(t.pool.tops()[top]);
  const std::uint64_t at = physical_.begin(*t.bound[top]) + inside;
  return {cell.level, static_cast<std::uint32_t>(at / sizes_[cell.level])};
}

std::optional<Cell> VirtualClusters::take_cell(Tenant& t, std::uint32_t level, const CellPool::Cost& cost) {
  const auto virtual_cost = [&](const Cell& cell) -> std::uint64_t {
    return t.bound[t.pool.top_of(cell)] ? cost(mapped(t, cell)) : 0;
  };
  const auto cell = t.pool.allocate(level, virtual_cost);
  if (!cell) return std::nullopt;
  const std::size_t top = t.pool.top_of(*cell);
  if (!t.bound[top]) {
    t.bound[top] = physical_.allocate(t.pool.tops()[top].level, cost, split_);
    if (!t.bound[top]) {
      ++broken_;
      t.pool.release(*cell);
      return std::nullopt;
    }
  }
  ++t.in_use[top];
  return cell;
}

void VirtualClusters::give_back(Tenant& t, const Cell& cell) {
  const std::size_t top = t.pool.top_of(cell);
  t.pool.release(cell);
  if (--t.in_use[top] > 0) return;
  physical_.release(*t.bound[top]);
  t.bound[top].reset();
}

bool VirtualClusters::take(Tenant& t, const std::vector<std::uint32_t>& gpus, const CellPool::Cost& cost,
                           CellGrant& grant) {
  grant = {};
  for (const std::uint32_t g : gpus) {
    const std::uint32_t level = level_of(g);
    const auto cell = level < sizes_.size() ? take_cell(t, level, cost) : std::nullopt;
    if (!cell) {
      for (const Cell& taken : grant.cells) give_back(t, taken);
      return false;
    }
    grant.cells.push_back(*cell);
  }
  for (std::size_t i = 0; i < gpus.size(); ++i)
    grant.windows.emplace_back(physical_.begin(mapped(t, grant.cells[i])), gpus[i]);
  return true;
}

std::optional<CellGrant> VirtualClusters::allocate(std::size_t tenant, std::uint32_t nodes, std::uint32_t gpus,
                                                   const CellPool::Cost& cost) {
  if (nodes > 0 && gpus > node_gpus_) return std::nullopt;
  Tenant& t = tenants_[tenant];
  CellGrant grant;
  if (nodes > 1) {  // whole nodes, so that the nodes are distinct
    if (!take(t, std::vector<std::uint32_t>(nodes, node_gpus_), cost, grant)) return std::nullopt;
    for (auto& [at, used] : grant.windows) used = gpus;
    return grant;
  }
  if (sizes_.size() > node_level_ + 1 && nodes == 0 && gpus >= sizes_[node_level_ + 1] &&
      take(t, pieces(nodes, gpus, true), cost, grant))
    return grant;
  if (take(t, pieces(nodes, gpus, false), cost, grant)) return grant;
  return std::nullopt;
}

void VirtualClusters::release(std::size_t tenant, const CellGrant& grant) {
  for (const Cell& cell : grant.cells) give_back(tenants_[tenant], cell);
}

bool VirtualClusters::could(std::size_t tenant, std::uint32_t nodes, std::uint32_t gpus) const {
  if (nodes > 0 && gpus > node_gpus_) return false;
  const CellPool& pool = tenants_[tenant].pool;
  std::vector<std::uint64_t> owned(sizes_.size(), 0);
  for (const Cell& top : pool.tops()) ++owned[top.level];
  CellPool empty = lay_out(sizes_, owned);
  const auto free = [](const Cell&) -> std::uint64_t { return 0; };
  const auto list = nodes > 1 ? std::vector<std::uint32_t>(nodes, node_gpus_) : pieces(nodes, gpus, false);
  return std::all_of(list.begin(), list.end(), [&](std::uint32_t g) {
    return level_of(g) < sizes_.size() && empty.allocate(level_of(g), free).has_value();
  });
}

}  // namespace comity::sched
