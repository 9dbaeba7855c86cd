// SPDX-License-Identifier: Apache-2.0
// Slurm's associations (user in account) of a cluster with their decayed usage and fair-share factor. Accounts are the
// tenants, in the tree that the cluster file gives, else side by side; users that it does not list have share 1.
// Usage is in GPU seconds. As in Slurm, it decays and factors are computed anew at the multiples of calc_period; what
// happens in between is charged exactly. Between two calls of advance() the GPUs in use are constant, so any number of
// periods is one step. O(1) for a start or an end, O(associations log associations) for a period.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "cluster/state.h"
#include "sched/fair_share.h"

namespace comity::sched {

class Associations {
 public:
  struct Settings {
    Time half_life = 7 * kDay;  // 0: no decay
    Time calc_period = 5 * kMinute;
    double dampening = 1;
    bool classic = false;
    bool needed = true;  // false: factors are not asked for, nothing is computed
  };
  explicit Associations(const Settings& settings) : set_(settings) {}

  // The association of a job; made, and the factors computed anew at the next advance() or factor(), if it is new.
  std::uint32_t of(const cluster::State& state, const cluster::Job& job);
  // Charges what ran until `now` and takes the periods that have passed. True when the factors are new.
  bool advance(Time now);
  // From `now` on the association holds that many GPUs more (or fewer); advance(now) comes first.
  void hold(std::uint32_t association, std::int64_t gpus, Time now);
  [[nodiscard]] double factor(std::uint32_t association);
  [[nodiscard]] double usage(std::uint32_t association) const { return tree_.usage(users_[association].node); }
  [[nodiscard]] std::uint32_t tenant(std::uint32_t association) const { return users_[association].tenant; }
  // The first multiple of the period after `now`.
  [[nodiscard]] Time next_period(Time now) const { return (now / set_.calc_period + 1) * set_.calc_period; }

 private:
  struct User {
    FairShareTree::Id node = 0;
    std::uint32_t tenant = 0;  // name
    std::int64_t gpus = 0;     // held
    Time since = 0;            // charged up to here
    double accrued = 0;        // GPU s of this period
  };
  FairShareTree::Id account(const cluster::State& state, std::uint32_t tenant);
  FairShareTree::Id account_by_name(const cluster::State& state, const std::string& name);
  void compute();
  static void accrue(User& user, Time until);

  Settings set_;
  FairShareTree tree_;
  std::vector<User> users_;
  std::unordered_map<std::uint64_t, std::uint32_t> index_;  // (tenant, user) -> association
  std::unordered_map<std::string, FairShareTree::Id> accounts_;
  Time period_ = -1;  // the last one taken, as a number
  bool stale_ = false;
};

}  // namespace comity::sched
