// SPDX-License-Identifier: Apache-2.0
#include "twin/replay.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <optional>
#include <span>
#include <thread>
#include <unordered_map>

#include <fmt/format.h>

#include "base/check.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/text.h"
#include "math/quantile.h"
#include "sim/event_queue.h"
#include "sim/fingerprint.h"
#include "twin/history.h"

namespace comity::twin {
namespace {

using cluster::Event;
using cluster::EventKind;
using cluster::JobStatus;
using sched::Action;
using sched::Decision;
__extension__ using Wide = __int128;

// The end of a run of a job, or a wake-up (job = kWake).
struct Due {
  std::uint32_t job;
  std::uint32_t stretch;  // Job::stretches then: tells an end that has been put off
};
constexpr std::uint32_t kWake = JobId::kInvalid;
enum Channel : std::size_t { kUsed, kWanted, kWaiting, kRunning };

class Replay {
 public:
  Replay(const Workload& workload, const sched::PolicyInfo& info, const Params& params, const ReplayOptions& options)
      : workload_(workload),
        options_(options),
        policy_(info.make(params)),
        lag_(policy_->end_lag()),
        any_deadline_(!workload.trace().deadlines.empty()),
        state_(options.cluster, options.placement, workload.trace().names, policy_->rank()) {
    state_.set_attributes(&workload.trace().attributes, &workload.trace().deadlines);
    if (!policy_->follows_queues()) state_.ignore_queue_changes();
    world_.co_locate = true;
    world_.migrate = true;
    world_.resize = true;
    world_.colocation = options.colocation;
    world_.rates = options.rates;
    world_.estimates_exact = options.estimates == Estimates::kOracle && options.rates == nullptr;
    result_.policy = info.name;
    if (!info.compat.empty()) result_.parameters["compat"] = info.compat;
    for (const Param& p : info.params) result_.parameters[p.name] = params.value_text(p.name);
    reserve_large(jct_, workload.size());
    reserve_large(queue_, workload.size());
    if (options.detail) {
      result_.detail.push_back({std::vector<JobOutcome>(workload.size()),
                                {},
                                sim::BinnedSeries({"gpus_used", "gpus_waiting", "jobs_waiting", "jobs_running"},
                                                  workload.size() == 0 ? 0 : workload.row(0).submit)});
      detail_ = &result_.detail.back();
    }
  }

  Result<RunResult> run() {
    const std::int64_t begin = steady_ns();
    Progress progress(result_.policy, "jobs", workload_.size(), options_.quiet);
    const std::size_t jobs = workload_.size();
    first_submit_ = jobs == 0 ? 0 : workload_.row(0).submit;
    now_ = first_submit_;
    std::uint64_t steps = 0;
    while (next_ < jobs || !events_.empty() || (state_.waiting() > 0 && state_.next_change() != kNever)) {
      const Time arrival = next_ < jobs ? workload_.row(next_).submit : kNever;
      advance(std::min({arrival, events_.top_time(), state_.next_change()}));
      bool news = arrival == now_ || state_.next_change() <= now_;
      if (state_.next_change() <= now_) tell_time();
      while (events_.top_time() == now_) news = finish(events_.pop().payload) || news;
      while (next_ < jobs && workload_.row(next_).submit == now_) submit();
      if (news) decide();
      if (endless_) break;
      if (detail_ != nullptr) sample();
      if ((++steps & 4095) != 0) continue;
      progress.update(next_);
      if (interrupted()) {
        result_.partial = true;
        break;
      }
    }
    summarise();
    result_.wall_s = static_cast<double>(steady_ns() - begin) * 1e-9;
    if (auto status = check(); !status) return fail(status.error());
    result_.peak_rss_bytes = peak_rss_bytes();
    return std::move(result_);
  }

