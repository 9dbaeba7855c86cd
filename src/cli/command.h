// SPDX-License-Identifier: Apache-2.0
// The command line: one file a noun. Each add_x() hangs its verbs on the root; what a verb does is a function that
// returns Status, run after the whole line was parsed. Results go to stdout, everything else to stderr.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

namespace comity::cli {

enum class Output { kTable, kJson, kJsonl, kCsv };

// Options that every noun and verb takes.
struct Globals {
  Output output = Output::kTable;
  std::string out_dir;  // --out DIR; empty = none
  std::uint64_t seed = 1;
  bool quiet = false;
  bool verbose = false;
  bool colour = false;  // stdout is a terminal and --no-color was not given
};

// What the parsed line asks for.
struct Chosen {
  Globals globals;
  std::function<Status(const Globals&)> run;
  std::vector<const CLI::App*> folders;  // the verbs that leave a folder with --out; others refuse it
};

void add_trace(CLI::App& root, Chosen& chosen);
void add_replay(CLI::App& root, Chosen& chosen);
void add_policy(CLI::App& root, Chosen& chosen);
void add_placement(CLI::App& root, Chosen& chosen);
void add_model(CLI::App& root, Chosen& chosen);
void add_system(CLI::App& root, Chosen& chosen);
void add_iteration(CLI::App& root, Chosen& chosen);
void add_plan(CLI::App& root, Chosen& chosen);
void add_bench(CLI::App& root, Chosen& chosen);
void add_completion(CLI::App& root, Chosen& chosen);

// Parses, runs, prints an error if there is one; returns the exit status.
int main(int argc, char** argv);

}  // namespace comity::cli
