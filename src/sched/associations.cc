// SPDX-License-Identifier: Apache-2.0
#include "sched/associations.h"

#include <cmath>

namespace comity::sched {

using cluster::State;

std::uint32_t Associations::of(const State& state, const cluster::Job& job) {
  const std::uint64_t key = (std::uint64_t{job.tenant} << 32) | job.user;
  const auto [it, made] = index_.try_emplace(key, static_cast<std::uint32_t>(users_.size()));
  if (!made) return it->second;
  double share = 1;
  const std::string tenant = job.tenant == profile::kNoName ? "" : state.names()[job.tenant];
  if (job.user != profile::kNoName) {
    const std::string& name = state.names()[job.user];
    for (const cluster::UserSpec& spec : state.users()) {
      if (spec.name == name && spec.tenant == tenant) share = spec.share;
    }
  }
  User user;
  user.node = tree_.add_user(account(state, job.tenant), share);
  user.tenant = job.tenant;
  users_.push_back(user);
  stale_ = true;
  return it->second;
}

FairShareTree::Id Associations::account(const State& state, std::uint32_t tenant) {
  return tenant == profile::kNoName ? account_by_name(state, "") : account_by_name(state, state.names()[tenant]);
}

// A tenant's parents are made before it. The reader has checked that the tree has no ring.
FairShareTree::Id Associations::account_by_name(const State& state, const std::string& name) {
  if (const auto it = accounts_.find(name); it != accounts_.end()) return it->second;
  FairShareTree::Id parent = FairShareTree::kRoot;
  double share = 1;
  for (const cluster::TenantSpec& spec : state.tenants()) {
    if (spec.name != name || name.empty()) continue;
    share = spec.share;
    if (!spec.parent.empty()) parent = account_by_name(state, spec.parent);
  }
  const FairShareTree::Id made = tree_.add_account(parent, share);
  accounts_.emplace(name, made);
  return made;
}

void Associations::accrue(User& user, Time until) {
  user.accrued += static_cast<double>(user.gpus) * to_seconds(until - user.since);
  user.since = until;
}

bool Associations::advance(Time now) {
  if (!set_.needed) return false;
  const Time period = now / set_.calc_period;
  if (period_ < 0) period_ = period;
  const bool computed = stale_;
  if (period == period_) {
    if (stale_) compute();
    return computed;
  }
  // The first boundary closes the period that was open; the others follow at constant rates.
  const Time boundary = (period_ + 1) * set_.calc_period;
  const auto more = static_cast<double>(period - period_ - 1);
  const double one = set_.half_life > 0 ? std::exp2(-to_seconds(set_.calc_period) / to_seconds(set_.half_life)) : 1;
  const double rest = std::pow(one, more);
  const double sum = one < 1 ? (1 - rest) / (1 - one) : more;  // 1 + one + one^2 + ...
  tree_.decay(one * rest);
  for (User& user : users_) {
    accrue(user, boundary);
    const double each = static_cast<double>(user.gpus) * to_seconds(set_.calc_period);
    tree_.charge(user.node, user.accrued * rest + each * sum);
    user.accrued = 0;
    user.since = period * set_.calc_period;
  }
  period_ = period;
  compute();
  return true;
}

void Associations::hold(std::uint32_t association, std::int64_t gpus, Time now) {
  User& user = users_[association];
  if (user.gpus != 0) accrue(user, now);
  user.since = now;
  user.gpus += gpus;
}

double Associations::factor(std::uint32_t association) {
  if (!set_.needed) return 0;
  if (stale_) compute();
  return tree_.factor(users_[association].node);
}

void Associations::compute() {
  stale_ = false;
  if (set_.classic) {
    tree_.classic(set_.dampening);
  } else {
    tree_.fair_tree();
  }
}

}  // namespace comity::sched