 private:
  void tell_time() {
    Event event;
    event.kind = EventKind::kClock;
    event.at = now_;
    state_.apply(event);
  }
  void advance(Time to) {
    used_gpu_ns_ += Wide{state_.used_gpus()} * (to - now_);
    held_gpu_ns_ += Wide{state_.held_gpus()} * (to - now_);
    now_ = to;
  }
  void note(std::uint32_t kind, std::uint32_t job) {
    fingerprint_.add(now_, kind, job);
    ++result_.events;
  }

  [[nodiscard]] std::uint32_t name_of(const trace::Row& row) const {
    const std::uint32_t at = row.request.attributes;
    return at == profile::kNoAttributes ? profile::kNoName : workload_.trace().attributes[at].name;
  }

  [[nodiscard]] std::span<const profile::Deadline> deadlines(std::uint32_t job) const {
    const trace::Trace& trace = workload_.trace();
    const std::uint32_t at = workload_.row(job).request.attributes;
    if (at == profile::kNoAttributes) return {};
    const profile::List& list = trace.attributes[at].deadlines;
    return {trace.deadlines.data() + list.first, list.count};
  }

  Time estimate_of(std::size_t job) const {
    const trace::Row& row = workload_.row(job);
    switch (options_.estimates) {
      case Estimates::kOracle: break;
      case Estimates::kUser: return row.request.estimate >= 0 ? row.request.estimate : row.duration;
      case Estimates::kHistory:
        return history_.predict(row.request.user, name_of(row),
                                row.request.estimate >= 0 ? row.request.estimate : kHour);
      case Estimates::kNoisy: {
        Rng rng(options_.seed, job);
        for (;;) {
          const double factor = 1 + rng.normal(0, options_.noise_percent / 100);
          if (factor > 0.5 && factor < 2) return static_cast<Time>(static_cast<double>(row.duration) * factor);
        }
      }
    }
    return row.duration;
  }

  void submit() {
    const auto job = static_cast<std::uint32_t>(next_++);
    const trace::Row& row = workload_.row(job);
    ++result_.submitted;
    note(static_cast<std::uint32_t>(EventKind::kSubmit), job);
    if (const std::string why = state_.never_runs(row.request); !why.empty()) return reject(job, why);
    if (const std::string why = policy_->refuses(state_, row.request); !why.empty()) return reject(job, why);
    Event event;
    event.kind = EventKind::kSubmit;
    event.at = now_;
    event.job = JobId(job);
    event.value = estimate_of(job) + lag_;
    event.request = &row.request;
    state_.apply(event);
    wanted_gpus_ += row.request.shape.total();
  }

  void reject(std::uint32_t job, const std::string& why) {
    ++result_.rejected;
    if (any_deadline_) result_.deadlines.reject(deadlines(job));
    auto it = std::find_if(result_.rejections.begin(), result_.rejections.end(),
                           [&](const Rejection& r) { return r.reason == why; });
    if (it == result_.rejections.end()) it = result_.rejections.insert(it, Rejection{why, 0, {}});
    ++it->jobs;
    if (it->examples.size() < 10) it->examples.push_back(workload_.id_text(job));
  }

  // True work that is left, overhead charged so far and the policy's lag included.
  Time left(std::uint32_t job) const {
    Time extra = 0;
    if (!overhead_.empty()) {
      const auto it = overhead_.find(job);
      if (it != overhead_.end()) extra = it->second;
    }
    return workload_.row(job).duration + lag_ + extra - state_.job(JobId(job)).executed;
  }

