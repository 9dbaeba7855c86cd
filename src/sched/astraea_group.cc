// SPDX-License-Identifier: Apache-2.0
#include "sched/astraea_group.h"

#include <algorithm>

namespace comity::sched::astraea {

void Group::pass(Pass& pass, Tenants& tenants) {
  const State& state = pass.state();
  account(tenants, state, pass.now());
  follow(state, tenants, pass.now());
  if (!contended_) renew(pass.now());
  contended_ = !waiting_.empty();
  if (!contended_ || capacity_ <= 0) return;
  if (next_tick(pass.now()) != pass.now()) return pass.wake_at(next_tick(pass.now()));
  schedule(pass);
  contended_ = !waiting_.empty();
  if (contended_) wake(pass);
}

// What tenants and jobs deserve and have had until now.
void Group::account(const Tenants& tenants, const State& state, Time now) {
  if (accounted_ == kNever) accounted_ = now;
  const double from = to_seconds(accounted_);
  const double to = to_seconds(now);
  accounted_ = now;
  for (Member& m : members_) {
    const Rates rates{m.quota, static_cast<double>(m.running), static_cast<double>(m.demand)};
    m.window.advance(rates, from, to);
    m.ever += rates.over(to - from);
    m.entitlement.advance(m.quota, m.jobs, to - from);
  }
  capacity_ = static_cast<double>(state.pool().up_gpus({.group = group_, .type = Pool::kAnyType}));
  set_quotas(tenants);
}
void Group::set_quotas(const Tenants& tenants) {
  while (members_.size() < tenants.size()) members_.emplace_back(set_.window);
  const std::vector<double> all = quotas(capacity_, tenants.shares(), false);
  for (std::size_t u = 0; u < members_.size(); ++u) members_[u].quota = all[u];
}

void Group::follow(const State& state, Tenants& tenants, Time now) {
  for (const JobId id : state.left()) {
    const auto it = entries_.find(id.value);
    if (it == entries_.end() || it->second.phase != Phase::kRunning) continue;
    if (state.ended(id)) {
      finish(id.value, now);
    } else {
      stopped(state, id.value, now);
    }
  }
  for (const JobId id : state.queue_changes()) {
    if (state.ended(id)) {
      leave(id.value);
      continue;
    }
    const Job& job = state.job(id);
    if (state.shape(job.shape).where.group != group_ || job.status == cluster::JobStatus::kRunning) continue;
    if (!job.queued) {
      if (entries_.contains(id.value)) move(id.value, Phase::kAway);
      continue;
    }
    const std::uint32_t tenant = tenants.index(state, job);
    if (members_.size() < tenants.size()) set_quotas(tenants);
    join(state, id.value, tenant, now);
  }
}

void Group::join(const State& state, std::uint32_t id, std::uint32_t tenant, Time now) {
  const Job& job = state.job(JobId(id));
  const auto [it, made] = entries_.try_emplace(id);
  Entry& e = it->second;
  if (made) {
    e.gpus = job.gpus;
    e.tenant = tenant;
    e.submit = job.submit;
  }
  if (e.phase == Phase::kAway) e.waits_since = made ? e.submit : now;
  move(id, Phase::kWaiting);
}
void Group::leave(std::uint32_t job) {
  if (!entries_.contains(job)) return;
  move(job, Phase::kAway);
  entries_.erase(job);
}
void Group::finish(std::uint32_t job, Time now) {
  const Entry& e = entries_.at(job);
  const double executed = to_seconds(e.executed(now));
  const double deserved = deserved_by(e);
  figures_.add(deserved > 0 ? e.gpus * executed / deserved : 1, to_seconds(now - e.submit), executed);
  lifetimes_.add(e.gpus, executed);
  leave(job);
}
// A run that was suspended, by this policy or by what happened to its nodes.
void Group::stopped(const State& state, std::uint32_t job, Time now) {
  Entry& e = entries_.at(job);
  e.done = state.job(JobId(job)).executed;
  e.waits_since = now;
  move(job, Phase::kWaiting);
}

double Group::deserved_by(const Entry& e) {
  if (e.phase == Phase::kAway) return e.deserved;
  return e.deserved + members_[e.tenant].entitlement.of(e.gpus) - e.base;
}

void Group::move(std::uint32_t job, Phase phase) {
  Entry& e = entries_.at(job);
  if (e.phase == phase) return;
  Member& m = members_[e.tenant];
  if (e.phase == Phase::kAway) {
    ++m.jobs;
    m.demand += e.gpus;
    e.base = m.entitlement.of(e.gpus);
  } else if (phase == Phase::kAway) {
    e.deserved = deserved_by(e);
    --m.jobs;
    m.demand -= e.gpus;
  }
  if (e.phase == Phase::kRunning) m.running -= e.gpus;
  if (phase == Phase::kRunning) m.running += e.gpus;
  unlist(e);
  e.phase = phase;
  if (phase == Phase::kAway) return;
  std::vector<std::uint32_t>& list = phase == Phase::kWaiting ? waiting_ : runs_;
  e.at = static_cast<std::uint32_t>(list.size());
  list.push_back(job);
}
void Group::unlist(const Entry& e) {
  if (e.phase == Phase::kAway) return;
  std::vector<std::uint32_t>& list = e.phase == Phase::kWaiting ? waiting_ : runs_;
  list[e.at] = list.back();
  entries_.at(list[e.at]).at = e.at;
  list.pop_back();
}

// Nobody waited: leases that ended meanwhile were prolonged.
void Group::renew(Time now) {
  for (const std::uint32_t job : runs_) {
    Entry& e = entries_.at(job);
    const Time leases = (now - e.lease_start) / set_.lease;
    if (leases == 0) continue;
    e.lease_start += leases * set_.lease;
    e.had_lease = true;
  }
}

void Group::wake(Pass& pass) {
  Time at = kNever;
  for (const std::uint32_t job : runs_) at = std::min(at, entries_.at(job).lease_start + set_.lease);
  if (at == kNever) return;
  at = next_tick(std::max(at, pass.now() + 1));
  if (wake_ > pass.now() && wake_ <= at) return;
  wake_ = at;
  pass.wake_at(at);
}

void Group::add_usage(std::vector<Usage>& usage) const {
  for (std::size_t u = 0; u < members_.size(); ++u) usage[u] += members_[u].ever;
}

}  // namespace comity::sched::astraea
