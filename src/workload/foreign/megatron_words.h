// SPDX-License-Identifier: Apache-2.0
// The options of a command line or script of Megatron-LM, cut into words as a POSIX shell does.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace comity::workload {

using MegatronOptions = std::map<std::string, std::string, std::less<>>;  // without "--"; a flag has the value ""

// At most 10,000 words are looked at; variables that the script itself sets are filled in, up to 4,096 characters each.
[[nodiscard]] MegatronOptions megatron_options(std::string_view command);

}  // namespace comity::workload
