// SPDX-License-Identifier: Apache-2.0
#include "cli/iteration_export.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/input.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "workload/foreign/chakra_step.h"
#include "workload/traffic.h"

namespace comity::cli {
namespace {

using workload::AstraDimension;
using workload::AstraImplementation;
using workload::AstraNetwork;
using workload::AstraSystem;
using workload::AstraTopology;

// Whether stages that follow each other are apart in one tier only: ASTRA-sim has no way between others.
bool along_tiers(const workload::Execution& execution, std::int64_t joined) {
  if (execution.pp == 1) return true;
  const workload::RankGrid grid(execution);
  const std::int64_t stride = grid.member(workload::GroupKind::kPp, 0, 1);
  return stride % joined == 0 || stride * execution.pp <= joined;
}

// A switch a tier of the machine, as far as the ranks reach; one for all where they don't fit the tiers.
AstraNetwork network_of(const workload::System& system, const workload::Execution& execution) {
  const std::int64_t ranks = execution.gpus();
  constexpr double kGib = 1.073741824;
  AstraNetwork out;
  std::int64_t joined = 1;
  for (std::size_t t = 0; t < system.networks.size() && joined < ranks; ++t) {
    const workload::Network& tier = system.networks[t];
    const std::int64_t to = t == 0 ? system.joined_gpus() : tier.domain > 0 ? tier.domain : ranks;
    const std::int64_t npus = std::min(ranks, to) / joined;
    if (npus < 2) continue;
    out.dimensions.push_back(
        {AstraTopology::kSwitch, npus, tier.gb_s * tier.efficiency / kGib, tier.latency_us * 1e3 / 2});
    joined *= npus;
  }
  const bool fits = along_tiers(execution, std::min(ranks, system.joined_gpus()));
  if (joined == ranks && !out.dimensions.empty() && fits) return out;
  const workload::Network& outer = system.networks.back();
  out.dimensions = {{AstraTopology::kSwitch, ranks, outer.gb_s * outer.efficiency / kGib, outer.latency_us * 1e3 / 2}};
  return out;
}

AstraSystem system_of(const workload::System& system, std::size_t dimensions) {
  AstraSystem out;
  out.local_mem_gb_s = system.memory_gb_s * system.memory_efficiency;
  out.all_reduce.assign(dimensions, AstraImplementation{});
  out.all_gather = out.reduce_scatter = out.all_reduce;
  out.all_to_all.assign(dimensions, {workload::AstraAlgorithm::kDirect, 0});
  return out;
}

}  // namespace

Status run_export(const ExecutionArgs& args, const std::string& prefix, const Globals& globals) {
  const auto in = load_step(args);
  if (!in) return fail(in.error());
  const auto step = workload::StepTraces::make(in->model, in->execution, in->system, in->cost);
  if (!step) return fail(step.error());
  std::uint64_t nodes = 0;
  std::uint64_t bytes = 0;
  Progress progress("iteration export", "ranks", static_cast<std::uint64_t>(step->ranks()),
                    globals.quiet || globals.output != Output::kTable);
  for (std::int64_t rank = 0; rank < step->ranks(); ++rank) {
    if (interrupted())
      return fail(Code::kInterrupted, fmt::format("interrupted; the first {} ranks are written", rank));
    const workload::ChakraTrace trace = step->trace(rank);
    const std::string text = workload::write_chakra(trace);
    if (const Status status = write_file(fmt::format("{}.{}.et", prefix, rank), text); !status) return status;
    nodes += trace.nodes();
    bytes += text.size();
    progress.update(static_cast<std::uint64_t>(rank) + 1);
  }
  const AstraNetwork network = network_of(in->system, in->execution);
  const AstraSystem system = system_of(in->system, network.dimensions.size());
  for (const auto& [name, text] : {std::pair(".groups.json", workload::astra_groups_json(step->groups())),
                                   std::pair(".network.yml", workload::astra_network_yaml(network)),
                                   std::pair(".system.json", workload::astra_system_json(system))}) {
    if (const Status status = write_file(prefix + name, text); !status) return status;
  }
  if (globals.output == Output::kJson || globals.output == Output::kJsonl) {
    JsonWriter json;
    json.begin_object().field("schema", "comity.export/1").field("prefix", prefix).field("ranks", step->ranks());
    json.field("nodes", nodes).field("bytes", bytes).field("groups", step->groups().size());
    fmt::print("{}\n", json.end_object().text());
    return {};
  }
  fmt::print("{}.0.et and {} more: {} nodes, {:.1f} MB; {}.groups.json ({} groups), .network.yml, .system.json\n",
             prefix, step->ranks() - 1, format_count(nodes), static_cast<double>(bytes) * 1e-6, prefix,
             step->groups().size());
  return {};
}

}  // namespace comity::cli
