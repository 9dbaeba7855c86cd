// SPDX-License-Identifier: Apache-2.0
// comity iteration estimate --cost calculon: Calculon's own model from its own three files.
#pragma once

#include "cli/command.h"
#include "cli/execution_options.h"

namespace comity::cli {

[[nodiscard]] Status run_calculon(const ExecutionArgs& args, const Globals& globals);

}  // namespace comity::cli
