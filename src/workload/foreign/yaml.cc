// SPDX-License-Identifier: Apache-2.0
#include "workload/foreign/yaml.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/text.h"
#include "workload/foreign/refusal.h"

namespace comity::workload {

namespace {

constexpr std::size_t kTextBytes = 1U << 20;
constexpr int kValues = 100'000;

class Converter {
 public:
  explicit Converter(const std::string& file) : file_(file) {}

  Result<TomlValue> value(const YAML::Node& node, int depth) {
    const std::int64_t line = node.Mark().line + 1;
    if (depth > limits::kDocumentDepth) return wrong(line, "nested too deeply");
    if (++values_ > kValues) return wrong(line, fmt::format("over {} values", kValues));
    TomlValue out;
    out.line = line;
    switch (node.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null: out.v = std::monostate(); return out;
      case YAML::NodeType::Scalar: scalar(node, out); return out;
      case YAML::NodeType::Sequence: {
        TomlArray items;
        for (const YAML::Node& item : node) {
          auto one = value(item, depth + 1);
          if (!one) return one;
          items.push_back(std::move(*one));
        }
        out.v = std::move(items);
        return out;
      }
      case YAML::NodeType::Map: break;
    }
    auto members = table(node, depth);
    if (!members) return fail(members.error());
    out.v = std::move(*members);
    return out;
  }

  Result<TomlTable> table(const YAML::Node& node, int depth) {
    TomlTable out;
    for (const auto& pair : node) {
      const std::int64_t line = pair.first.Mark().line + 1;
      if (!pair.first.IsScalar()) return wrong(line, "a key is no text");
      auto member = value(pair.second, depth + 1);
      if (!member) return fail(member.error());
      const std::string& key = pair.first.Scalar();
      if (!out.emplace(key, std::move(*member)).second)
        return wrong(line, fmt::format("the key \"{}\" stands twice", printable(key)));
    }
    return out;
  }

 private:
  [[nodiscard]] tl::unexpected<Error> wrong(std::int64_t line, std::string message) const {
    return refuse({.file = file_, .line = line, .field = {}}, std::move(message));
  }

  static void scalar(const YAML::Node& node, TomlValue& out) {
    const std::string& text = node.Scalar();
    out.v = text;
    if (node.Tag() == "!") return;  // quoted
    if (const auto whole = parse_int(text))
      out.v = *whole;
    else if (const auto real = parse_double(text))
      out.v = *real;
    else if (text == "true" || text == "false")
      out.v = text == "true";
  }

  const std::string& file_;
  int values_ = 0;
};

}  // namespace

Result<TomlTable> parse_yaml(std::string_view text, const std::string& file) {
  if (text.size() > kTextBytes)
    return refuse({.file = file, .line = 1, .field = {}}, fmt::format("over {} B of YAML", kTextBytes));
  try {
    const YAML::Node root = YAML::Load(std::string(text));
    if (!root.IsMap()) return refuse({.file = file, .line = 1, .field = {}}, "a YAML mapping is expected");
    return Converter(file).table(root, 0);
  } catch (const YAML::Exception& e) {
    return refuse({.file = file, .line = std::max(e.mark.line, 0) + 1, .field = {}}, printable(e.msg, 200));
  }
}

}  // namespace comity::workload
