// SPDX-License-Identifier: Apache-2.0
// A machine as it is printed: the file that --system takes, or the same content as JSON.
#pragma once

#include "cli/command.h"
#include "workload/system.h"

namespace comity::cli {

[[nodiscard]] Status check_machine_output(Output output);  // a machine is no table: CSV is refused
[[nodiscard]] Status print_machine(const workload::System& system, Output output);

}  // namespace comity::cli
