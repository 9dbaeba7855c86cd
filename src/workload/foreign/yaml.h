// SPDX-License-Identifier: Apache-2.0
// A YAML mapping from outside as the same tree as TOML and JSON (base/toml.h), so that one TomlReader checks them all.
// Scalars: whole numbers, other numbers, true and false; everything else, and what is quoted, is text.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/toml.h"

namespace comity::workload {

// The document must be one mapping of text to anything. Errors (kInput) name file and line: what yaml-cpp refuses, a
// key twice, nesting over limits::kDocumentDepth, over 1 MiB of text or 100,000 values (aliases count each time).
[[nodiscard]] Result<TomlTable> parse_yaml(std::string_view text, const std::string& file);

}  // namespace comity::workload
