// SPDX-License-Identifier: Apache-2.0
#include "sched/gavel_group.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>

namespace comity::sched {
namespace {

constexpr double kFirst = 1e9;  // priority of X = 1 before any time was received
constexpr double kLeastWeight = 1e-6;
constexpr double kMostWeight = 1e6;

// Numbers whose bins are the same stand for each other; ratio 1: equal ones only.
std::int64_t bin_of(double value, double ratio) {
  if (ratio == 1) return std::bit_cast<std::int64_t>(value);
  return static_cast<std::int64_t>(std::floor(std::log(std::max(value, 1e-3)) / std::log(ratio)));
}

double progress_of(const State& state, JobId id, Time now) {
  const Job& j = state.job(id);
  Time progress = j.executed;
  if (j.status == cluster::JobStatus::kRunning) progress += state.running()[j.slot].progress(now);
  return to_seconds(progress);
}

}  // namespace

GavelGroup::Member GavelGroup::newcomer(const Pass& pass, JobId id) {
  const Job& j = pass.state().job(id);
  Member m;
  m.job = id.value;
  m.gpus = std::max<std::uint32_t>(1, j.gpus);
  m.kind = TypeSpeeds::kind_of(pass, id);
  const profile::Attributes* a = pass.state().attributes(id);
  if (a != nullptr && a->priority > 0) m.weight = std::clamp(a->priority, kLeastWeight, kMostWeight);
  if (!TypeSpeeds::measured(pass, j.shape, m.kind)) counts_.without_rates.insert(id.value);
  m.due_s.assign(gpus_.size(), 0);
  m.had_s.assign(gpus_.size(), 0);
  m.progress_s = progress_of(pass.state(), id, pass.now());
  return m;
}

void GavelGroup::gather(const Pass& pass, std::uint32_t group) {
  const State& state = pass.state();
  std::vector<std::uint32_t> live;
  for (const cluster::Running& run : state.running()) {
    if (state.shape(state.job(run.job).shape).where.group == group) live.push_back(run.job.value);
  }
  for (const ShapeId id : state.active(group)) {
    const cluster::OrderedQueue& queue = state.shape(id).queue;
    for (auto c = queue.begin(); !queue.at_end(c); queue.advance(c)) live.push_back(queue.at(c).job);
  }
  std::sort(live.begin(), live.end());
  next_.clear();
  auto known = members_.begin();
  for (const std::uint32_t job : live) {
    while (known != members_.end() && known->job < job) ++known;
    const bool stays = known != members_.end() && known->job == job;
    next_.push_back(stays ? std::move(*known) : newcomer(pass, JobId(job)));
    stale_ = stale_ || !stays;
    Member& m = next_.back();
    const Job& j = state.job(JobId(job));
    m.shape = j.shape;
    m.type = kNoType;
    if (j.status == cluster::JobStatus::kRunning)
      m.type = state.pool().class_type(state.running()[j.slot].allocation.node_class);
  }
  stale_ = stale_ || next_.size() != members_.size();
  members_.swap(next_);
}

// What each was due and had since the last round.
void GavelGroup::account(const Pass& pass) {
  const State& state = pass.state();
  const Time passed = pass.now() - last_;
  for (Member& m : members_) {
    if (state.ended(JobId(m.job))) continue;
    for (std::size_t j = 0; j < gpus_.size(); ++j) m.due_s[j] += x_[m.row * gpus_.size() + j] * to_seconds(passed);
    const Job& job = state.job(JobId(m.job));
    if (job.status != cluster::JobStatus::kRunning) continue;
    const cluster::Running& run = state.running()[job.slot];
    m.had_s[state.pool().class_type(run.allocation.node_class)] += to_seconds(std::min(passed, pass.now() - run.start));
  }
}

void GavelGroup::begin_round(const Pass& pass, std::uint32_t group) {
  if (!members_.empty()) account(pass);
  last_ = pass.now();
  std::vector<double> gpus = gpus_by_type(pass.state().pool(), group);
  if (gpus != gpus_) stale_ = true;
  gpus_ = std::move(gpus);
  gather(pass, group);
  if (members_.empty()) return;
  ++counts_.rounds;
  if (stale_) plan(pass);
  stale_ = false;
}

void GavelGroup::bring_up_to_date(const Pass& pass) {
  for (Member& m : members_) {
    const double progress = progress_of(pass.state(), JobId(m.job), pass.now());
    if (m.isolated_speed > 0) m.isolated_s += std::max(0.0, progress - m.progress_s) / m.isolated_speed;
    m.progress_s = progress;
  }
}

// Jobs with the same speeds, GPUs and weight are one row; where an objective asks for age and work, these have to be in
// the same bin, too, and the row has their mean.
void GavelGroup::classify(const Pass& pass, double ratio) {
  const bool by_work = options_.program.objective == GavelObjective::kMakespan;
  const bool by_age = options_.program.objective == GavelObjective::kFinishTime;
  using Key =
      std::tuple<const std::vector<double>, std::uint32_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  std::map<Key, std::size_t> index;
  classes_.clear();
  for (Member& m : members_) {
    const std::vector<double>& speeds = speeds_.of(pass, m.shape, m.kind);
    const double age = to_seconds(pass.now() - pass.job(m.job).submit);
    const double left = std::max(1e-3, to_seconds(pass.state().remaining_estimate(JobId(m.job), pass.now())));
    const auto key = Key(speeds, m.gpus, bin_of(m.weight, 1), by_age ? bin_of(age, ratio) : 0,
                         by_age || by_work ? bin_of(left, ratio) : 0, by_age ? bin_of(m.isolated_s, ratio) : 0);
    m.row = index.try_emplace(key, classes_.size()).first->second;
    if (m.row == classes_.size()) classes_.push_back({0, static_cast<double>(m.gpus), m.weight, speeds, 0, 0, 0});
    GavelClass& c = classes_[m.row];
    ++c.jobs;
    c.age_s += (age - c.age_s) / c.jobs;
    c.left_s += (left - c.left_s) / c.jobs;
    c.isolated_s += (m.isolated_s - c.isolated_s) / c.jobs;
  }
}

void GavelGroup::plan(const Pass& pass) {
  ++counts_.plans;
  speeds_.clear();
  bring_up_to_date(pass);
  classify(pass, 1);
  const bool merge = options_.program.objective == GavelObjective::kFinishTime ||
                     options_.program.objective == GavelObjective::kMakespan;
  double ratio = 1.02;
  for (int wider = 0; merge && classes_.size() > options_.rows && wider < 10; ++wider, ratio *= ratio) {
    if (wider == 0) ++counts_.merged;
    classify(pass, ratio);
  }
  std::vector<double> prices;
  for (std::string type : pass.state().pool().types()) {
    for (char& c : type) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const auto it = options_.prices.find(type);
    prices.push_back(it == options_.prices.end() ? 1 : it->second);
  }
  GavelPlan plan = plan_gavel(classes_, gpus_, prices, options_.program);
  counts_.programs += plan.programs;
  counts_.most_rows = std::max(counts_.most_rows, static_cast<double>(classes_.size()));
  if (std::none_of(plan.x.begin(), plan.x.end(), [](double x) { return x > 0; }) && !classes_.empty())
    ++counts_.unsolved;
  x_ = std::move(plan.x);
  if (classes_.empty()) return;
  const std::vector<double> isolated = isolated_speed(classes_, gpus_);
  for (Member& m : members_) m.isolated_speed = isolated[m.row];
}

void GavelGroup::order(std::vector<Choice>& out) const {
  out.clear();
  const std::size_t types = gpus_.size();
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Member& m = members_[i];
    for (std::size_t j = 0; j < types; ++j) {
      Choice c{i, static_cast<std::uint32_t>(j), 0, x_[m.row * types + j], classes_[m.row].speed[j], m.type == j};
      if (c.speed <= 0 || gpus_[j] <= 0) continue;
      const bool first = m.had_s[j] <= 0 || !options_.by_time_received;
      if (c.x > 0) c.priority = first ? c.x * kFirst : m.due_s[j] / m.had_s[j];
      out.push_back(c);
    }
  }
  std::sort(out.begin(), out.end(), [](const Choice& a, const Choice& b) {
    if (a.priority != b.priority) return a.priority > b.priority;
    if (a.x != b.x) return a.x > b.x;
    if (a.speed != b.speed) return a.speed > b.speed;
    if (a.here != b.here) return a.here;
    return a.member != b.member ? a.member < b.member : a.type < b.type;
  });
}

}  // namespace comity::sched
