// SPDX-License-Identifier: Apache-2.0
#include "sched/policy.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"
#include "sched/policies.h"

namespace comity::sched {
namespace {

Decision make(Action action, JobId job) {
  Decision decision;
  decision.action = action;
  decision.job = job;
  return decision;
}

}  // namespace

bool Pass::start(std::uint32_t job, JobId overtook, Pool::Pools pools, const Pool::Where* avoid) {
  if (!state_.eligible(JobId(job))) return false;
  const ShapeClass& s = state_.shape(state_.job(JobId(job)).shape);
  if (!state_.pool_of(s).place(s.shape, s.where, scratch_, pools, avoid)) return false;
  if (overtook.valid() && !state_.pool().allows(state_.shape(state_.job(overtook).shape).where, scratch_.node_class))
    overtook = JobId();
  cluster::Event event;
  event.kind = cluster::EventKind::kStart;
  event.overtook = overtook;
  event.allocation = &scratch_;
  event.speed = speed_on(job, scratch_);
  Decision decision = make(Action::kStart, JobId(job));
  decision.other = overtook;
  apply(event, decision);
  return true;
}

void Pass::apply(cluster::Event event, const Decision& decision) {
  event.at = now_;
  event.job = decision.job;
  decisions_.push_back(decision);
  state_.apply(event);
}

bool Pass::start_at(std::uint32_t job, const Allocation& where) {
  if (!state_.eligible(JobId(job))) return false;
  const Pool& pool = state_.pool_of(state_.shape(state_.job(JobId(job)).shape));
  for (const cluster::Part& part : where.parts) {
    if (!pool.is_up(part.node)) return false;  // down, or reserved for others
  }
  cluster::Event event;
  event.kind = cluster::EventKind::kStart;
  event.allocation = &where;
  event.speed = speed_on(job, where);
  apply(event, make(Action::kStart, JobId(job)));
  return true;
}

// The decision that ends a run. Whoever shares its GPUs runs faster from now on, which the world has to know.
Decision Pass::end_run(Action action, std::uint32_t job) {
  const cluster::Running& run = state_.running()[state_.job(JobId(job)).slot];
  if (run.partner.valid()) decisions_.push_back(make(Action::kSpeed, run.partner));
  Decision decision = make(action, JobId(job));
  decision.wall = now_ - run.start;
  decision.progress = run.progress(now_);
  return decision;
}

void Pass::preempt(std::uint32_t job, Time overhead) {
  Decision decision = end_run(Action::kPreempt, job);
  decision.value = overhead;
  cluster::Event event;
  event.kind = cluster::EventKind::kPreempt;
  event.value = overhead;
  apply(event, decision);
}

void Pass::requeue(std::uint32_t job) {
  cluster::Event event;
  event.kind = cluster::EventKind::kRequeue;
  apply(event, end_run(Action::kRequeue, job));
}

void Pass::stop(std::uint32_t job) {
  Decision decision = end_run(Action::kStop, job);
  decision.value = state_.job(JobId(job)).executed + decision.wall;
  cluster::Event event;
  event.kind = cluster::EventKind::kStop;
  apply(event, decision);
}

void Pass::finish(std::uint32_t job, Time done) {
  Decision decision = end_run(Action::kFinish, job);
  decision.value = done;
  decision.wall += state_.job(JobId(job)).executed;
  cluster::Event event;
  event.kind = cluster::EventKind::kEnd;
  apply(event, decision);
}

bool Pass::co_locate(std::uint32_t job, std::uint32_t partner, double speed, double partner_speed) {
  if (!world_.co_locate) return false;
  cluster::Event event;
  event.kind = cluster::EventKind::kCoLocate;
  event.partner = JobId(partner);
  const cluster::Running& other = state_.running()[state_.job(JobId(partner)).slot];
  event.alone = speed_on(job, other.allocation);
  event.speed = speed * event.alone;
  event.partner_speed = partner_speed * other.alone;
  Decision decision = make(Action::kCoLocate, JobId(job));
  decision.other = JobId(partner);
  apply(event, decision);
  return true;
}

void Pass::set_speed(std::uint32_t job, double speed) {
  cluster::Event event;
  event.kind = cluster::EventKind::kSpeed;
  event.speed = speed;
  apply(event, make(Action::kSpeed, JobId(job)));
}

bool Pass::migrate(std::uint32_t job, const Allocation& where, Time overhead) {
  if (!world_.migrate) return false;
  cluster::Event event;
  event.kind = cluster::EventKind::kMigrate;
  event.value = overhead;
  event.allocation = &where;
  event.speed = world_.rates == nullptr ? state_.running()[state_.job(JobId(job)).slot].speed : speed_on(job, where);
  Decision decision = make(Action::kMigrate, JobId(job));
  decision.value = overhead;
  apply(event, decision);
  return true;
}

bool Pass::start_sized(std::uint32_t job, const profile::Shape& size, const Pool::Where& where, double speed) {
  const auto gpus = static_cast<std::uint32_t>(size.total());
  const JobId id(job);
  if (!world_.resize || !state_.eligible(id) || !state_.may_hold(id, gpus)) return false;
  if (!state_.place_as(id, size, where, speed, now_, scratch_)) return false;
  cluster::Event event;
  event.kind = cluster::EventKind::kStart;
  event.allocation = &scratch_;
  event.gpus = gpus;
  event.speed = speed;
  Decision decision = make(Action::kStart, id);
  decision.gpus = gpus;
  apply(event, decision);
  return true;
}

bool Pass::resize(std::uint32_t job, const profile::Shape& size, const Pool::Where& where, double speed,
                  Time overhead) {
  const auto gpus = static_cast<std::uint32_t>(size.total());
  const JobId id(job);
  if (!world_.resize || !state_.may_hold(id, gpus) || !state_.place_as(id, size, where, speed, now_, scratch_))
    return false;
  cluster::Event event;
  event.kind = cluster::EventKind::kResize;
  event.allocation = &scratch_;
  event.gpus = gpus;
  event.speed = speed;
  event.value = overhead;
  Decision decision = make(Action::kResize, id);
  decision.gpus = gpus;
  decision.value = overhead;
  apply(event, decision);
  return true;
}

double Pass::speed_on(std::uint32_t job, const Allocation& where) const {
  const profile::Attributes* a = world_.rates == nullptr ? nullptr : state_.attributes(JobId(job));
  if (a == nullptr || a->model == profile::kNoName) return 1;
  const Pool& pool = state_.pool();
  const std::uint32_t type = world_.rates->type(pool.types()[pool.class_type(where.node_class)]);
  const std::uint32_t kind = world_.rates->kind(state_.names()[a->model], a->batch_size);
  const std::uint32_t gpus = state_.job(JobId(job)).gpus;
  const auto nodes = static_cast<std::uint32_t>(std::max<std::size_t>(1, where.parts.size()));
  return world_.rates->speed_in_any_case(kind, type, gpus, gpus, nodes);
}

void Pass::wake_at(Time at) {
  COMITY_CHECK(at > now_);
  decisions_.push_back(make(Action::kWakeAt, {}));
  decisions_.back().value = at;
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
    add_lucid(list);
    add_gandiva(list);
    add_icefrog(list);
    add_astraea(list);
    add_chronus(list);
    add_gavel(list);
    add_allox(list);
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
  static const std::vector<std::string> names = {"lucid", "astraea", "chronus"};
  return names;
}

Result<const PolicyInfo*> find_policy(const std::string& name, const std::string& compat) {
  static const std::vector<PolicyInfo> replacements = [] {
    std::vector<PolicyInfo> list;
    add_lucid_compat(list);
    add_lucid_compat_sharing(list);
    add_astraea_compat(list);
    add_chronus_compat(list);
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
  return fail_option("--policy", fmt::format("unknown policy '{}'", printable(name)),
                     near.empty() ? "see `comity policy list`" : fmt::format("did you mean '{}'?", near));
}

}  // namespace comity::sched
