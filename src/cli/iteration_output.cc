// SPDX-License-Identifier: Apache-2.0
#include "cli/iteration_output.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/output_folder.h"
#include "cli/standard_output.h"
#include "report/chart.h"
#include "report/html.h"

namespace comity::cli {
namespace {

using workload::Breakdown;
using workload::Estimate;
using workload::StageMemory;

constexpr double kGibi = 1073741824.0;

std::vector<std::pair<const char*, double>> parts_of(const Breakdown& b) {
  return {{"forward", b.forward},
          {"backward", b.backward},
          {"optimizer", b.optimizer},
          {"recompute", b.recompute},
          {"recompute_communication", b.recompute_communication},
          {"bubble", b.bubble},
          {"tp", b.tp},
          {"pp", b.pp},
          {"dp", b.dp},
          {"ep", b.ep},
          {"cp", b.cp},
          {"offload", b.offload},
          {"overhead", b.overhead}};
}

const char* meaning(std::string_view part) {
  static const std::vector<std::pair<std::string_view, const char*>> all = {
      {"forward", "computation, forward"},
      {"backward", "computation, backward"},
      {"optimizer", "optimizer step"},
      {"recompute", "activations computed again"},
      {"recompute_communication", "communication done again with them"},
      {"bubble", "pipeline filling and draining"},
      {"tp", "tensor-parallel collectives nothing hides"},
      {"pp", "stage-to-stage transfers nothing hides"},
      {"dp", "gradients and parameters nothing hides"},
      {"ep", "expert all-to-all nothing hides"},
      {"cp", "context-parallel exchange nothing hides"},
      {"offload", "host transfers nothing hides"},
      {"overhead", "once a step: data, logging"}};
  for (const auto& [name, text] : all)
    if (name == part) return text;
  return "";
}

// A tenth is enough, but not for a processor.
std::string digits(double v) { return v < 10 ? fmt::format("{:.3g}", v) : fmt::format("{:.1f}", v); }

void write_memory(JsonWriter& json, const StageMemory& m) {
  json.begin_object();
  json.field("weights", m.weights).field("optimizer", m.optimizer).field("gradients", m.gradients);
  json.field("activations", m.activations).field("working", m.working).field("total", m.total());
  json.end_object();
}

void write_execution(JsonWriter& json, const workload::Execution& e) {
  json.begin_object();
  json.field("gpus", e.gpus()).field("tp", e.tp).field("pp", e.pp).field("dp", e.dp).field("cp", e.cp);
  json.field("ep", e.ep).field("virtual_stages", e.virtual_stages).field("microbatch", e.microbatch);
  json.field("batch", e.batch).field("sequence", e.sequence).field("zero", e.zero);
  json.field("schedule", workload::schedule_name(e.schedule)).field("recompute", workload::recompute_name(e.recompute));
  json.field("datatype", workload::datatype_name(e.datatype)).field("sequence_parallel", e.sequence_parallel);
  json.end_object();
}

}  // namespace

std::string estimate_json(const StepInputs& in, const Estimate& e, const std::string& cost,
                          const std::vector<std::string>& used) {
  JsonWriter json;
  json.begin_object().field("schema", "comity.iteration/1");
  json.field("model", in.model.name).field("system", in.system.name).field("cost", cost);
  json.key("execution");
  write_execution(json, in.execution);
  json.field("iteration_s", e.iteration_s).field("low_s", e.low_s).field("high_s", e.high_s);
  json.key("breakdown_s").begin_object();
  for (const auto& [name, seconds] : parts_of(e.breakdown_s)) json.field(name, seconds);
  json.end_object();
  json.key("memory_bytes");
  write_memory(json, e.memory);
  json.field("fullest_stage", e.fullest_stage).field("capacity_bytes", e.capacity_bytes).field("fits", e.fits);
  json.field("tflops_per_gpu", e.tflops_per_gpu).field("mfu", e.mfu);
  json.field("hardware_tflops_per_gpu", e.hardware_tflops_per_gpu).field("hfu", e.hfu);
  json.field("model_flops", e.model_flops).field("gpu_utilisation", e.gpu_utilisation);
  json.field("communication_share", e.communication_share);
  json.key("effective_bandwidth_gb_s").begin_object().field("tp", e.tp_gb_s).field("dp", e.dp_gb_s).end_object();
  json.key("notes").begin_array();
  for (const std::string& note : used) json.string(note);
  return json.end_array().end_object().text() + "\n";
}

Table breakdown_table(const Breakdown& breakdown) {
  Table table({{"part", false}, {"seconds"}, {"share %"}, {"what", false}});
  const double all = breakdown.total();
  for (const auto& [name, seconds] : parts_of(breakdown)) {
    if (seconds == 0) continue;
    table.add_row({{name},
                   {fmt::format("{:.5g}", seconds), seconds},
                   {fmt::format("{:.1f}", 100 * seconds / all)},
                   {meaning(name)}});
  }
  table.add_row({{"step"}, {fmt::format("{:.5g}", all), all}, {"100.0"}, {""}});
  return table;
}

Table memory_table(const std::vector<StageMemory>& stages) {
  Table table({{"stage"},
               {"weights GiB"},
               {"gradients GiB"},
               {"optimizer GiB"},
               {"activations GiB"},
               {"working GiB"},
               {"all GiB"}});
  const auto cell = [](double bytes) { return Table::Cell{fmt::format("{:.2f}", bytes / kGibi), bytes}; };
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const StageMemory& m = stages[i];
    table.add_row({{std::to_string(i)},
                   cell(m.weights),
                   cell(m.gradients),
                   cell(m.optimizer),
                   cell(m.activations),
                   cell(m.working),
                   cell(m.total())});
  }
  return table;
}

