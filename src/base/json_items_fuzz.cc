// SPDX-License-Identifier: Apache-2.0
// A document that a whole parser takes is cut into that parser's items; none of what it refuses may crash.
#include "base/json_items.h"

#include <cstdint>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/check.h"

namespace {

bool cut(std::string_view bytes, std::string_view member, std::vector<std::string>& items) {
  auto source = comity::memory_source(bytes);
  if (!source) return false;
  comity::LineReader reader(std::move(*source), "fuzz");
  comity::JsonItems cutter(reader, member);
  for (;;) {
    const auto item = cutter.next();
    if (!item) {
      COMITY_CHECK(item.error().line >= 1 || !item.error().message.empty());
      return false;
    }
    if (item->at_end) return true;
    items.emplace_back(item->text);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const char* member : {"", "jobs"}) {
    std::vector<std::string> items;
    if (!cut(bytes, member, items)) continue;
    const auto whole = nlohmann::json::parse(bytes, nullptr, false);
    if (whole.is_discarded() || !(*member == '\0' ? whole.is_array() : whole.is_object())) continue;
    if (*member == '\0') COMITY_CHECK(items.size() == whole.size());
  }
  return 0;
}
