// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

namespace comity::cli {
void add_trace(CLI::App&, Chosen&) {}
}  // namespace comity::cli
