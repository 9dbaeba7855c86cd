// SPDX-License-Identifier: Apache-2.0
// HiveD (OSDI 2020): each tenant owns cells of the cluster (`cells` in the cluster file; who owns none shares what is
// left over). A guaranteed job starts as soon as its tenant's own free cells hold it, wherever the buddy allocation of
// sched/cells.h binds them; opportunistic jobs use whatever GPUs are idle and are preempted when a guaranteed job is
// given them. A guaranteed job takes one cell that is wide enough (3 GPUs: a cell of 4), a wider one whole nodes and a
// cell for the rest. Of the free cells of a level the one with the fewest opportunistic GPUs is taken.
//   levels        hived.levels, or 1, 2, 4, ... as far as they divide a node's GPUs, the node, hived.rack_nodes nodes
//   opportunistic the jobs that the trace calls "opportunistic" or "best_effort", those of the tenants that
//                 hived.opportunistic names, and those wider than all of their tenant's cells, which could never run
//   order         by tenant: eligible time, id; what does not fit is passed over or blocks its tenant (hived.blocking)
// Cost of a pass: O(lists) + O(levels x free cells) a start; lists that did not fit are tried again when their tenant
// gives something back.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"
#include "sched/owned_queues.h"
#include "sched/owners.h"
#include "sched/param.h"
#include "sched/policies.h"
#include "sched/virtual_clusters.h"

