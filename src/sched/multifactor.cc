// SPDX-License-Identifier: Apache-2.0
// Slurm's multifactor priority with its two schedulers (slurm.conf(5), slurm.schedmd.com/sched_config). Order of
// evaluation: priority high first, then eligible time, then id (sched/multifactor.h has the formula, sched/fair_share.h
// the factor F). A partition is a resource group: its nodes are its own, so partition tiers change nothing.
//   main       at each event: starts jobs in order until one cannot start, at most default_queue_depth of them
//   backfill   at most every bf_interval and only if something changed: plans the first bf_max_job_test jobs in order
//   on
//              the free GPUs over time, and starts those whose turn is now, so that nobody delays a planned start of
//              higher priority. Planned ends are rounded up to bf_resolution; what would start beyond bf_window is not
//              planned. A run that is over its estimate is taken to end one bf_resolution from now.
// The plan is by GPU count over the whole group; a job whose turn is now but which the nodes cannot hold is planned
// from the next step on (Slurm plans on node bitmaps: a reconstruction).
// Event driven: wake-ups are asked for only while a waiting job fits, and then at the next bf_interval or, where
// priorities change with time, calc_period.
// Cost of a pass: O(lists + jobs started x log lists); of backfill O(jobs planned x (log steps + 128)).
#include "sched/multifactor.h"

#include <algorithm>

#include "sched/associations.h"
#include "sched/by_end.h"
#include "sched/class_map.h"
#include "sched/free_profile.h"
#include "sched/owned_queues.h"
#include "sched/owners.h"
#include "sched/param.h"
#include "sched/policies.h"

namespace comity::sched {
namespace {

struct Settings {
  MultifactorWeights weights;
  Associations::Settings usage;
  ClassMap qos;
  bool small_first = false;  // PriorityFavorSmall
  bool backfill = true;
  Time bf_interval = 30 * kSecond;
  Time bf_window = kDay;
  Time bf_resolution = kMinute;
  std::size_t bf_max_job_test = 500;
  std::size_t depth = 100;
  Time sched_interval = kMinute;
  [[nodiscard]] bool in_order_of_arrival() const {
    return !moves() && weights.assoc == 0 && weights.job_size == 0 && weights.qos == 0 && weights.gpus == 0;
  }
  // Whether the order of waiting jobs may change while nothing else does.
  [[nodiscard]] bool moves() const { return weights.age != 0 || weights.fair_share != 0; }
};

class SlurmMultifactor : public Policy {
 public:
  explicit SlurmMultifactor(Settings settings) : set_(std::move(settings)), associations_(set_.usage) {}

  [[nodiscard]] bool follows_queues() const override { return true; }
  void decide(Pass& pass, std::uint32_t group) override {
    const State& state = pass.state();
    if (group == 0) begin(pass);
    if (group >= groups_.size()) groups_.resize(group + 1);
    Group& g = groups_[group];
    g.ends.refresh(state);
    queues_.refresh(
        state, [&](JobId, const Job& job) { return associations_.of(state, job); },
        [](JobId, const Job&) { return 0; });
    if (state.active(group).empty() || !any_fits(pass, group)) return;
    gather(pass, group);
    const bool deep = main_pass(pass, g);
    if (!any_fits(pass, group)) return;
    const bool planned = set_.backfill && backfill_due(pass, g);
    if (planned) backfill(pass, g, group);
    if (any_fits(pass, group)) wake(pass, g, deep);
  }

 private:
  struct Group {
    ByEnd ends;
    Time last_backfill = -kMaxTime;
    std::uint64_t seen = 0;      // changes() at the last backfill
    std::uint64_t arrivals = 0;  // arrivals_ then
    bool full = false;           // it planned as many jobs as it may
    Time wake = 0;               // the last instant asked for
  };
  struct Front {
    std::int64_t priority;
    QueueEntry entry;
    std::uint32_t list;
    [[nodiscard]] friend bool later(const Front& a, const Front& b) {  // for heaps: the first in order is on top
      return a.priority != b.priority ? a.priority < b.priority : before(b.entry, a.entry);
    }
  };
  struct Stream {
    Front front;
    cluster::OrderedQueue::Cursor at;
  };
  struct Held {
    std::uint32_t association;
    std::uint32_t gpus;
  };

