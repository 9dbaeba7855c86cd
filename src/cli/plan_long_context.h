// SPDX-License-Identifier: Apache-2.0
// comity plan long-context.
#pragma once

#include "cli/command.h"

namespace comity::cli {

void add_plan_long_context(CLI::App& noun, Chosen& chosen);

}  // namespace comity::cli
