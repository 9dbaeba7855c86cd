// SPDX-License-Identifier: Apache-2.0
// Small text helpers: strict numbers, nearest names, formatting that never depends on the locale.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace comity {

[[nodiscard]] std::string_view trim(std::string_view s);  // spaces, tabs, CR
[[nodiscard]] std::vector<std::string_view> split(std::string_view s, char separator);

// The whole of `s` as a decimal integer, or nothing (also on overflow).
[[nodiscard]] std::optional<std::int64_t> parse_int(std::string_view s);
// The whole of `s` as a finite decimal number ("inf" and "nan" are refused), or nothing.
[[nodiscard]] std::optional<double> parse_double(std::string_view s);
// Seconds as decimal text to exact nanoseconds, or nothing when it is no number or |t| > kMaxTime. "12", "0.25", "1e3".
[[nodiscard]] std::optional<std::int64_t> parse_seconds(std::string_view s);
// "4h", "90m", "30s", "1.5d", "2w", "20ms", "1-02:03:04", "1-02:03", "1-02", "02:03:04", "03:04" (minutes and seconds),
// plain seconds; to ns. Never negative.
[[nodiscard]] std::optional<std::int64_t> parse_length(std::string_view s);

// The candidate nearest to `name` by edit distance if it is near enough to be a typing error, else "".
[[nodiscard]] std::string nearest(std::string_view name, std::span<const std::string> candidates);

[[nodiscard]] std::string format_double(double v, int digits);  // fixed, "-0.00" never
[[nodiscard]] std::string format_length(std::int64_t ns);       // "2 d 3 h", "4.1 h", "12.3 s", for people
[[nodiscard]] std::string format_count(std::uint64_t n);        // "10,650"
[[nodiscard]] bool equal_ignoring_case(std::string_view a, std::string_view b);  // of ASCII letters
[[nodiscard]] std::string hex64(std::uint64_t v);                                // 16 lower-case digits
// Control characters, invalid UTF-8 and bidirectional controls as \xNN, and at most `limit` bytes in all ("..." where
// cut), so that hostile input can be shown on a terminal.
[[nodiscard]] std::string printable(std::string_view s, std::size_t limit = 80);

}  // namespace comity