  // What a pass does once, whatever the number of groups.
  void begin(Pass& pass) {
    const State& state = pass.state();
    queues_.begin_pass();
    if (associations_.advance(pass.now())) ++periods_;
    for (const JobId gone : state.left()) {
      const auto it = held_.find(gone.value);
      if (it == held_.end()) continue;
      associations_.hold(it->second.association, -static_cast<std::int64_t>(it->second.gpus), pass.now());
      held_.erase(it);
    }
    const Time period = pass.now() / set_.usage.calc_period;
    if (set_.moves() && period != period_) ++periods_;
    period_ = period;
    arrivals_ += state.queue_changes().size();
  }
  // Whatever could change a plan, apart from jobs that came.
  [[nodiscard]] std::uint64_t changes(const State& state) const { return state.changes() + periods_; }
  // Without weights newcomers stand behind all others: a plan that is full has no room for them.
  [[nodiscard]] bool outdated(const State& state, const Group& g) const {
    return g.seen != changes(state) || (g.arrivals != arrivals_ && !(g.full && set_.in_order_of_arrival()));
  }

  [[nodiscard]] static bool any_fits(const Pass& pass, std::uint32_t group) {
    const auto& active = pass.state().active(group);
    return std::any_of(active.begin(), active.end(), [&](ShapeId id) { return pass.fits(id); });
  }

  // What the jobs of a list have in common, age aside.
  [[nodiscard]] MultifactorFactors factors(const State& state, std::uint32_t list) {
    const OwnedQueues::List& l = queues_.list(list);
    const ShapeClass& shape = state.shape(l.shape);
    MultifactorFactors f;
    const auto all = state.pool().up_gpus({.group = shape.where.group, .type = Pool::kAnyType});
    f.gpus = static_cast<double>(shape.gpus) / static_cast<double>(std::max<std::int64_t>(all, 1));
    f.job_size = set_.small_first ? 1 - f.gpus : f.gpus;
    f.fair_share = set_.weights.fair_share != 0 ? associations_.factor(l.owner) : 0;
    const Standing& s = standing(state, associations_.tenant(l.owner));
    f.assoc = s.assoc;
    f.qos = s.qos;
    return f;
  }
  struct Standing {
    double assoc = 0;
    double qos = 0;
  };
  const Standing& standing(const State& state, std::uint32_t tenant) {
    const auto [it, made] = standing_.try_emplace(tenant);
    if (!made || tenant == profile::kNoName) return it->second;
    const std::string& name = state.names()[tenant];
    std::int64_t own = 0;
    std::int64_t most = 0;
    for (const cluster::TenantSpec& spec : state.tenants()) {
      most = std::max(most, spec.priority);
      if (spec.name == name) own = spec.priority;
    }
    const auto part = [](std::int64_t x, std::int64_t of) {
      return of > 0 ? static_cast<double>(std::max<std::int64_t>(x, 0)) / static_cast<double>(of) : 0;
    };
    it->second.assoc = part(own, most);
    std::int64_t best = 0;
    for (const auto& [unused, value] : set_.qos) best = std::max(best, value);
    const auto said = set_.qos.find(name);
    it->second.qos = said == set_.qos.end() ? 0 : part(said->second, best);
    return it->second;
  }
  [[nodiscard]] Front front(const Pass& pass, std::uint32_t list, const QueueEntry& entry) {
    MultifactorFactors f = common_[list];
    f.age = pass.now() - entry.eligible;
    return {multifactor_priority(set_.weights, f), entry, list};
  }

