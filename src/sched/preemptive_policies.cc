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

#include "sched/param.h"
#include "sched/policies.h"
#include "sched/quota.h"
#include "sched/service.h"

namespace comity::sched {
namespace {

enum class Order { kGpus, kRemaining, kService };

std::int64_t rank_of(Order order, Time remaining, std::uint32_t gpus) {
  switch (order) {
    case Order::kGpus: return gpus;
    case Order::kRemaining: return remaining;
    case Order::kService: return gpu_service(remaining, gpus);
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
    std::vector<Ranked>& kept = kept_[group];
    refresh(pass, kept);
    quota_.begin(pass.state(), group);
    for (const ShapeId shape : pass.state().active(group)) {
      const ShapeClass& s = pass.state().shape(shape);
      quota_.offer(s.queue, s);
    }
    if (!quota_.choose(kept)) return;
    for (const Ranked& entry : quota_.losers()) pass.preempt(entry.job, cost_);
    std::vector<Ranked>& chosen = quota_.chosen();
    std::size_t out = 0;
    for (Ranked& entry : chosen) {
      if (entry.fresh) {
        if (!pass.start(entry.job)) continue;
        entry.fresh = false;
        entry.mark = pass.state().running()[pass.job(entry.job).slot].expected_end;
      }
      chosen[out++] = entry;
    }
    chosen.resize(out);
    kept.swap(chosen);
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
  // Drops who no longer runs and ranks the others as of now. Order changes little between passes: insertion sort.
  // Ranked::mark is the expected end; Ranked::tie is the eligible time.
  void refresh(const Pass& pass, std::vector<Ranked>& kept) const {
    for (const JobId gone : pass.state().left())
      std::erase_if(kept, [&](const Ranked& entry) { return entry.job == gone.value; });
    for (std::size_t i = 0; i < kept.size(); ++i) {
      Ranked entry = kept[i];
      entry.rank = rank_of(order_, std::max<Time>(0, entry.mark - pass.now()), entry.gpus);
      std::size_t at = i;
      for (; at > 0 && before(entry, kept[at - 1]); --at) kept[at] = kept[at - 1];
      kept[at] = entry;
    }
  }

  Order order_;
  Time cost_;
  std::vector<std::vector<Ranked>> kept_;  // by group: who runs, in the order of the last pass
  Quota quota_;
};

Param cost_param(const std::string& policy) {
  return make_param(policy + ".preemption_cost", Param::Type::kTime, "s", "0", 0, 1e6,
                    "time added to a job's remaining work at each preemption");
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
