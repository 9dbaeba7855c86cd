// SPDX-License-Identifier: Apache-2.0
#include "sched/class_map.h"

#include <fmt/format.h>

#include "base/text.h"

namespace comity::sched {

Result<ClassMap> parse_class_map(const std::string& parameter, const std::string& text) {
  constexpr std::int64_t kMost = 1'000'000;
  ClassMap map;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.find(',', at);
    if (end == std::string::npos) end = text.size();
    const std::string item = text.substr(at, end - at);
    const std::size_t equals = item.rfind('=');
    std::optional<std::int64_t> value;
    if (equals != std::string::npos) value = parse_int(std::string_view(item).substr(equals + 1));
    if (!value || equals == 0 || *value < -kMost || *value > kMost)
      return fail_option(parameter, fmt::format("'{}' is not NAME=NUMBER", printable(item)),
                         "write for example prod=10,dev=-1 with numbers from -1000000 to 1000000");
    map[item.substr(0, equals)] = *value;
    at = end + 1;
  }
  return map;
}

}  // namespace comity::sched
