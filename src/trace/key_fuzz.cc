// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "trace/key.h"

// Any text is a key or an error; a key's pseudonyms have their length and their letters.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto key = comity::trace::Key::parse(text);
  if (!key) {
    COMITY_CHECK(!key.error().message.empty());
    return 0;
  }
  const std::string pseudonym = key->pseudonym("user", text);
  COMITY_CHECK(pseudonym.size() == 16);
  COMITY_CHECK(pseudonym.find_first_not_of("abcdefghijklmnopqrstuvwxyz234567") == std::string::npos);
  return 0;
}
