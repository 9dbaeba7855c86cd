// SPDX-License-Identifier: Apache-2.0
// A parameter of the form "prod=10,dev=-1": a number for each of some names.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"

namespace comity::sched {

using ClassMap = std::map<std::string, std::int64_t, std::less<>>;

// Numbers from -1000000 to 1000000; the last one wins where a name stands twice; "" is the empty map. Error (kUsage)
// names `parameter` and the item. O(length).
[[nodiscard]] Result<ClassMap> parse_class_map(const std::string& parameter, const std::string& text);

}  // namespace comity::sched
