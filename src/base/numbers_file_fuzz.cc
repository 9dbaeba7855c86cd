// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/numbers_file.h"

// Any bytes give numbers that are finite, or one Error that names the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto source = comity::memory_source(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!source) return 0;
  comity::LineReader reader(std::move(*source), "fuzz");
  const auto numbers = comity::read_numbers(reader);
  if (!numbers) return 0;
  COMITY_CHECK(!numbers->empty());
  for (const double number : *numbers) COMITY_CHECK(std::isfinite(number));
  return 0;
}