  // False: nothing happens, the end was put off. It gives no cause for a pass, or passes would beget passes.
  bool finish(Due due) {
    const std::uint32_t job = due.job;
    if (job == kWake) return true;
    if (state_.ended(JobId(job))) return false;
    const cluster::Job& j = state_.job(JobId(job));
    if (j.status != JobStatus::kRunning || j.stretches != due.stretch) return false;
    if (policy_->keeps(JobId(job), now_)) return false;
    const cluster::Running& run = state_.running()[j.slot];
    const JobId partner = run.partner;
    const Time ran = j.executed + lost(job) + now_ - run.start;
    Event event;
    event.kind = EventKind::kEnd;
    event.at = now_;
    event.job = JobId(job);
    gpu_ns_by_jobs_ += Wide{j.gpus} * ran;
    hold(job, 0);
    state_.apply(event);
    finished(job, now_, ran);
    if (partner.valid()) schedule(partner);
    return true;
  }

  // Its work was done at `done`; it ran for `ran` until then.
  void finished(std::uint32_t job, Time done, Time ran) {
    if (detail_ != nullptr) close_stretches(job);
    note(static_cast<std::uint32_t>(EventKind::kEnd), job);
    ++result_.finished;
    if (options_.estimates == Estimates::kHistory) {
      const trace::Row& row = workload_.row(job);
      history_.add(row.request.user, name_of(row), row.duration);
    }
    leave(job, done, ran, false);
  }

  void leave(std::uint32_t job, Time end, Time ran, bool stopped) {
    const Time jct = end - workload_.row(job).submit;
    jct_sum_ += jct;
    queue_sum_ += jct - ran;
    jct_.push_back(to_seconds(jct));
    queue_.push_back(to_seconds(jct - ran));
    last_end_ = std::max(last_end_, end);
    if (any_deadline_) result_.deadlines.end(deadlines(job), jct, stopped);
    if (detail_ == nullptr) return;
    detail_->jobs[job].end = end;
    detail_->jobs[job].ran = ran;
    detail_->jobs[job].stopped = stopped;
  }

  void decide() {
    sched::run_pass(*policy_, state_, now_, world_, decisions_);
    for (const Decision& d : decisions_) carry_out(d);
  }

  void carry_out(const Decision& d) {
    const std::uint32_t job = d.job.value;
    switch (d.action) {
      case Action::kStart:
        note(static_cast<std::uint32_t>(EventKind::kStart), job);
        hold(job, d.gpus);
        schedule(d.job);
        wanted_gpus_ -= state_.job(d.job).gpus;
        if (detail_ != nullptr) open_stretches(job);
        return;
      case Action::kPreempt:
        note(static_cast<std::uint32_t>(EventKind::kPreempt), job);
        ++result_.preemptions;
        if (d.value > 0) overhead_[job] += d.value;
        if (d.wall != d.progress) lost_[job] += d.wall - d.progress;
        wanted_gpus_ += state_.job(d.job).gpus;
        hold(job, 0);
        if (detail_ == nullptr) return;
        ++detail_->jobs[job].preemptions;
        return close_stretches(job);
      case Action::kStop: return carry_out_stop(job, d.value);
      case Action::kFinish: return carry_out_finish(d);
      case Action::kWakeAt: events_.push(d.value, {kWake, 0}); return;
      case Action::kRequeue:
        note(static_cast<std::uint32_t>(EventKind::kRequeue), job);
        lost_[job] += d.wall;
        wanted_gpus_ += state_.job(d.job).gpus;
        hold(job, 0);
        if (detail_ != nullptr) close_stretches(job);
        return;
      case Action::kCoLocate:
        note(static_cast<std::uint32_t>(EventKind::kCoLocate), job);
        ++result_.shared;
        wanted_gpus_ -= state_.job(d.job).gpus;
        if (detail_ != nullptr) open_stretches(job);
        schedule(d.other);
        return schedule(d.job);
      case Action::kSpeed: return schedule(d.job);
      case Action::kMigrate: ++result_.migrations; return carry_out_move(EventKind::kMigrate, job, d.value);
      case Action::kResize:
        ++result_.resizes;
        hold(job, d.gpus);
        return carry_out_move(EventKind::kResize, job, d.value);
    }
  }

