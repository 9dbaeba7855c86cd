// SPDX-License-Identifier: Apache-2.0
// Strict UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace comity {

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 0;  // 0: not valid UTF-8 here
};

// The code point that begins at s[at]; at < s.size().
[[nodiscard]] CodePoint decode_utf8(std::string_view s, std::size_t at);
// Number of code points, an invalid byte counting as one: the width of a table cell, near enough.
[[nodiscard]] std::size_t count_code_points(std::string_view s);

}  // namespace comity
