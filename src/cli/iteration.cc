// SPDX-License-Identifier: Apache-2.0
// comity iteration estimate: how long a training step takes and where the time goes.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/command_words.h"
#include "cli/execution_options.h"
#include "cli/iteration_output.h"
#include "cli/output_folder.h"
#include "workload/estimate.h"

namespace comity::cli {
namespace {

Status run_own(const CLI::App& sub, const ExecutionArgs& args, const Globals& globals) {
  auto in = load_step(args);
  if (!in) return fail(in.error());
  const workload::Estimate e = workload::estimate(in->model, in->execution, in->system, in->cost);
  const std::string json = estimate_json(*in, e, args.cost, {});
  if (globals.output == Output::kJson || globals.output == Output::kJsonl) {
    fmt::print("{}", json);
  } else if (globals.output == Output::kCsv) {
    fmt::print("{}", breakdown_table(e.breakdown_s).csv());
  } else {
    fmt::print("{}\n{}", estimate_text(*in, e), breakdown_table(e.breakdown_s).text(globals.colour));
  }
  if (globals.out_dir.empty()) return {};
  CommandWords words(sub);
  say_execution_options(words, args);
  return write_folder(globals.out_dir, {{"run.json", words.run_json(globals)},
                                        {"summary.json", json},
                                        {"breakdown.csv", breakdown_table(e.breakdown_s).csv()},
                                        {"report.html", estimate_page(*in, e, words.line(), json)}});
}

}  // namespace

void add_iteration(CLI::App& root, Chosen& chosen) {
  CLI::App* noun = root.add_subcommand("iteration", "one step of training: estimate");
  noun->require_subcommand(1);
  noun->footer("Example: comity iteration estimate --model gpt3-175b --system dgx-a100 --tp 8 --pp 8 --batch 64");
  CLI::App* estimate = noun->add_subcommand("estimate", "how long a step takes, where the time goes, whether it fits");
  estimate->footer(
      "Example: comity iteration estimate --model gpt3-175b --system dgx-a100 --tp 8 --pp 8 --virtual-stages 3 --batch "
      "64");
  auto args = std::make_shared<ExecutionArgs>();
  add_execution_options(estimate, args);
  estimate->add_option("--cost", args->cost, "what a collective costs: nccl (default) or alpha_beta")
      ->check(CLI::IsMember({"nccl", "alpha_beta", "calculon", "astra_unaware", "simai"}));
  estimate->callback([args, estimate, &chosen] {
    chosen.run = [args, estimate](const Globals& globals) { return run_own(*estimate, *args, globals); };
  });
}

}  // namespace comity::cli
