// SPDX-License-Identifier: Apache-2.0
// comity iteration estimate: how long a training step takes and where the time goes, by Comity's own model or by that
// of another simulator from its own files.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/input.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/execution_options.h"
#include "cli/iteration_export.h"
#include "cli/iteration_foreign.h"
#include "cli/iteration_output.h"
#include "cli/iteration_traffic.h"
#include "cli/option_checks.h"
#include "cli/output_folder.h"
#include "cli/standard_output.h"
#include "cli/step_timeline.h"
#include "workload/estimate.h"
#include "workload/foreign/megatron.h"

namespace comity::cli {
namespace {

// How a step is estimated; the bits of GoesWith.
enum Mode : unsigned { kOwn = 1, kMegatron = 2, kCalculon = 4, kAstra = 8, kSimai = 16 };

constexpr const char* kModel = "--model and --megatron";
constexpr GoesWith kGoesWith[] = {{"--model", kOwn | kCalculon, "everything but --megatron, astra_unaware and simai"},
                                  {"--execution", kOwn | kCalculon, "--model"},
                                  {"--system", kOwn | kMegatron | kCalculon | kAstra, "everything but --cost simai"},
                                  {"--tp", kOwn | kMegatron, kModel},
                                  {"--pp", kOwn | kMegatron, kModel},
                                  {"--dp", kOwn | kMegatron, kModel},
                                  {"--cp", kOwn | kMegatron, kModel},
                                  {"--ep", kOwn | kMegatron, kModel},
                                  {"--virtual-stages", kOwn | kMegatron, kModel},
                                  {"--microbatch", kOwn | kMegatron, kModel},
                                  {"--batch", kOwn | kMegatron, kModel},
                                  {"--sequence", kOwn | kMegatron, kModel},
                                  {"--schedule", kOwn | kMegatron, kModel},
                                  {"--recompute", kOwn | kMegatron, kModel},
                                  {"--datatype", kOwn | kMegatron, kModel},
                                  {"--zero", kOwn | kMegatron, kModel},
                                  {"--megatron", kMegatron, "--cost nccl and alpha_beta"},
                                  {"--gpus", kOwn | kMegatron | kSimai, "--model, --megatron and --cost simai"},
                                  {"--chakra", kAstra, "--cost astra_unaware"},
                                  {"--network", kAstra, "--cost astra_unaware"},
                                  {"--groups", kAstra, "--cost astra_unaware"},
                                  {"--workload", kSimai, "--cost simai"},
                                  {"--nvlink-gb-s", kSimai, "--cost simai"},
                                  {"--nic-gb-s", kSimai, "--cost simai"},
                                  {"--nics-per-node", kSimai, "--cost simai"},
                                  {"--gpus-per-node", kSimai, "--cost simai"}};

Mode mode_of(const IterationArgs& args) {
  if (args.own.cost == "calculon") return kCalculon;
  if (args.own.cost == "astra_unaware") return kAstra;
  if (args.own.cost == "simai") return kSimai;
  return args.megatron.empty() ? kOwn : kMegatron;
}

Result<StepInputs> inputs_of(const IterationArgs& args) {
  if (args.megatron.empty()) return load_step(args.own);
  auto text = read_document(args.megatron);
  if (!text) return fail(text.error());
  auto run = workload::parse_megatron(*text, args.gpus, args.megatron);
  if (!run) return fail(run.error());
  if (!run->ignored.empty())
    log_info(fmt::format("{}: options that say nothing of cost: {}", args.megatron, fmt::join(run->ignored, " ")));
  return load_step(args.own, run->model, run->execution);
}

Status run_own(const CLI::App& sub, const IterationArgs& args, const Globals& globals) {
  auto in = inputs_of(args);
  if (!in) return fail(in.error());
  if (args.gpus > 0 && in->execution.gpus() != args.gpus)
    return fail_option("--gpus", fmt::format("is {}, but tp x cp x pp x dp is {}", args.gpus, in->execution.gpus()),
                       "leave it out, or change one of --tp, --cp, --pp and --dp");
  const workload::Estimate e = workload::estimate(in->model, in->execution, in->system, in->cost);
  for (const double figure : {e.iteration_s, e.high_s})
    if (auto status = check_seconds(figure, fmt::format("{} on {}", in->model.name, args.own.system)); !status)
      return status;
  const std::string json = estimate_json(*in, e, args.own.cost, {});
  auto timeline = step_timeline(*in);
  if (!timeline) return fail(timeline.error());
  if (globals.output == Output::kJson || globals.output == Output::kJsonl) {
    fmt::print("{}", json);
  } else if (globals.output == Output::kCsv) {
    fmt::print("{}", breakdown_table(e.breakdown_s).csv());
  } else {
    fmt::print("{}\n{}", estimate_text(*in, e), breakdown_table(e.breakdown_s).text(globals.colour));
    if (!timeline->text.empty()) fmt::print("\n{}", printable_lines(timeline->text));
  }
  if (globals.out_dir.empty()) return {};
  const CommandWords words = words_of(sub, args);
  std::vector<std::pair<std::string, std::string>> files = {
      {"run.json", words.run_json(globals)},
      {"summary.json", json},
      {"breakdown.csv", breakdown_table(e.breakdown_s).csv()},
      {"report.html", estimate_page(*in, e, words.line(), json, timeline->chart)}};
  if (!timeline->trace.empty()) files.emplace_back("trace.json", timeline->trace);
  return write_folder(globals.out_dir, files);
}

Status run_estimate(const CLI::App& sub, const IterationArgs& args, const Globals& globals) {
  const Mode mode = mode_of(args);
  const std::string with = mode == kOwn        ? std::string("about a step of Comity's own model")
                           : mode == kMegatron ? std::string("beside --megatron")
                                               : "with --cost " + args.own.cost;
  if (auto status = refuse_idle(sub, mode, with, kGoesWith); !status) return status;
  if (mode == kAstra) return run_astra(sub, args, globals);
  if (mode == kCalculon) return run_calculon(sub, args, globals);
  if (mode == kSimai) return run_simai(sub, args, globals);
  return run_own(sub, args, globals);
}

void add_foreign_options(CLI::App* sub, const std::shared_ptr<IterationArgs>& args) {
  sub->add_option("--megatron", args->megatron,
                  "a file with a command line of Megatron-LM, instead of model and execution");
  sub->add_option("--gpus", args->gpus, "how many GPUs, for --megatron and simai; else as many as tp x cp x pp x dp")
      ->check(CLI::Range(1, 100'000'000));
  sub->add_option("--chakra", args->astra.chakra, "astra_unaware: PREFIX of Chakra traces, PREFIX.0.et and so on");
  sub->add_option("--network", args->astra.network, "astra_unaware: ASTRA-sim's network YAML");
  sub->add_option("--groups", args->astra.groups, "astra_unaware: communicator groups, JSON");
  sub->add_option("--workload", args->simai.workload, "simai: a workload text of SimAI or AICB");
  workload::SimaiMachine& m = args->simai.machine;
  sub->add_option("--nvlink-gb-s", m.nvlink_gb_s, "simai: NVLink bus bandwidth")->check(CLI::Range(0.001, 1e6));
  sub->add_option("--nic-gb-s", m.nic_gb_s, "simai: of one NIC")->check(CLI::Range(0.001, 1e6));
  sub->add_option("--nics-per-node", m.nics_per_node, "simai: NICs a node (default 8)")->check(CLI::Range(1, 1024));
  sub->add_option("--gpus-per-node", m.gpus_per_node, "simai: GPUs a node (default 8)")->check(CLI::Range(1, 1024));
}

void add_export(CLI::App* noun, Chosen& chosen) {
  CLI::App* sub = noun->add_subcommand("export", "the step as Chakra traces, for ASTRA-sim and its like");
  sub->footer(
      "Example: comity iteration export --model llama2-7b --system dgx-a100 --tp 2 --pp 2 --dp 2 --batch 16 --chakra "
      "/tmp/llama");
  auto args = std::make_shared<ExecutionArgs>();
  auto prefix = std::make_shared<std::string>();
  add_execution_options(sub, args);
  sub->add_option("--chakra", *prefix, "leave PREFIX.0.et and so on here, groups, network and system beside them")
      ->required();
  sub->callback([args, prefix, &chosen] {
    chosen.run = [args, prefix](const Globals& globals) { return run_export(*args, *prefix, globals); };
  });
}

}  // namespace

void add_iteration(CLI::App& root, Chosen& chosen) {
  CLI::App* noun = root.add_subcommand("iteration", "one step of training: estimate, traffic, export");
  noun->require_subcommand(1);
  noun->footer("Example: comity iteration estimate --model gpt3-175b --system dgx-a100 --tp 8 --pp 8 --batch 64");
  CLI::App* estimate = noun->add_subcommand("estimate", "how long a step takes, where the time goes, whether it fits");
  estimate->footer(
      "Example: comity iteration estimate --model gpt3-175b --system dgx-a100 --tp 8 --pp 8 --virtual-stages 3 --batch "
      "64");
  auto args = std::make_shared<IterationArgs>();
  add_execution_options(estimate, std::shared_ptr<ExecutionArgs>(args, &args->own));
  estimate
      ->add_option("--cost", args->own.cost,
                   "nccl (default) or alpha_beta: Comity's model with collectives so priced; calculon, "
                   "astra_unaware, simai: those simulators' own, from their files")
      ->check(CLI::IsMember({"nccl", "alpha_beta", "calculon", "astra_unaware", "simai"}));
  add_foreign_options(estimate, args);
  estimate->get_option("--execution")
      ->description(
          "a .toml file of how it is run; the flags below replace its values. --cost calculon: Calculon's .json");
  estimate->get_option("--system")
      ->description(
          "a machine of the library, or a .toml file. --cost calculon, astra_unaware: those simulators' .json");
  chosen.folders.push_back(estimate);
  estimate->callback([args, estimate, &chosen] {
    chosen.run = [args, estimate](const Globals& globals) { return run_estimate(*estimate, *args, globals); };
  });
  CLI::App* traffic = noun->add_subcommand("traffic", "which rank sends how much to which");
  traffic->footer(
      "Example: comity iteration traffic --model mixtral-8x7b --system dgx-h100 --pp 4 --dp 8 --ep 8 --batch 64");
  auto traffic_args = std::make_shared<ExecutionArgs>();
  auto csv = std::make_shared<std::string>();
  add_execution_options(traffic, traffic_args);
  traffic->add_option("--csv", *csv, "leave the matrix in this file, an edge a line: from, to, bytes, kind");
  traffic->callback([traffic_args, csv, &chosen] {
    chosen.run = [traffic_args, csv](const Globals& globals) { return run_traffic(*traffic_args, *csv, globals); };
  });
  add_export(noun, chosen);
}

}  // namespace comity::cli
