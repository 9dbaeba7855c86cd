// SPDX-License-Identifier: Apache-2.0
// Bounds on the sizes of a model: far over what exists, and so small that no product of two leaves 64 bits.
#pragma once

#include <cstdint>

namespace comity::workload {

inline constexpr std::int64_t kMaxLayers = 1'000'000;
inline constexpr std::int64_t kMaxWidth = 100'000'000;     // hidden, feed-forward, vocabulary
inline constexpr std::int64_t kMaxHeads = 1'000'000;       // heads, experts, width of a head, pixels of a side
inline constexpr std::int64_t kMaxTokens = 1'000'000'000;  // of a sequence

}  // namespace comity::workload
