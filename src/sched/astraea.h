// SPDX-License-Identifier: Apache-2.0
// What the policy astraea and the run of its artifact (--compat astraea) share: settings, the order of jobs, figures.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "sched/astraea_ltgf.h"
#include "sched/policy.h"

namespace comity::sched::astraea {

enum class Selection { kFairness, kDiscrete, kReward, kFifo, kSmallest, kShortestRemaining, kTwoDimensional, kThemis };
enum class Quota { kFair, kStatic, kDynamic };

struct Settings {
  Selection selection = Selection::kFairness;
  Quota quota = Quota::kFair;
  Time tick = 10 * kSecond;
  Time lease = 30 * kMinute;
  Time starvation = 4 * kHour;
  Time delay = 0;
  Time checkpoint = 5 * kSecond;
  Time resume = 20 * kSecond;
  std::size_t window = 24;
  double overcommit = 1.2;
  bool block = false;
  bool hold = true;  // a starving job that does not fit keeps what is free
};
[[nodiscard]] Settings settings_of(const Params& params);
[[nodiscard]] std::vector<Param> parameters();

// Orders by fairness serve newcomers first, so that they alone cancel early runs for them.
[[nodiscard]] inline bool may_cancel(Selection s) {
  return s == Selection::kFairness || s == Selection::kDiscrete || s == Selection::kReward || s == Selection::kThemis;
}

// A job in its first lease is not cancelled before this.
inline constexpr Time kFirstGrace = 120 * kSecond;

// Whether a run that has had `in_lease` of its lease may be cancelled for a newcomer.
[[nodiscard]] inline bool is_early(const Settings& settings, bool had_lease, Time in_lease) {
  return in_lease < settings.delay && (had_lease || in_lease >= kFirstGrace);
}

// What the order of jobs looks at, in seconds and GPUs.
struct Facts {
  double life = 0;  // since the submission
  double executed = 0;
  double remaining = 0;
  double deserved = 0;
  double gpus = 0;
  double ends_next_lease = 1;  // a probability

  [[nodiscard]] double utilized() const { return gpus * executed; }
  [[nodiscard]] double rho() const { return deserved > 0 ? utilized() / deserved : 0; }
};
using Rank = std::array<double, 2>;  // low is served first; then by submission
[[nodiscard]] Rank rank_of(Selection selection, const Facts& facts);

// Results of the jobs that have ended, for Policy::figures().
class Figures {
 public:
  void add(double rho, double jct, double executed);
  std::uint64_t cancels = 0;
  std::uint64_t expiries = 0;
  [[nodiscard]] std::vector<std::pair<std::string, double>> list() const;
  [[nodiscard]] Fairness fairness() const;  // without tenants

 private:
  std::vector<double> jct_;
  double pending_ = 0;
  std::uint64_t fair_ = 0;
  std::uint64_t loss_ = 0;
  std::uint64_t benefit_ = 0;
};

}  // namespace comity::sched::astraea
