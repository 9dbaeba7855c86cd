// SPDX-License-Identifier: Apache-2.0
#include "workload/toml_fields.h"

#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/text.h"

namespace comity::workload {

void FieldReader::text(std::string_view key, std::string& v) {
  v = reader_.text(key, v);
  if (v.size() <= limits::kNameBytes) return;
  reader_.refuse(key, fmt::format("longer than {} bytes", limits::kNameBytes));
  v.clear();
}

void FieldReader::refuse_choice(std::string_view key, const std::string& got, const std::vector<std::string>& names) {
  const std::string near = nearest(got, names);
  reader_.refuse(key, near.empty() ? fmt::format("must be one of {}, not '{}'", fmt::join(names, ", "), printable(got))
                                   : fmt::format("no '{}' is known here, did you mean '{}'?", printable(got), near));
}

void FieldWriter::text(std::string_view key, const std::string& v) {
  fmt::format_to(std::back_inserter(out_), "{} = {}\n", key, toml_quoted(v));
}

void FieldWriter::integer(std::string_view key, std::int64_t v, std::int64_t /*low*/, std::int64_t /*high*/) {
  fmt::format_to(std::back_inserter(out_), "{} = {}\n", key, v);
}

// The shortest digits that read back equal; whole numbers are written as such and read back as reals.
void FieldWriter::real(std::string_view key, double v, double /*low*/, double /*high*/) {
  fmt::format_to(std::back_inserter(out_), "{} = {}\n", key, v);
}

void FieldWriter::boolean(std::string_view key, bool v) {
  fmt::format_to(std::back_inserter(out_), "{} = {}\n", key, v);
}

void FieldWriter::heading(std::string_view line) { fmt::format_to(std::back_inserter(out_), "\n{}\n", line); }

std::string toml_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", byte);
    } else {
      out += c;
    }
  }
  out += '"';
  return out;
}

void read_schema(TomlReader& reader, std::string_view schema) {
  reader.require("schema");
  const std::string got = reader.text("schema", std::string(schema));
  if (got != schema) reader.refuse("schema", fmt::format("must be \"{}\", not \"{}\"", schema, printable(got)));
}

Error at_its_line(Error error, const TomlTable& table) {
  const TomlTable* inner = &table;
  std::string_view rest = error.field;
  while (!rest.empty()) {
    const std::size_t dot = rest.find('.');
    const auto found = inner->find(rest.substr(0, dot));
    if (found == inner->end()) break;
    error.line = found->second.line;
    inner = std::get_if<TomlTable>(&found->second.v);
    if (inner == nullptr || dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  return error;
}

}  // namespace comity::workload
