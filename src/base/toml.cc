// SPDX-License-Identifier: Apache-2.0
// The one file that sees the TOML library, in its compiled form, and that catches what it throws.
#include "base/toml.h"

#include <exception>
#include <utility>

#include <toml++/toml.h>

#include "base/limits.h"
#include "base/text.h"
#include "base/toml_scan.h"

namespace comity {
namespace {

Error toml_error(const std::string& file, std::int64_t line, std::string message, std::string hint = {}) {
  return Error{.code = Code::kInput,
               .message = std::move(message),
               .file = file,
               .line = line,
               .field = {},
               .hint = std::move(hint),
               .cause = {}};
}

class Converter {
 public:
  explicit Converter(const std::string& file) : file_(file) {}

  Result<TomlTable> table(const toml::table& from, int depth) const {
    TomlTable out;
    for (const auto& [key, node] : from) {
      Result<TomlValue> value = convert(node, depth + 1);
      if (!value) return fail(std::move(value.error()));
      out.emplace(std::string(key.str()), std::move(*value));
    }
    return out;
  }

 private:
  Result<TomlValue> convert(const toml::node& node, int depth) const {
    TomlValue out;
    out.line = static_cast<std::int64_t>(node.source().begin.line);
    if (depth > limits::kDocumentDepth) return fail(toml_error(file_, out.line, "nested deeper than 64 levels"));
    if (const toml::table* t = node.as_table()) {
      Result<TomlTable> inner = table(*t, depth);
      if (!inner) return fail(std::move(inner.error()));
      out.v = std::move(*inner);
    } else if (const toml::array* a = node.as_array()) {
      TomlArray items;
      items.reserve(a->size());
      for (const toml::node& each : *a) {
        Result<TomlValue> item = convert(each, depth + 1);
        if (!item) return item;
        items.push_back(std::move(*item));
      }
      out.v = std::move(items);
    } else if (const auto* s = node.as_string()) {
      out.v = s->get();
    } else if (const auto* i = node.as_integer()) {
      out.v = i->get();
    } else if (const auto* d = node.as_floating_point()) {
      out.v = d->get();
    } else if (const auto* b = node.as_boolean()) {
      out.v = b->get();
    } else {
      return fail(toml_error(file_, out.line, "a date or time value is not read here", "write it in quotes"));
    }
    return out;
  }

  const std::string& file_;
};

}  // namespace

Result<TomlTable> parse_toml(std::string_view text, const std::string& file) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  if (text.size() > limits::kDocumentBytes) return fail(toml_error(file, 0, "the document is larger than 64 MiB"));
  if (Status scanned = scan_toml(text, file); !scanned) return fail(std::move(scanned.error()));
  try {
    const toml::table root = toml::parse(text);
    return Converter(file).table(root, 0);
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    const std::string what = printable(error.description(), 400);
    return fail(toml_error(file, at.line, "column " + std::to_string(at.column) + ": " + what));
  } catch (const std::exception& error) {
    return fail(toml_error(file, 0, std::string("cannot be parsed: ") + printable(error.what(), 400)));
  }
}

}  // namespace comity
