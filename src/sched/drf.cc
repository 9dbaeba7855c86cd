// SPDX-License-Identifier: Apache-2.0
// Dominant resource fairness (Ghodsi et al., NSDI 2011). The resources are the GPUs of each type. At each pass, while
// some job fits: of the tenants that have a job that fits, the one with the least weighted dominant share starts its
// first such job (ties: the job that became eligible first). A job without a tenant counts for its user. Nothing is
// taken back, so shares adapt as jobs end.
//   drf.blocking  skip  a tenant's jobs that do not fit now are passed over (default)
//                 head  a tenant waits for its first job; other tenants go on
// Cost of a pass: O(lists + jobs started x lists), a list being the jobs of one tenant and shape that wait.
#include "sched/drf.h"

#include <algorithm>
#include <optional>

#include "sched/owned_queues.h"
#include "sched/owners.h"
#include "sched/param.h"
#include "sched/policies.h"

namespace comity::sched {
namespace {

class Drf : public Policy {
 public:
  explicit Drf(bool head_blocks, bool fair) : head_blocks_(head_blocks), fair_(fair) {}

  [[nodiscard]] bool follows_queues() const override { return true; }
  void decide(Pass& pass, std::uint32_t group) override {
    const State& state = pass.state();
    if (group == 0) begin(state);
    queues_.refresh(
        state, [&](JobId, const Job& job) { return owner(state, job); }, [](JobId, const Job&) { return 0; });
    if (state.active(group).empty() || state.pool().free_gpus({.group = group, .type = Pool::kAnyType}) == 0) return;
    gather(pass, group);
    while (!fronts_.empty()) {
      const std::size_t best = least();
      const Front front = fronts_[best];
      if (!pass.start(front.entry.job)) {  // the shape filled up meanwhile
        drop_or_block(pass, best);
        continue;
      }
      start_counts(state, front);
      queues_.erase(state, front.list, front.entry);
      const QueueEntry* next = queues_.front(state, front.list);
      if (next == nullptr) {
        drop(best);
      } else {
        fronts_[best].entry = *next;
      }
    }
  }

 private:
  struct Front {
    QueueEntry entry;
    std::uint32_t list;
    std::uint32_t owner;
  };
  struct Held {
    std::uint32_t owner;
    std::vector<double> demand;
  };

  void begin(const State& state) {
    queues_.begin_pass();
    if (!shares_) {
      std::vector<double> capacity(state.pool().types().size(), 0);
      for (std::uint32_t n = 0; n < state.pool().nodes(); ++n)
        capacity[state.pool().class_type(state.pool().class_of(NodeId(n)))] += state.pool().node_gpus(NodeId(n));
      shares_.emplace(std::move(capacity));
    }
    for (const JobId gone : state.left()) {
      const auto it = held_.find(gone.value);
      if (it == held_.end()) continue;
      shares_->use(it->second.owner, it->second.demand, -1);
      held_.erase(it);
    }
  }
  std::uint32_t owner(const State& state, const Job& job) {
    const std::uint32_t index = owners_.index(state, job);
    while (shares_->owners() <= index)
      shares_->add_owner(owners_.weight(static_cast<std::uint32_t>(shares_->owners())));
    return index;
  }

  // The fronts of the lists that could start now.
  void gather(const Pass& pass, std::uint32_t group) {
    fronts_.clear();
    const State& state = pass.state();
    const auto& shapes = state.active(group);
    if (!head_blocks_ && std::none_of(shapes.begin(), shapes.end(), [&](ShapeId s) { return pass.fits(s); })) return;
    const std::vector<std::uint32_t> lists = queues_.active(group);  // front() may drop some
    for (const std::uint32_t list : lists) {
      const ShapeId shape = queues_.list(list).shape;
      if (!state.shape(shape).satisfiable) continue;
      if (!head_blocks_ && !pass.fits(shape)) continue;
      if (const QueueEntry* entry = queues_.front(state, list))
        fronts_.push_back({*entry, list, queues_.list(list).owner});
    }
  }
  // Least dominant share, then first in order. Within an owner that is its first job.
  [[nodiscard]] std::size_t least() const {
    std::size_t best = 0;
    double share = fair_ ? shares_->share(fronts_[0].owner) : 0;
    for (std::size_t i = 1; i < fronts_.size(); ++i) {
      const double mine = fair_ ? shares_->share(fronts_[i].owner) : 0;
      if (mine < share || (mine == share && before(fronts_[i].entry, fronts_[best].entry))) {
        best = i;
        share = mine;
      }
    }
    return best;
  }
  void drop(std::size_t i) {
    fronts_[i] = fronts_.back();
    fronts_.pop_back();
  }
  void drop_or_block(const Pass& pass, std::size_t i) {
    const std::uint32_t owner = fronts_[i].owner;
    const ShapeId shape = queues_.list(fronts_[i].list).shape;
    if (head_blocks_) {
      std::erase_if(fronts_, [&](const Front& f) { return f.owner == owner; });
    } else if (!pass.fits(shape)) {  // nor will those of other owners
      std::erase_if(fronts_, [&](const Front& f) { return queues_.list(f.list).shape == shape; });
    } else {
      drop(i);
    }
  }
  void start_counts(const State& state, const Front& front) {
    const Job& job = state.job(JobId(front.entry.job));
    std::vector<double> demand(shares_->resources(), 0);
    demand[state.pool().class_type(state.running()[job.slot].allocation.node_class)] = job.gpus;
    shares_->use(front.owner, demand);
    held_[front.entry.job] = {front.owner, std::move(demand)};
  }

  bool head_blocks_;
  bool fair_;
  OwnedQueues queues_;
  Owners owners_;
  std::optional<DominantShares> shares_;
  std::unordered_map<std::uint32_t, Held> held_;
  std::vector<Front> fronts_;
};

}  // namespace

void add_drf(std::vector<PolicyInfo>& list) {
  list.push_back(
      {"drf",
       "Dominant resource fairness: the tenant with the least dominant share is served next.",
       "Ghodsi et al., NSDI 2011",
       false,
       false,
       {make_choice("drf.blocking", {"skip", "head"},
                    "skip: a tenant's jobs that do not fit are passed over; head: its first job holds it up"),
        make_param("drf.fair", Param::Type::kBool, "", "true", 0, 0,
                   "false serves jobs in the order of arrival, whoever's they are")},
       [](const Params& params) -> std::unique_ptr<Policy> {
         return std::make_unique<Drf>(params.text("drf.blocking") == "head", params.boolean("drf.fair"));
       }});
}

}  // namespace comity::sched
