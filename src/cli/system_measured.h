// SPDX-License-Identifier: Apache-2.0
// comity system validate | calibrate: how well the estimates on a machine agree with what was measured.
#pragma once

#include "cli/command.h"

namespace comity::cli {

void add_system_validate(CLI::App& noun, Chosen& chosen);
void add_system_calibrate(CLI::App& noun, Chosen& chosen);

}  // namespace comity::cli
