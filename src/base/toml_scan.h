// SPDX-License-Identifier: Apache-2.0
// What must hold of a TOML document before the parser may see it. Not for use outside base/.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace comity {

// Refuses, with line and column: invalid UTF-8, NUL, non-ASCII outside strings and comments, brackets or dotted keys
// nested deeper than limits::kDocumentDepth. Everything else is the parser's to judge. O(size), no recursion.
[[nodiscard]] Status scan_toml(std::string_view text, const std::string& file);

}  // namespace comity
