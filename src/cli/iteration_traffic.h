// SPDX-License-Identifier: Apache-2.0
// comity iteration traffic: which rank sends how much to which in one step.
#pragma once

#include "cli/command.h"
#include "cli/execution_options.h"

namespace comity::cli {

// `csv`: a file for the matrix, an edge a line; "" = none.
[[nodiscard]] Status run_traffic(const ExecutionArgs& args, const std::string& csv, const Globals& globals);

}  // namespace comity::cli
