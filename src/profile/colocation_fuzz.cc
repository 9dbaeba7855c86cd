// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "profile/colocation.h"

// The first byte chooses the file: P pairs, else scores. Any bytes give a table whose scores and speeds are in bounds,
// or one Error that names the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  auto source = comity::memory_source(std::string_view(reinterpret_cast<const char*>(data) + 1, size - 1));
  if (!source) return 0;
  comity::LineReader reader(std::move(*source), "fuzz");
  comity::profile::Colocation table;
  const comity::Status status = data[0] == 'P' ? table.read_pairs(reader) : table.read_scores(reader);
  if (!status) {
    COMITY_CHECK(!status.error().message.empty());
    return 0;
  }
  for (std::uint32_t a = 0; a < table.kinds() && a < 64; ++a) {
    COMITY_CHECK(table.score(a) >= -1 && table.score(a) <= 2);
    for (std::uint32_t b = 0; b < table.kinds() && b < 64; ++b) {
      comity::profile::PairSpeeds s;
      if (!table.speeds(a, b, s)) continue;
      COMITY_CHECK(s.first > 0 && s.first <= comity::profile::Colocation::kMostSpeed);
      COMITY_CHECK(s.second > 0 && s.second <= comity::profile::Colocation::kMostSpeed);
    }
  }
  return 0;
}
