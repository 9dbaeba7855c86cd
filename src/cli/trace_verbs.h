// SPDX-License-Identifier: Apache-2.0
// The verbs of `comity trace` that have files of their own.
#pragma once

#include "cli/command.h"

namespace comity::cli {

void add_trace_synth(CLI::App& trace, Chosen& chosen);

}  // namespace comity::cli
