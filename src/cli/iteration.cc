// SPDX-License-Identifier: Apache-2.0
// comity iteration estimate: how long a training step takes and where the time goes, by Comity's own model or by that
// of another simulator from its own files.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/input.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/command_words.h"
#include "cli/execution_options.h"
#include "cli/iteration_calculon.h"
#include "cli/iteration_export.h"
#include "cli/iteration_output.h"
#include "cli/iteration_traffic.h"
#include "cli/output_folder.h"
#include "cli/step_timeline.h"
#include "workload/estimate.h"
#include "workload/foreign/foreign.h"
#include "workload/foreign/megatron.h"

namespace comity::cli {
namespace {

struct IterationArgs {
  ExecutionArgs own;
  workload::AstraRequest astra;
  workload::SimaiRequest simai;
  std::string megatron;
  std::int64_t gpus = 0;
};

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
  const workload::Estimate e = workload::estimate(in->model, in->execution, in->system, in->cost);
  const std::string json = estimate_json(*in, e, args.own.cost, {});
  auto timeline = step_timeline(*in);
  if (!timeline) return fail(timeline.error());
  if (globals.output == Output::kJson || globals.output == Output::kJsonl) {
    fmt::print("{}", json);
  } else if (globals.output == Output::kCsv) {
    fmt::print("{}", breakdown_table(e.breakdown_s).csv());
  } else {
    fmt::print("{}\n{}", estimate_text(*in, e), breakdown_table(e.breakdown_s).text(globals.colour));
    if (!timeline->text.empty()) fmt::print("\n{}", timeline->text);
  }
  if (globals.out_dir.empty()) return {};
  CommandWords words(sub);
  say_execution_options(words, args.own);
  std::vector<std::pair<std::string, std::string>> files = {
      {"run.json", words.run_json(globals)},
      {"summary.json", json},
      {"breakdown.csv", breakdown_table(e.breakdown_s).csv()},
      {"report.html", estimate_page(*in, e, words.line(), json, timeline->chart)}};
  if (!timeline->trace.empty()) files.emplace_back("trace.json", timeline->trace);
  return write_folder(globals.out_dir, files);
}

void print_foreign(const workload::ForeignEstimate& e, const std::string& cost, const std::string& more,
                   const Globals& globals) {
  for (const std::string& note : e.notes) log_info(note);
  if (globals.output == Output::kJson || globals.output == Output::kJsonl) {
    JsonWriter json;
    json.begin_object().field("schema", "comity.iteration/1").field("cost", cost).field("iteration_s", e.iteration_s);
    json.key("breakdown_s").begin_object();
    for (const workload::ForeignPart& part : e.breakdown) json.field(part.name, part.seconds);
    json.end_object().field("approximate", e.approximate);
    if (!more.empty()) json.raw(more);
    fmt::print("{}\n", json.end_object().text());
    return;
  }
  Table table({{"part", false}, {"seconds"}});
  for (const workload::ForeignPart& part : e.breakdown)
    table.add_row({{std::string(part.name)}, {fmt::format("{:.9g}", part.seconds), part.seconds}});
  table.add_row({{"step"}, {fmt::format("{:.9g}", e.iteration_s), e.iteration_s}});
  fmt::print("{}", globals.output == Output::kCsv ? table.csv() : table.text(globals.colour));
}

Status run_astra(const IterationArgs& args, const Globals& globals) {
  if (args.astra.chakra.empty() || args.own.system.empty() || args.astra.network.empty())
    return fail(Code::kUsage, "--cost astra_unaware needs --chakra, --system and --network",
                "a prefix of traces, ASTRA-sim's system JSON and its network YAML");
  workload::AstraRequest request = args.astra;
  request.system = args.own.system;
  auto answer = workload::evaluate(request);
  if (!answer) return fail(answer.error());
  JsonWriter ranks;
  ranks.begin_array();
  for (const workload::AstraRank& rank : answer->details.ranks)
    ranks.begin_object().field("finish_ns", rank.finish_ns).field("exposed_ns", rank.exposed_ns).end_object();
  ranks.end_array();
  print_foreign(answer->summary, "astra_unaware",
                fmt::format("\"iteration_ns\":{},\"ranks\":{}", answer->details.iteration_ns, ranks.text()), globals);
  if (globals.output == Output::kTable)
    fmt::print("{} ranks; the last one ends at {} ns\n", answer->details.ranks.size(), answer->details.iteration_ns);
  return {};
}

Status run_simai(const IterationArgs& args, const Globals& globals) {
  if (args.simai.workload.empty() || args.gpus == 0)
    return fail(Code::kUsage, "--cost simai needs --workload, --gpus, --nvlink-gb-s and --nic-gb-s",
                "a workload text of SimAI or AICB and the machine's rates");
  workload::SimaiRequest request = args.simai;
  request.machine.gpus = args.gpus;
  auto answer = workload::evaluate(request);
  if (!answer) return fail(answer.error());
  print_foreign(answer->summary, "simai", {}, globals);
  if (globals.out_dir.empty()) return {};
  return write_folder(globals.out_dir, {{"EndToEnd.csv", workload::simai_csv(answer->details, "comity-")}});
}

void add_foreign_options(CLI::App* sub, const std::shared_ptr<IterationArgs>& args) {
  sub->add_option("--megatron", args->megatron,
                  "a file with a command line of Megatron-LM, instead of model and execution");
  sub->add_option("--gpus", args->gpus, "how many GPUs, for --megatron and simai")->check(CLI::Range(1, 100'000'000));
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
  estimate->callback([args, estimate, &chosen] {
    chosen.run = [args, estimate](const Globals& globals) {
      if (args->own.cost == "astra_unaware") return run_astra(*args, globals);
      if (args->own.cost == "calculon") return run_calculon(args->own, globals);
      if (args->own.cost == "simai") return run_simai(*args, globals);
      return run_own(*estimate, *args, globals);
    };
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
