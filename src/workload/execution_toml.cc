// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/input.h"
#include "base/text.h"
#include "workload/execution.h"
#include "workload/execution_limits.h"
#include "workload/toml_fields.h"

namespace comity::workload {
namespace {

std::string_view context_parallel_name(ContextParallel kind) {
  switch (kind) {
    case ContextParallel::kRing: return "ring";
    case ContextParallel::kUlysses: return "ulysses";
  }
  return "";
}

template <class Visitor, class Any>
void degree_fields(Visitor& v, Any& e) {
  v.integer("tp", e.tp, 1, kMaxDegree);
  v.integer("cp", e.cp, 1, kMaxDegree);
  v.integer("pp", e.pp, 1, kMaxDegree);
  v.integer("dp", e.dp, 1, kMaxDegree);
  v.integer("ep", e.ep, 1, kMaxDegree);
  v.integer("virtual_stages", e.virtual_stages, 1, kMaxDegree);
  v.integer("microbatch", e.microbatch, 1, kMaxDegree);
  v.integer("batch", e.batch, 1, kMaxBatch);
  v.integer("sequence", e.sequence, 0, kMaxBatch);
  v.choice("schedule", e.schedule, 6, schedule_name);
  v.choice("recompute", e.recompute, 3, recompute_name);
  v.real("recompute_share", e.recompute_share, 0, 1);
  v.choice("context_parallel", e.context_parallel, 2, context_parallel_name);
  v.choice("datatype", e.datatype, 4, datatype_name);
  v.integer("zero", e.zero, 0, 3);
  v.integer("gradient_bytes", e.gradient_bytes, 1, 8);
}

template <class Visitor, class Any>
void detail_fields(Visitor& v, Any& e) {
  v.boolean("sequence_parallel", e.sequence_parallel);
  v.boolean("flash_attention", e.flash_attention);
  v.boolean("fused", e.fused);
  v.boolean("dropout", e.dropout);
  v.boolean("tp_overlap", e.tp_overlap);
  v.boolean("dp_overlap", e.dp_overlap);
  v.boolean("ep_overlap", e.ep_overlap);
  v.boolean("scatter_gather", e.scatter_gather);
  v.boolean("causal_skip", e.causal_skip);
  v.real("expert_capacity", e.expert_capacity, 0, kMaxFactor);
  v.integer("expert_node_limit", e.expert_node_limit, 0, kMaxDegree);
  v.real("expert_skew", e.expert_skew, 1, kMaxFactor);
  v.real("activation_offload", e.activation_offload, 0, 1);
  v.boolean("optimizer_offload", e.optimizer_offload);
}

constexpr std::array<std::string_view, 5> kAxes = {"tp", "cp", "ep", "dp", "pp"};

void read_order(TomlReader& reader, Execution& execution) {
  const std::vector<std::string> names = reader.texts("order");
  if (!reader.has("order")) return;
  std::array<bool, 5> seen{};
  std::size_t i = 0;
  for (const std::string& name : names) {
    for (std::size_t axis = 0; axis < kAxes.size(); ++axis) {
      if (kAxes[axis] != name || seen[axis] || i >= kAxes.size()) continue;
      seen[axis] = true;
      execution.order[i++] = static_cast<Axis>(axis);
    }
  }
  if (i != kAxes.size() || names.size() != kAxes.size())
    reader.refuse("order", "must name tp, cp, ep, dp and pp once each, innermost first");
}

void read_stage_layers(TomlReader& reader, Execution& execution) {
  execution.stage_layers = reader.integers("stage_layers", 0, kMaxDegree);
  if (execution.stage_layers.size() <= static_cast<std::size_t>(kMaxDegree)) return;
  reader.refuse("stage_layers", "more entries than any model has layers");
  execution.stage_layers.clear();
}

}  // namespace

void read_execution_fields(TomlReader& reader, Execution& execution) {
  FieldReader v(reader);
  degree_fields(v, execution);
  detail_fields(v, execution);
  read_order(reader, execution);
  read_stage_layers(reader, execution);
}

Result<Execution> parse_execution(std::string_view toml, const std::string& file) {
  const Result<TomlTable> table = parse_toml(toml, file);
  if (!table) return fail(table.error());
  TomlReader reader(*table, file, "");
  Execution execution;
  read_schema(reader, kExecutionSchema);
  read_execution_fields(reader, execution);
  if (auto status = reader.finish(); !status) return fail(status.error());
  return execution;
}

Result<Execution> load_execution(const std::string& file) {
  const Result<std::string> text = read_document(file);
  if (!text) return fail(text.error());
  return parse_execution(*text, file);
}

std::string execution_toml(const Execution& execution) {
  std::string out = "schema = " + toml_quoted(kExecutionSchema) + '\n';
  FieldWriter v(out);
  degree_fields(v, execution);
  detail_fields(v, execution);
  std::vector<std::string> order;
  for (const Axis axis : execution.order) order.push_back(toml_quoted(kAxes[static_cast<std::size_t>(axis)]));
  fmt::format_to(std::back_inserter(out), "order = [{}]\n", fmt::join(order, ", "));
  if (!execution.stage_layers.empty())
    fmt::format_to(std::back_inserter(out), "stage_layers = [{}]\n", fmt::join(execution.stage_layers, ", "));
  return out;
}

}  // namespace comity::workload
