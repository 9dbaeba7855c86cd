// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "profile/rates.h"

// Any bytes give rates whose speeds are in bounds, or one Error that names the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto rates = comity::profile::parse_rates(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!rates) {
    COMITY_CHECK(!rates.error().message.empty());
    return 0;
  }
  for (std::uint32_t kind = 0; kind < rates->kinds() && kind < 64; ++kind) {
    for (std::uint32_t type = 0; type < rates->types().size(); ++type) {
      for (const std::uint32_t gpus : {1U, 3U, 8U, 1'000'000U}) {
        const double speed = rates->speed(kind, type, 2, gpus, 2);
        COMITY_CHECK(std::isfinite(speed) && speed >= 0);
        COMITY_CHECK(rates->speed_in_any_case(kind, type, 2, gpus, 2) > 0);
      }
    }
  }
  return 0;
}
