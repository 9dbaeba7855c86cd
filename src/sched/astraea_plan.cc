// SPDX-License-Identifier: Apache-2.0
// What one pass of astraea decides: the rules are in astraea.cc.
#include <algorithm>

#include "sched/astraea_group.h"

namespace comity::sched::astraea {
namespace {

// A heap whose front is served first.
template <class C>
bool later(const C& a, const C& b) {
  if (a.starves != b.starves) return b.starves;
  if (a.rank != b.rank) return a.rank > b.rank;
  return a.submit != b.submit ? a.submit > b.submit : a.job > b.job;
}

}  // namespace

void Group::schedule(Pass& pass) {
  offer(pass);
  if (set_.quota == Quota::kDynamic) reclaim();
  if (left_ > 0) {
    gather(pass);
    begin_plan();
    choose(false);
    if (set_.quota == Quota::kDynamic) choose(true);
    if (carry_out(pass)) fill(pass);
  }
  if (set_.delay > 0 && set_.quota == Quota::kFair && may_cancel(set_.selection)) cancel_for_newcomers(pass);
}

// The free GPUs and those of runs whose lease is over.
void Group::offer(const Pass& pass) {
  offered_.clear();
  for (Member& m : members_) m.on_offer = 0;
  left_ = pass.state().pool().free_gpus({.group = group_, .type = Pool::kAnyType});
  for (const std::uint32_t job : runs_) {
    if (entries_.at(job).lease_start + set_.lease <= pass.now()) put_on_offer(job);
  }
}
void Group::put_on_offer(std::uint32_t job) {
  const Entry& e = entries_.at(job);
  offered_.push_back(job);
  members_[e.tenant].on_offer += e.gpus;
  left_ += e.gpus;
}

// Somebody lacks GPUs within its quota: the newest runs of tenants beyond theirs are on offer too.
void Group::reclaim() {
  std::vector<double> wants(members_.size(), 0);
  for (const std::uint32_t job : waiting_) wants[entries_.at(job).tenant] += entries_.at(job).gpus;
  double lacking = -static_cast<double>(left_);
  for (std::size_t u = 0; u < members_.size(); ++u) {
    const double kept = static_cast<double>(members_[u].running - members_[u].on_offer);
    lacking += std::max(0.0, std::min(wants[u], members_[u].quota - kept));
  }
  if (lacking <= 0) return;
  std::vector<std::uint32_t> newest = runs_;
  std::sort(newest.begin(), newest.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Entry& x = entries_.at(a);
    const Entry& y = entries_.at(b);
    return x.submit != y.submit ? x.submit > y.submit : a > b;
  });
  std::sort(offered_.begin(), offered_.end());
  const auto expired = static_cast<std::ptrdiff_t>(offered_.size());
  for (const std::uint32_t job : newest) {
    const Entry& e = entries_.at(job);
    const Member& m = members_[e.tenant];
    if (lacking <= 0) break;
    if (static_cast<double>(m.running - m.on_offer) <= m.quota) continue;
    if (std::binary_search(offered_.begin(), offered_.begin() + expired, job)) continue;
    lacking -= e.gpus;
    put_on_offer(job);
  }
}

Group::Candidate Group::candidate(const Pass& pass, std::uint32_t job, const Entry& e) {
  Candidate c{{}, e.submit, job, e.gpus, e.tenant, false, e.phase == Phase::kRunning};
  c.starves = !c.runs && pass.now() - e.waits_since >= set_.starvation;
  if (c.starves) return c;
  Facts f;
  f.life = to_seconds(pass.now() - e.submit);
  f.executed = to_seconds(e.executed(pass.now()));
  f.remaining = to_seconds(pass.state().remaining_estimate(JobId(job), pass.now()));
  f.deserved = deserved_by(e);
  f.gpus = e.gpus;
  if (set_.selection == Selection::kReward) f.ends_next_lease = lifetimes_.ends_in_next_lease(e.gpus, f.executed);
  c.rank = rank_of(set_.selection, f);
  return c;
}
void Group::gather(const Pass& pass) {
  heaps_.resize(members_.size());
  for (Candidates& heap : heaps_) heap.clear();
  for (const std::uint32_t job : offered_) {
    const Entry& e = entries_.at(job);
    heaps_[e.tenant].push_back(candidate(pass, job, e));
  }
  for (const std::uint32_t job : waiting_) {
    if (!pass.state().eligible(JobId(job))) continue;
    const Entry& e = entries_.at(job);
    heaps_[e.tenant].push_back(candidate(pass, job, e));
  }
  for (Candidates& heap : heaps_) std::make_heap(heap.begin(), heap.end(), later<Candidate>);
}

void Group::begin_plan() {
  pick_ = TenantPick(to_seconds(set_.lease), true);
  for (std::size_t u = 0; u < members_.size(); ++u) {
    const Member& m = members_[u];
    pick_.add(m.quota, static_cast<double>(m.running - m.on_offer), m.window.recent(), !heaps_[u].empty());
  }
  chosen_.clear();
  beyond_.assign(members_.size(), {});
}

// Under static and dynamic quotas a job wider than the quota runs alone of its tenant.
bool Group::allowed(const Candidate& c, double times) const {
  if (set_.quota == Quota::kFair) return true;
  const double quota = members_[c.tenant].quota;
  const double used = pick_.used(c.tenant);
  return used + c.gpus <= quota * times || (c.gpus > quota * times && used == 0);
}

