// SPDX-License-Identifier: Apache-2.0
// The JSON form of a Chakra trace, {"workload_graph": [{"Id", "Name", "NodeType", "data_deps", "ctrl_deps", "runtime",
// "is_cpu_op", ...}]}, as MLCommons' feeder reads it.
#pragma once

#include <string>
#include <string_view>

#include "workload/foreign/chakra.h"

namespace comity::workload {

[[nodiscard]] Result<ChakraTrace> read_chakra_json(std::string_view text, const std::string& name);

}  // namespace comity::workload
