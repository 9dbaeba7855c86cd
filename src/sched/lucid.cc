// SPDX-License-Identifier: Apache-2.0
// Lucid (ASPLOS'23): jobs are first measured for a moment, then run in the order of least estimated GPU time, two to a
// GPU where that costs them little. Nothing is preempted but the run that measures. Read from its simulator
// (S-Lab-System-Group/Lucid), see docs/systems/lucid.md.
//   measuring  on lucid.profile_nodes nodes set aside, jobs of up to profile_nodes x profile_factor GPUs, fewest GPUs
//              first, then first come; the head blocks. A job that isn't done after lucid.profile_time is queued again
//              without what it has done. Wider jobs go to the main queue at once.
//   main       order p = estimate x GPUs, then first come; nobody blocks. A job of up to 8 GPUs first looks for a
//              partner: the first running job, in order of starting, that is alone on its GPUs, has the same shape,
//              memory a + b < lucid.memory, score a + b <= 2, and p <= 2 p(partner). Without one it starts alone where
//              it fits. Who is left by its partner runs at speed 1 and may be joined again.
// --compat lucid: as the simulator does it, where measuring is a simulation of its own that comes before: jobs that end
// while they are measured run there; all others wait in the main queue from their submission on, whether or not they
// are measured. Jobs in the main queue leave a tick after their work is done. Of two that share, when the one that
// started first ends first, the other keeps its speed and is not joined again. Cost of a pass: O(started x lists),
// lists = (shape, class of packing) with jobs in them, where there is nobody to join; to look for partners O(lists x
// partners that came since the last pass). The queue is never scanned.
#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "sched/lucid_pools.h"
#include "sched/owned_queues.h"
#include "sched/packing.h"
#include "sched/param.h"
#include "sched/partners.h"
#include "sched/policies.h"
#include "sched/service.h"
#include "sched/ticks.h"
#include "sched/walk.h"

namespace comity::sched {
namespace {

constexpr Time kTick = kSecond;
constexpr std::uint32_t kWidestShared = 8;
constexpr int kMostScore = 2;
using View = LucidPools::View;

struct Settings {
  std::uint32_t profile_nodes = 2;
  std::uint32_t profile_gpus = 4;
  Time profile_time = 0;
  double memory_mb = 0;
  bool share = true;
  bool compat = false;
};

class Lucid : public Policy {
 public:
  explicit Lucid(const Settings& set) : set_(set) {}

  [[nodiscard]] bool follows_queues() const override { return true; }
  [[nodiscard]] Time end_lag() const override { return set_.compat ? kTick : 0; }

  void decide(Pass& pass, std::uint32_t group) override {
    const State& state = pass.state();
    if (!pools_) adopt(state);
    if (group == 0) begin(pass);
    const Time tick = set_.compat ? ticks_.next(pass.now(), kTick) : pass.now();
    if (tick != pass.now()) {
      pass.wake_at(tick);
    } else {
      measure(pass, group);
      start_main(pass, group);
    }
    if (group + 1 == state.groups()) pools_->end_pass(state);
  }

 private:
  struct Run {
    LucidPools::Held held;  // of two that share one only has it
    Partners::Kind kind = 0;
    Packing::Class pack = Packing::kAlone;
    std::int64_t rank = 0;
    std::uint64_t start = 0;  // order of starting
    std::uint32_t partner = JobId::kInvalid;
    bool measured = false;  // runs on the nodes set aside
    bool joinable = false;  // stands among partners_
    // Compat only: the simulator's own account of the work that is left (ns) at `since`, and its speed.
    double left = 0;
    double speed = 1;
    Time since = 0;
  };
  struct Front {
    QueueEntry entry;
    std::uint32_t list = 0;
  };
  // What is known of a list: no partner that was added before `since` suits a job of this rank or more.
  struct Tried {
    std::int64_t rank = kNever;
    std::uint64_t since = 0;
  };
  struct Ghost {  // compat: a run that measures, of which the main queue knows nothing
    Time until = 0;
    LucidPools::Held held;
  };
  // GPUs, eligible, id. Of the job: its shape, since it may have ended (compat) when its turn comes.
  using NewJobs = std::map<std::tuple<std::uint32_t, Time, std::uint32_t>, ShapeId>;

