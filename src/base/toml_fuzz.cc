// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/limits.h"
#include "base/toml.h"

namespace {

int depth_of(const comity::TomlValue& value);

int depth_of(const comity::TomlTable& table) {
  int deepest = 0;
  for (const auto& [key, value] : table) deepest = std::max(deepest, depth_of(value));
  return deepest;
}

int depth_of(const comity::TomlValue& value) {
  int deepest = 0;
  if (const auto* table = std::get_if<comity::TomlTable>(&value.v)) deepest = depth_of(*table);
  if (const auto* array = std::get_if<comity::TomlArray>(&value.v)) {
    for (const comity::TomlValue& item : *array) deepest = std::max(deepest, depth_of(item));
  }
  return deepest + 1;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const comity::Result<comity::TomlTable> got = comity::parse_toml(text, "fuzz");
  if (!got) {
    COMITY_CHECK(!got.error().text().empty());
    return 0;
  }
  COMITY_CHECK(depth_of(*got) <= comity::limits::kDocumentDepth);
  comity::TomlReader reader(*got, "fuzz", "");
  (void)reader.integer("a", 0, 0, 9);
  for (comity::TomlReader& inner : reader.tables("b")) (void)inner.finish();
  const comity::Status status = reader.finish();
  COMITY_CHECK(status || !status.error().text().empty());
  return 0;
}
