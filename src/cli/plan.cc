// SPDX-License-Identifier: Apache-2.0
// comity plan: its verbs have a file each.
#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/plan_verbs.h"

namespace comity::cli {

void add_plan(CLI::App& root, Chosen& chosen) {
  CLI::App* noun = root.add_subcommand("plan", "how to run a model: parallelism, long-context, hetero, spot, serve");
  noun->require_subcommand(1);
  noun->footer("Example: comity plan parallelism --model gpt3-175b --system dgx-a100 --gpus 64 --batch 64");
  add_plan_parallelism(*noun, chosen);
  add_plan_long_context(*noun, chosen);
  add_plan_hetero(*noun, chosen);
  add_plan_spot(*noun, chosen);
  add_plan_serve(*noun, chosen);
}

}  // namespace comity::cli
