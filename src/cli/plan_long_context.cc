// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_verbs.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/text.h"
#include "cli/execution_options.h"
#include "cli/plan_output.h"
#include "plan/long_context.h"
#include "report/chart.h"

namespace comity::cli {
namespace {

constexpr double kGibi = 1073741824.0;
constexpr std::size_t kShownPieces = 16;  // on a terminal; a page and JSON have all

struct Args {
  std::string model;
  std::string system;
  std::string cost = "nccl";
  plan::LongContextQuestion question;
  bool longest = false;
};

// What the first and the last stage hold over time.
std::string memory_chart(const plan::LongContextPlan& plan) {
  report::LineChart chart;
  chart.title = "Memory over time";
  chart.description = "What a GPU of the first and of the last stage holds while it computes each piece.";
  chart.x = {.title = "time in the step", .unit = "", .scale = report::Scale::kTime};
  chart.y = {.title = "memory", .unit = "GiB"};
  for (const std::int64_t stage : {std::int64_t{0}, plan.best.pp - 1}) {
    report::Series series{.name = fmt::format("stage {}", stage), .x = {}, .y = {}, .step = true};
    for (const plan::StageMoment& m : plan.timeline) {
      if (m.stage != stage) continue;
      series.x.push_back(m.start_s);
      series.y.push_back(m.bytes / kGibi);
    }
    chart.series.push_back(std::move(series));
    if (plan.best.pp == 1) break;
  }
  return report::draw(chart);
}

Status run(const CLI::App& sub, const Args& args, const Globals& globals) {
  plan::LongContextQuestion q = args.question;
  auto model = workload::load_model(args.model);
  if (!model) return fail(model.error());
  q.model = std::move(*model);
  auto system = load_machine(args.system);
  if (!system) return fail(system.error());
  q.system = std::move(*system);
  auto cost = parse_cost(args.cost);
  if (!cost) return fail(cost.error());
  q.cost = *cost;
  auto got = plan::plan_long_context(q);
  if (!got) return fail(got.error());
  if (auto status = check_seconds(got->best.step_s, fmt::format("{} on {}", args.model, args.system)); !status)
    return status;
  PlanText text;
  text.schema = "comity.plan_long_context/1";
  text.title = fmt::format("{}, a sequence of {} tokens on {} GPUs of {}", q.model.name,
                           format_count(static_cast<std::uint64_t>(q.tokens)), q.gpus, q.system.name);
  text.summary = renamed(plan::fields(*got), "pieces", "piece_count");
  text.parts = {{"pieces", "Pieces", plan::piece_rows(*got), got->pieces.size() <= kShownPieces},
                {"rivals", "The same step done otherwise", plan::rival_rows(*got)},
                {"timeline", "Stages over time", plan::timeline_rows(*got), false}};
  if (args.longest) {
    plan::FieldRows rows;
    for (const auto& [name, way] :
         {std::pair{"in pieces, with offload", plan::LongContextWay::kSppo},
          std::pair{"Megatron-LM", plan::LongContextWay::kMegatron},
          std::pair{"Megatron-LM without context parallelism", plan::LongContextWay::kMegatronWithoutContextParallel}})
      rows.push_back({plan::words("way", name),
                      plan::number("longest", "tokens", static_cast<double>(plan::longest_context(q, way)))});
    text.parts.push_back({"longest", "Longest sequence that fits", std::move(rows)});
  }
  text.explanation = plan::explain(*got);
  text.charts = {memory_chart(*got)};
  CommandWords words(sub);
  words.option("model", args.model);
  words.option("system", args.system);
  words.option("gpus", std::to_string(q.gpus));
  words.option("tokens", std::to_string(q.tokens));
  words.option("batch", std::to_string(q.batch));
  words.option("cost", args.cost);
  words.option("pieces", std::to_string(q.pieces), q.pieces > 0);
  words.option("pp", std::to_string(q.pp), q.pp > 0);
  words.flag("longest", args.longest);
  return show_plan(text, words, globals);
}

}  // namespace

void add_plan_long_context(CLI::App& noun, Chosen& chosen) {
  CLI::App* sub = noun.add_subcommand("long-context", "one very long sequence over many GPUs, in pieces");
  sub->footer("Example: comity plan long-context --model llama2-7b --system dgx-a100 --gpus 32 --tokens 524288");
  auto args = std::make_shared<Args>();
  plan::LongContextQuestion& q = args->question;
  sub->add_option("--model", args->model, "a model of the library, or a file")->required();
  sub->add_option("--system", args->system, "a machine of the library, or a file")->required();
  sub->add_option("--gpus", q.gpus, "how many GPUs")->required()->check(CLI::Range(1, 1'000'000));
  sub->add_option("--tokens", q.tokens, "tokens of a sequence")->required()->check(CLI::Range(1, 1 << 30));
  sub->add_option("--batch", q.batch, "sequences of a step (default 1)")->check(CLI::Range(1, 1 << 20));
  sub->add_option("--pieces", q.pieces, "only this many pieces (default: searched)")->check(CLI::Range(1, 4096));
  sub->add_option("--pp", q.pp, "only this many stages (default: searched)")->check(CLI::Range(1, 1 << 20));
  sub->add_option("--cost", args->cost, "what a collective costs: nccl (default) or alpha_beta")
      ->check(CLI::IsMember({"nccl", "alpha_beta"}));
  sub->add_flag("--longest", args->longest, "find the longest sequence that fits, too, by this way and by Megatron's");
  chosen.folders.push_back(sub);
  sub->callback(
      [args, sub, &chosen] { chosen.run = [args, sub](const Globals& globals) { return run(*sub, *args, globals); }; });
}

}  // namespace comity::cli
