// SPDX-License-Identifier: Apache-2.0
#include "cli/iteration_foreign.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/log.h"
#include "cli/iteration_output.h"

namespace comity::cli {
namespace {

std::string to_json(const workload::ForeignEstimate& e, const std::string& cost, const std::string& more) {
  JsonWriter json;
  json.begin_object().field("schema", "comity.iteration/1").field("cost", cost).field("iteration_s", e.iteration_s);
  json.key("breakdown_s").begin_object();
  for (const workload::ForeignPart& part : e.breakdown) json.field(part.name, part.seconds);
  json.end_object().field("approximate", e.approximate);
  if (!more.empty()) json.raw(more);
  return json.end_object().text() + "\n";
}

Table to_table(const workload::ForeignEstimate& e) {
  Table table({{"part", false}, {"seconds"}});
  for (const workload::ForeignPart& part : e.breakdown)
    table.add_row({{std::string(part.name)}, {fmt::format("{:.9g}", part.seconds), part.seconds}});
  table.add_row({{"step"}, {fmt::format("{:.9g}", e.iteration_s), e.iteration_s}});
  return table;
}

}  // namespace

CommandWords words_of(const CLI::App& sub, const IterationArgs& args) {
  CommandWords words(sub);
  say_execution_options(words, args.own);
  const auto text = [&](const char* name, const std::string& value) {
    if (!value.empty()) words.option(name, value);
  };
  const auto real = [&](const char* name, double value) {
    if (value > 0) words.option(name, fmt::format("{}", value));
  };
  text("megatron", args.megatron);
  if (args.gpus > 0) words.option("gpus", std::to_string(args.gpus));
  text("chakra", args.astra.chakra);
  text("network", args.astra.network);
  text("groups", args.astra.groups);
  text("workload", args.simai.workload);
  if (args.own.cost != "simai") return words;
  const workload::SimaiMachine& m = args.simai.machine;
  real("nvlink-gb-s", m.nvlink_gb_s);
  real("nic-gb-s", m.nic_gb_s);
  words.option("nics-per-node", std::to_string(m.nics_per_node));
  words.option("gpus-per-node", std::to_string(m.gpus_per_node));
  return words;
}

Status run_astra(const CLI::App& sub, const IterationArgs& args, const Globals& globals) {
  if (args.astra.chakra.empty() || args.own.system.empty() || args.astra.network.empty())
    return fail(Code::kUsage, "--cost astra_unaware needs --chakra, --system and --network",
                "a prefix of traces, ASTRA-sim's system JSON and its network YAML");
  workload::AstraRequest request = args.astra;
  request.system = args.own.system;
  auto answer = workload::evaluate(request);
  if (!answer) return fail(answer.error());
  for (const std::string& note : answer->summary.notes) log_info(note);
  JsonWriter ranks;
  ranks.begin_array();
  for (const workload::AstraRank& rank : answer->details.ranks)
    ranks.begin_object().field("finish_ns", rank.finish_ns).field("exposed_ns", rank.exposed_ns).end_object();
  ranks.end_array();
  const std::uint64_t end_ns = answer->details.iteration_ns;
  ForeignResult out;
  out.title = "ASTRA-sim, congestion-unaware";
  out.inputs = fmt::format("{}, {} and {}", args.astra.chakra, args.own.system, args.astra.network);
  out.seconds = answer->summary.iteration_s;
  out.json =
      to_json(answer->summary, "astra_unaware", fmt::format("\"iteration_ns\":{},\"ranks\":{}", end_ns, ranks.text()));
  out.table = to_table(answer->summary);
  out.after = fmt::format("{} ranks; the last one ends at {} ns\n", answer->details.ranks.size(), end_ns);
  return show_foreign(out, words_of(sub, args), globals);
}

Status run_simai(const CLI::App& sub, const IterationArgs& args, const Globals& globals) {
  if (args.simai.workload.empty() || args.gpus == 0)
    return fail(Code::kUsage, "--cost simai needs --workload, --gpus, --nvlink-gb-s and --nic-gb-s",
                "a workload text of SimAI or AICB and the machine's rates");
  workload::SimaiRequest request = args.simai;
  request.machine.gpus = args.gpus;
  auto answer = workload::evaluate(request);
  if (!answer) return fail(answer.error());
  for (const std::string& note : answer->summary.notes) log_info(note);
  ForeignResult out;
  out.title = "SimAI-Analytical";
  out.inputs = args.simai.workload;
  out.seconds = answer->summary.iteration_s;
  out.json = to_json(answer->summary, "simai", {});
  out.table = to_table(answer->summary);
  if (!globals.out_dir.empty()) out.files.emplace_back("EndToEnd.csv", workload::simai_csv(answer->details, "comity-"));
  return show_foreign(out, words_of(sub, args), globals);
}

}  // namespace comity::cli
