// SPDX-License-Identifier: Apache-2.0
// SING (ASPLOS'25) section 4.3, Algorithm 1: first come, first served, where GPUs that the head cannot use may be given
// to jobs behind it, as long as all that ever overtakes one head stays within f x the head's own GPUs. No estimate of
// run time is used, so the bound is by size, not by time. Rules S1-S7 of the review mend the paper's listing:
//   overtaken(h)  GPUs started past h while it was head, stored with the job for its whole life (S2)
//   allowance(h) = f * gpus(h) - overtaken(h); a job of g GPUs may pass h when it fits and g <= allowance(h)
//   one queue and one head per resource group (S3); a start on nodes that the head cannot use costs nothing (S3);
//   starts in a small pool cost nothing and need no allowance (S4)
// The peak rule (S5): while an eligible job has waited longer than peak_wait, runs that are older than run_limit are
// warned and, after a grace, stopped, longest first and only as many as the waiting jobs need. Off by default in a
// replay, since the recorded durations are those of jobs that were not stopped.
#include <algorithm>
#include <cmath>

#include "sched/param.h"
#include "sched/policies.h"
#include "sched/walk.h"

namespace comity::sched {
namespace {

struct Settings {
  double factor = 1;
  Time backfill_limit = 0;
  bool peak = false;
  bool peak_all = false;
  Time peak_wait = kHour;
  Time run_limit = 24 * kHour;
  Time grace = 10 * kMinute;
};

class Sing : public Policy {
 public:
  explicit Sing(const Settings& settings) : set_(settings) {}

  void decide(Pass& pass, std::uint32_t group) override {
    if (group >= warned_at_.size()) warned_at_.resize(group + 1, kNever);
    if (set_.peak) peak_rule(pass, group);
    if (pass.state().active(group).empty()) return;
    if (pass.state().pool().has_small()) fill_small_pool(pass, group);
    while (start_head(pass, group)) {
    }
    if (set_.peak) watch_for_peak(pass, group);
  }

 private:
  // One step: starts the head and returns true, or lets others pass it. True as well when one of those has brought the
  // head's owner to a limit, so that it is no longer head.
  bool start_head(Pass& pass, std::uint32_t group) {
    ShapeId shape = 0;
    const QueueEntry* first = first_in_line(pass.state(), group, shape);
    if (first == nullptr) return false;
    const QueueEntry head = *first;
    return pass.start(head.job, JobId(), Pool::Pools::kMain) || pass_head(pass, head, shape, group);
  }

  [[nodiscard]] double allowance(const Job& head) const {
    if (std::isinf(set_.factor)) return set_.factor;
    return set_.factor * head.gpus - head.overtaken;
  }

  bool pass_head(Pass& pass, const QueueEntry& head, ShapeId head_shape, std::uint32_t group) {
    const State& state = pass.state();
    const Pool::Where where = state.shape(head_shape).where;
    fronts_.clear();
    const double allowed = allowance(pass.job(head.job));
    for (const ShapeId id : state.active(group)) {
      if (id != head_shape) push_front(pass, id, allowed, where);
    }
    while (!fronts_.empty()) {
      const Front front = fronts_.pop();
      if (!start_past(pass, front, head, where)) continue;  // its shape is done with in this pass
      if (!state.eligible(JobId(head.job))) return true;
      push_front(pass, front.shape, allowance(pass.job(head.job)), where);
    }
    return false;
  }

  struct Front {
    QueueEntry entry;
    ShapeId shape;
  };

  // The first job of a shape that may pass the head; with sing.backfill_limit only those that say they end within it.
  void push_front(const Pass& pass, ShapeId id, double allowed, const Pool::Where& where) {
    const ShapeClass& s = pass.state().shape(id);
    if (s.queue.empty() || !s.eligible()) return;
    const bool charged = s.gpus <= allowed;
    if (!pass.fits(id, Pool::Pools::kMain, charged ? nullptr : &where)) return;
    const QueueEntry* entry =
        set_.backfill_limit > 0 ? s.queue.first_within(nullptr, set_.backfill_limit) : &s.queue.front();
    if (entry != nullptr) fronts_.push({*entry, id});
  }

  // On nodes that the head can use within its allowance, else on others, which cost nothing (S3).
  bool start_past(Pass& pass, const Front& front, const QueueEntry& head, const Pool::Where& where) {
    const bool charged = pass.state().shape(front.shape).gpus <= allowance(pass.job(head.job));
    return pass.start(front.entry.job, JobId(head.job), Pool::Pools::kMain, charged ? nullptr : &where);
  }

  void fill_small_pool(Pass& pass, std::uint32_t group) {
    walk_.begin(pass.state(), group);
    while (const QueueEntry* entry = walk_.next()) {
      if (!pass.fits(walk_.shape(), Pool::Pools::kSmall) || !pass.start(entry->job, JobId(), Pool::Pools::kSmall))
        walk_.skip_shape();
    }
  }

  // The longest wait among eligible jobs is that of the first in order of eligibility.
  [[nodiscard]] static const QueueEntry* oldest(const Pass& pass, std::uint32_t group) {
    ShapeId shape = 0;
    return first_in_line(pass.state(), group, shape);
  }

