// SPDX-License-Identifier: Apache-2.0
// What holds for every option of every command, said once for the whole tree of commands:
//   - a number is written in decimal digits and fits: no NaN or infinity (a range check lets NaN through), no "-1" or
//     2^64 that wraps around, no empty text that becomes 0, no "010" that becomes 8;
//   - the name of a file, a folder or a cluster is not empty;
//   - an option that may be given again takes one value each time, and never the words behind it;
//   - the help of a command lists the options that all of them take;
//   - an option that would do nothing is refused: --out where a verb leaves no folder, and what a verb's table of
//     GoesWith keeps for other modes of it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace comity::cli {

// Call once all commands are there. `folders`: the verbs that leave a folder with --out.
void check_options(CLI::App& root, const std::vector<const CLI::App*>& folders);

// Once the line was parsed: an error where --out was given to a verb that is none of `folders`.
[[nodiscard]] Status check_out(const CLI::App& root, const std::vector<const CLI::App*>& folders);

// An option that has an effect in some modes of a verb alone.
struct GoesWith {
  const char* option;  // "--gpus"
  unsigned modes;      // a bit for each mode in which it says something
  const char* with;    // what it goes with, for the hint
};
// An error naming the first option that was given and says nothing in `mode`, which is `what` for the message.
[[nodiscard]] Status refuse_idle(const CLI::App& verb, unsigned mode, std::string_view what,
                                 std::span<const GoesWith> table);

// "json" in any case; nothing where there is no such format.
[[nodiscard]] std::optional<Output> parse_output(std::string_view text);
// Why `text` is no format, for a message; empty where it is one.
[[nodiscard]] std::string refuse_output(const std::string& text);
// The format that a line asks for which could not be parsed.
[[nodiscard]] Output wanted_output(int argc, const char* const* argv);

}  // namespace comity::cli
