// SPDX-License-Identifier: Apache-2.0
// Whom a job counts for when a policy shares between tenants: its tenant, or its user where it has none. Owners are
// numbered densely in the order in which they are met; their weight is `share` of the cluster file, 1 where it says
// nothing. A share of 0 counts as a billionth, so that whoever has no share is served last and still is served.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "sched/policy.h"

namespace comity::sched {

class Owners {
 public:
  std::uint32_t index(const State& state, const Job& job) {
    const bool by_user = job.tenant == profile::kNoName;
    const std::uint64_t key = (std::uint64_t{by_user} << 32) | (by_user ? job.user : job.tenant);
    const auto [it, made] = index_.try_emplace(key, static_cast<std::uint32_t>(weight_.size()));
    if (made) weight_.push_back(by_user ? 1 : share(state, job.tenant));
    return it->second;
  }
  [[nodiscard]] std::size_t size() const { return weight_.size(); }
  [[nodiscard]] double weight(std::uint32_t owner) const { return weight_[owner]; }

 private:
  static double share(const State& state, std::uint32_t tenant) {
    const std::string& name = state.names()[tenant];
    for (const cluster::TenantSpec& spec : state.tenants()) {
      if (spec.name == name) return std::max(spec.share, 1e-9);
    }
    return 1;
  }

  std::unordered_map<std::uint64_t, std::uint32_t> index_;
  std::vector<double> weight_;
};

}  // namespace comity::sched
