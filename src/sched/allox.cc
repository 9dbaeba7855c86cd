// SPDX-License-Identifier: Apache-2.0
// AlloX (Le et al., EuroSys 2020): waiting jobs are matched to types of GPUs and to places in the lists of their GPUs
// so that the sum of completion times is least (slot_matching.h). Whoever is first on a GPU that is free starts; a job
// whose place is on a type that is busy waits for it, though another type may be free. Nothing is preempted. With
//   p_ij   work / speed of job i on type j x its GPUs: AlloX knows jobs of one GPU; a wider one counts as the GPU time
//          that it takes, on one list
//   d_j    0 for the GPUs of type j that are free; for the others the mean of the time that they are still busy
// Matched are the allox.jobs with least work x GPUs. Jobs that don't fit together are passed over. Where all GPUs are
// of one type the matching is the order by work x GPUs. Cost of a pass: O(jobs^2 x (jobs / GPUs + types)) + running.
#include <algorithm>
#include <unordered_set>

#include "sched/param.h"
#include "sched/policies.h"
#include "sched/slot_matching.h"
#include "sched/type_speeds.h"
#include "sched/walk.h"

namespace comity::sched {
namespace {

std::int64_t rank_by_work(const Job& job, const ShapeClass& shape) {
  const double work = static_cast<double>(job.estimate - job.executed) * std::max<std::uint32_t>(1, shape.gpus);
  return static_cast<std::int64_t>(std::min(work, 9e18));
}

class Allox : public Policy {
 public:
  Allox(std::size_t jobs, bool delays) : most_(jobs), delays_(delays) {}

  [[nodiscard]] cluster::RankFn rank() const override { return rank_by_work; }

  void decide(Pass& pass, std::uint32_t group) override {
    const State& state = pass.state();
    if (state.active(group).empty() || state.pool().free_gpus({group, Pool::kAnyType}) <= 0) return;
    speeds_.clear();
    gather(pass, group);
    const std::size_t before = state.running().size();
    if (look_at_pools(pass, group) > 1) {
      match(pass);
      for (const Turn& turn : turns_) start(pass, group, jobs_[turn.job], turn.type);
      if (busy_ > 0 || state.running().size() > before) return;
    }
    // One type; or nothing runs and nothing matched can start: whatever fits.
    for (const Candidate& c : jobs_) {
      for (std::uint32_t type = 0; type < speeds_.of(pass, c.shape, c.kind).size(); ++type) start(pass, group, c, type);
    }
  }
  [[nodiscard]] std::vector<std::pair<std::string, double>> figures() const override {
    return {{"matchings", matchings_}, {"jobs_without_rates", static_cast<double>(without_.size())}};
  }

 private:
  struct Candidate {
    std::uint32_t job = 0;
    ShapeId shape = 0;
    std::uint32_t kind = 0;
  };
  struct Front {
    QueueEntry entry;
    ShapeId shape = 0;
    cluster::OrderedQueue::Cursor at;
  };
  struct Turn {
    std::size_t job = 0;  // in jobs_
    std::uint32_t type = 0;
    std::uint32_t from_end = 0;
  };

  // The first most_ waiting jobs in order of work.
  void gather(const Pass& pass, std::uint32_t group) {
    const State& state = pass.state();
    jobs_.clear();
    fronts_.clear();
    for (const ShapeId id : state.active(group)) {
      const cluster::OrderedQueue& queue = state.shape(id).queue;
      fronts_.push({queue.front(), id, queue.begin()});
    }
    while (!fronts_.empty() && jobs_.size() < most_) {
      Front front = fronts_.pop();
      const JobId id(front.entry.job);
      jobs_.push_back({front.entry.job, front.shape, TypeSpeeds::kind_of(pass, id)});
      if (!TypeSpeeds::measured(pass, front.shape, jobs_.back().kind)) without_.insert(front.entry.job);
      const cluster::OrderedQueue& queue = state.shape(front.shape).queue;
      queue.advance(front.at);
      if (queue.at_end(front.at)) continue;
      front.entry = queue.at(front.at);
      fronts_.push(front);
    }
  }