namespace comity::sched {
namespace {

constexpr std::uint32_t kOpportunistic = 0xfffffffeU;  // owner of lists
constexpr std::uint64_t kDownCost = 1'000'000'000;

std::vector<std::string> split_names(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.find(',', at);
    if (end == std::string::npos) end = text.size();
    if (end > at) names.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

// The sizes of cells on nodes with so many GPUs.
Result<std::vector<std::uint32_t>> cell_sizes(const Params& p, std::uint32_t node_gpus) {
  std::vector<std::uint32_t> sizes;
  const std::string& text = p.text("hived.levels");
  if (text.empty()) {
    for (std::uint32_t s = 1; s < node_gpus && node_gpus % s == 0; s *= 2) sizes.push_back(s);
  }
  for (const std::string& item : split_names(text)) {
    const auto value = parse_int(item);
    const bool good = value && *value >= 1 && *value <= 1'000'000 &&
                      (sizes.empty() || (*value > sizes.back() && *value % sizes.back() == 0));
    if (!good)
      return fail_option("hived.levels", fmt::format("'{}' does not follow", printable(item)),
                         "write ascending numbers of GPUs, each a multiple of the one before it, for example 1,2,4");
    if (*value < node_gpus && node_gpus % *value == 0) sizes.push_back(static_cast<std::uint32_t>(*value));
  }
  sizes.push_back(node_gpus);
  const std::int64_t rack = p.integer("hived.rack_nodes");
  if (rack > 1) sizes.push_back(static_cast<std::uint32_t>(rack) * node_gpus);
  return sizes;
}

// The cells of every kind of nodes (by class; none for small pools), with the tenants that own cells in the order of
// the cluster file and then the rest.
struct Kinds {
  std::vector<std::optional<VirtualClusters>> of;  // by class
  std::vector<std::vector<std::uint32_t>> nodes;   // by class: NodeId
  std::vector<std::string> tenants;                // that own cells
};

Status give_cells(const Pool& pool, const std::vector<cluster::TenantSpec>& tenants, Kinds& kinds) {
  for (const cluster::TenantSpec& tenant : tenants) {
    if (tenant.cells.empty()) continue;
    std::vector<std::vector<std::uint64_t>> owned(kinds.of.size());
    for (std::size_t c = 0; c < owned.size(); ++c) owned[c].resize(kinds.of[c] ? kinds.of[c]->sizes().size() : 0, 0);
    for (const cluster::CellSpec& cell : tenant.cells) {
      bool found = false;
      for (std::uint32_t c = 0; c < owned.size() && !found; ++c) {
        if (!kinds.of[c]) continue;
        if (!cell.gpu_type.empty() && pool.types()[pool.class_type(c)] != cell.gpu_type) continue;
        const std::uint32_t level = kinds.of[c]->level_of(cell.gpus);
        if (level >= owned[c].size() || kinds.of[c]->sizes()[level] != cell.gpus) continue;
        owned[c][level] += cell.count;
        found = true;
      }
      if (!found)
        return fail_option("hived",
                           fmt::format("tenant '{}' owns cells of {} GPUs, which no kind of nodes has",
                                       printable(tenant.name), cell.gpus),
                           "cells are a node, hived.levels GPUs of one, or hived.rack_nodes nodes");
    }
    kinds.tenants.push_back(tenant.name);
    for (std::size_t c = 0; c < owned.size(); ++c) {
      if (kinds.of[c]) kinds.of[c]->add(owned[c]);
    }
  }
  for (auto& kind : kinds.of) {
    if (kind && !kind->feasible())
      return fail_option("hived", "the tenants own more cells than the nodes can hold at once",
                         "give out fewer cells: cells of one node or rack are never split between nodes");
    if (kind) kind->add_rest();
  }
  return {};
}

Result<Kinds> make_kinds(const Params& p, const Pool& pool, const std::vector<cluster::TenantSpec>& tenants) {
  Kinds kinds;
  kinds.of.resize(pool.classes());
  kinds.nodes.resize(pool.classes());
  for (std::uint32_t n = 0; n < pool.nodes(); ++n) kinds.nodes[pool.class_of(NodeId(n))].push_back(n);
  for (std::uint32_t c = 0; c < pool.classes(); ++c) {
    if (pool.class_is_small(c)) continue;
    auto sizes = cell_sizes(p, pool.class_gpus(c));
    if (!sizes) return fail(sizes.error());
    const auto nodes = static_cast<std::uint32_t>(kinds.nodes[c].size());
    if (sizes->back() / pool.class_gpus(c) > nodes) sizes->pop_back();  // not one whole rack
    kinds.of[c].emplace(*sizes, nodes, pool.class_gpus(c));
    if (p.text("hived.split") == "highest") kinds.of[c]->set_split(CellPool::Split::kHighest);
  }
  if (auto status = give_cells(pool, tenants, kinds); !status) return fail(status.error());
  return kinds;
}

class HiveD : public Policy {
 public:
  explicit HiveD(const Params& p)
      : params_(p),
        opportunistic_(split_names(p.text("hived.opportunistic"))),
        head_blocks_(p.text("hived.blocking") == "head"),
        cost_(p.time("hived.preemption_cost")) {}

  [[nodiscard]] bool follows_queues() const override { return true; }
  void decide(Pass& pass, std::uint32_t group) override {
    const State& state = pass.state();
    if (group == 0) begin(state);
    refresh(state);
    if (state.active(group).empty()) return;
    guaranteed(pass, group);
    opportunistic(pass, group);
  }

 private:
  struct Held {
    std::uint32_t node_class;
    std::uint32_t tenant;
    CellGrant grant;
  };
  struct Lent {  // an opportunistic run
    std::uint32_t job;
    Allocation where;
  };

  void begin(const State& state) {
    if (!made_) {
      auto kinds = make_kinds(params_, state.pool(), state.tenants());
      COMITY_CHECK(kinds.has_value());  // checked before
      kinds_ = std::move(*kinds);
      lent_gpus_.assign(state.pool().nodes(), 0);
      versions_.assign(kinds_.tenants.size() + 1, 1);
      made_ = true;
    }
    queues_.begin_pass();
    for (const JobId gone : state.left()) forget(gone.value);
    const std::int64_t up = state.pool().free_gpus() + static_cast<std::int64_t>(state.used_gpus());
    if (up != up_) {  // nodes came or went: everything may fit again
      for (std::uint64_t& version : versions_) ++version;
    }
    up_ = up;
  }
  void forget(std::uint32_t job) {
    if (const auto it = held_.find(job); it != held_.end()) {
      kinds_.of[it->second.node_class]->release(it->second.tenant, it->second.grant);
      ++versions_[it->second.tenant];
      held_.erase(it);
      return;
    }
    const auto it = std::find_if(lent_.begin(), lent_.end(), [&](const Lent& l) { return l.job == job; });
    if (it == lent_.end()) return;
    for (const cluster::Part& part : it->where.parts) lent_gpus_[part.node.index()] &= ~part.gpus;
    lent_.erase(it);
  }

  void refresh(const State& state) {
    queues_.refresh(
        state,
        [&](JobId id, const Job& job) { return asks_for_little(state, id) ? kOpportunistic : owner(state, job); },
        [](JobId, const Job&) { return 0; });
  }
  // Jobs that the trace calls so, whatever their tenant owns.
  static bool asks_for_little(const State& state, JobId id) {
    const profile::Attributes* attributes = state.attributes(id);
    if (attributes == nullptr || attributes->job_class == profile::kNoName) return false;
    const std::string& name = state.names()[attributes->job_class];
    return name == "opportunistic" || name == "best_effort";
  }
  // The number of the tenant for a guaranteed job.
  std::uint32_t owner(const State& state, const Job& job) {
    const auto [it, made] = owner_.try_emplace((std::uint64_t{job.tenant} << 32) | job.shape, 0);
    if (!made) return it->second;
    auto tenant = static_cast<std::uint32_t>(kinds_.tenants.size());
    bool named = false;
    if (job.tenant != profile::kNoName) {
      const std::string& name = state.names()[job.tenant];
      const auto at = std::find(kinds_.tenants.begin(), kinds_.tenants.end(), name);
      tenant = static_cast<std::uint32_t>(at - kinds_.tenants.begin());
      named = std::find(opportunistic_.begin(), opportunistic_.end(), name) != opportunistic_.end();
    }
    bool could = false;
    const ShapeClass& s = state.shape(job.shape);
    for (std::uint32_t c = 0; c < kinds_.of.size() && !could && !named; ++c)
      could = usable(state, s, c) && kinds_.of[c]->could(tenant, s.shape.nodes, s.shape.gpus);
    it->second = could ? tenant : kOpportunistic;
    return it->second;
  }
  [[nodiscard]] bool usable(const State& state, const ShapeClass& s, std::uint32_t c) const {
    return kinds_.of[c].has_value() && state.pool().allows(s.where, c);
  }

  struct Front {
    QueueEntry entry;
    std::uint32_t list;
    std::uint32_t owner;
  };
  void gather(const State& state, std::uint32_t group, bool lent) {
    fronts_.clear();
    const std::vector<std::uint32_t> lists = queues_.active(group);  // front() may drop some
    for (const std::uint32_t list : lists) {
      const std::uint32_t of = queues_.list(list).owner;
      if ((of == kOpportunistic) != lent || !state.shape(queues_.list(list).shape).satisfiable) continue;
      if (!lent && !head_blocks_ && list < failed_.size() && failed_[list] == versions_[of]) continue;
      if (const QueueEntry* entry = queues_.front(state, list)) fronts_.push_back({*entry, list, of});
    }
  }
  [[nodiscard]] std::size_t first() const {
    std::size_t best = 0;
    for (std::size_t i = 1; i < fronts_.size(); ++i) {
      if (before(fronts_[i].entry, fronts_[best].entry)) best = i;
    }
    return best;
  }
  void started(const State& state, std::size_t i) {
    const Front front = fronts_[i];
    queues_.erase(state, front.list, front.entry);
    if (const QueueEntry* next = queues_.front(state, front.list)) {
      fronts_[i].entry = *next;
    } else {
      drop(i);
    }
  }
  void drop(std::size_t i) {
    fronts_[i] = fronts_.back();
    fronts_.pop_back();
  }

  void guaranteed(Pass& pass, std::uint32_t group) {
    gather(pass.state(), group, false);
    while (!fronts_.empty()) {
      const std::size_t i = first();
      const Front front = fronts_[i];
      if (!pass.state().eligible(JobId(front.entry.job))) {  // a start has brought its user or tenant to a limit
        drop(i);
        continue;
      }
      if (start_guaranteed(pass, front)) {
        started(pass.state(), i);
        continue;
      }
      if (front.list >= failed_.size()) failed_.resize(front.list + 1, 0);
      failed_[front.list] = versions_[front.owner];
      drop(i);
      if (head_blocks_) std::erase_if(fronts_, [&](const Front& f) { return f.owner == front.owner; });
    }
    refresh(pass.state());  // who was preempted
  }
  bool start_guaranteed(Pass& pass, const Front& front) {
    const State& state = pass.state();
    const ShapeClass& s = state.shape(pass.job(front.entry.job).shape);
    for (std::uint32_t c = 0; c < kinds_.of.size(); ++c) {
      if (!usable(state, s, c)) continue;
      const Pool& pool = state.pool_of(s);  // without what is reserved for others
      const auto cost = [&](const Cell& cell) { return unwelcome(pool, c, cell); };
      auto grant = kinds_.of[c]->allocate(front.owner, s.shape.nodes, s.shape.gpus, cost);
      if (!grant) continue;
      Allocation where;
      if (!to_allocation(pool, c, *grant, where)) {  // on a node that is down
        kinds_.of[c]->release(front.owner, *grant);
        continue;
      }
      make_way(pass, where);
      if (state.pool().rule() == cluster::Placement::kCount) where.parts.clear();
      COMITY_CHECK(pass.start_at(front.entry.job, where));
      held_[front.entry.job] = {c, front.owner, std::move(*grant)};
      return true;
    }
    return false;
  }

  // Opportunistic GPUs in a physical cell; nodes that are down count most.
  [[nodiscard]] std::uint64_t unwelcome(const Pool& pool, std::uint32_t c, const Cell& cell) const {
    const std::uint32_t n = pool.class_gpus(c);
    std::uint64_t sum = 0;
    const std::uint64_t at = kinds_.of[c]->begin(cell);
    const std::uint32_t size = kinds_.of[c]->sizes()[cell.level];
    for (std::uint64_t node = at / n; node * n < at + size; ++node) {
      const NodeId id(kinds_.nodes[c][node]);
      if (!pool.is_up(id)) sum += kDownCost;
      sum += static_cast<std::uint64_t>(std::popcount(lent_gpus_[id.index()] & window(at, size, node, n)));
    }
    return sum;
  }
  // GPUs [at, at + size) that lie on node `node`, as its bits.
  static std::uint64_t window(std::uint64_t at, std::uint64_t size, std::uint64_t node, std::uint32_t n) {
    const std::uint64_t from = std::max(at, node * n) - node * n;
    const std::uint64_t to = std::min(at + size, (node + 1) * n) - node * n;
    const auto low = [](std::uint64_t bits) { return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1; };
    return low(to) & ~low(from);
  }
  bool to_allocation(const Pool& pool, std::uint32_t c, const CellGrant& grant, Allocation& where) const {
    const std::uint32_t n = pool.class_gpus(c);
    where.node_class = c;
    for (const auto& [at, used] : grant.windows) {
      where.gpus += used;
      for (std::uint64_t node = at / n; node * n < at + used; ++node) {
        const NodeId id(kinds_.nodes[c][node]);
        if (!pool.is_up(id)) return false;
        where.parts.push_back({id, window(at, used, node, n)});
      }
    }
    return true;
  }
  // Preempts the opportunistic jobs on these GPUs; under `count`, where GPUs have no place, the latest ones.
  void make_way(Pass& pass, const Allocation& where) {
    const bool count = pass.state().pool().rule() == cluster::Placement::kCount;
    for (std::size_t i = lent_.size(); i-- > 0;) {
      const Lent& lent = lent_[i];
      bool goes = false;
      if (count) {
        goes =
            lent.where.node_class == where.node_class && pass.state().pool().class_free(where.node_class) < where.gpus;
      } else {
        for (const cluster::Part& mine : lent.where.parts) {
          for (const cluster::Part& part : where.parts)
            goes = goes || (mine.node == part.node && (mine.gpus & part.gpus) != 0);
        }
      }
      if (!goes) continue;
      const std::uint32_t job = lent.job;
      forget(job);
      pass.preempt(job, cost_);
    }
  }

  void opportunistic(Pass& pass, std::uint32_t group) {
    gather(pass.state(), group, true);
    std::erase_if(fronts_, [&](const Front& f) { return !pass.fits(queues_.list(f.list).shape); });
    while (!fronts_.empty()) {
      const std::size_t i = first();
      const std::uint32_t job = fronts_[i].entry.job;
      if (!pass.start(job)) {
        drop(i);
        continue;
      }
      lent_.push_back({job, pass.state().running()[pass.job(job).slot].allocation});
      for (const cluster::Part& part : lent_.back().where.parts) lent_gpus_[part.node.index()] |= part.gpus;
      started(pass.state(), i);
    }
  }

  Params params_;
  std::vector<std::string> opportunistic_;
  bool head_blocks_;
  Time cost_;
  bool made_ = false;
  Kinds kinds_;
  OwnedQueues queues_;
  std::unordered_map<std::uint64_t, std::uint32_t> owner_;  // (tenant, shape)
  std::unordered_map<std::uint32_t, Held> held_;            // by guaranteed job
  std::vector<Lent> lent_;                                  // in the order of their starts
  std::vector<std::uint64_t> lent_gpus_;                    // by node
  std::vector<std::uint64_t> versions_;                     // by tenant: goes up when it gives something back
  std::vector<std::uint64_t> failed_;                       // by list: the version at which it did not fit
  std::int64_t up_ = -1;
  std::vector<Front> fronts_;
};

std::vector<Param> params() {
  using enum Param::Type;
  return {
      make_param("hived.opportunistic", kText, "", "", 0, 0, "tenants whose jobs are opportunistic: NAME,..."),
      make_param("hived.levels", kText, "GPUs", "", 0, 0, "cells inside a node, ascending; empty: 1, 2, 4, ..."),
      make_param("hived.rack_nodes", kInt, "nodes", "0", 0, 1e5, "nodes of a rack; 0 or 1: no racks"),
      make_choice("hived.blocking", {"skip", "head"}, "skip: a tenant's jobs that do not fit are passed over"),
      make_param("hived.preemption_cost", kTime, "s", "0", 0, 1e6,
                 "time added to an opportunistic job's remaining work at each preemption"),
      make_choice("hived.split", {"lowest", "highest"},
                  "which free cell is split; highest is no buddy allocation and breaks the guarantee"),
  };
}

Status check(const Params& p, const cluster::ClusterSpec& spec) {
  auto kinds = make_kinds(p, Pool(spec, cluster::Placement::kCount), spec.tenants);
  if (!kinds) return fail(kinds.error());
  return {};
}

}  // namespace

void add_hived(std::vector<PolicyInfo>& list) {
  list.push_back({"hived",
                  "Tenants own cells of the cluster; opportunistic jobs use what is idle and give way.",
                  "Zhao et al., OSDI 2020",
                  true,
                  false,
                  params(),
                  [](const Params& p) -> std::unique_ptr<Policy> { return std::make_unique<HiveD>(p); },
                  {},
                  check});
}

}  // namespace comity::sched
