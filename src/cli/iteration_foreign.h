// SPDX-License-Identifier: Apache-2.0
// comity iteration estimate --cost calculon | astra_unaware | simai: what those simulators say of a step, from their
// own files. All three print and leave the same things.
#pragma once

#include <string>

#include "cli/command.h"
#include "cli/execution_options.h"
#include "workload/foreign/foreign.h"

namespace comity::cli {

// What `comity iteration estimate` takes.
struct IterationArgs {
  ExecutionArgs own;
  workload::AstraRequest astra;
  workload::SimaiRequest simai;
  std::string megatron;
  std::int64_t gpus = 0;
};
// The options that were given, for run.json.
[[nodiscard]] CommandWords words_of(const CLI::App& sub, const IterationArgs& args);

[[nodiscard]] Status run_astra(const CLI::App& sub, const IterationArgs& args, const Globals& globals);
[[nodiscard]] Status run_calculon(const CLI::App& sub, const IterationArgs& args, const Globals& globals);
[[nodiscard]] Status run_simai(const CLI::App& sub, const IterationArgs& args, const Globals& globals);

}  // namespace comity::cli
