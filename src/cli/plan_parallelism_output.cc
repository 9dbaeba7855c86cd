// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_parallelism_output.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/standard_output.h"
#include "report/chart.h"
#include "report/html.h"
#include "workload/foreign/megatron.h"

namespace comity::cli {
namespace {

using plan::Candidate;
using plan::ParallelismQuestion;
using workload::Execution;

constexpr double kGibi = 1073741824.0;

// Of the best way that Megatron-LM can run.
Result<std::string> megatron_command(const ParallelismQuestion& q, const ParallelismAnswer& a) {
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

std::vector<std::string> reasons(const ParallelismQuestion& q, const ParallelismAnswer& a) {
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
    out.push_back(
        fmt::format("Alpa's search: {:.4g} s with {} stages, {} inner splits costed; forward and backward passes alone",
                    a.alpa->iteration_s, a.alpa->stage_layers.size(), format_count(a.alpa->evaluations)));
  return out;
}

}  // namespace

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

std::string plan_json(const ParallelismQuestion& q, const ParallelismAnswer& a) {
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

std::string plan_page(const ParallelismQuestion& q, const ParallelismAnswer& a, const std::string& line,
                      const std::string& json) {
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

void print_answer(const ParallelismQuestion& q, const ParallelismAnswer& a, const Globals& globals) {
  fmt::print(
      "{} on {} x {}, {} sequences a step: {} ways, {} estimated, {} ruled out by a bound, {} too large; {:.3f} s\n\n",
      printable(q.model.name), q.gpus, printable(q.system.gpu.empty() ? q.system.name : q.system.gpu), q.base.batch,
      format_count(a.plan.legal), format_count(a.plan.evaluated), format_count(a.plan.pruned),
      format_count(a.plan.too_large), a.wall_s);
  fmt::print("{}\n", candidates_table(a.plan.best).text(globals.colour));
  for (const std::string& reason : reasons(q, a)) fmt::print("{}\n", reason);
  if (!a.timeline.text.empty()) fmt::print("\n{}", printable_lines(a.timeline.text));
  const auto command = megatron_command(q, a);
  if (command)
    fmt::print("\nThe best way that Megatron-LM can run, {:.4g} s a step:\n{}", a.plan.megatron.front().iteration_s,
               *command);
}

}  // namespace comity::cli
