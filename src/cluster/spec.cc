// SPDX-License-Identifier: Apache-2.0
#include "cluster/spec.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/input.h"
#include "base/limits.h"
#include "base/text.h"
#include "base/toml.h"

namespace comity::cluster {

const std::vector<std::string>& placement_names() {
  static const std::vector<std::string> names = {"count", "firstfit", "bestfit", "consolidated", "buddy", "lucid"};
  return names;
}

Result<Placement> parse_placement(const std::string& name) {
  const auto& names = placement_names();
  const auto it = std::find(names.begin(), names.end(), name);
  if (it != names.end()) return static_cast<Placement>(it - names.begin());
  const std::string near = nearest(name, names);
  return fail(
      Code::kUsage, fmt::format("unknown placement '{}'", printable(name)),
      near.empty() ? fmt::format("one of {}", fmt::join(names, ", ")) : fmt::format("did you mean '{}'?", near));
}

const std::string& placement_name(Placement placement) {
  return placement_names()[static_cast<std::size_t>(placement)];
}

std::uint64_t ClusterSpec::gpus() const {
  std::uint64_t sum = 0;
  for (const NodeSpec& node : nodes) sum += node.gpus;
  return sum;
}

Result<ClusterSpec> parse_nodes(const std::string& text) {
  const auto bad = [&](const std::string& why) {
    return fail(Code::kUsage, fmt::format("--nodes {}: {}", printable(text), why),
                "write NODESxGPUS, for example --nodes 56x8");
  };
  const std::size_t x = text.find('x');
  if (x == std::string::npos) return bad("no 'x' between the number of nodes and the GPUs of each");
  const auto nodes = parse_int(std::string_view(text).substr(0, x));
  const auto gpus = parse_int(std::string_view(text).substr(x + 1));
  if (!nodes || !gpus) return bad("not two whole numbers");
  if (*nodes < 1 || *nodes > limits::kNodes) return bad(fmt::format("nodes must be 1 to {}", limits::kNodes));
  if (*gpus < 1 || *gpus > limits::kGpusPerNode) return bad(fmt::format("GPUs must be 1 to {}", limits::kGpusPerNode));
  ClusterSpec spec;
  spec.nodes.reserve(static_cast<std::size_t>(*nodes));
  for (std::int64_t i = 0; i < *nodes; ++i) {
    NodeSpec node;
    node.name = fmt::format("node{}", i);
    node.gpus = static_cast<std::uint32_t>(*gpus);
    spec.nodes.push_back(std::move(node));
  }
  return spec;
}

namespace {

constexpr std::int64_t kMaxGpusTotal = 1'000'000'000;

Status add_nodes(TomlReader& reader, ClusterSpec& spec) {
  reader.require("gpus");
  NodeSpec node;
  node.name = reader.text("name", fmt::format("node{}", spec.nodes.size()));
  const std::int64_t count = reader.integer("count", 1, 1, limits::kNodes);
  node.gpus = static_cast<std::uint32_t>(reader.integer("gpus", 1, 1, limits::kGpusPerNode));
  node.gpu_type = reader.text("gpu_type", "");
  node.group = reader.text("group", "");
  node.cpus = static_cast<std::uint32_t>(reader.integer("cpus", 0, 0, 1'000'000));
  node.memory_mb = static_cast<std::uint64_t>(reader.integer("memory_gb", 0, 0, 1'000'000'000)) * 1024;
  const std::vector<std::int64_t> slots = reader.integers("slots", 1, 64);
  std::int64_t in_slots = 0;
  for (const std::int64_t s : slots) in_slots += s;
  if (in_slots > node.gpus) reader.refuse("slots", "the slots have more GPUs than the node");
  if (auto status = reader.finish(); !status) return status;
  if (static_cast<std::int64_t>(spec.nodes.size()) + count > limits::kNodes)
    return fail(Code::kInput, fmt::format("more than {} nodes", limits::kNodes));
  const std::string base = node.name;
  for (std::int64_t i = 0; i < count; ++i) {
    node.name = count == 1 ? base : fmt::format("{}{}", base, i);
    if (slots.empty()) {
      spec.nodes.push_back(node);
      continue;
    }
    NodeSpec slot = node;
    slot.small = true;
    for (std::size_t k = 0; k < slots.size(); ++k) {
      slot.name = fmt::format("{}.{}", node.name, k);
      slot.gpus = static_cast<std::uint32_t>(slots[k]);
      spec.nodes.push_back(slot);
    }
  }
  return {};
}

}  // namespace

Result<ClusterSpec> parse_cluster(const std::string& text, const std::string& path) {
  auto table = parse_toml(text, path);
  if (!table) return fail(table.error());
  TomlReader root(*table, path, "cluster");
  const std::string schema = root.text("schema", "");
  if (schema != "comity.cluster/1") root.refuse("schema", "must be \"comity.cluster/1\"");
  root.text("name", "");
  ClusterSpec spec;
  auto nodes = root.tables("nodes");
  auto tenants = root.tables("tenants");
  const auto limits_at = table->find("limits");
  if (limits_at != table->end()) {
    const auto* limits = std::get_if<TomlTable>(&limits_at->second.v);
    if (limits == nullptr) {
      root.refuse("limits", "must be a table");
    } else {
      TomlReader reader(*limits, path, "limits", limits_at->second.line);
      spec.user_max_gpus = reader.integer("user_max_gpus", -1, 0, kMaxGpusTotal);
      if (auto status = reader.finish(); !status) return fail(status.error());
    }
  }
  root.known("limits");
  if (auto status = root.finish(); !status) return fail(status.error());
  for (TomlReader& reader : nodes) {
    if (auto status = add_nodes(reader, spec); !status) return fail(status.error());
  }
  for (TomlReader& reader : tenants) {
    reader.require("name");
    TenantSpec tenant;
    tenant.name = reader.text("name", "");
    tenant.share = reader.real("share", 1, 0, 1e9);
    tenant.max_gpus = reader.integer("max_gpus", -1, 0, kMaxGpusTotal);
    if (auto status = reader.finish(); !status) return fail(status.error());
    spec.tenants.push_back(std::move(tenant));
  }
  if (spec.nodes.empty()) {
    Error error;
    error.code = Code::kInput;
    error.message = "a cluster without nodes";
    error.file = path;
    error.field = "nodes";
    error.hint = "add at least one [[nodes]] table with gpus = N";
    return fail(std::move(error));
  }
  return spec;
}

Result<ClusterSpec> read_cluster(const std::string& path) {
  auto text = read_document(path);
  if (!text) return fail(text.error());
  return parse_cluster(*text, path);
}

}  // namespace comity::cluster
