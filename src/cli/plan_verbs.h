// SPDX-License-Identifier: Apache-2.0
// The verbs of the noun "plan", a file each.
#pragma once

#include "cli/command.h"

namespace comity::cli {

void add_plan_parallelism(CLI::App& noun, Chosen& chosen);
void add_plan_long_context(CLI::App& noun, Chosen& chosen);
void add_plan_hetero(CLI::App& noun, Chosen& chosen);
void add_plan_spot(CLI::App& noun, Chosen& chosen);
void add_plan_serve(CLI::App& noun, Chosen& chosen);

}  // namespace comity::cli