  // The heap of the fronts of all lists.
  void gather(const Pass& pass, std::uint32_t group) {
    const State& state = pass.state();
    heap_.clear();
    const std::vector<std::uint32_t> lists = queues_.active(group);  // front() may drop some
    for (const std::uint32_t list : lists) {
      if (!state.shape(queues_.list(list).shape).satisfiable) continue;
      const QueueEntry* entry = queues_.front(state, list);
      if (entry == nullptr) continue;
      if (list >= common_.size()) common_.resize(list + 1);
      common_[list] = factors(state, list);
      heap_.push_back(front(pass, list, *entry));
    }
    std::make_heap(heap_.begin(), heap_.end(), [](const Front& a, const Front& b) { return later(a, b); });
  }
  Front pop(std::vector<Front>& heap) const {
    std::pop_heap(heap.begin(), heap.end(), [](const Front& a, const Front& b) { return later(a, b); });
    const Front top = heap.back();
    heap.pop_back();
    return top;
  }
  void push(std::vector<Front>& heap, const Front& f) const {
    heap.push_back(f);
    std::push_heap(heap.begin(), heap.end(), [](const Front& a, const Front& b) { return later(a, b); });
  }

  bool start(Pass& pass, Group& g, const Front& f) {
    if (!pass.start(f.entry.job)) return false;
    const Job& job = pass.job(f.entry.job);
    const std::uint32_t association = queues_.list(f.list).owner;
    associations_.hold(association, job.gpus, pass.now());
    held_[f.entry.job] = {association, job.gpus};
    g.ends.add(pass.state(), f.entry.job);
    queues_.erase(pass.state(), f.list, f.entry);
    return true;
  }

  // True when the depth ended it. Leaves in heap_ what did not start.
  bool main_pass(Pass& pass, Group& g) {
    for (std::size_t tested = 0; !heap_.empty(); ++tested) {
      if (tested == set_.depth) return true;
      const Front top = pop(heap_);
      if (!pass.fits(queues_.list(top.list).shape) || !start(pass, g, top)) {
        push(heap_, top);
        return false;
      }
      if (const QueueEntry* next = queues_.front(pass.state(), top.list)) push(heap_, front(pass, top.list, *next));
    }
    return false;
  }

  [[nodiscard]] bool backfill_due(const Pass& pass, const Group& g) const {
    return outdated(pass.state(), g) && pass.now() >= g.last_backfill + set_.bf_interval;
  }
  [[nodiscard]] Time round_up(Time t) const {
    return (t + set_.bf_resolution - 1) / set_.bf_resolution * set_.bf_resolution;
  }

