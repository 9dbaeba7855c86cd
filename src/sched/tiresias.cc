// SPDX-License-Identifier: Apache-2.0
// Tiresias (NSDI'19): least attained service without knowing how long jobs run, discretised into queues. Attained
// service a = the time that a job has run (dlas), or that time x its GPUs (dlas_gpu). Rule R1 of the review, which is
// what the authors' simulator does:
//   a newcomer enters queue 0; at each pass a running job of queue q whose a >= limit[q] moves to the end of q + 1;
//   the queues are walked in order and the running set is chosen by GPU count, skipping what does not fit;
//   tiresias.order = running_first: after the walk each queue is re-ordered stably, running jobs first, so that a job
//   that was preempted or waits stands behind all that run, and FIFO inside a queue (the paper) does not hold;
//   tiresias.order = fifo: jobs of a queue stand in the order in which they entered it.
// Passes are made when a job arrives or leaves, and at the next jump, the first instant at which a running job reaches
// its limit, to the next whole second: exact = now + limit / g - executed (g = 1 for dlas); the simulator takes now +
// (limit - executed) / g, which is late (tiresias.jump).
// The paper's promotion of starved jobs is off in the simulator's runs and not here.
// Cost of a pass: O(running + newcomers x shapes).
#include "sched/tiresias.h"

#include "sched/param.h"
#include "sched/policies.h"
#include "sched/quota_policy.h"

namespace comity::sched {
namespace {

struct Settings {
  bool by_gpu = true;
  bool running_first = true;
  bool exact_jump = false;
  std::vector<Time> limits;  // of all queues but the last; seconds, or GPU seconds, in ns
  Time cost = 0;
};

class Dlas : public QuotaPolicy {
 public:
  explicit Dlas(Settings settings) : set_(std::move(settings)) {}

 private:
  // Ranked::mark = now - executed at any instant of a run; Ranked::next = when it reaches the limit of its queue.
  // Within a queue q the rank is 4 q + section: running, then waiting, then those demoted at this pass.
  enum Section : std::int64_t { kRuns = 0, kWaits = 1, kDemoted = 2 };

  [[nodiscard]] std::int64_t place(std::int64_t queue, Section section) const {
    return set_.running_first ? 4 * queue + section : 4 * queue;
  }
  [[nodiscard]] static std::size_t queue_of(std::int64_t rank) { return static_cast<std::size_t>(rank / 4); }
  // How long a job must have run to reach the limit of its queue.
  [[nodiscard]] Time run_to_limit(std::size_t queue, std::uint32_t gpus) const {
    return set_.by_gpu ? (set_.limits[queue] + gpus - 1) / gpus : set_.limits[queue];
  }

  bool rank_all(Pass& pass, Group& group) override {
    if (pass.now() < group.rank_due) return false;
    demoted_.clear();
    for (std::uint32_t i = 0; i < group.running.size(); ++i) {
      if (pass.now() >= group.running[i].next) demoted_.push_back(i);
    }
    if (demoted_.empty()) return false;
    std::sort(demoted_.begin(), demoted_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return group.running[a].job < group.running[b].job;  // in order of arrival
    });
    for (const std::uint32_t i : demoted_) {
      Ranked& r = group.running[i];
      r.rank = place(static_cast<std::int64_t>(queue_of(r.rank)) + 1, kDemoted);
      r.tie = ++group.last;
      r.next = limit_at(r);
    }
    sort(group.running);
    return true;
  }

  Key place_arrival(const Job& job, std::uint32_t, Group& group) override {
    std::size_t queue = 0;
    while (queue < set_.limits.size() && job.executed >= run_to_limit(queue, job.gpus)) ++queue;
    return {place(static_cast<std::int64_t>(queue), kWaits), ++group.last};
  }

  Time preemption_cost(std::uint32_t) const override { return set_.cost; }

  [[nodiscard]] Time limit_at(const Ranked& r) const {
    const std::size_t queue = queue_of(r.rank);
    return queue < set_.limits.size() ? r.mark + run_to_limit(queue, r.gpus) : kNever;
  }

