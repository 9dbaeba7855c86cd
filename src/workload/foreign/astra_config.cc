// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "base/input.h"
#include "base/json.h"
#include "base/json_document.h"
#include "base/limits.h"
#include "base/text.h"
#include "workload/foreign/astra.h"
#include "workload/foreign/refusal.h"
#include "workload/foreign/yaml.h"

namespace comity::workload {

namespace {

constexpr std::int64_t kNpus = 1'000'000;
constexpr std::size_t kDimensions = 10;
constexpr std::int64_t kMaxNs = 1'000'000'000'000;  // 16 minutes of endpoint delay

constexpr std::array<std::string_view, 3> kTopologies = {"Ring", "Switch", "FullyConnected"};
constexpr std::array<std::string_view, 7> kAlgorithms = {
    "ring", "direct", "halvingDoubling", "doubleBinaryTree", "oneRing", "oneDirect", "oneHalvingDoubling"};

struct Collective {
  const char* key;
  std::vector<AstraImplementation> AstraSystem::* native;
  std::vector<std::string> AstraSystem::* custom;
};
constexpr std::array<Collective, 4> kCollectives = {{
    {"all-reduce-implementation", &AstraSystem::all_reduce, &AstraSystem::custom_all_reduce},
    {"all-gather-implementation", &AstraSystem::all_gather, &AstraSystem::custom_all_gather},
    {"reduce-scatter-implementation", &AstraSystem::reduce_scatter, &AstraSystem::custom_reduce_scatter},
    {"all-to-all-implementation", &AstraSystem::all_to_all, &AstraSystem::custom_all_to_all},
}};

std::optional<AstraImplementation> implementation(std::string_view name) {
  for (std::size_t i = 0; i < kAlgorithms.size(); ++i) {
    const auto algorithm = static_cast<AstraAlgorithm>(i);
    if (name == kAlgorithms[i]) return AstraImplementation{algorithm, 0};
    const bool windowed = algorithm == AstraAlgorithm::kDirect || algorithm == AstraAlgorithm::kOneDirect;
    if (!windowed || !name.starts_with(kAlgorithms[i])) continue;
    const auto window = parse_int(name.substr(kAlgorithms[i].size()));
    if (window && *window >= 1 && *window <= kNpus) return AstraImplementation{algorithm, *window};
  }
  return {};
}

std::string implementation_name(const AstraImplementation& i) {
  const std::string name(kAlgorithms[static_cast<std::size_t>(i.algorithm)]);
  return i.window == 0 ? name : name + std::to_string(i.window);
}

// 0, 1, false or true.
bool flag(TomlReader& reader, std::string_view key) {
  const TomlValue* value = reader.value(key);
  if (value == nullptr) return false;
  if (const bool* b = std::get_if<bool>(&value->v)) return *b;
  return reader.integer(key, 0, 0, 1) == 1;
}

void read_collectives(TomlReader& reader, AstraSystem& system) {
  for (const Collective& c : kCollectives) {
    for (const std::string& name : reader.texts(c.key)) {
      const auto found = implementation(name);
      if (!found)
        reader.refuse(
            c.key, fmt::format("\"{}\" is no algorithm; there are {}", printable(name), fmt::join(kAlgorithms, ", ")));
      else if ((system.*c.native).size() == kDimensions)
        reader.refuse(c.key, fmt::format("over {} dimensions", kDimensions));
      else
        (system.*c.native).push_back(*found);
    }
    system.*c.custom = reader.texts(std::string(c.key) + "-custom");
  }
}

Status read_system(TomlReader& reader, AstraSystem& s) {
  s.scheduling = reader.text("scheduling-policy", s.scheduling);
  if (s.scheduling != "LIFO" && s.scheduling != "FIFO" && s.scheduling != "EXPLICIT")
    reader.refuse("scheduling-policy", "must be LIFO, FIFO or EXPLICIT");
  s.endpoint_delay_ns = reader.integer("endpoint-delay", s.endpoint_delay_ns, 0, kMaxNs);
  s.active_chunks = reader.integer("active-chunks-per-dimension", s.active_chunks, 1, 1'000'000);
  s.splits = reader.integer("preferred-dataset-splits", s.splits, 1, 1'000'000);
  read_collectives(reader, s);
  s.per_node_custom = reader.text("per-node-custom-implementation", {});
  const std::string optimization = reader.text("collective-optimization", "baseline");
  if (optimization != "baseline" && optimization != "localBWAware")
    reader.refuse("collective-optimization", "must be baseline or localBWAware");
  s.local_bw_aware = optimization == "localBWAware";
  if (reader.has("local-mem-bw")) s.local_mem_gb_s = reader.real("local-mem-bw", 0, 1e-6, 1e9);
  if (reader.has("peak-perf")) s.peak_tflops = reader.real("peak-perf", 0, 1e-9, 1e9);
  s.boost = flag(reader, "boost-mode");
  s.roofline = flag(reader, "roofline-enabled");
  s.trace = flag(reader, "trace-enabled");
  s.replay_only = flag(reader, "replay-only");
  s.track_local_mem = flag(reader, "track-local-mem");
  s.local_mem_trace = reader.text("local-mem-trace-filename", {});
  s.shared_bus = flag(reader, "model-shared-bus");
  for (const char* key : {"L", "o", "g", "G"})
    if (reader.has(key)) s.bus[key] = reader.real(key, 0, 0, 1e12);
  return {};
}

// Keys of newer versions are told, not refused: files are shared between versions.
void tell_unknown(const TomlTable& table, TomlReader& reader, AstraSystem& system) {
  static const std::set<std::string, std::less<>> kKnown = {"scheduling-policy",
                                                            "endpoint-delay",
                                                            "active-chunks-per-dimension",
                                                            "preferred-dataset-splits",
                                                            "per-node-custom-implementation",
                                                            "collective-optimization",
                                                            "local-mem-bw",
                                                            "peak-perf",
                                                            "boost-mode",
                                                            "roofline-enabled",
                                                            "trace-enabled",
                                                            "replay-only",
                                                            "track-local-mem",
                                                            "local-mem-trace-filename",
                                                            "model-shared-bus",
                                                            "L",
                                                            "o",
                                                            "g",
                                                            "G"};
  for (const auto& [key, value] : table) {
    const bool collective = std::any_of(kCollectives.begin(), kCollectives.end(), [&](const Collective& c) {
      return key == c.key || key == std::string(c.key) + "-custom";
    });
    if (collective || kKnown.contains(key)) continue;
    reader.known(key);
    system.notes.push_back(fmt::format("line {}: \"{}\" is not known, passed over", value.line, printable(key)));
  }
}

void put_texts(JsonWriter& json, const std::string& key, const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  json.key(key).begin_array();
  for (const std::string& text : texts) json.string(text);
  json.end_array();
}

// A number that reads back as the same double, as YAML has it.
std::string real(double v) {
  JsonWriter json;
  json.number(v);
  return json.text();
}

template <class T, class Text>
std::string list(const std::vector<T>& items, Text text) {
  std::string out = "[";
  for (const T& item : items) out += (out.size() > 1 ? ", " : " ") + std::string(text(item));
  return out + " ]";
}

}  // namespace

bool AstraSystem::operator==(const AstraSystem& o) const {
  const bool collectives = std::all_of(kCollectives.begin(), kCollectives.end(), [&](const Collective& c) {
    return this->*c.native == o.*c.native && this->*c.custom == o.*c.custom;
  });
  return collectives && scheduling == o.scheduling && endpoint_delay_ns == o.endpoint_delay_ns &&
         active_chunks == o.active_chunks && splits == o.splits && per_node_custom == o.per_node_custom &&
         local_bw_aware == o.local_bw_aware && local_mem_gb_s == o.local_mem_gb_s && boost == o.boost &&
         roofline == o.roofline && peak_tflops == o.peak_tflops && trace == o.trace && replay_only == o.replay_only &&
         track_local_mem == o.track_local_mem && local_mem_trace == o.local_mem_trace && shared_bus == o.shared_bus &&
         bus == o.bus;
}

std::int64_t AstraNetwork::npus() const {
  std::int64_t n = 1;
  for (const AstraDimension& d : dimensions) n *= d.npus;
  return n;
}

Result<AstraSystem> parse_astra_system(std::string_view text, const std::string& file) {
  const auto table = parse_json(text, file);
  if (!table) return fail(table.error());
  AstraSystem system;
  TomlReader reader(*table, file, {}, 1);
  tell_unknown(*table, reader, system);
  if (auto read = read_system(reader, system); !read) return fail(read.error());
  if (auto done = reader.finish(); !done) return fail(done.error());
  return system;
}

Result<AstraNetwork> parse_astra_network(std::string_view text, const std::string& file) {
  const auto table = parse_yaml(text, file);
  if (!table) return fail(table.error());
  TomlReader reader(*table, file, {}, 1);
  for (const char* key : {"topology", "npus_count", "bandwidth", "latency"}) reader.require(key);
  const auto topologies = reader.texts("topology");
  const auto npus = reader.integers("npus_count", 1, kNpus);
  const auto bandwidth = reader.reals("bandwidth", 1e-6, 1e9);
  const auto latency = reader.reals("latency", 0, 1e12);
  if (auto done = reader.finish(); !done) return fail(done.error());
  const auto wrong = [&](const char* field, std::string message) {
    return refuse({.file = file, .line = table->find(field)->second.line, .field = field}, std::move(message));
  };
  const std::size_t n = topologies.size();
  if (n == 0 || n > kDimensions) return wrong("topology", fmt::format("1 to {} dimensions are expected", kDimensions));
  if (npus.size() != n) return wrong("npus_count", fmt::format("{} entries for {} dimensions", npus.size(), n));
  if (bandwidth.size() != n)
    return wrong("bandwidth", fmt::format("{} entries for {} dimensions", bandwidth.size(), n));
  if (latency.size() != n) return wrong("latency", fmt::format("{} entries for {} dimensions", latency.size(), n));
  AstraNetwork network;
  std::int64_t total = 1;
  for (std::size_t i = 0; i < n; ++i) {
    const auto found = std::find(kTopologies.begin(), kTopologies.end(), topologies[i]);
    if (found == kTopologies.end())
      return wrong("topology", fmt::format("\"{}\" is no topology; there are {}", printable(topologies[i]),
                                           fmt::join(kTopologies, ", ")));
    total *= npus[i];
    if (total > kNpus) return wrong("npus_count", fmt::format("over {} NPUs", kNpus));
    network.dimensions.push_back(
        {static_cast<AstraTopology>(found - kTopologies.begin()), npus[i], bandwidth[i], latency[i]});
  }
  return network;
}

Result<AstraGroups> parse_astra_groups(std::string_view text, const std::string& file) {
  const auto table = parse_json(text, file);
  if (!table) return fail(table.error());
  AstraGroups groups;
  TomlReader reader(*table, file, {}, 1);
  for (const auto& [key, value] : *table) {
    const auto id = parse_int(key);
    if (!id || *id < 1 || std::to_string(*id) != key)
      return refuse({.file = file, .line = value.line, .field = printable(key)}, "a group's id is a whole number > 0");
    std::vector<std::int64_t> ranks = reader.integers(key, 0, kNpus);
    const std::set<std::int64_t> different(ranks.begin(), ranks.end());
    if (ranks.empty() || different.size() != ranks.size()) reader.refuse(key, "must be different ranks, at least one");
    groups.emplace(*id, std::move(ranks));
  }
  if (auto done = reader.finish(); !done) return fail(done.error());
  return groups;
}

template <class T>
static Result<T> load(const std::string& path, Result<T> (*parse)(std::string_view, const std::string&)) {
  const auto text = read_document(path);
  if (!text) return fail(text.error());
  return parse(*text, path);
}

Result<AstraSystem> load_astra_system(const std::string& path) { return load(path, &parse_astra_system); }
Result<AstraNetwork> load_astra_network(const std::string& path) { return load(path, &parse_astra_network); }
Result<AstraGroups> load_astra_groups(const std::string& path) { return load(path, &parse_astra_groups); }

std::string astra_system_json(const AstraSystem& s) {
  JsonWriter json;
  json.begin_object().field("scheduling-policy", s.scheduling).field("endpoint-delay", s.endpoint_delay_ns);
  json.field("active-chunks-per-dimension", s.active_chunks).field("preferred-dataset-splits", s.splits);
  for (const Collective& c : kCollectives) {
    std::vector<std::string> names;
    for (const AstraImplementation& i : s.*c.native) names.push_back(implementation_name(i));
    put_texts(json, c.key, names);
    put_texts(json, std::string(c.key) + "-custom", s.*c.custom);
  }
  if (!s.per_node_custom.empty()) json.field("per-node-custom-implementation", s.per_node_custom);
  json.field("collective-optimization", s.local_bw_aware ? "localBWAware" : "baseline");
  if (s.local_mem_gb_s) json.field("local-mem-bw", *s.local_mem_gb_s);
  json.field("boost-mode", s.boost ? 1 : 0).field("roofline-enabled", s.roofline ? 1 : 0);
  if (s.peak_tflops) json.field("peak-perf", *s.peak_tflops);
  json.field("trace-enabled", s.trace ? 1 : 0).field("replay-only", s.replay_only ? 1 : 0);
  json.field("track-local-mem", s.track_local_mem ? 1 : 0);
  if (!s.local_mem_trace.empty()) json.field("local-mem-trace-filename", s.local_mem_trace);
  json.field("model-shared-bus", s.shared_bus ? 1 : 0);
  for (const auto& [key, value] : s.bus) json.field(key, value);
  return json.end_object().text() + "\n";
}

std::string astra_network_yaml(const AstraNetwork& network) {
  const std::vector<AstraDimension>& all = network.dimensions;
  std::string out;
  out += "topology: " + list(all, [](const auto& d) { return kTopologies[static_cast<std::size_t>(d.topology)]; });
  out += "\nnpus_count: " + list(all, [](const auto& d) { return std::to_string(d.npus); });
  out += "\nbandwidth: " + list(all, [](const auto& d) { return real(d.bandwidth_gib_s); }) + "  # GB/s";
  out += "\nlatency: " + list(all, [](const auto& d) { return real(d.latency_ns); }) + "  # ns\n";
  return out;
}

std::string astra_groups_json(const AstraGroups& groups) {
  JsonWriter json;
  json.begin_object();
  for (const auto& [id, ranks] : groups) {
    json.key(std::to_string(id)).begin_array();
    for (const std::int64_t rank : ranks) json.integer(rank);
    json.end_array();
  }
  return json.end_object().text() + "\n";
}

}  // namespace comity::workload
