// SPDX-License-Identifier: Apache-2.0
#include "sched/quota_policy.h"

namespace comity::sched {

QuotaPolicy::Group& QuotaPolicy::group_at(std::uint32_t id) {
  while (id >= groups_.size()) groups_.push_back(std::make_unique<Group>());
  return *groups_[id];
}

void QuotaPolicy::decide(Pass& pass, std::uint32_t group_id) {
  Group& group = group_at(group_id);
  if (group_id == 0) seen_ = 0;
  note_left(pass, group);
  note_changes(pass.state());
  const std::int64_t gpus = pass.state().pool().up_gpus({.group = group_id, .type = Pool::kAnyType});
  group.changed = group.changed || gpus != group.gpus;
  group.gpus = gpus;
  if (pass.now() >= group.asked) group.asked = kNever;
  if (group.changed || pass.now() >= group.wake) {
    const Time at = allowed(pass.now());
    if (at == pass.now()) {
      make_pass(pass, group, group_id);
    } else {
      group.wake = at;
    }
  }
  note_changes(pass.state());
  ask(pass, group);
}

void QuotaPolicy::note_left(Pass& pass, Group& group) {
  for (const JobId gone : pass.state().left()) {
    const auto it =
        std::find_if(group.running.begin(), group.running.end(), [&](const Ranked& r) { return r.job == gone.value; });
    if (it == group.running.end()) continue;
    if (pass.state().ended(gone)) job_ended(pass, group, *it);
    group.running.erase(it);
    group.changed = true;
  }
}

// Who came and who went since the last look; a start in one group may bring a user of another to a limit.
void QuotaPolicy::note_changes(const State& state) {
  for (; seen_ < state.queue_changes().size(); ++seen_) {
    const JobId id = state.queue_changes()[seen_];
    if (state.ended(id)) {
      for (const auto& group : groups_) group->changed = group->waiting.erase(id.value) || group->changed;
      continue;
    }
    Group& group = group_at(state.shape(state.job(id).shape).where.group);
    if (!state.in_line(id)) {
      group.changed = group.waiting.erase(id.value) || group.changed;
    } else if (!group.waiting.contains(id.value)) {
      group.arrivals.push_back(id.value);
      group.changed = true;
    } else if (group.waiting.shape(id.value) != state.job(id).shape) {  // a reservation has moved it
      const Key key = group.waiting.key(id.value);
      group.waiting.erase(id.value);
      group.waiting.insert(id.value, state.job(id).shape, key);
      group.changed = true;
    }
  }
}

void QuotaPolicy::make_pass(Pass& pass, Group& group, std::uint32_t group_id) {
  const State& state = pass.state();
  group.changed = false;
  const bool ranked = rank_all(pass, group);
  for (const std::uint32_t job : group.arrivals) {
    if (state.ended(JobId(job)) || !pass.state().in_line(JobId(job)) || group.waiting.contains(job)) continue;
    insert(pass, group, job, place_arrival(pass.job(job), job, group));
  }
  group.arrivals.clear();
  quota_.begin(state, group_id);
  group.waiting.offer(state, quota_);
  if (quota_.choose(group.running)) {
    carry_out(pass, group);
    group.running.swap(quota_.chosen());
  } else if (ranked) {
    settle(pass, group, group.running, quota_.losers());
  }
  group.wake = next_pass(pass, group);
}

// Preempts, then starts.
void QuotaPolicy::carry_out(Pass& pass, Group& group) {
  std::vector<Ranked>& chosen = quota_.chosen();
  std::vector<Ranked>& losers = quota_.losers();
  for (const Ranked& r : losers) pass.preempt(r.job, preemption_cost(r.gpus));
  std::size_t out = 0;
  for (Ranked& r : chosen) {
    // One that can't be placed, or that a start has brought to a limit, keeps its place among the waiting ones.
    if (r.fresh && (!pass.state().in_line(JobId(r.job)) || !pass.start(r.job))) continue;
    if (r.fresh) group.waiting.erase(r.job);
    if (&chosen[out] != &r) chosen[out] = r;
    ++out;
  }
  chosen.resize(out);
  settle(pass, group, chosen, losers);
  for (Ranked& r : chosen) r.fresh = false;
}

void QuotaPolicy::sort(std::vector<Ranked>& list) {
  for (std::size_t i = 1; i < list.size(); ++i) {
    if (!before(list[i], list[i - 1])) continue;
    const Ranked moving = list[i];
    std::size_t at = i;
    for (; at > 0 && before(moving, list[at - 1]); --at) list[at] = list[at - 1];
    list[at] = moving;
  }
}

// One wake-up at a time: a later one is asked for when the earlier one has come.
void QuotaPolicy::ask(Pass& pass, Group& group) {
  if (group.wake == kNever || group.asked <= group.wake) return;
  if (group.wake <= pass.now()) return;
  pass.wake_at(group.wake);
  group.asked = group.wake;
}

}  // namespace comity::sched
