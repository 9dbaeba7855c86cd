// SPDX-License-Identifier: Apache-2.0
// The verbs of `comity trace` that have files of their own.
#pragma once

#include <string>

#include "cli/command.h"
#include "trace/reader.h"

namespace comity::cli {

// --format, --columns and --skip-bad of a verb that reads traces; `options` must outlive the parsing.
void add_read_options(CLI::App* sub, trace::ReadOptions& options);

// Says which rows of a trace that is written anew are not in it, since they are no GPU jobs.
void log_other_rows(const trace::Trace& trace);

void add_trace_synth(CLI::App& trace, Chosen& chosen);
void add_trace_scale(CLI::App& trace, Chosen& chosen);
void add_trace_merge(CLI::App& trace, Chosen& chosen);
void add_trace_anonymise(CLI::App& trace, Chosen& chosen);

}  // namespace comity::cli
