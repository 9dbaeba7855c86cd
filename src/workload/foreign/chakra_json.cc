// SPDX-License-Identifier: Apache-2.0
#include "workload/foreign/chakra_json.h"

#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "base/json_document.h"
#include "workload/foreign/refusal.h"

namespace comity::workload {

namespace {

class JsonNodes {
 public:
  JsonNodes(ChakraTrace& trace, const std::string& name) : trace_(trace), name_(name) {}

  Status add(const TomlValue& value) {
    const auto* node = std::get_if<TomlTable>(&value.v);
    if (node == nullptr) return wrong(value, "workload_graph", "a node is no object");
    const auto id = number(*node, "Id", value);
    if (!id) return fail(id.error());
    const auto type = number(*node, "NodeType", value);
    if (!type) return fail(type.error());
    if (*type > 7) return wrong(value, "NodeType", fmt::format("node type {} is not known (0 to 7 are)", *type));
    const auto name = node->find("Name");
    const auto* text = name == node->end() ? nullptr : std::get_if<std::string>(&name->second.v);
    trace_.begin_node(*id, static_cast<NodeType>(*type), text == nullptr ? "" : *text);
    for (const auto& [key, member] : *node)
      if (auto done = this->member(key, member); !done) return done;
    return {};
  }

 private:
  [[nodiscard]] tl::unexpected<Error> wrong(const TomlValue& at, std::string field, std::string message) const {
    return refuse({.file = name_, .line = at.line, .field = std::move(field)}, std::move(message));
  }

  Result<std::uint64_t> number(const TomlTable& node, std::string_view key, const TomlValue& at) const {
    const auto found = node.find(key);
    if (found == node.end()) return wrong(at, std::string(key), "missing");
    const auto* value = std::get_if<std::int64_t>(&found->second.v);
    if (value == nullptr || *value < 0) return wrong(found->second, std::string(key), "not a whole number >= 0");
    return static_cast<std::uint64_t>(*value);
  }

  template <class Add>
  Status list(const std::string& key, const TomlValue& value, Add add) const {
    const auto* items = std::get_if<TomlArray>(&value.v);
    if (items == nullptr) return wrong(value, key, "not an array of ids");
    for (const TomlValue& item : *items) {
      const auto* id = std::get_if<std::int64_t>(&item.v);
      if (id == nullptr || *id < 0) return wrong(item, key, "not a whole number >= 0");
      add(static_cast<std::uint64_t>(*id));
    }
    return {};
  }

  Status member(const std::string& key, const TomlValue& value) {
    if (key == "Id" || key == "NodeType" || key == "Name") return {};
    if (key == "data_deps") return list(key, value, [&](std::uint64_t id) { trace_.add_data(id); });
    if (key == "ctrl_deps" || key == "ctrlDeps")
      return list(key, value, [&](std::uint64_t id) { trace_.add_ctrl(id); });
    if (key == "runtime" || key == "duration_micros") {
      const auto* time = std::get_if<std::int64_t>(&value.v);
      if (time == nullptr || *time < 0) return wrong(value, key, "not a whole number of microseconds >= 0");
      trace_.duration_us.back() = static_cast<std::uint64_t>(*time);
      return {};
    }
    if (const auto* flag = std::get_if<bool>(&value.v)) {
      trace_.add_boolean(key, *flag);
    } else if (const auto* whole = std::get_if<std::int64_t>(&value.v)) {
      trace_.add_integer(key, *whole);
    } else if (const auto* text = std::get_if<std::string>(&value.v)) {
      trace_.add_text(key, *text);
    } else if (const auto* real = std::get_if<double>(&value.v)) {
      const std::uint32_t name = trace_.strings.intern(key);
      trace_.add_attr({.name = name, .field = 3, .bits = std::bit_cast<std::uint64_t>(*real)});
    } else {
      ++trace_.unknown_fields;
    }
    return {};
  }

  ChakraTrace& trace_;
  const std::string& name_;
};

}  // namespace

Result<ChakraTrace> read_chakra_json(std::string_view text, const std::string& name) {
  const auto document = parse_json(text, name);
  if (!document) return fail(document.error());
  const auto graph = document->find("workload_graph");
  const auto* nodes = graph == document->end() ? nullptr : std::get_if<TomlArray>(&graph->second.v);
  if (nodes == nullptr)
    return refuse({.file = name, .line = 1, .field = "workload_graph"}, "no array \"workload_graph\"",
                  document->contains("nodes")
                      ? "this is a PyTorch execution trace: convert it with chakra_converter first"
                      : "give a Chakra trace (.et, .et.gz) or its JSON form");
  ChakraTrace trace;
  trace.version = "json";
  JsonNodes builder(trace, name);
  for (const TomlValue& node : *nodes)
    if (auto added = builder.add(node); !added) return fail(added.error());
  return trace;
}

}  // namespace comity::workload
