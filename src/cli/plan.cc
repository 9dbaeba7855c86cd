// SPDX-License-Identifier: Apache-2.0
// comity plan parallelism: the best ways to spread a model over a machine, and why.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/json.h"
#include "base/log.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/command_words.h"
#include "cli/execution_options.h"
#include "cli/output_folder.h"
#include "cli/plan_verbs.h"
#include "cli/step_timeline.h"
#include "plan/parallelism.h"
#include "report/chart.h"
#include "report/html.h"
#include "workload/foreign/megatron.h"

namespace comity::cli {
namespace {

using plan::Candidate;
using plan::ParallelismPlan;
using plan::ParallelismQuestion;
using workload::Execution;

constexpr double kGibi = 1073741824.0;

struct PlanArgs {
  std::string model;
  std::string system;
  std::string execution;
  std::string cost = "nccl";
  std::string datatype = "bf16";
  std::int64_t gpus = 0;
  std::int64_t batch = 0;
  std::int64_t sequence = 0;
  std::size_t top = 10;
  bool megatron = false;
  bool exhaustive = false;
  bool alpa = false;
};

struct Answer {
  ParallelismPlan plan;
  double wall_s = 0;
  StepTimeline timeline;  // of the best
  Result<Candidate> megatron = fail(Code::kInput, "not asked");
  Result<plan::AlpaPlan> alpa = fail(Code::kInput, "not asked");
};

Result<ParallelismQuestion> question_of(const PlanArgs& args) {
  ParallelismQuestion q;
  auto model = workload::load_model(args.model);
  if (!model) return fail(model.error());
  q.model = std::move(*model);
  auto system = workload::load_system(args.system);
  if (!system) return fail(system.error());
  q.system = std::move(*system);
  auto cost = parse_cost(args.cost);
  if (!cost) return fail(cost.error());
  q.cost = *cost;
  q.base.zero = 1;
  if (!args.execution.empty()) {
    auto base = workload::load_execution(args.execution);
    if (!base) return fail(base.error());
    q.base = std::move(*base);
  }
  if (args.batch == 0 && args.execution.empty())
    return fail(Code::kUsage, "--batch is missing", "how many sequences a step has, over all GPUs");
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

// Of the best way that Megatron-LM can run.
Result<std::string> megatron_command(const ParallelismQuestion& q, const Answer& a) {
  if (a.plan.megatron.empty()) return fail(Code::kInput, "Megatron-LM can run none of the ways that fit");
  return workload::megatron_command(q.model, a.plan.megatron.front().execution);
}

std::string offload_text(const Execution& e) {
  std::string out = e.optimizer_offload ? "optimizer" : "";
  if (e.activation_offload > 0)
    out += fmt::format("{}activations {:.0f} %", out.empty() ? "" : ", ", 100 * e.activation_offload);
  return out;
}

std::string recompute_text(const Execution& e) {
  std::string out(workload::recompute_name(e.recompute));
  if (e.recompute == workload::Recompute::kFull && e.recompute_share < 1)
    out += fmt::format(" {:.3g} %", 100 * e.recompute_share);
  return out;
}

Table candidates_table(const std::vector<Candidate>& list) {
  Table table({{"tp"},
               {"pp"},
               {"dp"},
               {"cp"},
               {"ep"},
               {"v"},
               {"micro-batch"},
               {"schedule", false},
               {"recompute", false},
               {"offload", false},
               {"zero"},
               {"seq. par.", false},
               {"outermost", false},
               {"step s", true, Table::Best::kLowest},
               {"memory GiB"},
               {"MFU %"}});
  for (const Candidate& c : list) {
    const Execution& e = c.execution;
    table.add_row({{std::to_string(e.tp)},
                   {std::to_string(e.pp)},
                   {std::to_string(e.dp)},
                   {std::to_string(e.cp)},
                   {std::to_string(e.ep)},
                   {std::to_string(e.virtual_stages)},
                   {std::to_string(e.microbatch)},
                   {std::string(workload::schedule_name(e.schedule))},
                   {recompute_text(e)},
                   {offload_text(e)},
                   {std::to_string(e.zero)},
                   {e.sequence_parallel ? "yes" : "no"},
                   {e.pp == 1                           ? ""
                    : e.order[4] == workload::Axis::kPp ? "pp"
                                                        : "dp"},
                   {fmt::format("{:.4g}", c.iteration_s), c.iteration_s},
                   {fmt::format("{:.1f}", c.memory_bytes / kGibi)},
                   {fmt::format("{:.1f}", 100 * c.mfu)}});
  }
  return table;
}

void write_candidate(JsonWriter& json, const Candidate& c) {
  const Execution& e = c.execution;
  json.begin_object().field("tp", e.tp).field("pp", e.pp).field("dp", e.dp).field("ep", e.ep).field("cp", e.cp);
  json.field("virtual_stages", e.virtual_stages).field("microbatch", e.microbatch);
  json.field("recompute", workload::recompute_name(e.recompute)).field("recompute_share", e.recompute_share);
  json.field("activation_offload", e.activation_offload).field("optimizer_offload", e.optimizer_offload);
  json.field("zero", e.zero).field("schedule", workload::schedule_name(e.schedule));
  json.field("sequence_parallel", e.sequence_parallel);
  json.field("order", e.order[3] == workload::Axis::kPp ? "tp-cp-ep-pp-dp" : "tp-cp-ep-dp-pp");
  json.field("iteration_s", c.iteration_s).field("memory_bytes", c.memory_bytes).field("mfu", c.mfu).end_object();
}

std::string plan_json(const ParallelismQuestion& q, const Answer& a) {
  JsonWriter json;
  json.begin_object().field("schema", "comity.plan/1").field("model", q.model.name).field("system", q.system.name);
  json.field("gpus", q.gpus).field("batch", q.base.batch).key("candidates").begin_array();
  for (const Candidate& c : a.plan.best) write_candidate(json, c);
  json.end_array().key("pareto").begin_array();
  for (const Candidate& c : a.plan.pareto) write_candidate(json, c);
  json.end_array().field("legal", a.plan.legal).field("evaluated", a.plan.evaluated).field("pruned", a.plan.pruned);
  json.field("too_large", a.plan.too_large).field("wall_s", a.wall_s).field("partial", a.plan.partial);
  if (a.megatron) {
    json.key("megatron_rule");
    write_candidate(json, *a.megatron);
    json.field("gain_over_megatron_rule", a.megatron->iteration_s / a.plan.best.front().iteration_s);
  }
  if (!a.plan.megatron.empty()) {
    json.key("megatron_best");
    write_candidate(json, a.plan.megatron.front());
  }
  if (a.alpa) {
    json.key("alpa").begin_object().field("iteration_s", a.alpa->iteration_s);
    json.field("stages", a.alpa->stage_layers.size()).field("evaluations", a.alpa->evaluations).end_object();
  }
  if (a.plan.best.size() > 0) {
    const auto command = megatron_command(q, a);
    if (command) json.field("megatron_command", *command);
  }
  return json.end_object().text() + "\n";
}

std::vector<std::string> reasons(const ParallelismQuestion& q, const Answer& a) {
  std::vector<std::string> out;
  const auto add = [&](const std::string& against, const Candidate& other) {
    const auto lines = plan::explain(q, a.plan.best.front(), other);
    out.push_back(fmt::format("Against {} (tp {}, pp {}, dp {}, micro-batch {}, recompute {}): {}", against,
                              other.execution.tp, other.execution.pp, other.execution.dp, other.execution.microbatch,
                              recompute_text(other.execution), fmt::format("{}", fmt::join(lines, "; "))));
  };
  if (a.plan.best.size() > 1) add("the runner-up", a.plan.best[1]);
  if (a.megatron) add("Megatron's rule", *a.megatron);
  if (a.alpa)
    out.push_back(fmt::format("Alpa's search: {:.4g} s with {} stages, {} inner splits costed", a.alpa->iteration_s,
                              a.alpa->stage_layers.size(), format_count(a.alpa->evaluations)));
  return out;
}

std::string plan_page(const ParallelismQuestion& q, const Answer& a, const std::string& line, const std::string& json) {
  const Candidate& best = a.plan.best.front();
  report::Page page(fmt::format("{} on {} GPUs of {}", q.model.name, q.gpus, q.system.name), "ways to spread it");
  page.figures({{"step", fmt::format("{:.4g} s", best.iteration_s)},
                {"MFU", fmt::format("{:.1f} %", 100 * best.mfu)},
                {"memory", fmt::format("{:.1f} GiB", best.memory_bytes / kGibi)},
                {"ways", format_count(a.plan.legal)}});
  page.section("Best").table(candidates_table(a.plan.best)).bullets(reasons(q, a));
  if (!a.timeline.chart.empty()) page.section("Pipeline of the best").chart(a.timeline.chart);
  page.section("Time against memory");
  report::LineChart chart;
  chart.title = "Pareto front";
  chart.description = "No way is both faster and smaller than one of these.";
  chart.x = {.title = "memory of the fullest GPU", .unit = "GiB"};
  chart.y = {.title = "step", .unit = "s"};
  report::Series series{.name = "front", .x = {}, .y = {}, .step = false};
  for (auto c = a.plan.pareto.rbegin(); c != a.plan.pareto.rend(); ++c) {
    series.x.push_back(c->memory_bytes / kGibi);
    series.y.push_back(c->iteration_s);
  }
  chart.series.push_back(std::move(series));
  page.chart(report::draw(chart)).table(candidates_table(a.plan.pareto));
  page.section("Megatron-LM");
  const auto command = megatron_command(q, a);
  command ? page.code(*command) : page.note(command.error().message);
  page.section("Inputs").code(line).code(workload::execution_toml(best.execution));
  page.data(json);
  return page.html();
}

CommandWords plan_words(const CLI::App& sub, const PlanArgs& args) {
  CommandWords words(sub);
  words.option("model", args.model);
  words.option("system", args.system);
  words.option("execution", args.execution, !args.execution.empty());
  words.option("gpus", std::to_string(args.gpus));
  words.option("batch", std::to_string(args.batch));
  words.option("sequence", std::to_string(args.sequence), args.sequence > 0);
  words.option("datatype", args.datatype);
  words.option("cost", args.cost);
  words.option("top", std::to_string(args.top));
  words.flag("megatron", args.megatron);
  words.flag("exhaustive", args.exhaustive);
  words.flag("alpa", args.alpa);
  return words;
}

void print_answer(const ParallelismQuestion& q, const Answer& a, const Globals& globals) {
  fmt::print(
      "{} on {} x {}, {} sequences a step: {} ways, {} estimated, {} ruled out by a bound, {} too large; {:.3f} s\n\n",
      q.model.name, q.gpus, q.system.gpu, q.base.batch, format_count(a.plan.legal), format_count(a.plan.evaluated),
      format_count(a.plan.pruned), format_count(a.plan.too_large), a.wall_s);
  fmt::print("{}\n", candidates_table(a.plan.best).text(globals.colour));
  for (const std::string& reason : reasons(q, a)) fmt::print("{}\n", reason);
  if (!a.timeline.text.empty()) fmt::print("\n{}", a.timeline.text);
  const auto command = megatron_command(q, a);
  if (command)
    fmt::print("\nThe best way that Megatron-LM can run, {:.4g} s a step:\n{}", a.plan.megatron.front().iteration_s,
               *command);
}

Status run_parallelism(const CLI::App& sub, const PlanArgs& args, const Globals& globals) {
  auto q = question_of(args);
  if (!q) return fail(q.error());
  Answer a;
  const std::int64_t begin = steady_ns();
  auto got = plan::plan_parallelism(*q);
  if (!got) return fail(got.error());
  a.plan = std::move(*got);
  a.wall_s = static_cast<double>(steady_ns() - begin) * 1e-9;
  if (a.plan.best.empty()) return fail(Code::kInterrupted, "interrupted before anything was found");
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

void add_plan(CLI::App& root, Chosen& chosen) {
  CLI::App* noun = root.add_subcommand("plan", "how to run a model: parallelism, long-context, hetero, spot, serve");
  noun->require_subcommand(1);
  noun->footer("Example: comity plan parallelism --model gpt3-175b --system dgx-a100 --gpus 64 --batch 64");
  CLI::App* sub = noun->add_subcommand("parallelism", "the best ways to spread a model over GPUs, and why");
  sub->footer("Example: comity plan parallelism --model llama3-70b --system dgx-h100 --gpus 128 --batch 512");
  auto args = std::make_shared<PlanArgs>();
  sub->add_option("--model", args->model, "a model of the library, or a file")->required();
  sub->add_option("--system", args->system, "a machine of the library, or a file")->required();
  sub->add_option("--gpus", args->gpus, "how many GPUs")->required()->check(CLI::Range(1, 1'000'000));
  sub->add_option("--batch", args->batch, "sequences of a step")->check(CLI::Range(1, 1 << 30));
  sub->add_option("--sequence", args->sequence, "tokens of a sequence (default: the model's)")
      ->check(CLI::Range(1, 1 << 30));
  sub->add_option("--execution", args->execution, "a .toml file with the switches that are not searched");
  sub->add_option("--datatype", args->datatype, "bf16 (default), fp16 or fp8")
      ->check(CLI::IsMember({"bf16", "fp16", "fp8"}));
  sub->add_option("--cost", args->cost, "what a collective costs: nccl (default) or alpha_beta")
      ->check(CLI::IsMember({"nccl", "alpha_beta"}));
  sub->add_option("--top", args->top, "ways to show (default 10)")->check(CLI::Range(1, 10'000));
  sub->add_flag("--megatron", args->megatron, "only what Megatron-LM can run");
  sub->add_flag("--exhaustive", args->exhaustive, "estimate every way, rule none out");
  sub->add_flag("--alpa", args->alpa, "search in Alpa's way, too, to compare");
  sub->callback([args, sub, &chosen] {
    chosen.run = [args, sub](const Globals& globals) { return run_parallelism(*sub, *args, globals); };
  });
  add_plan_long_context(*noun, chosen);
  add_plan_hetero(*noun, chosen);
  add_plan_spot(*noun, chosen);
  add_plan_serve(*noun, chosen);
}

}  // namespace comity::cli
