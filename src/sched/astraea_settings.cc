// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sched/astraea.h"
#include "sched/param.h"

namespace comity::sched::astraea {
namespace {

const std::vector<std::string>& selections() {
  static const std::vector<std::string> names = {"fairness",      "disc_fairness",  "job_reward", "fifo",
                                                 "smallestfirst", "shortestremain", "2das",       "themis"};
  return names;
}
const std::vector<std::string>& quota_rules() {
  static const std::vector<std::string> names = {"fair", "static", "dynamic"};
  return names;
}
std::size_t index_of(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

}  // namespace

Settings settings_of(const Params& p) {
  Settings s;
  s.selection = static_cast<Selection>(index_of(selections(), p.text("astraea.selection")));
  s.quota = static_cast<Quota>(index_of(quota_rules(), p.text("astraea.quota")));
  s.tick = p.time("astraea.tick");
  s.lease = p.time("astraea.lease");
  s.starvation = p.time("astraea.starvation");
  s.delay = p.time("astraea.delay");
  s.checkpoint = p.time("astraea.checkpoint");
  s.resume = p.time("astraea.resume");
  s.window = static_cast<std::size_t>(p.integer("astraea.window"));
  s.overcommit = p.real("astraea.overcommit");
  s.block = p.boolean("astraea.block_scheduling");
  s.hold = p.boolean("astraea.hold");
  return s;
}

std::vector<Param> parameters() {
  using enum Param::Type;
  return {
      make_choice("astraea.selection", selections(),
                  "order of a tenant's jobs; fairness: least had of what it deserves"),
      make_choice("astraea.quota", quota_rules(),
                  "fair: quotas are weights; static: limits; dynamic: limits that may be passed while GPUs are idle"),
      make_param("astraea.tick", kTime, "s", "10", 1, 86400, "decisions are made at its multiples"),
      make_param("astraea.lease", kTime, "s", "1800", 1, 1e9, "how long GPUs are given"),
      make_param("astraea.starvation", kTime, "s", "14400", 0, 1e9,
                 "a job that has waited that long goes before the others of its tenant"),
      make_param("astraea.delay", kTime, "s", "0", 0, 1e9,
                 "runs that are younger in their lease may be cancelled for a new job of their tenant; 0 = never"),
      make_param("astraea.window", kInt, "hours", "24", 1, 8784, "how far back the fairness of tenants looks"),
      make_param("astraea.overcommit", kReal, "", "1.2", 1, 1e6, "dynamic: how much of its quota a tenant may use"),
      make_param("astraea.block_scheduling", kBool, "", "false", 0, 0,
                 "a tenant's first job that does not fit holds its others up"),
      make_param("astraea.hold", kBool, "", "true", 0, 0,
                 "a starving job whose turn it is and that does not fit keeps the free GPUs until it does"),
      make_param("astraea.checkpoint", kTime, "s", "5", 0, 1e6, "what saving a job costs that gives way"),
      make_param("astraea.resume", kTime, "s", "20", 0, 1e6, "what loading it again costs"),
  };
}

Rank rank_of(Selection selection, const Facts& f) {
  switch (selection) {
    case Selection::kFairness: return {f.rho(), 0};
    case Selection::kDiscrete: return {static_cast<double>(discrete_index(f.rho())), 0};
    case Selection::kReward: return {static_cast<double>(discrete_index(f.rho())), -f.ends_next_lease / f.gpus};
    case Selection::kFifo: return {0, 0};
    case Selection::kSmallest: return {f.gpus, 0};
    case Selection::kShortestRemaining: return {f.remaining, 0};
    case Selection::kTwoDimensional: return {f.utilized(), 0};
    case Selection::kThemis: return {-finish_time_ratio(f.life, f.executed, f.remaining, f.utilized(), f.deserved), 0};
  }
  return {0, 0};
}

void Figures::add(double rho, double jct, double executed) {
  constexpr double kLoss = 0.95;
  constexpr double kBenefit = 1.05;
  jct_.push_back(jct);
  pending_ += jct - executed;
  loss_ += rho < kLoss ? 1 : 0;
  benefit_ += rho > kBenefit ? 1 : 0;
  fair_ += rho >= kLoss && rho <= 1 / kLoss ? 1 : 0;
}

std::vector<std::pair<std::string, double>> Figures::list() const {
  if (jct_.empty()) return {};
  std::vector<double> jct = jct_;
  const auto upper = [&](double q) {
    const auto at = jct.begin() + static_cast<std::ptrdiff_t>(q * static_cast<double>(jct.size()));
    std::nth_element(jct.begin(), at, jct.end());
    return *at;
  };
  const auto n = static_cast<double>(jct.size());
  return {{"avg_pending_s", pending_ / n}, {"upper_median_jct_s", upper(0.5)}, {"upper_p99_jct_s", upper(0.99)}};
}

Fairness Figures::fairness() const {
  const double n = std::max<double>(1, static_cast<double>(jct_.size()));
  Fairness f;
  f.rho_in_band = static_cast<double>(fair_) / n;
  f.sharing_loss = static_cast<double>(loss_) / n;
  f.sharing_benefit = static_cast<double>(benefit_) / n;
  f.lease_cancels = cancels;
  f.lease_expiries = expiries;
  return f;
}

}  // namespace comity::sched::astraea
