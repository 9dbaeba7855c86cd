// SPDX-License-Identifier: Apache-2.0
// The policy chronus: settings, what it counts, and the jobs of one resource group. The rules are in chronus.cc.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sched/chronus_plan.h"
#include "sched/policy.h"

namespace comity::sched::chronus {

enum class Objective : std::uint8_t { kAdaptive, kLeast, kMost, kAny };
enum class Fill : std::uint8_t { kUrgent, kArtifact, kOff };
enum class Split : std::uint8_t { kNever, kSlower, kFree };

struct Settings {
  Time lease = 20 * kMinute;
  Time slot = 5 * kMinute;
  Time tick = kMinute;
  Objective objective = Objective::kAdaptive;
  double margin = 1.1;
  double tolerate = 1;
  bool stop = false;  // every run that is not guaranteed stops when a lease begins
  Fill fill = Fill::kUrgent;
  Split split = Split::kNever;
  bool strict = false;    // admission looks at the tightest deadline only
  bool shadows = false;   // jobs that were not admitted stand in the way of others of their slot
  bool guarantee = true;  // jobs that fit into the rest of a lease may be guaranteed it
  std::size_t rows = 0;   // of a plan
  PlanLimits limits;
};
[[nodiscard]] Settings settings_of(const Params& params);
[[nodiscard]] std::vector<Param> parameters();

enum class Class : std::int8_t { kLowest = -1, kAccepted = 0, kUnaccepted = 1, kBestEffort = 2 };

struct Counts {
  double accepted = 0, unaccepted = 0, late = 0;  // jobs, when they were looked at; late: ended after what was promised
  double plans = 0, unchanged = 0;                // begun leases with a plan; of them without a change since the last
  double proved = 0, solved = 0, limited = 0, nodes = 0;
  double variables_limit = 0;  // plans that were not proved and too large for CBC
  double unplanned = 0;        // jobs that no plan had room for, at the beginning of a lease
  double unplaced = 0;         // guaranteed runs that found no nodes
  double forced = 0;           // runs guaranteed within a lease
  double split = 0;            // starts over more nodes than needed
};

struct Entry {
  std::uint32_t id = 0;
  std::uint32_t gpus = 0;
  Class rank = Class::kBestEffort;
  Time submit = 0;
  Time duration = 0;                 // said to be
  Time estimate = 0;                 // with switches and margin
  Time deadline = 0;                 // after the submission: its last one, or what was promised
  int needs = 0;                     // leases
  std::vector<std::uint8_t> leases;  // by the last plan, from the next lease on
  int choice = kNoChoice;            // and for which deadline; kNoChoice: none yet
  bool plans = false;                // takes part in plans
  bool waiting = false;
  bool running = false;
  bool occupies = false;   // runs under a guaranteed lease
  bool forced = false;     // is guaranteed the rest of this lease
  bool exhausted = false;  // has run for as long as it was said to
  bool unplanned = false;
  double urgency = 0;  // of the last slot

  [[nodiscard]] bool guaranteed() const { return occupies || forced; }
};

class Group {
 public:
  Group(const Settings& settings, Counts& counts, std::uint32_t group)
      : set_(settings), counts_(counts), group_(group) {}
  void pass(Pass& pass);

 private:
  // Following what happens, the clock (chronus_group.cc).
  void follow(Pass& pass);
  void join(const State& state, JobId id);
  void leave(std::uint32_t id, Time now);
  [[nodiscard]] static Time executed(const Pass& pass, const Entry& e);
  void settle(const Pass& pass);
  void settle(const Pass& pass, Entry& e);
  [[nodiscard]] std::int64_t capacity(const Pass& pass) const;
  [[nodiscard]] std::int64_t free_gpus(const Pass& pass) const;
  // A lease begins (chronus_lease.cc).
  void begin_lease(Pass& pass);
  [[nodiscard]] Use use() const;
  [[nodiscard]] std::vector<std::uint32_t> planned_jobs() const;
  [[nodiscard]] LeaseJob lease_job(const State& state, const Entry& e, std::int64_t index) const;
  void plan_leases(Pass& pass, std::vector<std::uint32_t>& guaranteed);
  void keep_out(std::vector<std::uint32_t>& in, std::vector<std::int64_t>& free, const Pass& pass,
                std::vector<std::uint32_t>& guaranteed);
  void count(const PlanReport& report);
  void place_guaranteed(Pass& pass, std::vector<std::uint32_t> jobs);
  // Newcomers (chronus_lease.cc).
  void admit(Pass& pass);
  void admit(Pass& pass, Entry& e, std::vector<LeaseJob>& others, const std::vector<std::int64_t>& free);
  [[nodiscard]] bool packs(std::vector<LeaseJob>& jobs, const std::vector<std::int64_t>& free,
                           std::int64_t later) const;
  // Spot GPUs (chronus_spot.cc).
  void play_slot(Pass& pass);
  void guarantee_short_ones(const Pass& pass);
  void look_at_urgency(const Pass& pass, Entry& e) const;
  void place_forced(Pass& pass);
  void fill(Pass& pass, bool artifact);
  void fill_with(Pass& pass, std::vector<std::uint32_t>& order);
  [[nodiscard]] static bool more_urgent(const Entry& a, const Entry& b);
  bool start(Pass& pass, Entry& e);
  bool start_split(Pass& pass, Entry& e);
  bool start_by_force(Pass& pass, Entry& e);
  void stop(Pass& pass, Entry& e);

  const Settings& set_;
  Counts& counts_;
  std::uint32_t group_;
  std::unordered_map<std::uint32_t, Entry> entries_;
  std::map<std::uint32_t, Entry*> present_;  // by id: waiting or running
  std::vector<std::uint32_t> newcomers_;
  std::int64_t unaccepted_ = 0;  // at the beginning of the lease, newcomers since added
  bool changed_ = true;          // the jobs that plans are made for, since the last plan
  Time last_ = kNever;           // tick that was played
  Time asked_ = kNever;
};

}  // namespace comity::sched::chronus
