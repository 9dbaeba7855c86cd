// SPDX-License-Identifier: Apache-2.0
#include "sched/policy.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"
#include "sched/policies.h"

namespace comity::sched {

bool Pass::start(std::uint32_t job, JobId overtook, Pool::Pools pools) {
  const Job& j = state_.job(JobId(job));
  const ShapeClass& s = state_.shape(j.shape);
  if (!state_.pool().place(s.shape, s.where, scratch_, pools)) return false;
  cluster::Event event;
  event.kind = cluster::EventKind::kStart;
  event.at = now_;
  event.job = JobId(job);
  event.overtook = overtook;
  event.allocation = &scratch_;
  state_.apply(event);
  decisions_.push_back({.action = Action::kStart, .job = JobId(job), .other = overtook, .value = 0, .shape = {}});
  return true;
}

void Pass::start_at(std::uint32_t job, const Allocation& where) {
  cluster::Event event;
  event.kind = cluster::EventKind::kStart;
  event.at = now_;
  event.job = JobId(job);
  event.allocation = &where;
  state_.apply(event);
  decisions_.push_back({.action = Action::kStart, .job = JobId(job), .other = {}, .value = 0, .shape = {}});
}

void Pass::preempt(std::uint32_t job, Time overhead) {
  decisions_.push_back({.action = Action::kPreempt, .job = JobId(job), .other = {}, .value = overhead, .shape = {}});
  cluster::Event event;
  event.kind = cluster::EventKind::kPreempt;
  event.at = now_;
  event.job = JobId(job);
  event.value = overhead;
  state_.apply(event);
}

void Pass::stop(std::uint32_t job) {
  const Job& j = state_.job(JobId(job));
  const Time ran = j.executed + now_ - state_.running()[j.slot].start;
  decisions_.push_back({.action = Action::kStop, .job = JobId(job), .other = {}, .value = ran, .shape = {}});
  cluster::Event event;
  event.kind = cluster::EventKind::kStop;
  event.at = now_;
  event.job = JobId(job);
  state_.apply(event);
}

void Pass::wake_at(Time at) {
  COMITY_CHECK(at > now_);
  decisions_.push_back({.action = Action::kWakeAt, .job = {}, .other = {}, .value = at, .shape = {}});
}

bool Pass::propose(const Decision& decision) {
  const bool can = (decision.action == Action::kResize && world_.resize) ||
                   (decision.action == Action::kMigrate && world_.migrate) ||
                   (decision.action == Action::kCoLocate && world_.co_locate);
  if (can) decisions_.push_back(decision);
  return can;
}

void run_pass(Policy& policy, State& state, Time now, const World& world, std::vector<Decision>& decisions) {
  decisions.clear();
  Pass pass(state, now, world, decisions);
  for (std::uint32_t group = 0; group < state.groups(); ++group) policy.decide(pass, group);
  state.forget_left();
}

const std::vector<PolicyInfo>& registry() {
  static const std::vector<PolicyInfo> all = [] {
    std::vector<PolicyInfo> list;
    add_list_policies(list);
    add_preemptive_policies(list);
    add_longest_first(list);
    add_qssf(list);
    add_tiresias(list);
    add_sing(list);
    add_easy(list);
    add_conservative(list);
    add_slurm_multifactor(list);
    add_drf(list);
    add_themis(list);
    add_priority(list);
    add_hived(list);
    return list;
  }();
  return all;
}

Params all_params() {
  std::vector<Param> declared;
  for (const PolicyInfo& info : registry()) declared.insert(declared.end(), info.params.begin(), info.params.end());
  return Params(std::move(declared));
}

const std::vector<std::string>& compat_names() {
  static const std::vector<std::string> names = {"lucid"};
  return names;
}

Result<const PolicyInfo*> find_policy(const std::string& name, const std::string& compat) {
  static const std::vector<PolicyInfo> replacements = [] {
    std::vector<PolicyInfo> list;
    add_lucid_compat(list);
    return list;
  }();
  for (const PolicyInfo& info : replacements) {
    if (!compat.empty() && info.name == name && info.compat == compat) return &info;
  }
  std::vector<std::string> names;
  for (const PolicyInfo& info : registry()) {
    if (info.name == name) return &info;
    names.push_back(info.name);
  }
  const std::string near = nearest(name, names);
  return fail(Code::kUsage, fmt::format("unknown policy '{}'", printable(name)),
              near.empty() ? "see `comity policy list`" : fmt::format("did you mean '{}'?", near));
}

}  // namespace comity::sched
