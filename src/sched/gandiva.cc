// SPDX-License-Identifier: Apache-2.0
// Gandiva (OSDI'18), a reconstruction from memory of the paper: docs/systems/gandiva.md says which rules are in. Nobody
// has priority. With S = gandiva.slice (60 s, counted from the first submission):
//   start    waiting jobs in the order in which they joined the queue, what does not fit is passed over
//   pack     what does not fit may join the first running job, in order of starting, that is alone on its GPUs, has the
//            same shape, leaves room in memory, and beside which the speeds of both add up to more than 1
//   migrate  at multiples of S, where enough GPUs are free for a waiting job but not together: jobs of one node are
//   moved
//            off the nodes with most free GPUs, at most gandiva.nodes of them, if the job fits then
//   slice    at multiples of S, while somebody waits: runs that have lasted S or more may be suspended for jobs that
//            wait, the oldest runs first; who is suspended joins the end of the queue. Two that share go together.
// Suspending adds gandiva.suspend_cost, migrating gandiva.migrate_cost to the work of a job.
// Cost of a pass: O(started x lists), lists = (shape, class of packing) with jobs in them; at a multiple of S also
// O(nodes + (started + shapes) x running).
#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "sched/owned_queues.h"
#include "sched/packing.h"
#include "sched/param.h"
#include "sched/partners.h"
#include "sched/policies.h"
#include "sched/room.h"
#include "sched/ticks.h"
#include "sched/walk.h"

namespace comity::sched {
namespace {

struct Settings {
  Time slice = 0;
  Time suspend_cost = 0;
  Time migrate_cost = 0;
  std::size_t nodes = 0;
  double memory_mb = 0;
  bool pack = true;
};

class Gandiva : public Policy {
 public:
  explicit Gandiva(const Settings& set) : set_(set) {}

  [[nodiscard]] bool follows_queues() const override { return true; }

  void decide(Pass& pass, std::uint32_t group) override {
    if (group == 0) begin(pass);
    take_turns(pass, group);
    take_in(pass);
  }

 private:
  void take_turns(Pass& pass, std::uint32_t group) {
    const Time next = ticks_.next(pass.now(), set_.slice);
    start_waiting(pass, group);
    if (!somebody_waits(pass, group)) return;
    if (next == pass.now()) {
      if (pass.world().migrate && !pass.state().has_reservations()) defragment(pass, group);
      rotate(pass, group);
      start_waiting(pass, group);
    }
    if (!somebody_waits(pass, group) || pass.state().running().empty()) return;
    const Time wake = ticks_.next(pass.now() + 1, set_.slice);
    if (wake != asked_) pass.wake_at(wake);
    asked_ = wake;
  }

  struct Run {
    std::uint64_t start = 0;  // order of starting
    Time since = 0;
    Partners::Kind kind = 0;
    Packing::Class pack = Packing::kAlone;
    std::uint32_t partner = JobId::kInvalid;
    bool joinable = false;
  };
  struct Front {
    QueueEntry entry;
    std::uint32_t list = 0;
  };
  // A job, or two that share, that may be suspended; as old as the younger of them.
  struct Victim {
    std::uint64_t start = 0;
    std::uint32_t job = 0;
    std::uint32_t partner = JobId::kInvalid;
  };
  struct Move {
    std::uint32_t job = 0;
    Allocation where;
  };

  void begin(Pass& pass) {
    const State& state = pass.state();
    for (const JobId id : state.left()) left(state, id.value);
    seen_ = 0;
    take_in(pass);
  }
  // Jobs that joined the waiting ones since the last look: those that were suspended, and those whose owner thereby
  // came below its limit, too.
  void take_in(Pass& pass) {
    const State& state = pass.state();
    for (; seen_ < state.queue_changes().size(); ++seen_) {
      const JobId id = state.queue_changes()[seen_];
      if (state.ended(id)) {
        place_.erase(id.value);
      } else if (state.in_line(id)) {
        enter(pass, id.value);
      }
    }
  }
  void left(const State& state, std::uint32_t job) {
    const auto it = runs_.find(job);
    if (it == runs_.end()) return;
    const Run run = it->second;
    runs_.erase(it);
    if (run.joinable) partners_.remove(run.kind, run.start);
    const auto other = runs_.find(run.partner);
    if (other == runs_.end()) return;
    other->second.partner = JobId::kInvalid;
    const bool runs =
        !state.ended(JobId(run.partner)) && state.job(JobId(run.partner)).status == cluster::JobStatus::kRunning;
    if (runs) add_partner(run.partner, other->second);
  }
  void add_partner(std::uint32_t job, Run& run) {
    if (run.pack == Packing::kAlone) return;
    run.joinable = true;
    partners_.add(run.kind, {run.start, 0, job, run.pack, 0});
  }
  // Its place in the queue, which it keeps until it starts.
  void enter(Pass& pass, std::uint32_t job) {
    const std::int64_t place = place_.try_emplace(job, places_ + 1).first->second;
    places_ = std::max(places_, place);
    const bool packs = set_.pack && pass.world().co_locate;
    const Packing::Class pack = packs ? packing_.class_of(pass.state(), pass.world(), JobId(job)) : Packing::kAlone;
    queues_.enter(pass.state(), JobId(job), pack, place);
  }
  Run& add_run(Pass& pass, std::uint32_t job, std::uint32_t list) {
    Run& run = runs_[job] = Run{};
    run.start = ++starts_;
    run.since = pass.now();
    run.kind = partners_.kind_of(pass.state(), queues_.list(list).shape);
    run.pack = queues_.list(list).owner;
    place_.erase(job);
    return run;
  }

