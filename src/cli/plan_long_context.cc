// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_long_context.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/command_words.h"
#include "cli/execution_options.h"
#include "cli/output_folder.h"
#include "plan/long_context.h"
#include "report/chart.h"
#include "report/html.h"

namespace comity::cli {
namespace {

using plan::LongContextPlan;
using plan::LongContextWay;

constexpr double kGibi = 1073741824.0;

struct Args {
  std::string model;
  std::string system;
  std::string cost = "nccl";
  std::int64_t gpus = 0;
  std::int64_t tokens = 0;
  std::size_t top = 10;
};

Table ways_table(const std::vector<LongContextWay>& ways) {
  Table table({{"sp"},
               {"pp"},
               {"sub-sequences"},
               {"offload", false},
               {"multiplexed", false},
               {"step s", true, Table::Best::kLowest},
               {"bubble %"},
               {"waits for host s"},
               {"memory GiB"},
               {"host GiB"}});
  for (const LongContextWay& w : ways) {
    table.add_row({{std::to_string(w.sequence_parallel)},
                   {std::to_string(w.pp)},
                   {std::to_string(w.pieces)},
                   {std::string(plan::offload_name(w.offload))},
                   {w.multiplexed ? "yes" : "no"},
                   {fmt::format("{:.4g}", w.step_s), w.step_s},
                   {fmt::format("{:.2f}", 100 * w.bubble_share)},
                   {fmt::format("{:.3g}", w.exposed_offload_s)},
                   {fmt::format("{:.1f}", w.peak_bytes / kGibi)},
                   {fmt::format("{:.1f}", w.host_bytes / kGibi)}});
  }
  return table;
}

void write_way(JsonWriter& json, const LongContextWay& w) {
  json.begin_object().field("sequence_parallel", w.sequence_parallel).field("pp", w.pp).field("pieces", w.pieces);
  json.field("offload", plan::offload_name(w.offload)).field("multiplexed", w.multiplexed);
  json.field("iteration_s", w.step_s).field("bubble_share", w.bubble_share).field("memory_bytes", w.peak_bytes);
  json.field("host_bytes", w.host_bytes).field("exposed_offload_s", w.exposed_offload_s);
  for (const auto& [name, list] : {std::pair{"lengths", &w.lengths}, std::pair{"offload_ratios", &w.ratios},
                                   std::pair{"memory_over_time", &w.memory_over_time}}) {
    json.key(name).begin_array();
    for (const double v : *list) json.number(v);
    json.end_array();
  }
  json.end_object();
}

std::string to_json(const LongContextPlan& p) {
  JsonWriter json;
  json.begin_object().field("schema", "comity.plan_long_context/1").field("evaluated", p.evaluated);
  json.key("candidates").begin_array();
  for (const LongContextWay& w : p.best) write_way(json, w);
  json.end_array().key("baselines").begin_array();
  for (const LongContextWay& w : p.baselines) write_way(json, w);
  json.end_array();
  if (p.recompute_s > 0) json.field("megatron_recompute_s", p.recompute_s).field("megatron_cp", p.recompute_cp);
  return json.end_object().text() + "\n";
}

std::string comparison(const LongContextPlan& p) {
  const LongContextWay& best = p.best.front();
  std::string out =
      p.recompute_s > 0
          ? fmt::format("Megatron's way (context parallel {}, full recomputation): {:.4g} s, {:.2f} times as long\n",
                        p.recompute_cp, p.recompute_s, p.recompute_s / best.step_s)
          : std::string("Megatron's way (context parallel, full recomputation) does not fit\n");
  for (const LongContextWay& w : p.baselines)
    out += fmt::format("The same shape with {} offload: {:.4g} s, {:.1f} GiB on a GPU, {:.1f} GiB on the host\n",
                       plan::offload_name(w.offload), w.step_s, w.peak_bytes / kGibi, w.host_bytes / kGibi);
  return out;
}

std::string page_of(const Args& args, const LongContextPlan& p, const std::string& line, const std::string& json) {
  const LongContextWay& best = p.best.front();
  report::Page page(fmt::format("{} tokens of {}", format_count(static_cast<std::uint64_t>(args.tokens)), args.model),
                    fmt::format("on {} GPUs of {}", args.gpus, args.system));
  page.section("Best").table(ways_table(p.best)).paragraph(comparison(p));
  report::LineChart memory;
  memory.title = "Activations of the first stage";
  memory.description = "Behind each sub-sequence of the forward pass.";
  memory.x = {.title = "sub-sequence", .unit = ""};
  memory.y = {.title = "memory", .unit = "GiB"};
  report::Series series{.name = "held", .x = {}, .y = {}, .step = true};
  for (std::size_t i = 0; i < best.memory_over_time.size(); ++i) {
    series.x.push_back(static_cast<double>(i));
    series.y.push_back(best.memory_over_time[i] / kGibi);
  }
  memory.series.push_back(std::move(series));
  page.section("Memory over time").chart(report::draw(memory));
  page.section("Inputs").code(line);
  page.data(json);
  return page.html();
}

Status run(const CLI::App& sub, const Args& args, const Globals& globals) {
  plan::LongContextQuestion q;
  auto model = workload::load_model(args.model);
  if (!model) return fail(model.error());
  q.model = std::move(*model);
  auto system = workload::load_system(args.system);
  if (!system) return fail(system.error());
  q.system = std::move(*system);
  auto cost = parse_cost(args.cost);
  if (!cost) return fail(cost.error());
  q.cost = *cost;
  q.gpus = args.gpus;
  q.tokens = args.tokens;
  q.keep = args.top;
  auto got = plan::plan_long_context(q);
  if (!got) return fail(got.error());
  const std::string json = to_json(*got);
  if (globals.output == Output::kJson || globals.output == Output::kJsonl)
    fmt::print("{}", json);
  else if (globals.output == Output::kCsv)
    fmt::print("{}", ways_table(got->best).csv());
  else
    fmt::print("{}\n{}", ways_table(got->best).text(globals.colour), comparison(*got));
  if (globals.out_dir.empty()) return {};
  CommandWords words(sub);
  words.option("model", args.model);
  words.option("system", args.system);
  words.option("gpus", std::to_string(args.gpus));
  words.option("tokens", std::to_string(args.tokens));
  words.option("cost", args.cost);
  return write_folder(globals.out_dir, {{"run.json", words.run_json(globals)},
                                        {"summary.json", json},
                                        {"candidates.csv", ways_table(got->best).csv()},
                                        {"report.html", page_of(args, *got, words.line(), json)}});
}

}  // namespace

void add_plan_long_context(CLI::App& noun, Chosen& chosen) {
  CLI::App* sub = noun.add_subcommand("long-context", "one very long sequence over many GPUs");
  sub->footer("Example: comity plan long-context --model llama2-7b --system dgx-a100 --gpus 32 --tokens 524288");
  auto args = std::make_shared<Args>();
  sub->add_option("--model", args->model, "a model of the library, or a file")->required();
  sub->add_option("--system", args->system, "a machine of the library, or a file")->required();
  sub->add_option("--gpus", args->gpus, "how many GPUs")->required()->check(CLI::Range(1, 1'000'000));
  sub->add_option("--tokens", args->tokens, "tokens of the sequence")->required()->check(CLI::Range(1, 1 << 30));
  sub->add_option("--cost", args->cost, "what a collective costs: nccl (default) or alpha_beta")
      ->check(CLI::IsMember({"nccl", "alpha_beta"}));
  sub->add_option("--top", args->top, "ways to show (default 10)")->check(CLI::Range(1, 10'000));
  sub->callback(
      [args, sub, &chosen] { chosen.run = [args, sub](const Globals& globals) { return run(*sub, *args, globals); }; });
}

}  // namespace comity::cli