void Group::choose(bool beyond_quota) {
  if (beyond_quota) {
    for (std::size_t u = 0; u < heaps_.size(); ++u) {
      heaps_[u].insert(heaps_[u].end(), beyond_[u].begin(), beyond_[u].end());
      beyond_[u].clear();
      std::make_heap(heaps_[u].begin(), heaps_[u].end(), later<Candidate>);
      if (!heaps_[u].empty()) pick_.open(u);
    }
  }
  while (left_ > 0) {
    const std::size_t u = pick_.next();
    if (u == kNobody) return;
    grant_one(u, beyond_quota ? set_.overcommit : 1);
  }
}
void Group::grant_one(std::size_t tenant, double times) {
  Candidates& heap = heaps_[tenant];
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later<Candidate>);
    const Candidate c = heap.back();
    heap.pop_back();
    const bool may = allowed(c, times);
    if (may && c.gpus <= left_) {
      left_ -= c.gpus;
      pick_.grant(tenant, c.gpus);
      chosen_.push_back(c);
      return;
    }
    if (may && c.starves && set_.hold) {  // what is left is kept for it
      left_ = 0;
      return;
    }
    if (!may) beyond_[tenant].push_back(c);
    if (c.starves || set_.block) break;
  }
  pick_.drop(tenant);
}

// Renews, suspends and starts. Whether some job could not be placed though GPUs are left.
bool Group::carry_out(Pass& pass) {
  for (const Candidate& c : chosen_) {
    if (!c.runs) continue;
    Entry& e = entries_.at(c.job);
    e.lease_start = pass.now();
    e.had_lease = true;
    ++figures_.expiries;
  }
  for (const std::uint32_t job : offered_) {
    Entry& e = entries_.at(job);
    if (e.lease_start == pass.now()) continue;
    pass.preempt(job, set_.checkpoint + set_.resume);
    e.had_lease = true;
    ++figures_.expiries;
    stopped(pass.state(), job, pass.now());
  }
  bool failed = false;
  for (const Candidate& c : chosen_) {
    if (c.runs || start(pass, c.job)) continue;
    if (c.starves && set_.hold) return false;
    failed = true;
  }
  return failed;
}
bool Group::start(Pass& pass, std::uint32_t job) {
  if (!pass.start(job)) return false;
  Entry& e = entries_.at(job);
  e.started = pass.now();
  e.lease_start = pass.now();
  e.ran = true;
  move(job, Phase::kRunning);
  return true;
}

// The nodes were not free as the GPUs were: others may use them.
void Group::fill(Pass& pass) {
  left_ = pass.state().pool().free_gpus({.group = group_, .type = Pool::kAnyType});
  full_.clear();
  while (left_ > 0) {
    const std::size_t u = pick_.next();
    if (u == kNobody) return;
    Candidates& heap = heaps_[u];
    if (heap.empty()) {
      pick_.drop(u);
      continue;
    }
    std::pop_heap(heap.begin(), heap.end(), later<Candidate>);
    const Candidate c = heap.back();
    heap.pop_back();
    if (c.runs || c.gpus > left_ || !allowed(c, 1)) continue;
    const ShapeId shape = pass.job(c.job).shape;
    if (std::find(full_.begin(), full_.end(), shape) != full_.end()) continue;
    if (start(pass, c.job)) {
      left_ -= c.gpus;
      pick_.grant(u, c.gpus);
    } else {
      full_.push_back(shape);
    }
  }
}

// Runs of a tenant that are early in their lease, whom to cancel first in front. Their GPUs.
std::int64_t Group::early_runs(Time now, std::size_t tenant, Candidates& out) {
  out.clear();
  std::int64_t gpus = 0;
  for (const std::uint32_t job : runs_) {
    const Entry& e = entries_.at(job);
    const Time in_lease = now - e.lease_start;
    if (e.tenant != tenant || in_lease == 0 || !is_early(set_, e.had_lease, in_lease)) continue;
    const double deserved = deserved_by(e);
    const double before = e.gpus * to_seconds(e.executed(now) - in_lease);
    out.push_back({{deserved > 0 ? -before / deserved : 0, 0}, -e.submit, job, e.gpus, e.tenant, false, true});
    gpus += e.gpus;
  }
  std::sort(out.begin(), out.end(), [](const Candidate& a, const Candidate& b) { return later(b, a); });
  return gpus;
}

void Group::cancel_for_newcomers(Pass& pass) {
  Candidates newcomers;
  for (const std::uint32_t job : waiting_) {
    const Entry& e = entries_.at(job);
    if (!e.ran && pass.state().eligible(JobId(job)))
      newcomers.push_back({{}, e.submit, job, e.gpus, e.tenant, false, false});
  }
  std::sort(newcomers.begin(), newcomers.end(), [](const Candidate& a, const Candidate& b) { return later(b, a); });
  Candidates early;
  for (const Candidate& c : newcomers) {
    const std::int64_t gpus = early_runs(pass.now(), c.tenant, early);
    const std::int64_t free = pass.state().pool().free_gpus({.group = group_, .type = Pool::kAnyType});
    if (gpus == 0 || c.gpus > free + gpus) continue;
    const ShapeId shape = pass.job(c.job).shape;
    for (const Candidate& victim : early) {
      if (pass.fits(shape)) break;
      cancel(pass, victim.job);
    }
    start(pass, c.job);
  }
}
// It runs again what it did in this lease.
void Group::cancel(Pass& pass, std::uint32_t job) {
  Entry& e = entries_.at(job);
  const Time in_lease = pass.now() - e.lease_start;
  pass.preempt(job, set_.resume + in_lease);
  e.lost += in_lease;
  ++figures_.cancels;
  stopped(pass.state(), job, pass.now());
}

}  // namespace comity::sched::astraea
