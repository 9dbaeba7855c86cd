// SPDX-License-Identifier: Apache-2.0
// Time is int64 nanoseconds (the packet engine alone uses picoseconds). This is the only file that converts.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace comity {

using Time = std::int64_t;  // ns; an instant since the trace's or cluster's origin, or a length

inline constexpr Time kMicrosecond = 1'000;
inline constexpr Time kMillisecond = 1'000'000;
inline constexpr Time kSecond = 1'000'000'000;
inline constexpr Time kMinute = 60 * kSecond;
inline constexpr Time kHour = 3600 * kSecond;
inline constexpr Time kDay = 24 * kHour;
inline constexpr Time kNever = std::numeric_limits<Time>::max();
// The longest time accepted from outside: about 73 years, so that sums of two stay far from overflow.
inline constexpr Time kMaxTime = (std::int64_t{1} << 61);

// Seconds to the nearest nanosecond; |seconds| must be below kMaxTime (readers check it).
[[nodiscard]] inline Time from_seconds(double seconds) { return static_cast<Time>(std::llround(seconds * 1e9)); }
[[nodiscard]] constexpr double to_seconds(Time t) { return static_cast<double>(t) / 1e9; }
[[nodiscard]] constexpr double to_hours(Time t) { return static_cast<double>(t) / static_cast<double>(kHour); }

}  // namespace comity
