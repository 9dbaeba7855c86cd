// SPDX-License-Identifier: Apache-2.0
// Preemptive list policies (rule F8 of the review): at every event the running set is chosen anew by GPU count, in
// order, skipping what does not fit; whoever runs and is not chosen is preempted with its progress kept; newcomers are
// then placed in order. A newcomer that cannot be placed on the nodes stays waiting and its GPUs stay reserved in the
// count; jobs that go on never move.
//   smallest_first  order (GPUs, submit time, id)
//   srtf            order (remaining time, submit time, id)
//   srsf            order (remaining time x GPUs, submit time, id); Tiresias calls it shortest-gpu
// Cost of a pass: O(running + newcomers x shapes). The running jobs are kept nearly sorted between passes.
#include <algorithm>

#include "sched/policies.h"
#include "sched/walk.h"

namespace comity::sched {
namespace {

enum class Order { kGpus, kRemaining, kService };

// GPU microseconds, so that the product of the longest time and the widest job stays an int64.
std::int64_t service(Time remaining, std::uint32_t gpus) {
  const std::int64_t us = remaining / kMicrosecond;
  return us > kMaxTime / std::max<std::int64_t>(gpus, 1) ? kMaxTime : us * gpus;
}
std::int64_t rank_of(Order order, Time remaining, std::uint32_t gpus) {
  switch (order) {
    case Order::kGpus: return gpus;
    case Order::kRemaining: return remaining;
    case Order::kService: return service(remaining, gpus);
  }
  return 0;
}
template <Order order>
std::int64_t rank_waiting(const Job& job, const ShapeClass& shape) {
  return rank_of(order, std::max<Time>(0, job.estimate - job.executed), shape.gpus);
}

class Preemptive : public Policy {
 public:
  Preemptive(Order order, Time cost) : order_(order), cost_(cost) {}

  void decide(Pass& pass, std::uint32_t group) override {
    if (group >= kept_.size()) kept_.resize(group + 1);
    std::vector<Kept>& kept = kept_[group];
    refresh(pass, kept);
    choose(pass, group, kept);
    for (const Kept& entry : losers_) pass.preempt(entry.job, cost_);
    std::size_t out = 0;
    for (Kept& entry : chosen_) {
      if (entry.fresh) {
        if (!pass.start(entry.job)) continue;
        entry.fresh = false;
        entry.end = pass.state().running()[pass.job(entry.job).slot].expected_end;
      }
      chosen_[out++] = entry;
    }
    chosen_.resize(out);
    kept.swap(chosen_);
  }

  [[nodiscard]] cluster::RankFn rank() const override {
    switch (order_) {
      case Order::kGpus: return rank_waiting<Order::kGpus>;
      case Order::kRemaining: return rank_waiting<Order::kRemaining>;
      case Order::kService: return rank_waiting<Order::kService>;
    }
    return cluster::rank_by_arrival;
  }

 private:
  // A running job, or one chosen to start, in the order of the policy.
  struct Kept {
    std::int64_t rank;
    Time eligible;
    Time end;  // expected
    std::uint32_t job;
    std::uint32_t gpus;
    bool fresh;
    [[nodiscard]] bool is_before(const Kept& o) const {
      if (rank != o.rank) return rank < o.rank;
      return eligible != o.eligible ? eligible < o.eligible : job < o.job;
    }
    [[nodiscard]] bool is_after(const QueueEntry& o) const {
      if (rank != o.rank) return rank > o.rank;
      return eligible != o.eligible ? eligible > o.eligible : job > o.job;
    }
  };

  // Drops who no longer runs and ranks the others as of now. Order changes little between passes: insertion sort.
  void refresh(const Pass& pass, std::vector<Kept>& kept) const {
    for (const JobId gone : pass.state().left())
      std::erase_if(kept, [&](const Kept& entry) { return entry.job == gone.value; });
    for (std::size_t i = 0; i < kept.size(); ++i) {
      Kept entry = kept[i];
      entry.rank = rank_of(order_, std::max<Time>(0, entry.end - pass.now()), entry.gpus);
      std::size_t at = i;
      for (; at > 0 && entry.is_before(kept[at - 1]); --at) kept[at] = kept[at - 1];
      kept[at] = entry;
    }
  }

