// SPDX-License-Identifier: Apache-2.0
#include "cluster/spec.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "base/input.h"
#include "base/limits.h"
#include "base/text.h"
#include "base/toml.h"
#include "cluster/spec_csv.h"
#include "cluster/spec_tiresias.h"

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
  return fail_option(
      "--placement", fmt::format("unknown placement '{}'", printable(name)),
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
    return fail_option("--nodes", fmt::format("{}: {}", printable(text), why),
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
constexpr std::size_t kMaxReservations = 32;  // Reservations::kMost
constexpr std::size_t kMaxTenants = 4096;     // and so the depth of their tree

// GPUs that belong to no slot would be lost without a word.
void check_slots(TomlReader& reader, const std::vector<std::int64_t>& slots, std::uint32_t gpus) {
  std::int64_t sum = 0;
  for (const std::int64_t slot : slots) sum += slot;
  if (!slots.empty() && sum != std::int64_t{gpus})
    reader.refuse("slots",
                  fmt::format("the slots have {} GPUs in all, the node {}: list a slot for each GPU", sum, gpus));
}

// `names`: of the nodes so far.
Status add_nodes(TomlReader& reader, ClusterSpec& spec, std::unordered_set<std::string>& names) {
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
  node.line = reader.line();
  check_slots(reader, slots, node.gpus);
  const auto most = static_cast<std::size_t>(limits::kNodes) - spec.nodes.size();
  const std::size_t wanted = static_cast<std::size_t>(count) * std::max<std::size_t>(1, slots.size());
  if (wanted > most)
    reader.refuse("count", fmt::format("a cluster has at most {} nodes, each slot counted as one", limits::kNodes));
  if (auto status = reader.finish(); !status) return status;
  const std::string base = node.name;
  for (std::int64_t i = 0; i < count; ++i) {
    node.name = count == 1 ? base : fmt::format("{}{}", base, i);
    if (!names.insert(node.name).second) {
      reader.refuse("name", fmt::format("an earlier table has the same node {}", printable(node.name)));
      return reader.finish();
    }
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

// "COUNTxGPUS" or "COUNTxGPUS:TYPE".
bool parse_cell(const std::string& text, CellSpec& out) {
  const std::size_t x = text.find('x');
  if (x == std::string::npos) return false;
  const std::size_t colon = text.find(':', x);
  const auto count = parse_int(std::string_view(text).substr(0, x));
  const auto gpus = parse_int(std::string_view(text).substr(x + 1, colon == std::string::npos ? colon : colon - x - 1));
  if (!count || !gpus || *count < 1 || *count > limits::kNodes || *gpus < 1 || *gpus > limits::kGpusPerNode)
    return false;
  out.count = static_cast<std::uint32_t>(*count);
  out.gpus = static_cast<std::uint32_t>(*gpus);
  if (colon != std::string::npos) out.gpu_type = text.substr(colon + 1);
  return colon == std::string::npos || !out.gpu_type.empty();
}

Status add_tenant(TomlReader& reader, ClusterSpec& spec) {
  reader.require("name");
  TenantSpec tenant;
  tenant.name = reader.text("name", "");
  tenant.share = reader.real("share", 1, 0, 1e9);
  tenant.max_gpus = reader.integer("max_gpus", -1, 0, kMaxGpusTotal);
  tenant.parent = reader.text("parent", "");
  tenant.priority = reader.integer("priority", 0, -1'000'000, 1'000'000);
  for (const std::string& text : reader.texts("cells")) {
    CellSpec cell;
    if (parse_cell(text, cell)) {
      tenant.cells.push_back(std::move(cell));
    } else {
      reader.refuse("cells", fmt::format("'{}' is not COUNTxGPUS or COUNTxGPUS:TYPE", printable(text)));
    }
  }
  if (spec.tenants.size() == kMaxTenants) reader.refuse("name", fmt::format("more than {} tenants", kMaxTenants));
  for (const TenantSpec& earlier : spec.tenants) {
    if (earlier.name == tenant.name)
      reader.refuse("name", fmt::format("tenant '{}' stands twice", printable(tenant.name)));
  }
  if (auto status = reader.finish(); !status) return status;
  spec.tenants.push_back(std::move(tenant));
  return {};
}

// `users`: those so far, by tenant and name.
Status add_user(TomlReader& reader, ClusterSpec& spec, std::set<std::pair<std::string, std::string>>& users) {
  reader.require("name");
  UserSpec user;
  user.name = reader.text("name", "");
  user.tenant = reader.text("tenant", "");
  user.share = reader.real("share", 1, 0, 1e9);
  if (!users.emplace(user.tenant, user.name).second)
    reader.refuse("name",
                  fmt::format("user '{}' of tenant '{}' stands twice", printable(user.name), printable(user.tenant)));
  if (auto status = reader.finish(); !status) return status;
  spec.users.push_back(std::move(user));
  return {};
}

// The nodes that "gpu3" or "gpu[4-7]" names; empty when there is one that doesn't exist.
std::vector<std::uint32_t> nodes_named(const std::string& text, const std::map<std::string, std::uint32_t>& by_name) {
  std::vector<std::uint32_t> list;
  const auto take = [&](const std::string& name) {
    const auto it = by_name.find(name);
    if (it != by_name.end()) list.push_back(it->second);
    return it != by_name.end();
  };
  const std::size_t open = text.find('[');
  if (open == std::string::npos || text.back() != ']') {
    take(text);
    return list;
  }
  const std::string_view range = std::string_view(text).substr(open + 1, text.size() - open - 2);
  const std::size_t dash = range.find('-');
  if (dash == std::string_view::npos) return {};
  const auto first = parse_int(range.substr(0, dash));
  const auto last = parse_int(range.substr(dash + 1));
  if (!first || !last || *first < 0 || *last < *first || *last - *first >= limits::kNodes) return {};
  for (std::int64_t i = *first; i <= *last; ++i) {
    if (!take(fmt::format("{}{}", text.substr(0, open), i))) return {};
  }
  return list;
}

Time instant(TomlReader& reader, std::string_view key) {
  const auto at = parse_length(reader.text(key, ""));
  if (!at || *at < 0) reader.refuse(key, "must be a time such as \"36h\" or \"2d\", on the trace's clock");
  return at && *at >= 0 ? *at : 0;
}

Status add_reservation(TomlReader& reader, ClusterSpec& spec, const std::map<std::string, std::uint32_t>& by_name) {
  for (const char* key : {"nodes", "start", "end"}) reader.require(key);
  ReservationSpec r;
  r.name = reader.text("name", fmt::format("reservation{}", spec.reservations.size()));
  r.start = instant(reader, "start");
  r.end = instant(reader, "end");
  r.tenants = reader.texts("tenants");
  r.users = reader.texts("users");
  if (r.end <= r.start) reader.refuse("end", "must be later than start");
  for (const std::string& text : reader.texts("nodes")) {
    const std::vector<std::uint32_t> some = nodes_named(text, by_name);
    if (some.empty()) reader.refuse("nodes", fmt::format("'{}' names no node of this file", printable(text)));
    r.nodes.insert(r.nodes.end(), some.begin(), some.end());
  }
  std::sort(r.nodes.begin(), r.nodes.end());
  r.nodes.erase(std::unique(r.nodes.begin(), r.nodes.end()), r.nodes.end());
  if (spec.reservations.size() == kMaxReservations)
    reader.refuse("name", fmt::format("more than {} reservations", kMaxReservations));
  if (auto status = reader.finish(); !status) return status;
  spec.reservations.push_back(std::move(r));
  return {};
}

Status add_reservations(std::vector<TomlReader>& readers, ClusterSpec& spec) {
  if (readers.empty()) return {};
  std::map<std::string, std::uint32_t> by_name;
  for (std::uint32_t i = 0; i < spec.nodes.size(); ++i) by_name.emplace(spec.nodes[i].name, i);
  for (TomlReader& reader : readers) {
    if (auto status = add_reservation(reader, spec, by_name); !status) return status;
  }
  return {};
}

// Parents exist and no tenant stands above itself. O(tenants log tenants).
Status check_tree(const ClusterSpec& spec, const std::string& path) {
  const auto bad = [&](const std::string& what, const std::string& field) -> Status {
    Error error;
    error.code = Code::kInput;
    error.message = what;
    error.file = path;
    error.field = field;
    error.hint = "name a tenant of this file once, or leave the field out for the root";
    return fail(std::move(error));
  };
  std::map<std::string_view, std::size_t> index;
  for (std::size_t i = 0; i < spec.tenants.size(); ++i) index.emplace(spec.tenants[i].name, i);
  std::vector<std::size_t> seen(spec.tenants.size(), 0);  // the walk that met it, counted from 1
  for (std::size_t walk = 1; walk <= spec.tenants.size(); ++walk) {
    for (std::size_t at = walk - 1; seen[at] == 0 || seen[at] == walk;) {
      const TenantSpec& tenant = spec.tenants[at];
      if (seen[at] == walk)
        return bad(fmt::format("tenant '{}' stands above itself", printable(tenant.name)), "parent");
      seen[at] = walk;
      if (tenant.parent.empty()) break;
      const auto up = index.find(tenant.parent);
      if (up == index.end())
        return bad(fmt::format("tenant '{}': no tenant '{}'", printable(tenant.name), printable(tenant.parent)),
                   "parent");
      at = up->second;
    }
  }
  for (const UserSpec& user : spec.users) {
    if (!user.tenant.empty() && index.find(user.tenant) == index.end())
      return bad(fmt::format("user '{}': no tenant '{}'", printable(user.name), printable(user.tenant)), "tenant");
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
  auto users = root.tables("users");
  auto reservations = root.tables("reservations");
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
  std::unordered_set<std::string> names;
  for (TomlReader& reader : nodes) {
    if (auto status = add_nodes(reader, spec, names); !status) return fail(status.error());
  }
  for (TomlReader& reader : tenants) {
    if (auto status = add_tenant(reader, spec); !status) return fail(status.error());
  }
  std::set<std::pair<std::string, std::string>> listed;
  for (TomlReader& reader : users) {
    if (auto status = add_user(reader, spec, listed); !status) return fail(status.error());
  }
  if (auto status = add_reservations(reservations, spec); !status) return fail(status.error());
  if (auto status = check_tree(spec, path); !status) return fail(status.error());
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
  if (is_node_list(*text)) return parse_node_list(*text, path);
  if (is_tiresias_cluster(*text)) return parse_tiresias_cluster(*text, path);
  return parse_cluster(*text, path);
}

}  // namespace comity::cluster