  void peak_rule(Pass& pass, std::uint32_t group) {
    const QueueEntry* first = oldest(pass, group);
    const bool peak = first != nullptr && pass.now() - first->eligible > set_.peak_wait;
    if (!peak) {
      warned_at_[group] = kNever;  // the warning is withdrawn
      return;
    }
    if (warned_at_[group] == kNever) {
      if (next_overdue(pass, group) > pass.now()) return;
      warned_at_[group] = pass.now();
      pass.wake_at(pass.now() + set_.grace);
      return;
    }
    if (pass.now() < warned_at_[group] + set_.grace) return;
    std::int64_t need = set_.peak_all ? kMaxTime : wanted(pass, group);
    while (need > 0) {
      const std::uint32_t job = longest_overdue(pass, group);
      if (job == JobId::kInvalid) break;
      need -= pass.job(job).gpus;
      pass.stop(job);
    }
    warned_at_[group] = kNever;
  }

  // GPUs that eligible waiting jobs ask for beyond what is free.
  [[nodiscard]] std::int64_t wanted(const Pass& pass, std::uint32_t group) const {
    std::int64_t sum = 0;
    for (const ShapeId id : pass.state().active(group)) {
      const ShapeClass& s = pass.state().shape(id);
      sum += static_cast<std::int64_t>(s.queue.size()) * s.gpus;
    }
    return sum - pass.state().pool().free_gpus({.group = group, .type = Pool::kAnyType});
  }

  [[nodiscard]] static bool in_group(const Pass& pass, const cluster::Running& r, std::uint32_t group) {
    return pass.state().shape(pass.state().job(r.job).shape).where.group == group;
  }

  // A job that was warned: overdue for the whole grace.
  [[nodiscard]] std::uint32_t longest_overdue(const Pass& pass, std::uint32_t group) const {
    const cluster::Running* worst = nullptr;
    for (const cluster::Running& r : pass.state().running()) {
      if (!in_group(pass, r, group) || pass.now() - r.start < set_.run_limit + set_.grace) continue;
      if (worst == nullptr || r.start < worst->start || (r.start == worst->start && r.job < worst->job)) worst = &r;
    }
    return worst == nullptr ? JobId::kInvalid : worst->job.value;
  }

  // The first instant at which some run of the group is older than the limit (it may have passed).
  [[nodiscard]] Time next_overdue(const Pass& pass, std::uint32_t group) const {
    Time first = kNever;
    for (const cluster::Running& r : pass.state().running()) {
      if (in_group(pass, r, group)) first = std::min(first, r.start + set_.run_limit);
    }
    return first;
  }

  // The instants at which the rule could begin to matter are computed, not polled.
  void watch_for_peak(Pass& pass, std::uint32_t group) {
    const QueueEntry* first = oldest(pass, group);
    const Time overdue = next_overdue(pass, group);
    if (first == nullptr || overdue == kNever || warned_at_[group] != kNever) return;
    const Time at = std::max(first->eligible + set_.peak_wait + 1, overdue);
    if (at > pass.now()) pass.wake_at(at);
  }

  Settings set_;
  Walk walk_;
  FrontHeap<Front> fronts_;
  std::vector<Time> warned_at_;  // by group; kNever = nobody is warned
};

std::vector<Param> params() {
  using enum Param::Type;
  return {
      make_param("sing.factor", kReal, "", "1", 0, 1e18,
                 "GPUs that may overtake one head, as a multiple of its own: 0 = strict FIFO, inf = no bound"),
      make_param("sing.backfill_limit_s", kTime, "s", "0", 0, 1e9,
                 "only jobs that say they end within this may pass; 0 = off"),
      make_param("sing.peak", kBool, "", "false", 0, 0,
                 "stop runs over the limit while others wait (the paper's 24 h rule)"),
      make_choice("sing.peak_stop", {"needed", "all"}, "stop only what the waiting jobs need, or all (the paper)"),
      make_param("sing.peak_wait", kTime, "s", "3600", 0, 1e9,
                 "it is peak while an eligible job has waited longer than this"),
      make_param("sing.run_limit", kTime, "s", "86400", 1, 1e9, "longest run during peak"),
      make_param("sing.grace", kTime, "s", "600", 1, 1e9, "from the warning to the stop"),
  };
}

}  // namespace

void add_sing(std::vector<PolicyInfo>& list) {
  list.push_back({"sing", "First come, first served with backfill bounded by the head's own size.",
                  "SING, ASPLOS'25, Algorithm 1; rules S1-S7", false, false, params(),
                  [](const Params& p) -> std::unique_ptr<Policy> {
                    Settings s;
                    s.factor = p.real("sing.factor");
                    s.backfill_limit = p.time("sing.backfill_limit_s");
                    s.peak = p.boolean("sing.peak");
                    s.peak_all = p.text("sing.peak_stop") == "all";
                    s.peak_wait = p.time("sing.peak_wait");
                    s.run_limit = p.time("sing.run_limit");
                    s.grace = p.time("sing.grace");
                    return std::make_unique<Sing>(s);
                  }});
}

}  // namespace comity::sched
