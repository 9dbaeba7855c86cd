// SPDX-License-Identifier: Apache-2.0
// Priority classes with preemption: order (class high first, eligible time, id). A job that does not fit takes the
// place of running jobs of lower classes, never of its own or a higher one:
//   victims are taken lowest class first, within a class the latest start first (least work is put off), until the job
//   can be placed on the nodes that would then be free; those that turn out not to be needed are spared again, the
//   highest class first. If even all of them do not make room, nobody is preempted.
// The class of a job: what priority.classes says of the class that its trace gives ("slo=10,best_effort=-1"), else what
// priority.tenants says of its tenant ("prod=10,dev=-1"), else `priority` of its tenant in the cluster file, else 0.
//
// Cost of a pass: O(lists) + O(lower-class running jobs x nodes' levels) for a job that has to preempt.
#include <algorithm>
#include <map>

#include "sched/class_map.h"
#include "sched/owned_queues.h"
#include "sched/owners.h"
#include "sched/param.h"
#include "sched/policies.h"
#include "sched/room.h"

namespace comity::sched {
namespace {

class Priority : public Policy {
 public:
  Priority(ClassMap classes, ClassMap of_class, Time cost, bool preempt, bool head_blocks)
      : classes_(std::move(classes)),
        of_class_(std::move(of_class)),
        cost_(cost),
        preempt_(preempt),
        head_blocks_(head_blocks) {}

  [[nodiscard]] bool follows_queues() const override { return true; }
  void decide(Pass& pass, std::uint32_t group) override {
    const State& state = pass.state();
    if (group == 0) begin(state);
    take_in(state);
    if (state.active(group).empty()) return;
    lists_ = queues_.active(group);
    if (!head_blocks_) drop_hopeless(pass);
    while (const std::uint32_t* list = first(pass)) {
      const std::uint32_t index = *list;
      const QueueEntry entry = *queues_.front(state, index);
      const std::int64_t of = class_of(index);
      if (pass.start(entry.job) || (make_room(pass, group, entry, of) && pass.start(entry.job))) {
        queues_.erase(state, index, entry);
        running_[of].push_back({pass.now(), entry.job});
        class_[entry.job] = of;
        continue;
      }
      if (head_blocks_) return;
      std::erase(lists_, index);
    }
  }

 private:
  struct Run {
    Time start;
    std::uint32_t job;
  };

  void begin(const State& state) {
    queues_.begin_pass();
    for (const JobId gone : state.left()) {
      const auto it = class_.find(gone.value);
      if (it == class_.end()) continue;  // preempted in an earlier pass of this instant
      forget_run(gone.value, it->second);
      class_.erase(it);
    }
  }
  void forget_run(std::uint32_t job, std::int64_t of) {
    const auto at = running_.find(of);
    std::erase_if(at->second, [&](const Run& run) { return run.job == job; });
    if (at->second.empty()) running_.erase(at);
  }
  void take_in(const State& state) {
    queues_.refresh(
        state, [&](JobId id, const Job& job) { return level(job_class(state, id, job)); },
        [](JobId, const Job&) { return 0; });
  }

  std::int64_t job_class(const State& state, JobId id, const Job& job) {
    const profile::Attributes* attributes = state.attributes(id);
    if (attributes != nullptr && attributes->job_class != profile::kNoName && !of_class_.empty()) {
      const auto said = of_class_.find(state.names()[attributes->job_class]);
      if (said != of_class_.end()) return said->second;
    }
    return tenant_class(state, job);
  }
  std::int64_t tenant_class(const State& state, const Job& job) {
    if (job.tenant == profile::kNoName) return 0;
    const auto [it, made] = by_tenant_.try_emplace(job.tenant, 0);
    if (!made) return it->second;
    const std::string& name = state.names()[job.tenant];
    for (const cluster::TenantSpec& spec : state.tenants()) {
      if (spec.name == name) it->second = spec.priority;
    }
    if (const auto said = classes_.find(name); said != classes_.end()) it->second = said->second;
    return it->second;
  }
  // Classes are kept as dense numbers in the lists.
  std::uint32_t level(std::int64_t value) {
    const auto at = std::find(levels_.begin(), levels_.end(), value);
    if (at != levels_.end()) return static_cast<std::uint32_t>(at - levels_.begin());
    levels_.push_back(value);
    return static_cast<std::uint32_t>(levels_.size() - 1);
  }
  [[nodiscard]] std::int64_t class_of(std::uint32_t list) const { return levels_[queues_.list(list).owner]; }

  // The list whose front comes first; lists that are empty or cannot be held by the nodes that are up are dropped.
  const std::uint32_t* first(const Pass& pass) {
    const State& state = pass.state();
    const std::uint32_t* best = nullptr;
    const QueueEntry* best_entry = nullptr;
    for (std::size_t i = 0; i < lists_.size();) {
      const QueueEntry* entry =
          state.shape(queues_.list(lists_[i]).shape).satisfiable ? queues_.front(state, lists_[i]) : nullptr;
      if (entry == nullptr) {
        lists_[i] = lists_.back();
        lists_.pop_back();
        continue;
      }
      const bool higher = best == nullptr || class_of(lists_[i]) > class_of(*best);
      if (higher || (class_of(lists_[i]) == class_of(*best) && before(*entry, *best_entry))) {
        best = &lists_[i];
        best_entry = entry;
      }
      ++i;
    }
    return best;
  }

