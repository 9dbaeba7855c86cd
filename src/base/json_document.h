// SPDX-License-Identifier: Apache-2.0
// A JSON object from outside as the same tree as TOML (base/toml.h), so that one TomlReader checks both. A member that
// is null is left out; null in an array is std::monostate. Whole numbers that fit are int64, others double.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/toml.h"

namespace comity {

// The document must be one object. Errors (kInput) name file and line: what RFC 8259 refuses, invalid UTF-8, a key
// twice in one object, nesting over limits::kDocumentDepth, more than limits::kDocumentBytes.
[[nodiscard]] Result<TomlTable> parse_json(std::string_view text, const std::string& file);

}  // namespace comity
