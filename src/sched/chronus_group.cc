// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sched/chronus.h"

namespace comity::sched::chronus {

void Group::pass(Pass& pass) {
  follow(pass);
  const Time now = pass.now();
  if (now % set_.tick == 0 && last_ != now) {
    last_ = now;
    settle(pass);
    if (now % set_.lease == 0) begin_lease(pass);
    if (now % set_.slot == 0) {
      admit(pass);
      play_slot(pass);
    }
    if (set_.fill == Fill::kArtifact && now / set_.tick % 2 == 1) fill(pass, true);
    if (set_.fill == Fill::kUrgent && now % set_.slot != 0) fill(pass, false);
  }
  if (present_.empty() && newcomers_.empty()) return;
  const Time next = (now / set_.tick + 1) * set_.tick;
  if (next != asked_) pass.wake_at(next);
  asked_ = next;
}

void Group::follow(Pass& pass) {
  const State& state = pass.state();
  for (const JobId id : state.left()) {
    const auto it = entries_.find(id.value);
    if (it == entries_.end()) continue;
    if (state.ended(id)) {
      leave(id.value, pass.now());
    } else {  // its nodes failed
      it->second.running = it->second.occupies = it->second.forced = false;
    }
  }
  for (const JobId id : state.queue_changes()) {
    if (state.ended(id)) {
      leave(id.value, kNever);
      continue;
    }
    const Job& job = state.job(id);
    if (state.shape(job.shape).where.group != group_) continue;
    const auto it = entries_.find(id.value);
    if (it == entries_.end()) {
      if (job.queued) join(state, id);
      continue;
    }
    it->second.waiting = job.queued && job.status != cluster::JobStatus::kRunning;
  }
}

void Group::join(const State& state, JobId id) {
  Entry& e = entries_[id.value];
  const Job& job = state.job(id);
  e.id = id.value;
  e.gpus = std::max<std::uint32_t>(1, job.gpus);
  e.submit = job.submit;
  e.duration = job.estimate;
  e.estimate = estimate(e.duration, e.gpus, set_.lease, set_.margin);
  e.needs = leases_for(e.estimate, set_.lease);
  e.waiting = true;
  const auto deadlines = state.deadlines(id);
  if (!deadlines.empty()) {
    e.rank = Class::kAccepted;  // to be seen in admit()
    e.deadline = deadlines.back().after;
  }
  newcomers_.push_back(id.value);
}
void Group::leave(std::uint32_t id, Time now) {
  const auto it = entries_.find(id);
  if (it == entries_.end()) return;
  const Entry& e = it->second;
  if (now != kNever && e.rank == Class::kAccepted && e.plans && now > e.submit + e.deadline) ++counts_.late;
  changed_ |= e.plans;
  present_.erase(id);
  entries_.erase(it);
}

Time Group::executed(const Pass& pass, const Entry& e) {
  const Job& job = pass.job(e.id);
  const bool runs = job.status == cluster::JobStatus::kRunning;
  return job.executed + (runs ? pass.state().running()[job.slot].progress(pass.now()) : 0);
}

// What running has brought them: leases that they no longer need, the earliest first.
void Group::settle(const Pass& pass) {
  if (pass.now() % set_.slot != 0 && pass.now() % set_.lease != 0) return;
  for (auto& [id, e] : present_) {
    if (e->running) settle(pass, *e);
  }
}
void Group::settle(const Pass& pass, Entry& e) {
  const Time done = executed(pass, e);
  if (done >= e.estimate && (pass.now() % set_.lease == 0 || !e.occupies)) {
    if (!e.exhausted) changed_ |= e.plans;
    if (e.rank == Class::kAccepted) e.rank = Class::kUnaccepted;
    e.exhausted = true;
    e.plans = false;
    e.choice = kNoChoice;
    return;
  }
  const int needs = leases_for(e.estimate - done, set_.lease);
  if (e.plans && needs > e.needs && pass.now() % set_.lease == 0) {  // it did not get all of its lease
    e.needs = needs;
    e.choice = kNoChoice;
    changed_ = true;
  }
  if (!e.plans || needs >= e.needs) return;
  int gone = e.needs - needs;
  e.needs = needs;
  changed_ = true;
  for (std::size_t t = 0; t < e.leases.size() && gone > 0 && e.choice != kNoChoice; ++t) {
    gone -= e.leases[t];
    e.leases[t] = 0;
  }
}

std::int64_t Group::capacity(const Pass& pass) const {
  return pass.state().pool().up_gpus({.group = group_, .type = Pool::kAnyType});
}
std::int64_t Group::free_gpus(const Pass& pass) const {
  return pass.state().pool().free_gpus({.group = group_, .type = Pool::kAnyType});
}

}  // namespace comity::sched::chronus
