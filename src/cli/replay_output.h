// SPDX-License-Identifier: Apache-2.0
// The results of replays as they are printed.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "twin/summary.h"

namespace comity::cli {

// Heading, table, and below it what the table doesn't tell.
[[nodiscard]] std::string replay_text(const twin::ReplaySummary& summary, bool colour);

// The results of several traces as one text: tables below each other, a JSON array, JSON lines, or CSV with the trace
// in the first column. One trace: as it is.
[[nodiscard]] std::string join_results(const std::vector<std::string>& paths, const std::vector<std::string>& results,
                                       Output output);

// A folder name for each trace: the file's name without folders and endings, "stdin" for "-"; made distinct by "-2",
// "-3" ... in the order of the paths.
[[nodiscard]] std::vector<std::string> folder_names(const std::vector<std::string>& paths);

}  // namespace comity::cli