  // From now on a job holds so many GPUs; 0 = as many as it asked for, or none. gpu_ns_by_jobs_ counts a run by what
  // was asked for, and here what differs from that.
  void hold(std::uint32_t job, std::uint32_t gpus) {
    if (gpus == 0 && sizes_.empty()) return;
    const auto asked = static_cast<std::int64_t>(workload_.row(job).request.shape.total());
    const auto it = sizes_.find(job);
    if (it != sizes_.end()) {
      gpu_ns_by_jobs_ += Wide{std::int64_t{it->second.gpus} - asked} * (now_ - it->second.since);
      sizes_.erase(it);
    }
    if (gpus != 0 && gpus != asked) sizes_[job] = {gpus, now_};
  }

  void carry_out_move(EventKind kind, std::uint32_t job, Time overhead) {
    note(static_cast<std::uint32_t>(kind), job);
    if (overhead > 0) overhead_[job] += overhead;
    if (detail_ != nullptr) {
      close_stretches(job);
      open_stretches(job);
    }
    schedule(JobId(job));
  }

  // Null when the job doesn't run: a later decision of the same pass may have ended or suspended it.
  [[nodiscard]] const cluster::Running* running(JobId id) const {
    if (state_.ended(id) || state_.job(id).status != JobStatus::kRunning) return nullptr;
    return &state_.running()[state_.job(id).slot];
  }

  // When the job will end at its present speed; an end that was expected before no longer counts.
  void schedule(JobId id) {
    const cluster::Running* run = running(id);
    if (run == nullptr) return;
    const Time work = std::max<Time>(0, left(id.value) - run->progress(now_));
    const Time wall = cluster::time_at_speed(std::min(work, kLongest), run->speed);
    if (wall > kLongest - now_) {
      if (!endless_) endless_ = id.value;
      return;
    }
    events_.push(now_ + wall, {id.value, state_.job(id).stretches});
  }

  // Instants stay below this (146 years), so that sums of two don't overflow.
  static constexpr Time kLongest = 2 * kMaxTime;

  // Time that a job held GPUs in earlier runs, or slower stretches of them, without progress that counts.
  [[nodiscard]] Time lost(std::uint32_t job) const {
    if (lost_.empty()) return 0;
    const auto it = lost_.find(job);
    return it == lost_.end() ? 0 : it->second;
  }

  void carry_out_stop(std::uint32_t job, Time ran) {
    ran += lost(job);
    note(static_cast<std::uint32_t>(EventKind::kStop), job);
    ++result_.stopped;
    gpu_ns_by_jobs_ += Wide{workload_.row(job).request.shape.total()} * ran;
    hold(job, 0);
    if (detail_ != nullptr) close_stretches(job);
    leave(job, now_, ran, true);
  }

  void carry_out_finish(const Decision& d) {
    const std::uint32_t job = d.job.value;
    const Time held = d.wall + lost(job);
    gpu_ns_by_jobs_ += Wide{workload_.row(job).request.shape.total()} * held;
    hold(job, 0);
    finished(job, d.value, held - (now_ - d.value));
  }

  void open_stretches(std::uint32_t job) {
    if (detail_->jobs[job].first_start < 0) detail_->jobs[job].first_start = now_;
    const cluster::Running* run = running(JobId(job));
    if (run == nullptr) return;
    std::vector<Stretch>& all = detail_->stretches;
    const auto& parts = run->allocation.parts;
    if (parts.empty() || all.size() + parts.size() > kMaxStretches) return;
    open_[job] = {all.size(), parts.size()};
    for (const cluster::Part& part : parts)
      all.push_back({job, part.node.value, static_cast<std::uint32_t>(std::popcount(part.gpus)), now_, kNever});
  }
  void close_stretches(std::uint32_t job) {
    const auto it = open_.find(job);
    if (it == open_.end()) return;
    for (std::size_t i = 0; i < it->second.second; ++i) detail_->stretches[it->second.first + i].end = now_;
    open_.erase(it);
  }
  void sample() {
    sim::BinnedSeries& s = detail_->series;
    s.set(kUsed, now_, static_cast<double>(state_.used_gpus()));
    s.set(kWanted, now_, static_cast<double>(wanted_gpus_));
    s.set(kWaiting, now_, static_cast<double>(state_.waiting()));
    s.set(kRunning, now_, static_cast<double>(state_.running().size()));
  }

