// SPDX-License-Identifier: Apache-2.0
#include "twin/history.h"

namespace comity::twin {

void History::add(std::uint32_t user, std::uint32_t name, Time ran) {
  const auto count = [&](Mean& mean) {
    mean.sum += to_seconds(ran);
    mean.count += 1;
  };
  count(all_);
  if (user == profile::kNoName) return;
  count(by_user_[user]);
  if (name != profile::kNoName) count(by_name_[key(user, name)]);
}

Time History::predict(std::uint32_t user, std::uint32_t name, Time unknown) const {
  if (const auto it = by_name_.find(key(user, name)); it != by_name_.end()) return it->second.value();
  if (const auto it = by_user_.find(user); it != by_user_.end()) return it->second.value();
  return all_.count > 0 ? all_.value() : unknown;
}

}  // namespace comity::twin
