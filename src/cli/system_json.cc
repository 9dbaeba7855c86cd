// SPDX-License-Identifier: Apache-2.0
#include "cli/system_json.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/toml.h"

namespace comity::cli {
namespace {

void write(JsonWriter& json, const TomlValue& value);

void write_members(JsonWriter& json, const TomlTable& table) {
  for (const auto& [key, value] : table) {
    json.key(key);
    write(json, value);
  }
}

void write(JsonWriter& json, const TomlValue& value) {
  if (const auto* table = std::get_if<TomlTable>(&value.v)) {
    json.begin_object();
    write_members(json, *table);
    json.end_object();
  } else if (const auto* array = std::get_if<TomlArray>(&value.v)) {
    json.begin_array();
    for (const TomlValue& one : *array) write(json, one);
    json.end_array();
  } else if (const auto* text = std::get_if<std::string>(&value.v)) {
    json.string(*text);
  } else if (const auto* whole = std::get_if<std::int64_t>(&value.v)) {
    json.integer(*whole);
  } else if (const auto* real = std::get_if<double>(&value.v)) {
    json.number(*real);
  } else if (const auto* truth = std::get_if<bool>(&value.v)) {
    json.boolean(*truth);
  } else {
    json.null();
  }
}

}  // namespace

Status check_machine_output(Output output) {
  if (output != Output::kCsv) return {};
  return fail_option("--output", "a machine is no table and has no CSV", "take -o json, or leave it out for TOML");
}

Status print_machine(const workload::System& system, Output output) {
  const std::string toml = workload::system_toml(system);
  if (output == Output::kTable) {
    fmt::print("{}", toml);
    return {};
  }
  auto table = parse_toml(toml, system.name);
  if (!table) return fail(table.error());
  JsonWriter json;
  json.begin_object();
  if (const auto schema = table->extract("schema"); !schema.empty()) {
    json.key("schema");
    write(json, schema.mapped());
  }
  write_members(json, *table);
  fmt::print("{}\n", json.end_object().text());
  return {};
}

}  // namespace comity::cli
