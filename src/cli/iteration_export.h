// SPDX-License-Identifier: Apache-2.0
// comity iteration export: a step as Chakra traces, with the files that ASTRA-sim wants beside them.
#pragma once

#include "cli/command.h"
#include "cli/execution_options.h"

namespace comity::cli {

// Leaves PREFIX.0.et ..., PREFIX.groups.json, PREFIX.network.yml and PREFIX.system.json.
[[nodiscard]] Status run_export(const ExecutionArgs& args, const std::string& prefix, const Globals& globals);

}  // namespace comity::cli