  void backfill(Pass& pass, Group& g, std::uint32_t group) {
    const Time now = pass.now();
    order(pass);
    g.full = ordered_.size() == set_.bf_max_job_test;
    lay_out(pass, g, group);
    for (std::size_t i = 0; i < ordered_.size() && !candidates_.empty(); ++i) {
      const Front& f = ordered_[i];
      const std::int64_t gpus = pass.job(f.entry.job).gpus;
      const Time length = round_up(now + std::max<Time>(f.entry.estimate, 1)) - now;
      Time at = profile_.earliest(now, gpus, length);
      if (at == now && !start(pass, g, f)) {  // enough GPUs, but not on the right nodes
        const Time next = profile_.next_step(now);
        at = next == kNever ? kNever : profile_.earliest(next, gpus, length);
      }
      if (at == kNever || at > now + set_.bf_window) continue;
      profile_.add(at, at + length, -gpus);
      drop_hopeless(pass, at);
    }
    g.last_backfill = now;
    g.seen = changes(pass.state());
    g.arrivals = arrivals_;
  }
  // The first bf_max_job_test waiting jobs in order, and of the shapes that fit now the shortest estimate among them.
  // heap_ has the front of each list; they become streams, merged by a heap of which only the top is replaced.
  void order(const Pass& pass) {
    ordered_.clear();
    candidates_.clear();
    streams_.clear();
    for (const Front& f : heap_) streams_.push_back({f, queues_.list(f.list).queue.begin()});
    while (!streams_.empty() && ordered_.size() < set_.bf_max_job_test) {
      Stream& top = streams_.front();
      ordered_.push_back(top.front);
      note_candidate(pass, top.front);
      const cluster::OrderedQueue& queue = queues_.list(top.front.list).queue;
      while (queue.at(top.at).job != top.front.entry.job) queue.advance(top.at);  // invalid ones in front of it
      queue.advance(top.at);
      if (const QueueEntry* next = queues_.next_at(pass.state(), top.front.list, top.at)) {
        top.front = front(pass, top.front.list, *next);
      } else {
        top = streams_.back();
        streams_.pop_back();
      }
      sift_down();
    }
  }
  void sift_down() {
    const std::size_t n = streams_.size();
    for (std::size_t i = 0; 2 * i + 1 < n;) {
      std::size_t child = 2 * i + 1;
      if (child + 1 < n && later(streams_[child].front, streams_[child + 1].front)) ++child;
      if (!later(streams_[i].front, streams_[child].front)) return;
      std::swap(streams_[i], streams_[child]);
      i = child;
    }
  }
  void note_candidate(const Pass& pass, const Front& f) {
    const ShapeId shape = queues_.list(f.list).shape;
    const auto it =
        std::find_if(candidates_.begin(), candidates_.end(), [&](const Candidate& c) { return c.shape == shape; });
    if (it != candidates_.end()) {
      it->shortest = std::min(it->shortest, f.entry.estimate);
    } else if (pass.fits(shape)) {
      candidates_.push_back({shape, pass.state().shape(shape).gpus, f.entry.estimate});
    }
  }
  // Reservations only shrink the plan: a shape of which not even the shortest job fits any more is done with. One that
  // begins `at` behind the end of that job changes nothing for it.
  void drop_hopeless(const Pass& pass, Time at) {
    const Time now = pass.now();
    std::erase_if(candidates_, [&](const Candidate& c) {
      const Time length = round_up(now + std::max<Time>(c.shortest, 1)) - now;
      if (at - now >= length) return false;
      return (at == now && !pass.fits(c.shape)) || !profile_.holds(now, c.gpus, length);
    });
  }
  void lay_out(const Pass& pass, const Group& g, std::uint32_t group) {
    const Time now = pass.now();
    std::int64_t free = pass.state().pool().free_gpus({.group = group, .type = Pool::kAnyType});
    steps_.assign(1, {now, free});
    for (const ByEnd::Entry& e : g.ends.list()) {
      free += e.gpus;
      const Time at = round_up(std::max(e.end, now + 1));
      if (steps_.back().first == at) {
        steps_.back().second = free;
      } else {
        steps_.push_back({at, free});
      }
    }
    profile_.assign(steps_);
  }

  void wake(Pass& pass, Group& g, bool deep) const {
    Time at = kNever;
    if (deep) at = pass.now() + set_.sched_interval;
    if (set_.backfill && outdated(pass.state(), g))
      at = std::min(at, std::max(g.last_backfill + set_.bf_interval, pass.now() + 1));
    if (set_.moves()) at = std::min(at, associations_.next_period(pass.now()));
    if (at == kNever || (g.wake > pass.now() && g.wake <= at)) return;  // nothing to wait for, or woken by then anyway
    g.wake = at;
    pass.wake_at(at);
  }

  struct Candidate {
    ShapeId shape;
    std::int64_t gpus;
    Time shortest;
  };

