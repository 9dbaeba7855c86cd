// SPDX-License-Identifier: Apache-2.0
// The fingerprint of a run: a 64-bit fold over its (time, kind, id) events in order. Two runs that took the same
// decisions at the same instants print the same value; one event more, less, later or swapped changes it (a chance
// of 2^-64 aside). O(1) an event, no memory. Not a cryptographic hash.
#pragma once

#include <cstdint>

#include "base/rng.h"
#include "base/units.h"

namespace comity::sim {

class Fingerprint {
 public:
  // state <- mix(mix(state + time) + kind * odd + id). Both mixes are bijective in the state, so nothing that was
  // folded in is ever lost.
  void add(Time t, std::uint32_t kind, std::uint64_t id) {
    const std::uint64_t tag = (static_cast<std::uint64_t>(kind) + 1) * 0xd6e8feb86659fd93ULL;
    state_ = mix64(mix64(state_ ^ static_cast<std::uint64_t>(t)) + (tag ^ mix64(id)));
  }
  [[nodiscard]] std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0x436f6d697479ULL;
};

}  // namespace comity::sim
