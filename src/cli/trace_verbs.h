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

class CommandWords;
void add_read_words(CommandWords& words, const trace::ReadOptions& options);

// trace::read_trace, and with -v a line that says what was read.
[[nodiscard]] Result<trace::Trace> read_trace(const std::string& path, trace::ReadOptions options,
                                              const Globals& globals);
// trace::write_trace, and one warning that says what the format has no room for.
[[nodiscard]] Status write_trace(const trace::Trace& trace, const std::string& format, const std::string& path);

void add_trace_synth(CLI::App& trace, Chosen& chosen);
void add_trace_scale(CLI::App& trace, Chosen& chosen);
void add_trace_merge(CLI::App& trace, Chosen& chosen);
void add_trace_anonymise(CLI::App& trace, Chosen& chosen);

}  // namespace comity::cli
