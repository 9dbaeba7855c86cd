// SPDX-License-Identifier: Apache-2.0
// What log.cc and progress.cc share: one lock over standard error, so that a log line and the progress line never
// mix. Not for use outside base/.
#pragma once

#include <string_view>

namespace comity {

// A whole line of the log; a drawn progress line is wiped first (and drawn again at its next update).
void write_log_line(std::string_view line);
// Draws `line` over the last progress line; empty: wipes it.
void draw_progress_line(std::string_view line);

}  // namespace comity
