// SPDX-License-Identifier: Apache-2.0
#include "workload/foreign/foreign.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/json.h"
#include "workload/foreign/refusal.h"

namespace comity::workload {

namespace {

std::string trace_file(const std::string& prefix, std::int64_t rank) {
  std::string plain = fmt::format("{}.{}.et", prefix, rank);
  std::error_code ignored;
  if (!std::filesystem::exists(plain, ignored) && std::filesystem::exists(plain + ".gz", ignored)) return plain + ".gz";
  return plain;
}

}  // namespace

Result<AstraAnswer> evaluate(const AstraRequest& request) {
  const auto system = load_astra_system(request.system);
  if (!system) return fail(system.error());
  const auto network = load_astra_network(request.network);
  if (!network) return fail(network.error());
  AstraGroups groups;
  if (!request.groups.empty()) {
    auto loaded = load_astra_groups(request.groups);
    if (!loaded) return fail(loaded.error());
    groups = std::move(*loaded);
  }
  std::vector<ChakraTrace> traces;
  for (std::int64_t rank = 0; rank < network->npus(); ++rank) {
    auto trace = read_chakra(trace_file(request.chakra, rank));
    if (!trace) {
      Error error = trace.error();
      if (error.code == Code::kNotFound || !std::filesystem::exists(trace_file(request.chakra, rank)))
        error.hint = fmt::format("{} has {} NPUs and wants a trace of each", request.network, network->npus());
      return fail(std::move(error));
    }
    traces.push_back(std::move(*trace));
  }
  auto details = astra_unaware(traces, *system, *network, groups, request.chakra);
  if (!details) return fail(details.error());
  if (std::filesystem::exists(trace_file(request.chakra, network->npus())))
    details->notes.push_back(fmt::format("{} is not used: {} has {} NPUs", trace_file(request.chakra, network->npus()),
                                         request.network, network->npus()));
  const auto last = std::max_element(details->ranks.begin(), details->ranks.end(),
                                     [](const auto& a, const auto& b) { return a.finish_ns < b.finish_ns; });
  AstraAnswer answer;
  const auto seconds = [](std::uint64_t ns) { return static_cast<double>(ns) / 1e9; };
  answer.summary = {.iteration_s = seconds(details->iteration_ns),
                    .breakdown = {{"compute", seconds(last->finish_ns - last->exposed_ns)},
                                  {"exposed_communication", seconds(last->exposed_ns)}},
                    .approximate = details->approximate,
                    .notes = details->notes};
  answer.details = std::move(*details);
  return answer;
}

Result<SimaiAnswer> evaluate(const SimaiRequest& request) {
  const auto workload = read_simai(request.workload);
  if (!workload) return fail(workload.error());
  auto details = simai_estimate(*workload, request.machine, request.workload);
  if (!details) return fail(details.error());
  const SimaiEstimate& e = *details;
  SimaiAnswer answer;
  answer.summary = {.iteration_s = e.total_us / 1e6,
                    .breakdown = {{"compute", e.compute_us / 1e6},
                                  {"exposed_tp", e.tp_us / 1e6},
                                  {"exposed_ep", e.ep_us / 1e6},
                                  {"exposed_dp", e.dp_us / 1e6},
                                  {"exposed_dp_ep", e.dp_ep_us / 1e6},
                                  {"exposed_pp", e.pp_us / 1e6},
                                  {"bubble", e.bubble_us / 1e6}},
                    .approximate = false,
                    .notes = e.notes};
  answer.details = std::move(*details);
  return answer;
}

std::string foreign_json(const ForeignEstimate& estimate) {
  JsonWriter json;
  json.begin_object().field("iteration_s", estimate.iteration_s).key("breakdown").begin_object();
  for (const ForeignPart& part : estimate.breakdown) json.field(std::string(part.name) + "_s", part.seconds);
  json.end_object().field("approximate", estimate.approximate).key("notes").begin_array();
  for (const std::string& note : estimate.notes) json.string(note);
  return json.end_array().end_object().text();
}

}  // namespace comity::workload
