// SPDX-License-Identifier: Apache-2.0
// comity plan parallelism: the best ways to spread a model over a machine, and why.
#include "plan/parallelism.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/log.h"
#include "cli/command_words.h"
#include "cli/execution_options.h"
#include "cli/output_folder.h"
#include "cli/plan_parallelism_output.h"
#include "cli/plan_verbs.h"
#include "cli/step_timeline.h"
#include "workload/execution_limits.h"

namespace comity::cli {
namespace {

using plan::ParallelismQuestion;

struct PlanArgs {
  std::string model;
  std::string system;
  std::string execution;
  std::string cost = "nccl";
  std::string datatype;  // empty: bf16, or the file's
  std::int64_t gpus = 0;
  std::int64_t batch = 0;
  std::int64_t sequence = 0;
  std::size_t top = 10;
  double memory_share = 0.92;
  bool megatron = false;
  bool exhaustive = false;
  bool alpa = false;
};

Result<ParallelismQuestion> question_of(const PlanArgs& args) {
  ParallelismQuestion q;
  auto model = workload::load_model(args.model);
  if (!model) return fail(model.error());
  q.model = std::move(*model);
  auto system = load_machine(args.system);
  if (!system) return fail(system.error());
  q.system = std::move(*system);
  q.system.memory_gib *= args.memory_share;
  auto cost = parse_cost(args.cost);
  if (!cost) return fail(cost.error());
  q.cost = *cost;
  q.base.zero = 1;
  if (!args.execution.empty()) {
    auto base = load_execution(args.execution);
    if (!base) return fail(base.error());
    q.base = std::move(*base);
  }
  if (args.batch == 0 && args.execution.empty())
    return fail(Code::kUsage, "--batch is missing", "how many sequences a step has, over all GPUs");
  if (args.datatype == "bf16") q.base.datatype = workload::Datatype::kBf16;
  if (args.datatype == "fp8") q.base.datatype = workload::Datatype::kFp8;
  if (args.datatype == "fp16") q.base.datatype = workload::Datatype::kFp16;
  if (args.batch > 0) q.base.batch = args.batch;
  if (args.sequence > 0) q.base.sequence = args.sequence;
  q.gpus = args.gpus;
  q.keep = args.top;
  q.exact_pruning = !args.exhaustive;
  q.stop = [] { return interrupted(); };
  q.megatron_only = args.megatron;
  return q;
}

CommandWords plan_words(const CLI::App& sub, const PlanArgs& args) {
  CommandWords words(sub);
  words.option("model", args.model);
  words.option("system", args.system);
  words.option("execution", args.execution, !args.execution.empty());
  words.option("gpus", std::to_string(args.gpus));
  words.option("batch", std::to_string(args.batch));
  words.option("sequence", std::to_string(args.sequence), args.sequence > 0);
  words.option("datatype", args.datatype, !args.datatype.empty());
  words.option("cost", args.cost);
  words.option("top", std::to_string(args.top));
  words.option("memory-share", fmt::format("{}", args.memory_share));
  words.flag("megatron", args.megatron);
  words.flag("exhaustive", args.exhaustive);
  words.flag("alpa", args.alpa);
  return words;
}

Status run_parallelism(const CLI::App& sub, const PlanArgs& args, const Globals& globals) {
  auto q = question_of(args);
  if (!q) return fail(q.error());
  ParallelismAnswer a;
  const std::int64_t begin = steady_ns();
  auto got = plan::plan_parallelism(*q);
  if (!got) return fail(got.error());
  a.plan = std::move(*got);
  a.wall_s = static_cast<double>(steady_ns() - begin) * 1e-9;
  if (a.plan.best.empty()) return fail(Code::kInterrupted, "interrupted before anything was found");
  if (auto status = check_seconds(a.plan.best.front().iteration_s, fmt::format("{} on {}", args.model, args.system));
      !status)
    return status;
  a.megatron = plan::megatron_rule(*q);
  auto timeline = step_timeline({q->model, a.plan.best.front().execution, q->system, q->cost});
  if (!timeline) return fail(timeline.error());
  a.timeline = std::move(*timeline);
  if (args.alpa) {
    a.alpa = plan::alpa_search(*q);
    if (!a.alpa) return fail(a.alpa.error());
  }
  const std::string json = plan_json(*q, a);
  if (globals.output == Output::kJson || globals.output == Output::kJsonl)
    fmt::print("{}", json);
  else if (globals.output == Output::kCsv)
    fmt::print("{}", candidates_table(a.plan.best).csv());
  else
    print_answer(*q, a, globals);
  if (!globals.out_dir.empty()) {
    const CommandWords words = plan_words(sub, args);
    auto status = write_folder(globals.out_dir, {{"run.json", words.run_json(globals)},
                                                 {"summary.json", json},
                                                 {"candidates.csv", candidates_table(a.plan.best).csv()},
                                                 {"execution.toml", execution_toml(a.plan.best.front().execution)},
                                                 {"report.html", plan_page(*q, a, words.line(), json)}});
    if (!status) return status;
  }
  if (a.plan.partial) return fail(Code::kInterrupted, "interrupted; these are the best of what was looked at");
  return {};
}

}  // namespace

void add_plan_parallelism(CLI::App& noun, Chosen& chosen) {
  CLI::App* sub = noun.add_subcommand("parallelism", "the best ways to spread a model over GPUs, and why");
  sub->footer("Example: comity plan parallelism --model llama3-70b --system dgx-h100 --gpus 128 --batch 512");
  auto args = std::make_shared<PlanArgs>();
  sub->add_option("--model", args->model, "a model of the library, or a file")->required();
  sub->add_option("--system", args->system, "a machine of the library, or a file")->required();
  sub->add_option("--gpus", args->gpus, "how many GPUs")->required()->check(CLI::Range(1, 1'000'000));
  sub->add_option("--batch", args->batch, "sequences of a step")
      ->check(CLI::Range(std::int64_t{1}, workload::kMaxBatch));
  sub->add_option("--sequence", args->sequence, "tokens of a sequence (default: the model's)")
      ->check(CLI::Range(std::int64_t{1}, workload::kMaxBatch));
  sub->add_option("--execution", args->execution, "a .toml file with the switches that are not searched");
  sub->add_option("--datatype", args->datatype, "bf16, fp16 or fp8 (default: that of --execution, else bf16)")
      ->check(CLI::IsMember({"bf16", "fp16", "fp8"}));
  sub->add_option("--cost", args->cost, "what a collective costs: nccl (default) or alpha_beta")
      ->check(CLI::IsMember({"nccl", "alpha_beta"}));
  sub->add_option("--top", args->top, "ways to show (default 10)")->check(CLI::Range(1, 10'000));
  sub->add_option("--memory-share", args->memory_share,
                  "of a GPU's memory that may be filled; the rest is for the framework and fragments (default 0.92)")
      ->check(CLI::Range(0.01, 1.0));
  sub->add_flag("--megatron", args->megatron, "only what Megatron-LM can run");
  sub->add_flag("--exhaustive", args->exhaustive, "estimate every way, rule none out");
  sub->add_flag("--alpa", args->alpa, "search in Alpa's way, too, to compare");
  chosen.folders.push_back(sub);
  sub->callback([args, sub, &chosen] {
    chosen.run = [args, sub](const Globals& globals) { return run_parallelism(*sub, *args, globals); };
  });
}

}  // namespace comity::cli