  void settle(Pass& pass, Group& group, std::vector<Ranked>& chosen, std::vector<Ranked>& losers) override {
    for (Ranked& r : chosen) {
      if (r.fresh) {
        r.mark = pass.now() - pass.job(r.job).executed;
        r.next = limit_at(r);
      }
      if (!set_.running_first || r.rank % 4 == kRuns) continue;
      r.rank = place(static_cast<std::int64_t>(queue_of(r.rank)), kRuns);
      r.tie = ++group.last;
    }
    if (!set_.running_first) {
      for (const Ranked& r : losers) insert(pass, group, r.job, {r.rank, r.tie});
      return;
    }
    for (auto r = losers.rbegin(); r != losers.rend(); ++r) {  // who ran stood in front of who waited
      if (r->rank % 4 == kRuns)
        insert(pass, group, r->job, {place(static_cast<std::int64_t>(queue_of(r->rank)), kWaits), --group.first});
    }
    for (const Ranked& r : losers) {
      if (r.rank % 4 != kRuns)
        insert(pass, group, r.job, {place(static_cast<std::int64_t>(queue_of(r.rank)), kWaits), ++group.last});
    }
  }

  Time next_pass(Pass& pass, Group& group) override {
    Time first = kNever;
    group.rank_due = kNever;
    for (const Ranked& r : group.running) {
      const std::size_t queue = queue_of(r.rank);
      if (queue >= set_.limits.size()) break;  // the last queue has no limit
      group.rank_due = std::min(group.rank_due, r.next);
      first = std::min(first, jump(pass.now(), r, queue));
    }
    // One demotion at a pass: who has passed two limits is seen again a second later.
    return first == kNever ? kNever : std::max(first, pass.now() + kSecond);
  }

  [[nodiscard]] Time jump(Time now, const Ranked& r, std::size_t queue) const {
    const bool exact = set_.exact_jump || !set_.by_gpu;
    const Time left = exact ? r.next - now : (set_.limits[queue] - (now - r.mark)) / r.gpus;
    return now + (left + kSecond - 1) / kSecond * kSecond;
  }

  Settings set_;
  std::vector<std::uint32_t> demoted_;  // indices of running jobs
};

std::vector<Param> params() {
  using enum Param::Type;
  return {
      make_choice("tiresias.variant", {"dlas_gpu", "dlas", "gittins"},
                  "dlas_gpu: least attained GPU time; dlas: least attained time; gittins: highest Gittins index"),
      make_param("tiresias.queues", kInt, "", "3", 1, 1000, "queues of dlas and dlas_gpu; the last has no limit"),
      make_param("tiresias.limits", kList, "s", "3250,7200,18000", 0, 1e9,
                 "limits of the queues, GPU s for dlas_gpu; what is beyond the number of queues is not used"),
      make_choice("tiresias.order", {"running_first", "fifo"},
                  "running_first: in a queue running jobs stand in front of waiting ones"),
      make_choice("tiresias.jump", {"artifact", "exact"}, "when a running job is said to reach its limit (dlas_gpu)"),
      make_choice(
          "tiresias.gittins_order", {"high_first", "artifact"},
          "artifact: the authors' simulator, which ranks the wrong way and takes seconds for GPU s of waiting jobs"),
      make_param("tiresias.samples", kFile, "GPU s", "", 0, 1e12,
                 "file of GPU times, one a line, to take the Gittins index from; none: the jobs that ended so far"),
      make_param("tiresias.quantum", kTime, "GPU s", "3250", 1, 1e9, "service quantum of the Gittins index"),
      make_param("tiresias.preemption_cost", kTime, "s", "0", 0, 1e6,
                 "time added to a job's remaining work at each preemption"),
  };
}

std::unique_ptr<Policy> make(const Params& p) {
  const std::string& variant = p.text("tiresias.variant");
  if (variant == "gittins") return make_gittins(p);
  Settings s;
  s.by_gpu = variant == "dlas_gpu";
  s.running_first = p.text("tiresias.order") == "running_first";
  s.exact_jump = p.text("tiresias.jump") == "exact";
  s.cost = p.time("tiresias.preemption_cost");
  const std::vector<double>& limits = p.reals("tiresias.limits");
  const auto queues = static_cast<std::size_t>(p.integer("tiresias.queues"));
  for (std::size_t i = 0; i + 1 < queues && i < limits.size(); ++i) s.limits.push_back(from_seconds(limits[i]));
  return std::make_unique<Dlas>(std::move(s));
}

}  // namespace

void add_tiresias(std::vector<PolicyInfo>& list) {
  list.push_back({"tiresias", "Least attained service first in queues, or highest Gittins index first; preemptive.",
                  "Tiresias, NSDI'19; rules R1, R2", true, false, params(), make});
}

}  // namespace comity::sched
