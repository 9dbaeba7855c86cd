// SPDX-License-Identifier: Apache-2.0
// Which machines to rent for a training that may run on interruptible ones, after DeepVM (CCGrid 2024, arXiv
// 2403.05861; docs/systems/deepvm.md says what of it is here).
//
// Four steps: a price table and a goal; machines by FLOPP (FLOP/s per price); machines by architecture; the decision.
// Architectures: on demand only; single anchor, one on-demand machine that keeps the checkpoints of all spot machines;
// tiering, one anchor a kind of spot machine. A checkpoint takes as long as the slower of a machine's own NIC and its
// anchor's, which all of a tier write to at once: that is where too many machines saturate the anchor.
//
// The decision is an integer programme over counts x_i, non-linear through interruptions (any machine stops all), by
// branch and bound: exact, with a bound that has the fastest and the cheapest k machines of those still open for every
// k. Exponential in the kinds of machines at worst: four kinds of up to 32 machines take milliseconds where money is
// the goal and some seconds where time is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/checkpoints.h"
#include "plan/fields.h"

namespace comity::plan {

struct Instance {
  std::string name;
  std::string gpu;
  std::int64_t gpus = 0;
  double tflops = 0;       // of the whole machine, achieved in training
  double on_demand = 0;    // price an hour
  double spot = 0;         // price an hour; 0: not offered
  double nic_gb_s = 1;     // in one direction
  double revocations = 0;  // an hour, of one spot machine
  std::int64_t limit = 0;  // machines to be had
};

enum class SpotGoal : std::uint8_t { kCheapest, kFastest };  // within the deadline; within the budget
enum class SpotArchitecture : std::uint8_t { kOnDemand, kSingleAnchor, kTiering };
[[nodiscard]] std::string architecture_name(SpotArchitecture architecture);

struct SpotQuestion {
  std::vector<Instance> instances;
  SpotGoal goal = SpotGoal::kCheapest;
  double work_tflop = 0;     // of the whole training, 10^12 FLOP
  double deadline_h = 0;     // 0: none
  double budget = 0;         // for all of it; 0: none
  double checkpoint_gb = 0;  // what one machine writes
  double restart_s = 120;    // until a new machine has taken over
  double interval_s = 0;     // between checkpoints; 0: the best for each choice
  double scaling = 1;        // throughput of n machines = sum x n^(scaling - 1)
  std::int64_t max_machines = 64;
  std::uint64_t max_nodes = 2'000'000;  // of each architecture's search; beyond, the plan says exact = false
};

struct SpotChoice {
  SpotArchitecture architecture = SpotArchitecture::kOnDemand;
  std::vector<std::int64_t> spot;       // a count for each instance of the question
  std::vector<std::int64_t> on_demand;  // the same; anchors, or all machines
  double tflops = 0;                    // with the loss of scaling
  double price_per_h = 0;
  double plain_h = 0;     // without interruptions and checkpoints
  double expected_h = 0;  // with them
  double expected_cost = 0;
  double interval_s = 0;
  Interruptions interruptions;
  [[nodiscard]] std::int64_t machines() const;
};

struct SpotPlan {
  SpotChoice best;
  std::vector<SpotChoice> by_architecture;  // the best of each that can do it
  std::vector<std::size_t> by_flopp;  // instances, most FLOP/s per spot price first (on-demand price if not offered)
  double saving = 0;                  // 1 - cost / cost of the best on-demand choice; 0: there is none
  std::uint64_t evaluated = 0;
  bool exact = true;  // false: the search was cut short, the choices are good ones but nobody knows the best
};

// Errors: kUsage for impossible numbers, kInput where nothing meets deadline and budget (the hint says what would).
[[nodiscard]] Result<SpotPlan> plan_spot(const SpotQuestion& question);

[[nodiscard]] double flopp(const Instance& instance, bool spot);
// Everything of a choice that follows from its architecture and counts.
[[nodiscard]] SpotChoice evaluate_spot(const SpotQuestion& question, SpotChoice choice);
[[nodiscard]] bool meets(const SpotQuestion& question, const SpotChoice& choice);

// `runs` simulated trainings, or as many as 5 x 10^7 interruptions allow; means and the spread of their times.
struct SpotTrial {
  std::int64_t runs = 0;
  double mean_h = 0;
  double deviation_h = 0;  // of one run
  double mean_cost = 0;
  double mean_interruptions = 0;
  double late_share = 0;  // of runs past the deadline
};
[[nodiscard]] SpotTrial simulate_spot(const SpotQuestion& question, const SpotChoice& choice, std::int64_t runs,
                                      std::uint64_t seed);

[[nodiscard]] Fields fields(const SpotQuestion& question, const SpotPlan& plan);
[[nodiscard]] FieldRows architecture_rows(const SpotQuestion& question, const SpotPlan& plan);
[[nodiscard]] FieldRows instance_rows(const SpotQuestion& question, const SpotPlan& plan);
[[nodiscard]] std::string explain(const SpotQuestion& question, const SpotPlan& plan);

}  // namespace comity::plan
