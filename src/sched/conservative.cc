// SPDX-License-Identifier: Apache-2.0
// Conservative backfilling (Mu'alem and Feitelson 2001): every waiting job holds a reservation.
//   Under `count` with exact estimates a job is given its reservation once, when it becomes eligible, at the earliest
//   instant that delays no earlier reservation, and starts exactly then (rule F8).
//   Otherwise estimates and nodes can prove a plan wrong, so it is made anew at each pass for the first
//   conservative.depth jobs in order (Slurm's bf_max_job_test), by GPU count; a job whose turn is now but which the
//   nodes cannot hold keeps its GPUs reserved from the next release on. Jobs beyond the depth wait.
// A reservation is by GPU count over the whole group; GPU types are respected when a job starts.
#include <algorithm>
#include <queue>

#include "sched/by_end.h"
#include "sched/free_profile.h"
#include "sched/param.h"
#include "sched/policies.h"
#include "sched/walk.h"

namespace comity::sched {
namespace {

class Conservative : public Policy {
 public:
  explicit Conservative(std::int64_t depth) : depth_(depth) {}

  void decide(Pass& pass, std::uint32_t group) override {
    if (group >= groups_.size()) groups_.resize(group + 1);
    const bool once = pass.world().estimates_exact && pass.state().pool().rule() == cluster::Placement::kCount &&
                      pass.state().pool().classes() == 1 && !pass.state().has_limits() &&
                      !pass.state().has_reservations();
    if (once) {
      reserve_once(pass, groups_[group], group);
    } else {
      plan_again(pass, groups_[group], group);
    }
  }

 private:
  struct Planned {
    Time start;
    QueueEntry entry;
    bool operator>(const Planned& other) const {
      return start != other.start ? start > other.start : before(other.entry, entry);
    }
  };
  struct Group {
    FreeProfile profile;
    bool begun = false;
    QueueEntry seen{
        .rank = -1, .eligible = -1, .job = 0, .unused = 0, .estimate = 0};  // the last one that was given a reservation
    std::priority_queue<Planned, std::vector<Planned>, std::greater<>> planned;
    ByEnd ends;
    std::uint64_t planned_at = ~std::uint64_t{0};  // State::changes() after the pass that made the plan
    std::int64_t in_plan = 0;                      // waiting jobs that have a reservation in it, the first in order
  };

  // Jobs become eligible in the order of the queue, so those without a reservation are the ones behind `seen`.
  void reserve_once(Pass& pass, Group& g, std::uint32_t group) {
    const State& state = pass.state();
    if (!g.begun) {
      g.profile.reset(pass.now(), state.pool().free_gpus({.group = group, .type = Pool::kAnyType}));
      g.begun = true;
    }
    g.profile.advance(pass.now());
    newcomers_.clear();
    for (const ShapeId id : state.active(group)) {
      const cluster::OrderedQueue& queue = state.shape(id).queue;
      for (const QueueEntry* e = queue.after(g.seen); e != nullptr; e = queue.after(*e)) newcomers_.push_back(*e);
    }
    std::sort(newcomers_.begin(), newcomers_.end(),
              [](const QueueEntry& a, const QueueEntry& b) { return before(a, b); });
    for (const QueueEntry& entry : newcomers_) {
      const std::int64_t gpus = pass.job(entry.job).gpus;
      const Time at = g.profile.earliest(pass.now(), gpus, std::max<Time>(entry.estimate, 1));
      g.profile.add(at, at + std::max<Time>(entry.estimate, 1), -gpus);
      g.planned.push({at, entry});
      if (at > pass.now()) pass.wake_at(at);
      g.seen = entry;
    }
    while (!g.planned.empty() && g.planned.top().start <= pass.now()) {
      const std::uint32_t job = g.planned.top().entry.job;
      g.planned.pop();
      if (!state.ended(JobId(job)) && state.eligible(JobId(job))) pass.start(job);
    }
  }