  // Lists that do not fit and have nobody below them: the usual case in a full cluster.
  void drop_hopeless(const Pass& pass) {
    const bool nobody = !preempt_ || running_.empty();
    std::erase_if(lists_, [&](std::uint32_t list) {
      return !pass.fits(queues_.list(list).shape) && (nobody || running_.begin()->first >= class_of(list));
    });
  }

  // Preempts what has to go for `entry` to fit; false, and nothing done, when that is not possible.
  bool make_room(Pass& pass, std::uint32_t group, const QueueEntry& entry, std::int64_t of) {
    if (!preempt_ || running_.empty() || running_.begin()->first >= of) return false;
    const State& state = pass.state();
    const ShapeClass& wanted = state.shape(pass.job(entry.job).shape);
    victims_.clear();
    room_.assign(state.pool_of(wanted));
    bool fits = false;
    for (auto it = running_.begin(); it != running_.end() && it->first < of && !fits; ++it) {
      for (auto run = it->second.rbegin(); run != it->second.rend() && !fits; ++run) {
        const cluster::Running& r = state.running()[pass.job(run->job).slot];
        if (!state.pool().allows(wanted.where, r.allocation.node_class)) continue;
        if (state.shape(pass.job(run->job).shape).where.group != group) continue;
        victims_.push_back({run->job, it->first});
        room_.release(r.allocation);
        fits = room_.fits(wanted.shape, wanted.where);
      }
    }
    if (!fits) return false;
    spare(state, wanted);
    for (const auto& [job, level_of] : victims_) {
      forget_run(job, level_of);
      class_.erase(job);
      pass.preempt(job, cost_);
    }
    take_in(state);
    for (const std::uint32_t list : queues_.active(group)) {  // the lists of the preempted, not tried yet
      if (class_of(list) < of && std::find(lists_.begin(), lists_.end(), list) == lists_.end()) lists_.push_back(list);
    }
    return true;
  }
  // Victims whose GPUs are not needed after all, the last ones taken first.
  void spare(const State& state, const ShapeClass& wanted) {
    for (std::size_t i = victims_.size(); i-- > 0 && victims_.size() > 1;) {
      const Allocation& where = state.running()[state.job(JobId(victims_[i].first)).slot].allocation;
      room_.take_back(where);
      if (room_.fits(wanted.shape, wanted.where)) {
        victims_.erase(victims_.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        room_.release(where);
      }
    }
  }

  ClassMap classes_;   // by tenant
  ClassMap of_class_;  // by the job's own class
  Time cost_;
  bool preempt_;
  bool head_blocks_;
  OwnedQueues queues_;
  std::vector<std::uint32_t> lists_;
  std::vector<std::int64_t> levels_;
  std::unordered_map<std::uint32_t, std::int64_t> by_tenant_;
  std::map<std::int64_t, std::vector<Run>> running_;             // by class, ascending start
  std::unordered_map<std::uint32_t, std::int64_t> class_;        // of running jobs
  std::vector<std::pair<std::uint32_t, std::int64_t>> victims_;  // job, class
  Room room_;
};

std::vector<Param> params() {
  using enum Param::Type;
  return {make_param("priority.classes", kText, "", "", 0, 0, "classes of jobs by the trace's word as NAME=CLASS,..."),
          make_param("priority.tenants", kText, "", "", 0, 0, "classes of tenants as NAME=CLASS,...; high goes first"),
          make_param("priority.preemption_cost", kTime, "s", "0", 0, 1e6,
                     "time added to a job's remaining work at each preemption"),
          make_param("priority.preempt", kBool, "", "true", 0, 0, "false: classes order the queue and nothing more"),
          make_choice("priority.blocking", {"skip", "head"},
                      "skip: what does not fit is passed over; head: it holds up everybody behind it")};
}

Status check(const Params& p, const cluster::ClusterSpec&) {
  for (const char* name : {"priority.classes", "priority.tenants"}) {
    auto classes = parse_class_map(name, p.text(name));
    if (!classes) return fail(classes.error());
  }
  return {};
}

}  // namespace

void add_priority(std::vector<PolicyInfo>& list) {
  list.push_back({"priority",
                  "Priority classes: a higher class goes first and may preempt lower ones.",
                  "classic",
                  true,
                  false,
                  params(),
                  [](const Params& p) -> std::unique_ptr<Policy> {
                    const auto map = [&](const char* name) {  // checked before
                      auto classes = parse_class_map(name, p.text(name));
                      return classes ? std::move(*classes) : ClassMap{};
                    };
                    return std::make_unique<Priority>(map("priority.tenants"), map("priority.classes"),
                                                      p.time("priority.preemption_cost"), p.boolean("priority.preempt"),
                                                      p.text("priority.blocking") == "head");
                  },
                  {},
                  check});
}

}  // namespace comity::sched
