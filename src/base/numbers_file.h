// SPDX-License-Identifier: Apache-2.0
// A file of numbers, one a line; a first line that is no number is a title and left out, as are empty lines.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/input.h"

namespace comity {

inline constexpr std::size_t kMostNumbers = 10'000'000;

// Errors (kInput): a line that is no finite number, no number at all, more than kMostNumbers; with file and line.
[[nodiscard]] Result<std::vector<double>> read_numbers(LineReader& reader);
[[nodiscard]] Result<std::vector<double>> read_numbers(const std::string& path);

}  // namespace comity