  // Only starts leave a pass, so it plans no further than the last job that could start now. While nothing starts or
  // ends the plan stands (every reservation in it begins with a release yet to come), and only newcomers are added.
  void plan_again(Pass& pass, Group& g, std::uint32_t group) {
    const State& state = pass.state();
    g.ends.refresh(state);
    const auto& ends = g.ends.list();
    const bool stands = g.planned_at == state.changes() && !ends.empty() && ends.front().end > pass.now();
    if ((stands && g.in_plan == depth_) || !any_fits(pass, group)) return;
    const std::uint64_t changes = state.changes();
    order(pass, group);
    if (!stands) begin_plan(pass, g, group);
    for (auto i = static_cast<std::size_t>(g.in_plan); i < ordered_.size() && i <= last_candidate_; ++i) {
      if (!state.eligible(JobId(ordered_[i].job))) {  // a start has brought its owner to a limit
        ++g.in_plan;
      } else if (!plan_one(pass, g, ordered_[i])) {
        ++g.in_plan;
      } else if (!any_fits(pass, group)) {
        break;
      }
    }
    // A start adds a release, where a job that the nodes could not hold may be planned earlier: then plan anew.
    if (state.changes() == changes) g.planned_at = changes;
  }

  // The profile of what runs.
  void begin_plan(const Pass& pass, Group& g, std::uint32_t group) {
    std::int64_t free = pass.state().pool().free_gpus({.group = group, .type = Pool::kAnyType});
    steps_.clear();
    steps_.push_back({pass.now(), free});
    for (const ByEnd::Entry& e : g.ends.list()) {
      free += e.gpus;
      const Time at = std::max(e.end, pass.now() + 1);
      if (steps_.back().first == at) {
        steps_.back().second = free;
      } else {
        steps_.push_back({at, free});
      }
    }
    g.profile.assign(steps_);
    g.in_plan = 0;
  }

  // Starts the job or gives it a reservation; true when it started.
  bool plan_one(Pass& pass, Group& g, const QueueEntry& entry) {
    const std::int64_t gpus = pass.job(entry.job).gpus;
    const Time length = std::max<Time>(entry.estimate, 1);
    Time at = g.profile.earliest(pass.now(), gpus, length);
    const bool started = at == pass.now() && pass.start(entry.job);
    if (started) {
      g.ends.add(pass.state(), entry.job);
    } else if (at == pass.now()) {  // enough GPUs, but not on the right nodes
      const Time next = g.profile.next_step(pass.now());
      at = next == kNever ? kNever : g.profile.earliest(next, gpus, length);
    }
    if (at != kNever) g.profile.add(at, at + length, -gpus);
    return started;
  }

  [[nodiscard]] static bool any_fits(const Pass& pass, std::uint32_t group) {
    const auto& active = pass.state().active(group);
    return std::any_of(active.begin(), active.end(), [&](ShapeId id) { return pass.fits(id); });
  }

  // The first `depth` waiting jobs in order.
  void order(const Pass& pass, std::uint32_t group) {
    const State& state = pass.state();
    ordered_.clear();
    fronts_.clear();
    last_candidate_ = 0;
    for (const ShapeId id : state.active(group)) {
      const cluster::OrderedQueue& queue = state.shape(id).queue;
      fronts_.push({queue.front(), &queue, queue.begin(), pass.fits(id)});
    }
    while (!fronts_.empty() && static_cast<std::int64_t>(ordered_.size()) < depth_) {
      Front best = fronts_.pop();
      if (best.fits) last_candidate_ = ordered_.size();
      ordered_.push_back(best.entry);
      best.queue->advance(best.cursor);
      if (best.queue->at_end(best.cursor)) continue;
      best.entry = best.queue->at(best.cursor);
      fronts_.push(best);
    }
  }

  struct Front {
    QueueEntry entry;
    const cluster::OrderedQueue* queue;
    cluster::OrderedQueue::Cursor cursor;
    bool fits;  // now
  };

  std::int64_t depth_;
  std::vector<Group> groups_;
  std::vector<QueueEntry> newcomers_;
  std::vector<QueueEntry> ordered_;
  FrontHeap<Front> fronts_;
  std::vector<std::pair<Time, std::int64_t>> steps_;
  std::size_t last_candidate_ = 0;  // in ordered_: the last job whose shape fits now
};

}  // namespace

void add_conservative(std::vector<PolicyInfo>& list) {
  Param depth = make_param("conservative.depth", Param::Type::kInt, "jobs", "100", 1, 1e6,
                           "reservations in a plan that is made anew (nodes or inexact estimates); the others wait");
  list.push_back({"conservative",
                  "Conservative backfilling: every waiting job holds a reservation.",
                  "Mu'alem and Feitelson 2001; rule F8",
                  false,
                  true,
                  {depth},
                  [](const Params& params) -> std::unique_ptr<Policy> {
                    return std::make_unique<Conservative>(params.integer("conservative.depth"));
                  }});
}

}  // namespace comity::sched
