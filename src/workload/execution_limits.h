// SPDX-License-Identifier: Apache-2.0
// Bounds on an execution, so that no product of two degrees leaves 64 bits.
#pragma once

#include <cstdint>

namespace comity::workload {

inline constexpr std::int64_t kMaxDegree = 1'000'000;     // also of layers and of sequences a micro-batch
inline constexpr std::int64_t kMaxBatch = 1'000'000'000;  // sequences of a step, tokens of a sequence
inline constexpr double kMaxFactor = 1e6;

}  // namespace comity::workload
