// SPDX-License-Identifier: Apache-2.0
// The line that makes a run again, and its options for run.json: what was given and what was left at its default.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/params.h"
#include "cli/command.h"

namespace comity::cli {

class CommandWords {
 public:
  // `sub` tells which options were given; it is looked into only while words are added.
  explicit CommandWords(const CLI::App& sub);

  void positional(const std::vector<std::string>& values);
  // "--name value", into line and run.json. `shown` false: left out of the line, since it changes no result or nothing
  // was given.
  void option(std::string_view name, const std::string& value, bool shown = true);
  void flag(std::string_view name, bool value);

  // Quoted for a POSIX shell.
  [[nodiscard]] const std::string& line() const { return line_; }
  // run.json (comity.run/1): version, command, seed, parameters {name, value, unit, origin}: the options, then
  // `params`.
  [[nodiscard]] std::string run_json(const Globals& globals, const Params* params = nullptr) const;

 private:
  struct Option {
    std::string name;
    std::string value;
    bool given;
  };
  const CLI::App* sub_;
  std::string line_;
  std::vector<Option> options_;
};

// As one word for a POSIX shell: as it is where that is safe, else in single quotes.
[[nodiscard]] std::string shell_word(std::string_view text);

}  // namespace comity::cli