  // The first pass: what runs already was not started by this policy; nobody joins it.
  void adopt(const State& state) {
    pools_.emplace(state, set_.profile_nodes);
    new_jobs_.resize(state.groups());
    for (const cluster::Running& r : state.running()) runs_[r.job.value].held = {r.allocation, true, true};
  }

  void begin(Pass& pass) {
    pools_->begin_pass(pass.state());
    for (const JobId id : pass.state().left()) left(pass, id.value);
    while (!ghosts_.empty() && ghosts_.front().until <= pass.now()) {
      pools_->give_back(ghosts_.front().held);
      ghosts_.pop_front();
    }
    stop_measuring(pass);
    take_in(pass);
  }

  // A run has ended, or gone back to the queue.
  void left(Pass& pass, std::uint32_t job) {
    const auto it = runs_.find(job);
    if (it == runs_.end()) return;
    const Run run = std::move(it->second);
    runs_.erase(it);
    if (run.joinable) partners_.remove(run.kind, run.start);
    const auto other = runs_.find(run.partner);
    if (other == runs_.end()) return pools_->give_back(run.held);
    if (run.held.main || run.held.measure) other->second.held = run.held;
    other->second.partner = JobId::kInvalid;
    if (!runs(pass.state(), run.partner)) return;  // it left at the same instant
    stay(pass, run.partner, other->second, run.start < other->second.start);
  }
  static bool runs(const State& state, std::uint32_t job) {
    return !state.ended(JobId(job)) && state.job(JobId(job)).status == cluster::JobStatus::kRunning;
  }
  // A job is left alone on its GPUs. The state has set its speed to 1.
  void stay(Pass& pass, std::uint32_t job, Run& run, bool first_has_left) {
    if (set_.compat) {
      if (pass.state().remaining_estimate(JobId(job), pass.now()) == 0) return;  // it ends at this tick, too
      const double speed = first_has_left ? run.speed : 1;
      pass.set_speed(job, speed_for(pass, job, run, speed));
      if (first_has_left) return;
    }
    add_partner(job, run);
  }

  void stop_measuring(Pass& pass) {
    for (; !measuring_.empty() && measuring_.front().first <= pass.now(); measuring_.pop_front()) {
      const auto [until, job] = measuring_.front();
      const auto it = runs_.find(job);
      if (it == runs_.end() || !it->second.measured || it->second.since + set_.profile_time != until) continue;
      mark_measured(job);
      pools_->give_back(it->second.held);
      runs_.erase(it);
      pass.requeue(job);
    }
  }

  // Jobs that joined the waiting ones since the last pass.
  void take_in(Pass& pass) {
    const State& state = pass.state();
    for (const JobId id : state.queue_changes()) {
      if (state.ended(id) || !state.in_line(id)) continue;
      const Job& job = state.job(id);
      const ShapeClass& s = state.shape(job.shape);
      const bool measure = to_measure(job, s) && !is_measured(id.value);
      if (measure) new_jobs_[s.where.group][{s.gpus, job.eligible, id.value}] = job.shape;
      if (!measure || (set_.compat && !ends_measured(job))) enter_main(pass, id);
    }
  }
  [[nodiscard]] bool to_measure(const Job& job, const ShapeClass& s) const {
    return job.gpus <= set_.profile_gpus && pools_->has_measure(s.where.group) && s.pool == 0 &&
           pools_->could_fit(s, View::kMeasure);
  }
  // Compat: what it has to do, without the tick that Policy::end_lag() adds.
  [[nodiscard]] Time work(const Job& job) const { return std::max<Time>(0, job.estimate - job.executed - end_lag()); }
  [[nodiscard]] bool ends_measured(const Job& job) const { return work(job) <= set_.profile_time; }
  [[nodiscard]] bool is_measured(std::uint32_t job) const { return job < measured_.size() && measured_[job]; }
  void mark_measured(std::uint32_t job) {
    if (job >= measured_.size()) measured_.resize(job + job / 2 + 64, false);
    measured_[job] = true;
  }
  [[nodiscard]] std::int64_t rank_of(const Job& job) const { return gpu_service(work(job), job.gpus); }
  void enter_main(Pass& pass, JobId id) {
    const bool packs = set_.share && pass.world().co_locate && pass.job(id.value).gpus <= kWidestShared;
    const Packing::Class pack = packs ? packing_.class_of(pass.state(), pass.world(), id) : Packing::kAlone;
    queues_.enter(pass.state(), id, pack, rank_of(pass.job(id.value)));
  }