  void summarise() {
    const std::size_t n = jct_.size();
    result_.unfinished = state_.live() + (workload_.size() - next_);
    result_.submitted += workload_.size() - next_;  // interrupted: the rest counts as unfinished
    result_.fingerprint = fingerprint_.value();
    result_.policy_figures = policy_->figures();
    result_.fairness = policy_->fairness();
    const Time span = last_end_ - first_submit_;
    if (detail_ != nullptr) detail_->series.finish(std::max(now_, first_submit_ + 1));
    if (n == 0) return;
    const auto mean = [&](Wide sum) { return static_cast<double>(sum) / (static_cast<double>(n) * 1e9); };
    result_.avg_jct_s = mean(jct_sum_);
    result_.avg_queue_s = mean(queue_sum_);
    result_.max_queue_s = *std::max_element(queue_.begin(), queue_.end());
    const double qs[] = {0.5, 0.99};
    const auto jct = math::quantiles(jct_, qs);
    const auto queue = math::quantiles(queue_, qs);
    result_.median_jct_s = jct[0];
    result_.p99_jct_s = jct[1];
    result_.median_queue_s = queue[0];
    result_.p99_queue_s = queue[1];
    result_.makespan_s = to_seconds(span);
    if (span > 0) {
      result_.gpu_utilization = static_cast<double>(used_gpu_ns_) /
                                (static_cast<double>(state_.pool().capacity()) * static_cast<double>(span));
    }
  }

  Status check() const {
    const auto broken = [&](const std::string& what) {
      return fail(Code::kFailed, fmt::format("policy {}: {}", result_.policy, what));
    };
    if (result_.partial) return {};
    if (endless_) {
      Error error;
      error.code = Code::kInput;
      error.message = fmt::format("policy {}: job {} would end later than 146 years after the trace's origin",
                                  result_.policy, workload_.id_text(*endless_));
      error.file = workload_.trace().path;
      error.hint = "the jobs are far more than this cluster can run: give it more nodes";
      return fail(std::move(error));
    }
    if (result_.submitted != result_.finished + result_.stopped + result_.rejected + result_.unfinished)
      return broken(
          fmt::format("jobs are not conserved: {} submitted, {} finished, {} stopped, {} rejected, {} unfinished",
                      result_.submitted, result_.finished, result_.stopped, result_.rejected, result_.unfinished));
    if (result_.unfinished != 0)
      return broken(fmt::format("{} jobs never finished though nothing was left to wait for", result_.unfinished));
    if (held_gpu_ns_ != gpu_ns_by_jobs_) return broken("GPU time in use differs from the sum over jobs");
    if (state_.pool().free_gpus() != static_cast<std::int64_t>(state_.pool().capacity()))
      return broken("GPUs are not all free at the end");
    return {};
  }