  Settings set_;
  Associations associations_;
  OwnedQueues queues_;
  std::vector<Group> groups_;
  std::unordered_map<std::uint32_t, Held> held_;  // by running job
  std::unordered_map<std::uint32_t, Standing> standing_;
  std::vector<MultifactorFactors> common_;  // by list, of this pass
  std::vector<Front> heap_;
  std::vector<Front> ordered_;
  std::vector<Stream> streams_;
  std::vector<Candidate> candidates_;
  FreeProfile profile_;
  std::vector<std::pair<Time, std::int64_t>> steps_;
  std::uint64_t periods_ = 0;
  std::uint64_t arrivals_ = 0;
  Time period_ = 0;
};

std::string name_of(const char* parameter) { return std::string("slurm_multifactor.") + parameter; }

std::vector<Param> params() {
  using enum Param::Type;
  const auto weight = [](const char* name, const char* doc) {
    return make_param(name_of(name), kReal, "", "0", 0, 4294967295.0, doc);
  };
  const auto time = [](const char* name, const char* fallback, double low, const char* doc) {
    return make_param(name_of(name), kTime, "s", fallback, low, 1e9, doc);
  };
  return {
      weight("weight_age", "PriorityWeightAge: of the wait, as a part of max_age"),
      weight("weight_assoc", "PriorityWeightAssoc: of the tenant's priority over the highest one"),
      weight("weight_fair_share", "PriorityWeightFairshare: of the fair-share factor"),
      weight("weight_job_size", "PriorityWeightJobSize: of the job's part of all GPUs"),
      weight("weight_qos", "PriorityWeightQOS: of the QOS priority of the tenant over the highest one"),
      weight("weight_gpus", "PriorityWeightTRES=gres/gpu: of the job's part of all GPUs"),
      time("max_age", "604800", 1, "PriorityMaxAge: wait from which the age factor is 1"),
      make_param(name_of("favor_small"), kBool, "", "false", 0, 0, "PriorityFavorSmall: 1 less the part of all GPUs"),
      make_param(name_of("qos"), kText, "", "", 0, 0, "QOS priorities of tenants as NAME=PRIORITY,..."),
      make_choice(name_of("fair_share"), {"fair_tree", "classic"}, "how the fair-share factor is computed"),
      make_param(name_of("dampening"), kReal, "", "1", 1e-6, 1e6, "FairShareDampeningFactor of the classic factor"),
      time("half_life", "604800", 0, "PriorityDecayHalfLife of usage; 0 = none is forgotten"),
      time("calc_period", "300", 1, "PriorityCalcPeriod: usage decays and factors change at its multiples"),
      make_param(name_of("backfill"), kBool, "", "true", 0, 0, "false: the main scheduler alone"),
      time("bf_interval", "30", 0, "at least so long from one backfill to the next"),
      time("bf_window", "86400", 1, "how far ahead backfill plans"),
      time("bf_resolution", "60", 1, "planned ends are rounded up to its multiples"),
      make_param(name_of("bf_max_job_test"), kInt, "jobs", "500", 1, 1e6, "most jobs that one backfill plans"),
      make_param(name_of("default_queue_depth"), kInt, "jobs", "100", 1, 1e6, "most jobs that one main pass tests"),
      time("sched_interval", "60", 1, "when a main pass that met default_queue_depth goes on"),
  };
}

Settings settings(const Params& p) {
  const auto real = [&](const char* name) { return p.real(name_of(name)); };
  const auto time = [&](const char* name) { return p.time(name_of(name)); };
  Settings s;
  s.weights = {.age = real("weight_age"),
               .assoc = real("weight_assoc"),
               .fair_share = real("weight_fair_share"),
               .job_size = real("weight_job_size"),
               .qos = real("weight_qos"),
               .gpus = real("weight_gpus"),
               .max_age = time("max_age")};
  s.usage = {.half_life = time("half_life"),
             .calc_period = time("calc_period"),
             .dampening = real("dampening"),
             .classic = p.text(name_of("fair_share")) == "classic",
             .needed = s.weights.fair_share != 0};
  if (auto qos = parse_class_map(name_of("qos"), p.text(name_of("qos")))) s.qos = std::move(*qos);  // checked before
  s.small_first = p.boolean(name_of("favor_small"));
  s.backfill = p.boolean(name_of("backfill"));
  s.bf_interval = time("bf_interval");
  s.bf_window = time("bf_window");
  s.bf_resolution = time("bf_resolution");
  s.bf_max_job_test = static_cast<std::size_t>(p.integer(name_of("bf_max_job_test")));
  s.depth = static_cast<std::size_t>(p.integer(name_of("default_queue_depth")));
  s.sched_interval = time("sched_interval");
  return s;
}

Status check(const Params& p, const cluster::ClusterSpec&) {
  auto qos = parse_class_map(name_of("qos"), p.text(name_of("qos")));
  if (!qos) return fail(qos.error());
  return {};
}

}  // namespace

void add_slurm_multifactor(std::vector<PolicyInfo>& list) {
  list.push_back(
      {"slurm_multifactor",
       "Slurm's multifactor priority with fair share and bounded backfill.",
       "Slurm 22.05: slurm.conf(5), priority_multifactor, fair_tree, sched_config",
       false,
       true,
       params(),
       [](const Params& p) -> std::unique_ptr<Policy> { return std::make_unique<SlurmMultifactor>(settings(p)); },
       {},
       check});
}

}  // namespace comity::sched
