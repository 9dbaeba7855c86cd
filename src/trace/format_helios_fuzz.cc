// SPDX-License-Identifier: Apache-2.0
#include "trace/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  comity::trace::fuzz_read({reinterpret_cast<const char*>(data), size}, "helios", {});
  return 0;
}