  // Merges running and waiting jobs in order into chosen_ and losers_, by GPU count alone.
  void choose(const Pass& pass, std::uint32_t group, const std::vector<Kept>& kept) {
    chosen_.clear();
    losers_.clear();
    fronts_.clear();
    std::int64_t left = pass.state().pool().up_gpus({.group = group, .type = Pool::kAnyType});
    for (const ShapeId shape : pass.state().active(group)) {
      const ShapeClass& s = pass.state().shape(shape);
      if (s.gpus <= left) fronts_.push_back({&s.queue.front(), &s});
    }
    drop_too_wide(left);
    std::size_t best = least_front(fronts_);
    for (std::size_t i = 0; i < kept.size();) {
      if (best < fronts_.size() && kept[i].is_after(*fronts_[best].entry)) {
        take_waiting(best, left);
        best = least_front(fronts_);
        continue;
      }
      const auto gpus = static_cast<std::int64_t>(kept[i].gpus);
      if (gpus <= left) {
        chosen_.push_back(kept[i]);
        left -= gpus;
        if (static_cast<std::int64_t>(widest_) > left && drop_too_wide(left)) best = least_front(fronts_);
      } else {
        losers_.push_back(kept[i]);
      }
      ++i;
    }
    for (; best < fronts_.size(); best = least_front(fronts_)) take_waiting(best, left);
  }

  struct Front {
    const QueueEntry* entry;
    const ShapeClass* shape;
  };
  bool drop_too_wide(std::int64_t left) {
    bool dropped = false;
    widest_ = 0;
    for (std::size_t i = 0; i < fronts_.size();) {
      if (fronts_[i].shape->gpus <= left) {
        widest_ = std::max(widest_, fronts_[i].shape->gpus);
        ++i;
        continue;
      }
      drop_at(fronts_, i);
      dropped = true;
    }
    return dropped;
  }
  void take_waiting(std::size_t i, std::int64_t& left) {
    const QueueEntry& e = *fronts_[i].entry;
    chosen_.push_back({e.rank, e.eligible, 0, e.job, fronts_[i].shape->gpus, true});
    left -= fronts_[i].shape->gpus;
    fronts_[i].entry = fronts_[i].shape->queue.after(*fronts_[i].entry);
    if (fronts_[i].entry == nullptr) drop_at(fronts_, i);
    drop_too_wide(left);
  }

  Order order_;
  Time cost_;
  std::vector<std::vector<Kept>> kept_;  // by group: who runs, in the order of the last pass
  std::vector<Kept> chosen_;
  std::vector<Kept> losers_;
  std::vector<Front> fronts_;
  std::uint32_t widest_ = 0;  // GPUs of the widest of fronts_
};

Param cost_param(const std::string& policy) {
  Param p;
  p.name = policy + ".preemption_cost";
  p.type = Param::Type::kTime;
  p.unit = "s";
  p.fallback = "0";
  p.low = 0;
  p.high = 1e6;
  p.doc = "time added to a job's remaining work at each preemption";
  return p;
}

template <Order order>
void add(std::vector<PolicyInfo>& list, const std::string& name, const std::string& summary, const std::string& source,
         bool estimates) {
  list.push_back(
      {name, summary, source, true, estimates, {cost_param(name)}, [](const Params& params) -> std::unique_ptr<Policy> {
         constexpr const char* kNames[] = {"smallest_first", "srtf", "srsf"};
         const std::string owner = kNames[static_cast<int>(order)];
         return std::make_unique<Preemptive>(order, params.time(owner + ".preemption_cost"));
       }});
}

}  // namespace

void add_preemptive_policies(std::vector<PolicyInfo>& list) {
  add<Order::kRemaining>(list, "srtf", "Shortest remaining time first, preemptive.", "classic (Tiresias: shortest)",
                         true);
  add<Order::kGpus>(list, "smallest_first", "Fewest GPUs first, preemptive.", "Tiresias: sjf", false);
  add<Order::kService>(list, "srsf", "Least remaining time x GPUs first, preemptive.", "Tiresias: shortest-gpu", true);
}

}  // namespace comity::sched
