// SPDX-License-Identifier: Apache-2.0
// The tenants of astraea: those of the cluster file in its order, with their shares, then others (users, where a job
// has no tenant) in the order in which they are met, with share 1. A share of 0 counts as a billionth.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "sched/astraea_ltgf.h"
#include "sched/policy.h"

namespace comity::sched::astraea {

class Tenants {
 public:
  void declare(const State& state) {
    if (declared_) return;
    declared_ = true;
    for (const cluster::TenantSpec& spec : state.tenants()) add(spec.name, spec.share);
  }
  std::uint32_t index(const State& state, const Job& job) {
    const std::uint32_t name = job.tenant == profile::kNoName ? job.user : job.tenant;
    const auto at = by_name_.find(name);
    if (at != by_name_.end()) return at->second;
    const std::string text = name == profile::kNoName ? std::string() : state.names()[name];
    const auto it = by_text_.find(text);
    return by_name_[name] = it == by_text_.end() ? add(text, 1) : it->second;
  }
  [[nodiscard]] std::size_t size() const { return shares_.size(); }
  [[nodiscard]] const std::vector<double>& shares() const { return shares_; }
  [[nodiscard]] const std::string& name(std::size_t tenant) const { return names_[tenant]; }

  // Why the artifact would drop such a job: nobody's, or wider than the whole GPUs of its tenant's quota.
  [[nodiscard]] std::string wider_than_quota(const State& state, const profile::JobRequest& request) {
    declare(state);
    const std::uint32_t name = request.tenant == profile::kNoName ? request.user : request.tenant;
    const std::string text = name == profile::kNoName ? std::string() : state.names()[name];
    const auto it = by_text_.find(text);
    if (it == by_text_.end()) return fmt::format("tenant '{}' is not in the cluster file", printable(text));
    const auto& groups = state.pool().groups();
    const auto at = request.group == profile::kNoName
                        ? groups.begin()
                        : std::find(groups.begin(), groups.end(), state.names()[request.group]);
    const auto group = static_cast<std::uint32_t>(at - groups.begin());
    const auto capacity = static_cast<double>(state.pool().up_gpus({.group = group, .type = Pool::kAnyType}));
    const double quota = quotas(capacity, shares_, true)[it->second];
    if (static_cast<double>(request.shape.total()) <= quota) return {};
    return fmt::format("wider than the quota of tenant {}, which is {} GPUs", printable(text), quota);
  }

 private:
  std::uint32_t add(const std::string& name, double share) {
    const auto index = static_cast<std::uint32_t>(shares_.size());
    by_text_.emplace(name, index);
    names_.push_back(name);
    shares_.push_back(std::max(share, 1e-9));
    return index;
  }

  bool declared_ = false;
  std::vector<std::string> names_;
  std::vector<double> shares_;
  std::unordered_map<std::string, std::uint32_t> by_text_;
  std::unordered_map<std::uint32_t, std::uint32_t> by_name_;
};

inline void add_tenants(Fairness& fairness, const Tenants& tenants, const std::vector<Usage>& usage) {
  constexpr double kHourS = 3600;
  for (std::size_t u = 0; u < usage.size(); ++u)
    fairness.tenants.push_back({tenants.name(u), usage[u].ltgf(), usage[u].utilized / kHourS});
}

}  // namespace comity::sched::astraea
