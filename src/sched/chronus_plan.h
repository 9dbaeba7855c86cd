// SPDX-License-Identifier: Apache-2.0
// The lease arithmetic of Chronus (SoCC'21; rules 1.2 to 1.4 and C0, C1, C8 of docs/systems/chronus.md), apart from the
// policy: how many leases a job needs, whether a set of jobs can meet its deadlines, and which jobs run in the lease
// that begins. Time is cut into leases of one length; lease 0 is the one that begins, or the next one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace comity::sched::chronus {

// GPUs that a job is counted with in leases: 3 as 4; 5, 6 and 7 as 8.
[[nodiscard]] std::uint32_t lease_gpus(std::uint32_t gpus);
// Minutes that saving and loading costs a job: 0.5 x (1 + log2 g).
[[nodiscard]] Time switch_cost(std::uint32_t gpus);
// The run time with what leases may cost and a tenth more, in whole minutes: int(duration x coef x margin) with
// coef = 1 + (1 + log2 g) x 0.5 min / lease.
[[nodiscard]] Time estimate(Time duration, std::uint32_t gpus, Time lease, double margin);
[[nodiscard]] double coefficient(std::uint32_t gpus, Time lease);
[[nodiscard]] int leases_for(Time work, Time lease);  // rounded up
// Whole leases before `deadline` (an instant), counted from lease `index` of the clock; may be negative.
[[nodiscard]] int leases_before(Time deadline, Time lease, std::int64_t index);

// A deadline of a job: it has `within` leases until then, and meeting it is worth `value`.
struct Choice {
  int within = 0;
  double value = 0;
};
inline constexpr int kNoChoice = -1;

struct LeaseJob {
  std::uint32_t gpus = 0;       // lease_gpus
  int needs = 0;                // leases
  std::vector<Choice> choices;  // deadlines, tightest first
  // The leases that it was to have by the last plan (bit t = lease t) and for which choice, or none.
  std::vector<std::uint8_t> runs;
  int choice = kNoChoice;
};

enum class Use : std::uint8_t { kLeast, kMost, kAny };  // of the lease that begins

struct PlanLimits {
  std::int64_t nodes = 200;       // of branch and bound
  std::size_t variables = 3'000;  // larger programs are left to the heuristics
};

struct PlanReport {
  double value = 0;       // sum of the values of the choices made
  std::int64_t used = 0;  // GPUs in lease 0
  double objective = 0;   // value -/+ used / capacity
  double start = 0;       // objective of the greedy start
  double bound = 0;       // no plan is better
  bool proved = false;    // objective = bound
  bool solved = false;    // by branch and bound
  bool limited = false;   // branch and bound reached its limit
  std::int64_t nodes = 0;
  std::size_t failed = 0;  // jobs for which no leases were found: their `choice` is kNoChoice
};

// Greedy latest fit in the order (-gpus, slack, -within), each job in the tightest of its choices that fits (`strict`:
// in the tightest one or not at all). `free` by lease; leases beyond it have `capacity`. Jobs that hold leases already
// (choice set) must have been taken out of `free`. True: all fit, and `runs`/`choice` are set.
[[nodiscard]] bool pack(std::span<LeaseJob*> jobs, std::vector<std::int64_t> free, std::int64_t capacity, bool strict);

// The program of section 1.3: each job gets `needs` leases before one of its deadlines, no lease is over its capacity,
//   maximise  sum of values  -/+  GPUs of lease 0 / capacity.
// Starts from the leases that jobs hold (and pack() for the others), which is never undone to the worse, moves runs
// into or out of lease 0, and compares with an upper bound; where they differ and the program is small enough, CBC
// decides. `capacity`: GPUs by lease, the last entry for all later ones. O(jobs x leases) apart from CBC.
[[nodiscard]] PlanReport plan(std::vector<LeaseJob>& jobs, const std::vector<std::int64_t>& capacity, Use use,
                              const PlanLimits& limits);

}  // namespace comity::sched::chronus
