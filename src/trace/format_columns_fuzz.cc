// SPDX-License-Identifier: Apache-2.0
// The first line is --columns, the rest the file.
#include <string>

#include "trace/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t split = text.find('\n');
  if (split == std::string_view::npos) return 0;
  comity::trace::fuzz_read(text.substr(split + 1), "columns", std::string(text.substr(0, split)));
  return 0;
}
