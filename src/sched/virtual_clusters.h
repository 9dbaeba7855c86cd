// SPDX-License-Identifier: Apache-2.0
// The cells of one kind of nodes and who owns them (HiveD, OSDI 2020), apart from the policy: each tenant has a virtual
// pool of its own cells; a virtual top cell is bound to a physical one of its level while something in it is in use.
// A request that is feasible in a tenant's own free cells always gets GPUs (sched/cells.h: safety).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sched/cells.h"

namespace comity::sched {

// A job's cells within one tenant and its GPUs, numbered through the nodes of the kind.
struct CellGrant {
  std::vector<Cell> cells;                                       // virtual
  std::vector<std::pair<std::uint64_t, std::uint32_t>> windows;  // first GPU, GPUs used
};

class VirtualClusters {
 public:
  // `sizes`: levels up to the node and, where nodes are in racks, the rack. `nodes` of `node_gpus` GPUs.
  VirtualClusters(std::vector<std::uint32_t> sizes, std::uint32_t nodes, std::uint32_t node_gpus);

  // A tenant that owns so many cells of each level; a number for it. Sizes of [level].
  std::size_t add(const std::vector<std::uint64_t>& owned);
  // A tenant that owns all nodes that the others leave over.
  std::size_t add_rest();
  // Whether all that was given out can be laid out at once.
  [[nodiscard]] bool feasible() const;
  // The level of cells of exactly or at least so many GPUs; sizes().size() when there is none.
  [[nodiscard]] std::uint32_t level_of(std::uint32_t gpus) const;
  [[nodiscard]] const std::vector<std::uint32_t>& sizes() const { return sizes_; }

  // GPUs for a job: `nodes` x `gpus` a node, or nodes == 0: `gpus` in all. `cost` says how unwelcome a physical cell
  // is, ~0: cannot be used. nullopt: not in the free cells of this tenant, nothing changed.
  [[nodiscard]] std::optional<CellGrant> allocate(std::size_t tenant, std::uint32_t nodes, std::uint32_t gpus,
                                                  const CellPool::Cost& cost);
  void release(std::size_t tenant, const CellGrant& grant);
  // Whether the tenant could hold the job if nothing else ran.
  [[nodiscard]] bool could(std::size_t tenant, std::uint32_t nodes, std::uint32_t gpus) const;
  // Requests that were feasible for the tenant and did not get a physical cell: 0 by the theorem.
  [[nodiscard]] std::uint64_t broken() const { return broken_; }
  void set_split(CellPool::Split split) { split_ = split; }
  [[nodiscard]] std::uint64_t begin(const Cell& physical) const { return physical_.begin(physical); }

 private:
  struct Tenant {
    CellPool pool;
    std::vector<std::optional<Cell>> bound;  // by top: the physical cell
    std::vector<std::uint32_t> in_use;       // by top: cells given out
  };
  [[nodiscard]] static CellPool lay_out(const std::vector<std::uint32_t>& sizes,
                                        const std::vector<std::uint64_t>& owned);
  [[nodiscard]] std::vector<std::uint32_t> pieces(std::uint32_t nodes, std::uint32_t gpus, bool racks) const;
  [[nodiscard]] bool take(Tenant& t, const std::vector<std::uint32_t>& gpus, const CellPool::Cost& cost,
                          CellGrant& grant);
  [[nodiscard]] std::optional<Cell> take_cell(Tenant& t, std::uint32_t level, const CellPool::Cost& cost);
  void give_back(Tenant& t, const Cell& cell);
  [[nodiscard]] Cell mapped(const Tenant& t, const Cell& cell) const;

  std::vector<std::uint32_t> sizes_;
  std::uint32_t nodes_;
  std::uint32_t node_gpus_;
  std::uint32_t node_level_;
  CellPool physical_;
  CellPool::Split split_ = CellPool::Split::kLowest;
  std::vector<std::uint64_t> owned_;  // by all, by level
  std::vector<Tenant> tenants_;
  std::uint64_t broken_ = 0;
};

}  // namespace comity::sched
