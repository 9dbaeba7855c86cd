// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

namespace comity {

CodePoint decode_utf8(std::string_view s, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[at + i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  std::size_t length = 0;
  char32_t value = 0;
  char32_t lowest = 0;
  if (lead >= 0xc2 && lead <= 0xdf) {
    length = 2, value = lead & 0x1fU, lowest = 0x80;
  } else if (lead >= 0xe0 && lead <= 0xef) {
    length = 3, value = lead & 0x0fU, lowest = 0x800;
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    length = 4, value = lead & 0x07U, lowest = 0x10000;
  } else {
    return {};
  }
  if (s.size() - at < length) return {};
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    value = (value << 6) | (byte(i) & 0x3fU);
  }
  if (value < lowest || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return {};
  return {value, length};
}

std::size_t count_code_points(std::string_view s) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < s.size(); ++count) {
    const CodePoint point = decode_utf8(s, at);
    at += point.bytes == 0 ? 1 : point.bytes;
  }
  return count;
}

}  // namespace comity