  const Workload& workload_;
  const ReplayOptions& options_;
  std::unique_ptr<sched::Policy> policy_;
  Time lag_;  // Policy::end_lag
  bool any_deadline_;
  cluster::State state_;
  sched::World world_;
  sim::EventQueue<Due> events_;
  std::vector<Decision> decisions_;
  std::unordered_map<std::uint32_t, Time> overhead_;                             // charged for preemptions, by job
  std::unordered_map<std::uint32_t, Time> lost_;                                 // see lost()
  std::unordered_map<std::uint32_t, std::pair<std::size_t, std::size_t>> open_;  // detail only: job -> its stretches
  struct Size {
    std::uint32_t gpus = 0;
    Time since = 0;
  };
  std::unordered_map<std::uint32_t, Size> sizes_;  // jobs that hold another number of GPUs than they asked for
  History history_;
  RunResult result_;
  Detail* detail_ = nullptr;
  sim::Fingerprint fingerprint_;
  std::vector<double> jct_;
  std::vector<double> queue_;
  std::size_t next_ = 0;
  Time now_ = 0;
  Time first_submit_ = 0;
  Time last_end_ = 0;
  std::optional<std::uint32_t> endless_;  // a job whose end is no instant
  Wide used_gpu_ns_ = 0;
  Wide held_gpu_ns_ = 0;  // GPUs that two jobs share counted twice
  Wide gpu_ns_by_jobs_ = 0;
  Wide jct_sum_ = 0;
  Wide queue_sum_ = 0;
  std::uint64_t wanted_gpus_ = 0;
};

// Strict mode: jobs that could never run are named before anything is simulated.
Status refuse_impossible(const Workload& workload, const ReplayOptions& options) {
  cluster::State state(options.cluster, options.placement, workload.trace().names);
  constexpr std::uint64_t kNamed = 20;
  std::uint64_t jobs = 0;
  std::string named;
  std::string why;
  for (std::size_t job = 0; job < workload.size(); ++job) {
    const std::string reason = state.never_runs(workload.row(job).request);
    if (reason.empty()) continue;
    if (jobs++ == 0) why = reason;
    if (jobs <= kNamed) named += (named.empty() ? "" : ", ") + workload.id_text(job);
  }
  if (jobs == 0) return {};
  Error error;
  error.code = Code::kInput;
  error.message = fmt::format("{} job{} can never run on this cluster (job {}{}); the first: {}", jobs,
                              jobs == 1 ? "" : "s", named, jobs > kNamed ? ", ..." : "", why);
  error.file = workload.trace().path;
  error.hint = "--mode skip counts them as rejected and goes on";
  return fail(std::move(error));
}

Status check_run(const Workload& workload, const ReplayOptions& options) {
  if (auto status = cluster::Pool::check_spec(options.cluster, options.placement); !status) return status;
  return options.mode == Mode::kStrict ? refuse_impossible(workload, options) : Status();
}

Status check_policy(const sched::PolicyInfo& policy, const Params& params, const ReplayOptions& options) {
  return policy.check == nullptr ? Status() : policy.check(params, options.cluster);
}

}  // namespace

Result<RunResult> replay(const Workload& workload, const sched::PolicyInfo& policy, const Params& params,
                         const ReplayOptions& options) {
  if (auto status = check_run(workload, options); !status) return fail(status.error());
  if (auto status = check_policy(policy, params, options); !status) return fail(status.error());
  return Replay(workload, policy, params, options).run();
}

Result<std::vector<RunResult>> replay_all(const Workload& workload,
                                          const std::vector<const sched::PolicyInfo*>& policies, const Params& params,
                                          const ReplayOptions& options, std::size_t threads) {
  if (auto status = check_run(workload, options); !status) return fail(status.error());
  for (const sched::PolicyInfo* policy : policies) {
    if (auto status = check_policy(*policy, params, options); !status) return fail(status.error());
  }
  std::vector<std::optional<Result<RunResult>>> slots(policies.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < policies.size() && !interrupted(); i = next++)
      slots[i] = Replay(workload, *policies[i], params, options).run();
  };
  std::vector<std::thread> pool;
  for (std::size_t t = 1; t < std::min(threads, policies.size()); ++t) pool.emplace_back(work);
  work();
  for (std::thread& t : pool) t.join();
  std::vector<RunResult> results;
  for (auto& slot : slots) {
    if (!slot) continue;  // interrupted before it began
    if (!*slot) return fail(slot->error());
    results.push_back(std::move(**slot));
  }
  return results;
}

}  // namespace comity::twin