  // Fronts of all lists of a group, the first in order on top.
  void gather(Pass& pass, std::uint32_t group) {
    fronts_.clear();
    lists_.assign(queues_.active(group).begin(), queues_.active(group).end());
    for (const std::uint32_t list : lists_) {
      const QueueEntry* entry = queues_.front(pass.state(), list);
      if (entry != nullptr && pass.state().shape(queues_.list(list).shape).eligible()) fronts_.push({*entry, list});
    }
  }
  bool somebody_waits(Pass& pass, std::uint32_t group) {
    gather(pass, group);
    return !fronts_.empty();
  }
  // A job has started: takes it out of its list, whose next one is a front.
  void advance(Pass& pass, const Front& front) {
    const QueueEntry* next = queues_.after(pass.state(), front.list, front.entry);
    if (next != nullptr) fronts_.push({*next, front.list});
    queues_.erase(pass.state(), front.list, front.entry);
  }

  void start_waiting(Pass& pass, std::uint32_t group) {
    gather(pass, group);
    while (!fronts_.empty()) {
      const Front front = fronts_.pop();
      if (start_alone(pass, front) || join(pass, front)) advance(pass, front);
    }
  }
  bool start_alone(Pass& pass, const Front& front) {
    if (!pass.fits(queues_.list(front.list).shape) || !pass.start(front.entry.job)) return false;
    add_partner(front.entry.job, add_run(pass, front.entry.job, front.list));
    return true;
  }
  bool join(Pass& pass, const Front& front) {
    const OwnedQueues::List& list = queues_.list(front.list);
    const State& state = pass.state();
    if (list.owner == Packing::kAlone || !state.eligible(JobId(front.entry.job))) return false;
    const Packing::Facts& own = packing_.facts(list.owner);
    const Partners::Partner* found =
        partners_.find(partners_.kind_of(state, list.shape), 0, [&](const Partners::Partner& with) {
          if (packing_.facts(with.pack).memory_mb >= set_.memory_mb - own.memory_mb) return false;
          const profile::PairSpeeds s = packing_.speeds(pass.world(), list.owner, with.pack, false);
          return s.first + s.second > 1 && may_use(state, list.shape, with.job);
        });
    if (found == nullptr) return false;
    const Partners::Partner with = *found;
    const profile::PairSpeeds speeds = packing_.speeds(pass.world(), list.owner, with.pack, false);
    pass.co_locate(front.entry.job, with.job, speeds.first, speeds.second);
    Run& run = add_run(pass, front.entry.job, front.list);
    run.partner = with.job;
    Run& other = runs_.at(with.job);
    other.partner = front.entry.job;
    other.joinable = false;
    partners_.remove(run.kind, with.start);
    return true;
  }
  static const cluster::Running& running(const State& state, std::uint32_t job) {
    return state.running()[state.job(JobId(job)).slot];
  }
  // Whether jobs of a shape may use the nodes that a running job has: up, and not reserved for others.
  static bool may_use(const State& state, ShapeId shape, std::uint32_t job) {
    const Pool& pool = state.pool_of(state.shape(shape));
    const auto& parts = running(state, job).allocation.parts;
    return std::all_of(parts.begin(), parts.end(), [&](const cluster::Part& p) { return pool.is_up(p.node); });
  }

