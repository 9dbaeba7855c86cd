// SPDX-License-Identifier: Apache-2.0
// The jobs of one resource group as Gavel sees them: which part of its time each should spend on each GPU type (X, from
// gavel_program.h), how much it has had, and who comes first in a round.
#pragma once

#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "sched/gavel_program.h"
#include "sched/type_speeds.h"

namespace comity::sched {

struct GavelOptions {
  GavelSettings program;
  Time round = 0;
  Time restart = 0;
  std::size_t rows = 0;                  // most rows of a program whose jobs differ by age and work
  std::map<std::string, double> prices;  // by type, lower case; others cost 1
  bool by_time_received = true;          // false: priority = X alone
};

// What was counted over all groups.
struct GavelCounts {
  double rounds = 0, plans = 0, programs = 0, most_rows = 0, unsolved = 0, merged = 0;
  std::unordered_set<std::uint32_t> without_rates;  // jobs
};

class GavelGroup {
 public:
  GavelGroup(const GavelOptions& options, GavelCounts& counts) : options_(options), counts_(counts) {}

  static constexpr std::uint32_t kNoType = 0xffffffffU;
  struct Member {
    std::uint32_t job = 0;
    std::uint32_t gpus = 0;
    ShapeId shape = 0;
    std::uint32_t type = kNoType;  // where it runs
    std::uint32_t kind = 0;        // of World::rates
    double weight = 1;
    std::size_t row = 0;        // of the plan
    std::vector<double> due_s;  // by type: X summed over time
    std::vector<double> had_s;  // by type: time that it was there
    double isolated_s = 0;      // how long its work so far takes alone on its share
    double isolated_speed = 0;  // progress a second there
    double progress_s = 0;      // when isolated_s was last brought up to date
  };
  // A job on a type. The first in order is served first.
  struct Choice {
    std::size_t member = 0;
    std::uint32_t type = 0;
    double priority = 0;  // X / fraction of time received = due / had; X x 10^9 if it has had none
    double x = 0;
    double speed = 0;
    bool here = false;  // it runs there
  };

  // A round begins: who is there, what they have had since the last one, and a new plan if jobs came or went or other
  // GPUs are up. O(jobs log jobs), and the programs.
  void begin_round(const Pass& pass, std::uint32_t group);
  [[nodiscard]] const std::vector<Member>& members() const { return members_; }
  // Every job on every type where it runs, in the order of the round. O(jobs x types x log).
  void order(std::vector<Choice>& out) const;
  [[nodiscard]] const std::vector<double>& gpus() const { return gpus_; }

 private:
  void gather(const Pass& pass, std::uint32_t group);
  [[nodiscard]] Member newcomer(const Pass& pass, JobId id);
  void account(const Pass& pass);
  void plan(const Pass& pass);
  void classify(const Pass& pass, double ratio);
  void bring_up_to_date(const Pass& pass);

  const GavelOptions& options_;
  GavelCounts& counts_;
  TypeSpeeds speeds_;
  Time last_ = 0;
  std::vector<Member> members_;  // by job
  std::vector<Member> next_;
  bool stale_ = true;
  std::vector<double> gpus_;  // by type
  std::vector<GavelClass> classes_;
  std::vector<double> x_;  // [class * types + type]
};

}  // namespace comity::sched
