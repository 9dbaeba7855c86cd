// SPDX-License-Identifier: Apache-2.0
#include "cli/iteration_foreign.h"

#include <fmt/format.h>

#include "base/input.h"
#include "base/json.h"
#include "base/table.h"
#include "cli/iteration_output.h"
#include "workload/calculon/cost.h"

namespace comity::cli {
namespace {

using workload::calculon::Breakdown;

constexpr double kGibi = 1073741824.0;

// One of the three files, parsed.
template <class Parse>
auto load(const std::string& path, Parse parse) -> decltype(parse(std::string_view(), path)) {
  auto text = read_document(path);
  if (!text) return fail(text.error());
  return parse(*text, path);
}

std::vector<std::pair<const char*, double>> seconds_of(const Breakdown& b) {
  return {{"forward", b.fw_time},
          {"backward", b.bw_time},
          {"optimizer", b.optim_step_time},
          {"recompute", b.recompute_time},
          {"recompute_communication", b.recomm_exposed_time},
          {"bubble", b.bubble_time},
          {"tp", b.tp_comm_exposed_time},
          {"pp", b.pp_comm_exposed_time},
          {"dp", b.dp_comm_exposed_time},
          {"offload", b.fw_offload_overhead + b.bw_offload_overhead}};
}

std::string to_json(const Breakdown& b, double peak_tflops) {
  JsonWriter json;
  json.begin_object().field("schema", "comity.iteration/1").field("cost", "calculon");
  json.field("iteration_s", b.total_time).key("breakdown_s").begin_object();
  for (const auto& [name, seconds] : seconds_of(b)) json.field(name, seconds);
  json.end_object().key("memory_bytes").begin_object();
  json.field("weights", b.weight_space).field("optimizer", b.optimizer_space).field("gradients", b.weight_grad_space);
  json.field("activations", b.act_space + b.act_checkpoint_size + b.act_grad_space);
  json.field("total", b.mem_tier1_cap_req).end_object();
  json.field("tflops_per_gpu", b.total_efficiency * peak_tflops).field("mfu", b.total_efficiency);
  json.field("fits", b.fits).field("sample_rate", b.sample_rate);
  json.key("calculon").begin_object();
  for (const auto& term : workload::calculon::terms()) json.field(term.name, b.*term.value);
  return json.end_object().end_object().text() + "\n";
}

Table to_table(const Breakdown& b) {
  Table table({{"part", false}, {"seconds"}, {"share %"}});
  for (const auto& [name, seconds] : seconds_of(b)) {
    if (seconds == 0) continue;
    table.add_row(
        {{name}, {fmt::format("{:.4f}", seconds), seconds}, {fmt::format("{:.1f}", 100 * seconds / b.total_time)}});
  }
  table.add_row({{"step"}, {fmt::format("{:.4f}", b.total_time), b.total_time}, {"100.0"}});
  return table;
}

}  // namespace

Status run_calculon(const CLI::App& sub, const IterationArgs& all, const Globals& globals) {
  const ExecutionArgs& args = all.own;
  if (args.model.empty() || args.execution.empty() || args.system.empty())
    return fail(Code::kUsage, "--cost calculon needs --model, --execution and --system",
                "the three JSON files of Calculon: application, execution, system");
  auto app = load(args.model, workload::calculon::parse_application);
  if (!app) return fail(app.error());
  auto exe = load(args.execution, workload::calculon::parse_execution);
  if (!exe) return fail(exe.error());
  auto sys = load(args.system, workload::calculon::parse_system);
  if (!sys) return fail(sys.error());
  auto got = workload::calculon::evaluate(*app, *exe, *sys);
  if (!got) {
    Error error = got.error();
    error.file = args.execution;
    return fail(std::move(error));
  }
  ForeignResult out;
  out.title = "Calculon's model";
  out.inputs = fmt::format("{}, {} and {}", args.model, args.execution, args.system);
  out.seconds = got->total_time;
  out.json = to_json(*got, sys->matrix[static_cast<std::size_t>(exe->datatype)].flops * 1e-12);
  out.table = to_table(*got);
  out.before = fmt::format(
      "Calculon's model: {:.4f} s a batch, {:.2f} sequences/s, {:.2f} % of the peak; memory {:.3f} GiB, {:.3f} GiB "
      "in the second tier{}\n\n",
      got->total_time, got->sample_rate, 100 * got->total_efficiency, got->mem_tier1_cap_req / kGibi,
      got->mem_tier2_cap_req / kGibi, got->fits ? "" : ": DOES NOT FIT");
  return show_foreign(out, words_of(sub, all), globals);
}

}  // namespace comity::cli