  // Starts runs that measure.
  void measure(Pass& pass, std::uint32_t group) {
    NewJobs& waiting = new_jobs_[group];
    while (!waiting.empty()) {
      const std::uint32_t job = std::get<2>(waiting.begin()->first);
      if (!is_measured(job) && !measure_first(pass, job, waiting.begin()->second)) return;
      waiting.erase(waiting.begin());
    }
  }
  // Measures a job, or does without; false: it has to wait.
  bool measure_first(Pass& pass, std::uint32_t job, ShapeId shape) {
    const State& state = pass.state();
    const bool ended = state.ended(JobId(job));
    const bool waits = !ended && state.in_line(JobId(job));
    const bool ghost = set_.compat && (ended || !ends_measured(state.job(JobId(job))));
    if (!waits && !ghost) return true;  // it is taken in again when it is back
    const ShapeClass& s = state.shape(shape);
    const bool barred = waits && state.shape(state.job(JobId(job)).shape).pool != 0;
    if (barred || !pools_->could_fit(s, View::kMeasure)) {  // nodes went down, or were reserved, meanwhile
      mark_measured(job);
      if (!ghost) enter_main(pass, JobId(job));
      return true;
    }
    if (!pools_->place(state, s, View::kMeasure, scratch_)) return false;
    if (ghost) {
      mark_measured(job);
      ghosts_.push_back({pass.now() + set_.profile_time, pools_->take(scratch_, View::kMeasure, true)});
      pass.wake_at(ghosts_.back().until);
    } else if (pass.start_at(job, scratch_)) {
      start_measuring(pass, job);
    }
    return true;
  }
  void start_measuring(Pass& pass, std::uint32_t job) {
    Run& run = runs_[job] = Run{};
    run.held = pools_->take(scratch_, View::kMeasure, false);
    run.measured = true;
    run.since = pass.now();
    if (set_.compat) {  // it leaves when its work is done
      const Job& j = pass.job(job);
      pass.set_speed(job, exact_speed(j.estimate - j.executed, std::max<Time>(1, work(j))));
    } else {
      measuring_.emplace_back(pass.now() + set_.profile_time, job);
      pass.wake_at(measuring_.back().first);
    }
  }

  void start_main(Pass& pass, std::uint32_t group) {
    const State& state = pass.state();
    fronts_.clear();
    passed_.clear();
    lists_.assign(queues_.active(group).begin(), queues_.active(group).end());
    for (const std::uint32_t list : lists_) {
      const QueueEntry* entry = queues_.front(state, list);
      if (entry != nullptr && promising(pass, list, *entry)) fronts_.push({*entry, list});
      if (entry != nullptr && packs(list)) passed_.push_back(list);
    }
    while (!fronts_.empty()) {
      const Front front = fronts_.pop();
      const OwnedQueues::List& list = queues_.list(front.list);
      if (list.queue.empty()) continue;
      const bool joined = packs(front.list) && join(pass, front);
      if (!joined && !start_alone(pass, front)) continue;
      const QueueEntry* next = queues_.after(state, front.list, front.entry);
      if (next != nullptr && promising(pass, front.list, *next)) fronts_.push({*next, front.list});
      const Partners::Kind kind = partners_.kind_of(state, list.shape);
      queues_.erase(state, front.list, front.entry);
      if (!joined && packs(front.list)) revive(pass, kind, front);
    }
  }
  [[nodiscard]] bool packs(std::uint32_t list) const { return queues_.list(list).owner != Packing::kAlone; }
  // Whether the first job of a list might start.
  bool promising(Pass& pass, std::uint32_t list, const QueueEntry& entry) {
    const ShapeClass& s = pass.state().shape(queues_.list(list).shape);
    if (!s.eligible()) return false;
    if (packs(list) && (entry.rank < tried(list).rank || tried(list).since != partners_.added())) return true;
    return pools_->fits(pass.state(), s);
  }
  // A job that started alone may be joined by those of its kind that come behind it in the order.
  void revive(Pass& pass, Partners::Kind kind, const Front& started) {
    for (const std::uint32_t list : passed_) {
      if (list == started.list || partners_.kind_of(pass.state(), queues_.list(list).shape) != kind) continue;
      const QueueEntry* entry = queues_.after(pass.state(), list, started.entry);
      if (entry != nullptr) fronts_.push({*entry, list});
    }
  }