  // Two pools of each type: GPUs that are free and those that are busy. The number of types with GPUs.
  std::size_t look_at_pools(const Pass& pass, std::uint32_t group) {
    const State& state = pass.state();
    const std::vector<double> gpus = gpus_by_type(state.pool(), group);
    pools_.assign(2 * gpus.size(), {});
    std::vector<double> held(gpus.size(), 0);
    busy_ = 0;
    for (const cluster::Running& run : state.running()) {
      if (state.shape(state.job(run.job).shape).where.group != group) continue;
      const std::uint32_t type = state.pool().class_type(run.allocation.node_class);
      pools_[2 * type + 1].delay += to_seconds(std::max<Time>(0, run.expected_end - pass.now())) * run.gpus;
      held[type] += run.gpus;
      ++busy_;
    }
    std::size_t types = 0;
    for (std::uint32_t type = 0; type < gpus.size(); ++type) {
      types += gpus[type] > 0 ? 1 : 0;
      const auto free = static_cast<double>(std::max<std::int64_t>(0, state.pool().free_gpus({group, type})));
      pools_[2 * type].machines = static_cast<std::uint32_t>(free);
      if (held[type] > 0) pools_[2 * type + 1].delay *= delays_ ? 1 / held[type] : 0;
      if (held[type] > 0) pools_[2 * type + 1].machines = static_cast<std::uint32_t>(std::max(0.0, gpus[type] - free));
    }
    return types;
  }

  void match(const Pass& pass) {
    ++matchings_;
    std::vector<double> times;
    for (const Candidate& c : jobs_) {
      const double work = to_seconds(pass.state().remaining_estimate(JobId(c.job), pass.now()));
      const std::vector<double>& speeds = speeds_.of(pass, c.shape, c.kind);
      for (const double speed : speeds) {
        const double time = speed > 0 ? work / speed * pass.state().shape(c.shape).gpus : -1;
        times.insert(times.end(), {time, time});
      }
    }
    const std::vector<Slot> slots = match_slots(times, pools_);
    turns_.clear();
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if (slots[i].pool != Slot::kNone && slots[i].pool % 2 == 0)
        turns_.push_back({i, slots[i].pool / 2, slots[i].from_end});
    }
    std::stable_sort(turns_.begin(), turns_.end(),
                     [](const Turn& a, const Turn& b) { return a.from_end > b.from_end; });
  }

  void start(Pass& pass, std::uint32_t group, const Candidate& c, std::uint32_t type) {
    if (!pass.state().eligible(JobId(c.job)) || speeds_.of(pass, c.shape, c.kind)[type] <= 0) return;
    const ShapeClass& s = pass.state().shape(c.shape);
    if (pass.state().pool_of(s).place(s.shape, {group, type}, scratch_)) pass.start_at(c.job, scratch_);
  }

  const std::size_t most_;
  const bool delays_;
  TypeSpeeds speeds_;
  FrontHeap<Front> fronts_;
  std::vector<Candidate> jobs_;  // in order of work
  std::vector<MachinePool> pools_;
  std::size_t busy_ = 0;  // running jobs of the group
  std::vector<Turn> turns_;
  Allocation scratch_;
  double matchings_ = 0;
  std::unordered_set<std::uint32_t> without_;
};

std::vector<Param> params() {
  using enum Param::Type;
  return {
      make_param("allox.jobs", kInt, "jobs", "64", 1, 10'000,
                 "most waiting jobs that are matched, those with least work"),
      make_param("allox.delays", kBool, "", "true", 0, 0, "false: busy GPUs count as free when jobs are matched"),
  };
}

}  // namespace

void add_allox(std::vector<PolicyInfo>& list) {
  list.push_back({"allox", "Waiting jobs are matched to types of GPUs and places in line for least completion times.",
                  "AlloX, EuroSys'20", false, true, params(), [](const Params& p) -> std::unique_ptr<Policy> {
                    return std::make_unique<Allox>(static_cast<std::size_t>(p.integer("allox.jobs")),
                                                   p.boolean("allox.delays"));
                  }});
}

}  // namespace comity::sched
