// SPDX-License-Identifier: Apache-2.0
#include "profile/job_request.h"

namespace comity::profile {

std::uint32_t NameTable::intern(std::string_view text) {
  const auto it = index_.find(text);
  if (it != index_.end()) return it->second;
  const auto made = index_.emplace(std::string(text), static_cast<std::uint32_t>(names_.size())).first;
  names_.push_back(&made->first);
  return made->second;
}

std::uint32_t NameTable::find(std::string_view text) const {
  const auto it = index_.find(text);
  return it == index_.end() ? kNoName : it->second;
}

}  // namespace comity::profile
