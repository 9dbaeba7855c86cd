// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/json_document.h"

// Accepts what the library's own parser accepts as an object, but for a key that stands twice and deep nesting.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto got = comity::parse_json(text, "fuzz");
  if (!got) {
    COMITY_CHECK(!got.error().message.empty() && got.error().line >= 1);
    return 0;
  }
  const auto whole = nlohmann::json::parse(text, nullptr, false);
  COMITY_CHECK(whole.is_object());
  std::size_t members = 0;
  for (const auto& item : whole) members += item.is_null() ? 0 : 1;
  COMITY_CHECK(got->size() == members);
  return 0;
}
