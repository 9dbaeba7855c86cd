// SPDX-License-Identifier: Apache-2.0
// What is printed for people holds nothing that steers the terminal. Standard output is checked once, at the end, for
// whatever a command has printed: a full disk or a closed stream is an error (kInput) and never a silent loss.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace comity::cli {

// Call first in main(): a standard stream that is closed is opened on a device that refuses what is done with it, so
// that no file which is opened later takes its number and its output.
void open_standard_streams();

// Text of several lines with names that come from files, line by line as printable() makes it. Tables do so by
// themselves.
[[nodiscard]] std::string printable_lines(std::string_view text);

// Writes out what is buffered. `code` is the errno of an earlier failed write, or 0. The error has an empty message
// where the reader of a pipe has gone: nothing has to be said then.
[[nodiscard]] Status finish_standard_output(int code);

}  // namespace comity::cli
