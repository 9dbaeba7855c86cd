// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "report/html.h"

namespace comity::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Bytes of the valid UTF-8 sequence at `at`, 0 when there is none (overlong, surrogate, beyond U+10FFFF, cut off).
std::size_t sequence(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned first = byte(0);
  const std::size_t length = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (first > 0xF4 || length == 0 || at + length > text.size()) {
    return 0;
  }
  std::uint32_t code = length == 1 ? first : first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) {
      return 0;
    }
    code = code << 6 | (byte(i) & 0x3FU);
  }
  const bool wrong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000) || code > 0x10FFFF ||
                     (code >= 0xD800 && code < 0xE000) || (code & 0xFFFE) == 0xFFFE || (code >= 0x7F && code < 0xA0);
  return wrong ? 0 : length;
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const std::size_t length = sequence(text, i);
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default:
        if (length == 0 || (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t')) {
          out += kReplacement;
        } else {
          out += text.substr(i, length);
        }
    }
    i += length == 0 ? 1 : length;
  }
  return out;
}

}  // namespace comity::report