  Tried& tried(std::uint32_t list) {
    if (list >= tried_.size()) tried_.resize(list + 1);
    return tried_[list];
  }
  bool join(Pass& pass, const Front& front) {
    const Packing::Class own = queues_.list(front.list).owner;
    Tried& memo = tried(front.list);
    const std::uint64_t since = front.entry.rank >= memo.rank ? memo.since : 0;
    const ShapeId list_shape = queues_.list(front.list).shape;
    const Partners::Kind kind = partners_.kind_of(pass.state(), list_shape);
    const Partners::Partner* p = partners_.find(kind, since, [&](const Partners::Partner& with) {
      const Packing::Facts& a = packing_.facts(own);
      const Packing::Facts& b = packing_.facts(with.pack);
      return a.score + b.score <= kMostScore && b.memory_mb < set_.memory_mb - a.memory_mb &&
             front.entry.rank <= 2 * with.rank && may_use(pass.state(), list_shape, with.job);
    });
    if (p == nullptr) {
      memo = {front.entry.rank, partners_.added()};
      return false;
    }
    return pass.state().eligible(JobId(front.entry.job)) && co_locate(pass, front, kind, own, *p);
  }
  // Whether jobs of a shape may use the nodes that a running job has: up, and not reserved for others.
  [[nodiscard]] bool may_use(const State& state, ShapeId shape, std::uint32_t job) const {
    const Pool& pool = state.pool_of(state.shape(shape));
    const auto& parts = runs_.at(job).held.where.parts;
    return std::all_of(parts.begin(), parts.end(), [&](const cluster::Part& part) { return pool.is_up(part.node); });
  }
  bool co_locate(Pass& pass, const Front& front, Partners::Kind kind, Packing::Class own,
                 const Partners::Partner partner) {
    const std::uint32_t job = front.entry.job;
    Run& run = add_run(pass, job, front, kind, own);
    Run& other = runs_.at(partner.job);
    const profile::PairSpeeds speeds = packing_.speeds(pass.world(), own, partner.pack, set_.compat);
    pass.co_locate(job, partner.job, speed_for(pass, job, run, speeds.first),
                   speed_for(pass, partner.job, other, speeds.second));
    partners_.remove(kind, partner.start);
    other.joinable = false;
    other.partner = job;
    run.partner = partner.job;
    return true;
  }
  bool start_alone(Pass& pass, const Front& front) {
    const OwnedQueues::List& list = queues_.list(front.list);
    if (!pools_->place(pass.state(), pass.state().shape(list.shape), View::kMain, scratch_)) return false;
    if (!pass.start_at(front.entry.job, scratch_)) return false;
    Run& run = add_run(pass, front.entry.job, front, partners_.kind_of(pass.state(), list.shape), list.owner);
    run.held = pools_->take(scratch_, View::kMain, false);
    add_partner(front.entry.job, run);
    return true;
  }
  Run& add_run(Pass& pass, std::uint32_t job, const Front& front, Partners::Kind kind, Packing::Class pack) {
    Run& run = runs_[job] = Run{};
    run.kind = kind;
    run.pack = pack;
    run.rank = front.entry.rank;
    run.start = ++starts_;
    run.left = static_cast<double>(work(pass.job(job)));
    run.since = pass.now();
    return run;
  }
  void add_partner(std::uint32_t job, Run& run) {
    if (run.pack == Packing::kAlone) return;
    run.joinable = true;
    partners_.add(run.kind, {run.start, 0, job, run.pack, run.rank});
  }

