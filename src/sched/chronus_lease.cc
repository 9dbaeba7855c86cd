// SPDX-License-Identifier: Apache-2.0
// The beginning of a lease, and admission: sections 1.3 and 1.4 of the rules in chronus.cc.
#include <algorithm>
#include <tuple>

#include "sched/chronus.h"

namespace comity::sched::chronus {

Use Group::use() const {
  switch (set_.objective) {
    case Objective::kLeast: return Use::kLeast;
    case Objective::kMost: return Use::kMost;
    case Objective::kAny: return Use::kAny;
    case Objective::kAdaptive: break;
  }
  return unaccepted_ > 0 ? Use::kLeast : Use::kMost;
}

void Group::begin_lease(Pass& pass) {
  std::vector<std::uint32_t> guaranteed;
  plan_leases(pass, guaranteed);
  for (auto& [id, e] : present_) e->occupies = e->forced = false;
  for (const std::uint32_t id : guaranteed) entries_.at(id).occupies = true;
  if (set_.stop) {
    for (auto& [id, e] : present_) {
      if (e->running && !e->occupies) stop(pass, *e);
    }
  }
  place_guaranteed(pass, guaranteed);
  unaccepted_ = std::count_if(present_.begin(), present_.end(),
                              [](const auto& p) { return p.second->rank == Class::kUnaccepted; });
}

// Present jobs that plans are made for, by id.
std::vector<std::uint32_t> Group::planned_jobs() const {
  std::vector<std::uint32_t> jobs;
  for (const auto& [id, e] : present_) {
    if (e->rank == Class::kAccepted && e->plans && e->needs > 0) jobs.push_back(id);
  }
  return jobs;
}

LeaseJob Group::lease_job(const State& state, const Entry& e, std::int64_t index) const {
  LeaseJob job;
  job.gpus = lease_gpus(e.gpus);
  job.needs = e.needs;
  for (const profile::Deadline& d : state.deadlines(JobId(e.id)))
    job.choices.push_back({leases_before(e.submit + d.after, set_.lease, index), d.value});
  // Leases that no longer are what it needs (the machine was slower, or nobody planned) are planned anew.
  const auto held = static_cast<int>(std::count(e.leases.begin(), e.leases.end(), 1));
  if (e.choice == kNoChoice || held != e.needs) return job;
  if (static_cast<int>(e.leases.size()) != job.choices[static_cast<std::size_t>(e.choice)].within) return job;
  job.choice = e.choice;
  job.runs = e.leases;
  return job;
}

// Which jobs run now under a guarantee, and when the others will.
void Group::plan_leases(Pass& pass, std::vector<std::uint32_t>& guaranteed) {
  std::vector<std::uint32_t> in = planned_jobs();
  std::vector<std::int64_t> free(1, capacity(pass));
  keep_out(in, free, pass, guaranteed);
  if (!in.empty() && free.front() > 0) {
    const std::int64_t index = pass.now() / set_.lease;
    std::vector<LeaseJob> jobs;
    jobs.reserve(in.size());
    for (const std::uint32_t id : in) jobs.push_back(lease_job(pass.state(), entries_.at(id), index));
    if (!changed_) ++counts_.unchanged;
    PlanLimits limits = set_.limits;
    if (!changed_) limits.variables = 0;  // what the plan had for this lease is as good as it was
    count(plan(jobs, free, use(), limits));
    for (std::size_t i = 0; i < in.size(); ++i) {
      Entry& e = entries_.at(in[i]);
      e.choice = jobs[i].choice;
      e.unplanned = e.choice == kNoChoice;
      e.leases.clear();
      if (e.unplanned || jobs[i].runs.empty()) continue;
      if (jobs[i].runs[0] != 0) guaranteed.push_back(e.id);
      e.leases.assign(jobs[i].runs.begin() + 1, jobs[i].runs.end());
    }
  }
  changed_ = false;
  for (const std::uint32_t id : guaranteed) --entries_.at(id).needs;
}

// More deadlines than `rows`: jobs that hold leases stay out of the plan with them, the widest and loosest first.
void Group::keep_out(std::vector<std::uint32_t>& in, std::vector<std::int64_t>& free, const Pass& pass,
                     std::vector<std::uint32_t>& guaranteed) {
  const auto rows_of = [&](std::uint32_t id) { return pass.state().deadlines(JobId(id)).size(); };
  std::size_t rows = 0;
  for (const std::uint32_t id : in) rows += rows_of(id);
  if (rows <= set_.rows) return;
  std::vector<std::uint32_t> order = in;
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const auto key = [&](std::uint32_t id) {
      const Entry& e = entries_.at(id);
      return std::tuple(-static_cast<std::int64_t>(lease_gpus(e.gpus)), -static_cast<std::int64_t>(e.leases.size()),
                        id);
    };
    return key(a) < key(b);
  });
  std::vector<std::uint32_t> out;
  for (const std::uint32_t id : order) {
    if (rows <= set_.rows) break;
    Entry& e = entries_.at(id);
    if (e.choice == kNoChoice) continue;
    rows -= rows_of(id);
    out.push_back(id);
    if (free.size() < e.leases.size() + 1) free.resize(e.leases.size() + 1, free.back());
    for (std::size_t t = 0; t < e.leases.size(); ++t) free[t] -= e.leases[t] != 0 ? lease_gpus(e.gpus) : 0;
    if (!e.leases.empty() && e.leases[0] != 0) guaranteed.push_back(id);
    if (!e.leases.empty()) e.leases.erase(e.leases.begin());
  }
  std::sort(out.begin(), out.end());
  std::erase_if(in, [&](std::uint32_t id) { return std::binary_search(out.begin(), out.end(), id); });
}