std::string estimate_text(const StepInputs& in, const Estimate& e) {
  std::string out = fmt::format("{} on {} x {}: {:.4g} s a step ({:.4g} to {:.4g}), {} TFLOP/s a GPU, MFU {:.1f} %\n",
                                printable(in.model.name), in.execution.gpus(),
                                printable(in.system.gpu.empty() ? in.system.name : in.system.gpu), e.iteration_s,
                                e.low_s, e.high_s, digits(e.tflops_per_gpu), 100 * e.mfu);
  out += fmt::format(
      "{:.1f} % of the step waits for communication; GPUs reach {:.1f} % of their peak while they compute\n",
      100 * e.communication_share, 100 * e.gpu_utilisation);
  out += fmt::format("memory: {:.1f} of {:.1f} GiB on the fullest stage ({}){}\n", e.memory.total() / kGibi,
                     e.capacity_bytes / kGibi, e.fullest_stage, e.fits ? "" : ": DOES NOT FIT");
  return out;
}

std::string estimate_page(const StepInputs& in, const Estimate& e, const std::string& line, const std::string& json,
                          const std::string& timeline) {
  report::Page page(fmt::format("{} on {}", in.model.name, in.system.name), "where a training step goes");
  page.figures({{"step", fmt::format("{:.4g} s", e.iteration_s)},
                {"TFLOP/s a GPU", digits(e.tflops_per_gpu)},
                {"MFU", fmt::format("{:.1f} %", 100 * e.mfu)},
                {"memory", fmt::format("{:.1f} GiB", e.memory.total() / kGibi)}});
  page.section("Where the time goes").table(breakdown_table(e.breakdown_s));
  report::BarChart bars;
  bars.title = "One step";
  bars.description = "Seconds by part, on the rank that ends last.";
  bars.group_title = "part";
  bars.y = {.title = "time", .unit = "s"};
  report::BarSeries series{.name = "seconds", .values = {}};
  for (const auto& [name, seconds] : parts_of(e.breakdown_s)) {
    if (seconds == 0) continue;
    bars.groups.emplace_back(name);
    series.values.push_back(seconds);
  }
  bars.series.push_back(std::move(series));
  page.chart(report::draw(bars));
  if (!timeline.empty()) page.section("Pipeline").chart(timeline);
  page.section("Memory by stage");
  page.table(memory_table(workload::memory_by_stage(in.model, in.execution, in.system, in.cost)));
  page.section("Inputs").code(line).code(workload::execution_toml(in.execution));
  page.data(json);
  return page.html();
}

Status show_foreign(const ForeignResult& result, const CommandWords& words, const Globals& globals) {
  if (auto status = check_seconds(result.seconds, result.inputs); !status) return status;
  if (globals.output == Output::kJson || globals.output == Output::kJsonl)
    fmt::print("{}", result.json);
  else if (globals.output == Output::kCsv)
    fmt::print("{}", result.table.csv());
  else
    fmt::print("{}{}{}", printable_lines(result.before), result.table.text(globals.colour),
               printable_lines(result.after));
  if (globals.out_dir.empty()) return {};
  report::Page page(result.title, "where a training step goes");
  page.section("Where the time goes").paragraph(result.before).table(result.table).paragraph(result.after);
  page.section("Inputs").code(words.line());
  page.data(result.json);
  std::vector<std::pair<std::string, std::string>> files = {
      {"run.json", words.run_json(globals)}, {"summary.json", result.json}, {"breakdown.csv", result.table.csv()}};
  files.insert(files.end(), result.files.begin(), result.files.end());
  files.emplace_back("report.html", page.html());
  return write_folder(globals.out_dir, files);
}

}  // namespace comity::cli