  // The speed of a job from now on. Compat: the simulator takes `speed` seconds off the work at each tick and sees the
  // end a tick late; the speed is such that the job ends at that very tick.
  double speed_for(Pass& pass, std::uint32_t job, Run& run, double speed) const {
    if (!set_.compat) return speed;
    run.left -= run.speed * static_cast<double>(pass.now() - run.since);
    run.since = pass.now();
    run.speed = speed;
    const Job& j = pass.job(job);
    Time rest = j.estimate - j.executed;
    if (j.status == cluster::JobStatus::kRunning) rest -= pass.state().running()[j.slot].progress(pass.now());
    if (rest <= 0 || !pass.world().estimates_exact) return speed;
    const double ticks = std::ceil(std::max(0.0, run.left) / (speed * static_cast<double>(kTick)) - 1e-9);
    return exact_speed(rest, (static_cast<Time>(std::max(0.0, ticks)) + 1) * kTick);
  }
  // The speed at which `work` takes `time` to the nanosecond, and is seen to be done then.
  static double exact_speed(Time work, Time time) {
    double speed = static_cast<double>(work) / static_cast<double>(time);
    const auto late = [&] {
      return cluster::time_at_speed(work, speed) > time || static_cast<Time>(static_cast<double>(time) * speed) < work;
    };
    while (late()) speed = std::nextafter(speed, 1e18);
    return speed;
  }

  Settings set_;
  Ticks ticks_;
  std::optional<LucidPools> pools_;
  Packing packing_;
  Partners partners_;
  OwnedQueues queues_;  // the main queue; owner = class of packing
  std::vector<Tried> tried_;
  std::vector<NewJobs> new_jobs_;  // by group: to be measured
  std::vector<bool> measured_;     // by job: was measured, or needn't be
  std::deque<std::pair<Time, std::uint32_t>> measuring_;
  std::deque<Ghost> ghosts_;
  std::unordered_map<std::uint32_t, Run> runs_;
  std::uint64_t starts_ = 0;
  FrontHeap<Front> fronts_;
  std::vector<std::uint32_t> lists_;
  std::vector<std::uint32_t> passed_;
  Allocation scratch_;
};

std::vector<Param> params() {
  using enum Param::Type;
  return {
      make_param(
          "lucid.profile_nodes", kInt, "nodes", "2", 0, 1000,
          "nodes of each group set aside for measuring new jobs; 0 or a group of no more nodes: nobody is measured"),
      make_param("lucid.profile_factor", kInt, "", "2", 1, 64,
                 "jobs of up to profile_nodes x this many GPUs are measured"),
      make_param("lucid.profile_time", kTime, "s", "80", 1, 1e6, "how long a job is measured"),
      make_param("lucid.memory", kReal, "MB", "24576", 1, 1e9, "memory of a GPU, which two jobs must leave some of"),
      make_param("lucid.share", kBool, "", "true", 0, 0, "false: no two jobs share GPUs"),
  };
}

Settings settings(const Params& p, bool compat) {
  Settings s;
  s.profile_nodes = static_cast<std::uint32_t>(p.integer("lucid.profile_nodes"));
  s.profile_gpus = s.profile_nodes * static_cast<std::uint32_t>(p.integer("lucid.profile_factor"));
  s.profile_time = p.time("lucid.profile_time");
  s.memory_mb = p.real("lucid.memory");
  s.share = p.boolean("lucid.share");
  s.compat = compat;
  return s;
}

template <bool kCompat>
void add(std::vector<PolicyInfo>& list, const char* summary) {
  list.push_back(
      {"lucid", summary, "Lucid, ASPLOS'23", false, true, params(),
       [](const Params& p) -> std::unique_ptr<Policy> { return std::make_unique<Lucid>(settings(p, kCompat)); },
       kCompat ? "lucid" : ""});
}

}  // namespace

void add_lucid(std::vector<PolicyInfo>& list) {
  add<false>(list, "Measures new jobs, then least GPU time first, two jobs to a GPU where that costs them little.");
}
void add_lucid_compat_sharing(std::vector<PolicyInfo>& list) { add<true>(list, "Lucid as its own simulator runs it."); }

}  // namespace comity::sched