void Group::count(const PlanReport& report) {
  ++counts_.plans;
  counts_.proved += report.proved ? 1 : 0;
  counts_.solved += report.solved ? 1 : 0;
  counts_.limited += report.limited ? 1 : 0;
  counts_.nodes += static_cast<double>(report.nodes);
  counts_.variables_limit += !report.proved && !report.solved ? 1 : 0;
  counts_.unplanned += static_cast<double>(report.failed);
}

// The widest first; in the way of one that finds no nodes are the least urgent runs without a guarantee, and at last
// those that were guaranteed and stayed where they were.
void Group::place_guaranteed(Pass& pass, std::vector<std::uint32_t> jobs) {
  std::sort(jobs.begin(), jobs.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Entry& x = entries_.at(a);
    const Entry& y = entries_.at(b);
    return x.gpus != y.gpus ? x.gpus > y.gpus : a < b;
  });
  bool all = true;
  for (const std::uint32_t id : jobs) {
    Entry& e = entries_.at(id);
    if (!e.running) all &= start_by_force(pass, e);
  }
  if (all) return;
  for (const std::uint32_t id : jobs) {
    Entry& e = entries_.at(id);
    if (e.running) stop(pass, e);
  }
  for (const std::uint32_t id : jobs) {
    Entry& e = entries_.at(id);
    e.occupies = start_by_force(pass, e);
    if (e.occupies) continue;
    ++counts_.unplaced;
    ++e.needs;
    e.choice = kNoChoice;  // is planned anew
    changed_ = true;
  }
}

// Jobs that came in this slot, in the order of submission; leases are counted from the next one.
void Group::admit(Pass& pass) {
  if (newcomers_.empty()) return;
  std::vector<std::uint32_t> ids;
  ids.swap(newcomers_);
  std::sort(ids.begin(), ids.end());
  const std::int64_t index = pass.now() / set_.lease + 1;
  std::vector<LeaseJob> others;  // accepted ones that have no leases yet
  std::vector<std::int64_t> free(1, capacity(pass));
  for (auto& [id, e] : present_) {
    if (e->rank != Class::kAccepted || !e->plans || e->needs == 0) continue;
    if (e->choice == kNoChoice) {
      others.push_back(lease_job(pass.state(), *e, index));
      continue;
    }
    if (free.size() <= e->leases.size()) free.resize(e->leases.size() + 1, capacity(pass));
    for (std::size_t t = 0; t < e->leases.size(); ++t) free[t] -= e->leases[t] != 0 ? lease_gpus(e->gpus) : 0;
  }
  for (const std::uint32_t id : ids) {
    const auto it = entries_.find(id);
    if (it == entries_.end()) continue;
    present_[id] = &it->second;
    if (it->second.rank == Class::kAccepted) admit(pass, it->second, others, free);
  }
}

void Group::admit(Pass& pass, Entry& e, std::vector<LeaseJob>& others, const std::vector<std::int64_t>& free) {
  const std::int64_t index = pass.now() / set_.lease + 1;
  const std::int64_t later = capacity(pass);
  others.push_back(lease_job(pass.state(), e, index));
  const int within = others.back().choices.back().within;
  bool fits = e.needs <= within && packs(others, free, later);
  if (!fits) {  // the earliest deadline that could be kept
    int low = std::max(within, e.needs);
    int high = std::max(low, static_cast<int>(free.size())) + e.needs + 1;
    for (const LeaseJob& job : others) high = std::max(high, job.choices.back().within + e.needs + 1);
    while (low < high) {
      const int middle = low + (high - low) / 2;
      others.back().choices.back().within = middle;
      if (packs(others, free, later)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    others.back().choices.back().within = high;
    const Time last = pass.state().deadlines(JobId(e.id)).back().after;
    const Time offered = (high + index) * set_.lease - e.submit;
    fits = static_cast<double>(offered) <= static_cast<double>(last) * set_.tolerate && high >= e.needs;
  }
  if (fits) {
    ++counts_.accepted;
    e.plans = true;
    e.deadline = (others.back().choices.back().within + index) * set_.lease - e.submit;
    changed_ = true;
    return;
  }
  ++counts_.unaccepted;
  e.rank = Class::kUnaccepted;
  ++unaccepted_;
  if (!set_.shadows) others.pop_back();
}

// Jobs without leases beside those that hold some: each is placed anew.
bool Group::packs(std::vector<LeaseJob>& jobs, const std::vector<std::int64_t>& free, std::int64_t later) const {
  std::vector<LeaseJob*> all;
  for (LeaseJob& job : jobs) {
    job.choice = kNoChoice;
    all.push_back(&job);
  }
  return pack(all, free, later, set_.strict);
}

}  // namespace comity::sched::chronus
