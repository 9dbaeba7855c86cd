// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "profile/layers.h"
#include "profile/split_speed.h"

// Any bytes give a table of layers with some work, or one of splits whose speeds are in bounds, or an Error with a
// text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto layers = comity::profile::parse_layers(text, "fuzz")) {
    double work = 0;
    for (const double g : layers->gflop) work += g;
    COMITY_CHECK(work > 0 && std::isfinite(work));
    COMITY_CHECK(layers->gflop.size() == layers->layers.size() && layers->mparam.size() == layers->layers.size());
  } else {
    COMITY_CHECK(!layers.error().message.empty());
  }
  if (const auto splits = comity::profile::parse_splits(text, "fuzz")) {
    for (const std::uint32_t gpus : {1U, 2U, 7U, 1'000'000U}) {
      for (const std::uint32_t nodes : {1U, 2U, 64U}) {
        const double speed = splits->speed("vgg16", gpus, nodes);
        COMITY_CHECK(speed > 0 && speed <= 2);
      }
    }
  } else {
    COMITY_CHECK(!splits.error().message.empty());
  }
  return 0;
}
