// SPDX-License-Identifier: Apache-2.0
// Which jobs have an id that an earlier job of the trace has. O(n). Numbers that lie within a range of 64 n take one
// bit for each number of the range; others, and texts, an open-addressed table of 4-byte indices at most 3/4 full.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace comity::trace {

// Indices, rising.
[[nodiscard]] std::vector<std::uint32_t> repeated_numbers(const std::vector<Row>& rows);
[[nodiscard]] std::vector<std::uint32_t> repeated_texts(const std::vector<std::string>& ids);

}  // namespace comity::trace
