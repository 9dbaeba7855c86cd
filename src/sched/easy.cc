// SPDX-License-Identifier: Apache-2.0
// EASY backfilling (Lifka 1995): the head of the queue holds a reservation, nobody else does. With
//   shadow  the earliest instant at which the head can start, by the estimates of the running jobs, all releases of
//           that instant counted
//   extra   free GPUs at the shadow instant, less the head's
// a later job starts when it fits now and either ends by the shadow instant or needs at most `extra` GPUs, which then
// shrink by it. easy.reservation says what "can start" means:
//   placement  the head can be placed on the nodes that are then free (default)
//   count      enough GPUs are free at a release instant strictly after now, whatever the nodes (rule R5: under a
//              placement rule this does not protect the head against fragmentation)
#include <optional>

#include "cluster/free_counts.h"
#include "sched/by_end.h"
#include "sched/policies.h"
#include "sched/walk.h"

namespace comity::sched {
namespace {

class Easy : public Policy {
 public:
  explicit Easy(bool by_count) : by_count_(by_count) {}

  void decide(Pass& pass, std::uint32_t group) override {
    const State& state = pass.state();
    if (group >= ends_.size()) ends_.resize(group + 1);
    ends_[group].refresh(state);
    if (state.active(group).empty()) return;
    ShapeId shape = 0;
    const QueueEntry* head = first_in_line(state, group, shape);
    while (head != nullptr && start(pass, group, head->job)) head = first_in_line(state, group, shape);
    if (head == nullptr) return;
    const std::uint32_t head_job = head->job;
    shapes_.clear();
    for (const ShapeId id : state.active(group)) {
      if (pass.fits(id)) shapes_.push_back(id);
    }
    if (shapes_.empty()) return;  // nobody could start: no reservation is needed
    if (!still_holds(pass, group, head_job)) reserve(pass, group, state.shape(shape));
    held_ = {group, head_job, state.changes()};
    backfill(pass, group, head_job);
  }

 private:
  bool start(Pass& pass, std::uint32_t group, std::uint32_t job, const Pool::Where* avoid = nullptr) {
    if (!pass.start(job, JobId(), Pool::Pools::kAny, avoid)) return false;
    ends_[group].add(pass.state(), job);
    return true;
  }

  // Nothing started or ended since the reservation was made, and no job runs longer than it said.
  [[nodiscard]] bool still_holds(const Pass& pass, std::uint32_t group, std::uint32_t head) const {
    const auto& list = ends_[group].list();
    return held_.group == group && held_.head == head && held_.changes == pass.state().changes() && !list.empty() &&
           list.front().end > pass.now();
  }

  // Sets shadow_ and extra_. A head that fits on no instant (its GPUs are lent beyond every estimate) gets kNever.
  void reserve(const Pass& pass, std::uint32_t group, const ShapeClass& head) {
    const State& state = pass.state();
    const Pool& pool = state.pool_of(head);  // without what is reserved for others
    std::int64_t free = pool.free_gpus(head.where);
    shadow_ = kNever;
    extra_ = kMaxTime;
    const bool buddy = pool.rule() == cluster::Placement::kBuddy;
    if (!by_count_ && buddy) pool_ = pool;
    if (!by_count_ && !buddy) counts_.assign(pool);
    const auto& list = ends_[group].list();
    for (std::size_t i = 0; i < list.size();) {
      const Time at = std::max(list[i].end, pass.now() + 1);
      for (; i < list.size() && std::max(list[i].end, pass.now() + 1) == at; ++i) {
        const cluster::Running& r = state.running()[state.job(JobId(list[i].job)).slot];
        if (!pool.allows(head.where, r.allocation.node_class)) continue;
        free += r.allocation.gpus;
        if (by_count_) continue;
        if (buddy) {
          pool_->release(r.allocation);
        } else {
          counts_.release(pool, r.allocation);
        }
      }
      if (free < head.gpus) continue;
      const bool ready =
          by_count_ || (buddy ? pool_->fits(head.shape, head.where) : counts_.fits(pool, head.shape, head.where));
      if (!ready) continue;
      shadow_ = at;
      extra_ = free - head.gpus;
      return;
    }
  }

  void backfill(Pass& pass, std::uint32_t group, std::uint32_t head) {
    const State& state = pass.state();
    const Time window = shadow_ == kNever ? kNever : shadow_ - pass.now();
    head_where_ = state.shape(pass.job(head).shape).where;
    fronts_.clear();
    for (const ShapeId id : shapes_) push_front(pass, id, nullptr, window, head);
    while (!fronts_.empty()) {
      const Front front = fronts_.pop();
      const std::uint32_t gpus = state.shape(front.shape).gpus;
      const bool in_time = front.entry.estimate <= window;
      // Beside the reservation, or on nodes that the head can't use.
      if (!in_time && gpus > extra_ && !pass.fits(front.shape, Pool::Pools::kAny, &head_where_)) {
        push_front(pass, front.shape, &front.entry, window, head);  // `extra` shrank since this one was found
        continue;
      }
      const bool outside = !in_time && gpus > extra_;
      if (!start(pass, group, front.entry.job, outside ? &head_where_ : nullptr)) continue;
      const auto& run = state.running()[pass.job(front.entry.job).slot];
      if (!in_time && state.pool().allows(head_where_, run.allocation.node_class)) extra_ -= gpus;
      push_front(pass, front.shape, &front.entry, window, head);
    }
  }

  // The first job of a shape, after `from`, that may start now beside the reservation.
  void push_front(const Pass& pass, ShapeId id, const QueueEntry* from, Time window, std::uint32_t head) {
    const ShapeClass& s = pass.state().shape(id);
    if (s.queue.empty() || !s.eligible() || !pass.fits(id)) return;
    const QueueEntry* at = from == nullptr ? &s.queue.front() : s.queue.after(*from);
    const bool any = s.gpus <= extra_ || pass.fits(id, Pool::Pools::kAny, &head_where_);
    const Time limit = any ? kNever : window;
    for (; at != nullptr; at = s.queue.after(*at)) {
      at = s.queue.first_within(at, limit);
      if (at == nullptr || at->job != head) break;
    }
    if (at != nullptr) fronts_.push({*at, id});
  }

  struct Front {
    QueueEntry entry;
    ShapeId shape;
  };

  bool by_count_;
  std::vector<ByEnd> ends_;   // by group
  std::optional<Pool> pool_;  // buddy placement only
  cluster::FreeCounts counts_;
  struct Held {
    std::uint32_t group = 0;
    std::uint32_t head = JobId::kInvalid;
    std::uint64_t changes = 0;
  };
  Held held_;  // whose reservation shadow_ and extra_ are
  Time shadow_ = kNever;
  std::int64_t extra_ = 0;
  std::vector<ShapeId> shapes_;  // that fit now
  Pool::Where head_where_;
  FrontHeap<Front> fronts_;
};

}  // namespace

void add_easy(std::vector<PolicyInfo>& list) {
  Param reservation;
  reservation.name = "easy.reservation";
  reservation.type = Param::Type::kChoice;
  reservation.fallback = "placement";
  reservation.choices = {"count", "placement"};
  reservation.doc = "when the head's reservation begins: enough GPUs are free, or it can be placed on the free nodes";
  list.push_back({"easy",
                  "EASY backfilling: the head holds a reservation, later jobs may not delay it.",
                  "Lifka 1995; rule R5",
                  false,
                  true,
                  {reservation},
                  [](const Params& params) -> std::unique_ptr<Policy> {
                    return std::make_unique<Easy>(params.text("easy.reservation") == "count");
                  }});
}

}  // namespace comity::sched