  // Migrates for the first job that waits, if GPUs enough are free.
  void defragment(Pass& pass, std::uint32_t group) {
    gather(pass, group);
    if (fronts_.empty()) return;
    const Front front = fronts_.pop();
    const ShapeClass& s = pass.state().shape(queues_.list(front.list).shape);
    const Pool& pool = pass.state().pool();
    if (pool.rule() == cluster::Placement::kCount || pool.free_gpus(s.where) < static_cast<std::int64_t>(s.gpus))
      return;
    if (!plan_moves(pass.state(), s)) return;
    for (const Move& move : moves_) {
      if (!pass.migrate(move.job, move.where, set_.migrate_cost)) return;
    }
    if (start_alone(pass, front)) advance(pass, front);
  }
  // Nodes that a shape might use, partly free, most free GPUs first.
  void freest_nodes(const State& state, const ShapeClass& s) {
    const Pool& pool = state.pool();
    nodes_.clear();
    for (std::uint32_t n = 0; n < pool.nodes(); ++n) {
      const std::uint32_t c = pool.class_of(NodeId(n));
      const std::uint32_t free = pool.free_count(NodeId(n));
      if (free > 0 && free < pool.node_gpus(NodeId(n)) && pool.is_up(NodeId(n)) && pool.allows(s.where, c))
        nodes_.emplace_back(free, n);
    }
    const std::size_t most = std::min(set_.nodes, nodes_.size());
    std::partial_sort(
        nodes_.begin(), nodes_.begin() + static_cast<std::ptrdiff_t>(most), nodes_.end(),
        [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
    nodes_.resize(most);
  }
  bool plan_moves(const State& state, const ShapeClass& s) {
    freest_nodes(state, s);
    moves_.clear();
    Pool pool = state.pool();
    for (const auto& [free, n] : nodes_) {
      pool.set_up(NodeId(n), false);
      empty_node(state, NodeId(n), pool);
      pool.set_up(NodeId(n), true);
      if (pool.fits(s.shape, s.where)) return true;
    }
    return false;
  }
  // Moves jobs off a node that takes no new ones in `pool`, while there is room elsewhere.
  void empty_node(const State& state, NodeId node, Pool& pool) {
    for (const cluster::Running& r : state.running()) {
      if (r.partner.valid() || r.allocation.parts.size() != 1 || r.allocation.parts[0].node != node) continue;
      if (runs_.find(r.job.value) == runs_.end() || moved(r.job.value)) continue;
      const ShapeClass& own = state.shape(state.job(r.job).shape);
      Move move{r.job.value, {}};
      if (!pool.place(own.shape, own.where, move.where)) continue;
      pool.release(r.allocation);
      pool.allocate(move.where);
      moves_.push_back(std::move(move));
    }
  }
  [[nodiscard]] bool moved(std::uint32_t job) const {
    return std::any_of(moves_.begin(), moves_.end(), [&](const Move& m) { return m.job == job; });
  }

  // Suspends runs that have had their slice for jobs that wait.
  void rotate(Pass& pass, std::uint32_t group) {
    find_victims(pass, group);
    gather(pass, group);
    while (!fronts_.empty() && !victims_.empty()) {
      const Front front = fronts_.pop();
      const ShapeClass& s = pass.state().shape(queues_.list(front.list).shape);
      if (!choose(pass.state(), s)) continue;  // nor will others of its shape
      for (const Victim& v : chosen_) suspend(pass, v);
      forget_chosen();
      if (start_alone(pass, front)) advance(pass, front);
    }
  }
  void find_victims(Pass& pass, std::uint32_t group) {
    const State& state = pass.state();
    victims_.clear();
    for (const auto& [job, run] : runs_) {
      if (pass.now() - run.since < set_.slice) continue;
      if (state.shape(state.job(JobId(job)).shape).where.group != group) continue;
      Victim v{run.start, job, run.partner};
      const auto other = runs_.find(run.partner);
      if (other != runs_.end()) {
        if (pass.now() - other->second.since < set_.slice || other->second.start < run.start) continue;
        v.start = other->second.start;
      }
      victims_.push_back(v);
    }
    std::sort(victims_.begin(), victims_.end(), [](const Victim& a, const Victim& b) { return a.start < b.start; });
  }
  // The oldest runs whose end makes room for a shape, without those of them that it can do without.
  bool choose(const State& state, const ShapeClass& s) {
    chosen_.clear();
    const Pool& pool = state.pool_of(s);
    room_.assign(pool);
    bool fits = room_.fits(s.shape, s.where);
    for (std::size_t i = 0; i < victims_.size() && !fits; ++i) {
      chosen_.push_back(victims_[i]);
      room_.release(running(state, victims_[i].job).allocation);
      fits = room_.fits(s.shape, s.where);
    }
    if (!fits) return false;
    tried_ = chosen_.size();
    for (std::size_t i = chosen_.size(); chosen_.size() > 1 && i-- > 0;) {
      const Allocation& where = running(state, chosen_[i].job).allocation;
      room_.take_back(where);
      if (room_.fits(s.shape, s.where)) {
        chosen_.erase(chosen_.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        room_.release(where);
      }
    }
    return true;
  }
  // Takes the chosen ones out of victims_; they are among the first `tried_`.
  void forget_chosen() {
    auto next = chosen_.begin();
    const auto end = victims_.begin() + static_cast<std::ptrdiff_t>(tried_);
    const auto kept = std::remove_if(victims_.begin(), end, [&](const Victim& v) {
      const bool gone = next != chosen_.end() && next->job == v.job;
      next += gone ? 1 : 0;
      return gone;
    });
    victims_.erase(kept, end);
  }
  void suspend(Pass& pass, const Victim& victim) {
    for (const std::uint32_t job : {victim.job, victim.partner}) {
      const auto it = runs_.find(job);
      if (it == runs_.end()) continue;
      if (it->second.joinable) partners_.remove(it->second.kind, it->second.start);
      runs_.erase(it);
      pass.preempt(job, set_.suspend_cost);
    }
    take_in(pass);
  }

  Settings set_;
  Ticks ticks_;
  Packing packing_;
  Partners partners_;
  OwnedQueues queues_;    // owner = class of packing, rank = place in the queue
  std::size_t seen_ = 0;  // of State::queue_changes() in this pass
  std::unordered_map<std::uint32_t, std::int64_t> place_;
  std::int64_t places_ = 0;
  std::unordered_map<std::uint32_t, Run> runs_;
  std::uint64_t starts_ = 0;
  Time asked_ = kNever;
  FrontHeap<Front> fronts_;
  std::vector<std::uint32_t> lists_;
  std::vector<Victim> victims_;
  std::vector<Victim> chosen_;
  std::size_t tried_ = 0;                                       // choose() looked at the first so many victims
  std::vector<std::pair<std::uint32_t, std::uint32_t>> nodes_;  // free GPUs, node
  std::vector<Move> moves_;
  Room room_;
};

std::vector<Param> params() {
  using enum Param::Type;
  return {
      make_param("gandiva.slice", kTime, "s", "60", 1, 1e6, "jobs take turns on the GPUs at its multiples"),
      make_param("gandiva.suspend_cost", kTime, "s", "1", 0, 1e6,
                 "time added to a job's remaining work when it is suspended"),
      make_param("gandiva.migrate_cost", kTime, "s", "5", 0, 1e6,
                 "time added to a job's remaining work when it is moved"),
      make_param("gandiva.nodes", kInt, "nodes", "4", 0, 1000,
                 "most nodes that are emptied for a waiting job; 0: none"),
      make_param("gandiva.memory", kReal, "MB", "24576", 1, 1e9, "memory of a GPU, which two jobs must leave some of"),
      make_param("gandiva.pack", kBool, "", "true", 0, 0, "false: no two jobs share GPUs"),
  };
}

Status check(const Params& p, const cluster::ClusterSpec&) {
  for (const char* name : {"gandiva.suspend_cost", "gandiva.migrate_cost"}) {
    if (p.time(name) < p.time("gandiva.slice")) continue;
    return fail_option(name, "is not shorter than gandiva.slice",
                       "jobs would take turns without getting on: make the slice longer");
  }
  return {};
}

}  // namespace

void add_gandiva(std::vector<PolicyInfo>& list) {
  PolicyInfo info{"gandiva",
                  "Jobs take turns on the GPUs, share them, and are moved to make room.",
                  "Gandiva, OSDI'18 (reconstruction)",
                  true,
                  false,
                  params(),
                  [](const Params& p) -> std::unique_ptr<Policy> {
                    Settings s;
                    s.slice = p.time("gandiva.slice");
                    s.suspend_cost = p.time("gandiva.suspend_cost");
                    s.migrate_cost = p.time("gandiva.migrate_cost");
                    s.nodes = static_cast<std::size_t>(p.integer("gandiva.nodes"));
                    s.memory_mb = p.real("gandiva.memory");
                    s.pack = p.boolean("gandiva.pack");
                    return std::make_unique<Gandiva>(s);
                  }};
  info.check = check;
  list.push_back(std::move(info));
}

}  // namespace comity::sched
