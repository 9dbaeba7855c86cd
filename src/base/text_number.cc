// SPDX-License-Identifier: Apache-2.0
// Numbers and lengths of time from text and to text.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "base/text.h"
#include "base/units.h"

namespace comity {

std::optional<std::int64_t> parse_int(std::string_view s) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (error != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return value;
}

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// True when the decimal number `s`, known to be out of the range of double, is too small rather than too large.
bool underflows(std::string_view s) {
  std::int64_t exponent = 0;
  const std::size_t e = s.find_first_of("eE");
  if (e != std::string_view::npos) {
    std::string_view digits = s.substr(e + 1);
    const bool negative = digits.starts_with('-');
    if (negative || digits.starts_with('+')) digits.remove_prefix(1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (error != std::errc()) exponent = std::int64_t{1} << 40;
    if (negative) exponent = -exponent;
    s = s.substr(0, e);
  }
  const std::size_t first = s.find_first_of("123456789");
  if (first == std::string_view::npos) return true;
  const std::size_t dot = std::min(s.find('.'), s.size());
  return static_cast<std::int64_t>(dot) - static_cast<std::int64_t>(first) + exponent < 0;
}

}  // namespace

std::optional<double> parse_double(std::string_view s) {
  double value = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (end != s.data() + s.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range && underflows(s)) return s.starts_with('-') ? -0.0 : 0.0;
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  return value;
}

namespace {

std::optional<Time> seconds_by_double(std::string_view s) {
  const std::optional<double> value = parse_double(s);
  if (!value || std::fabs(*value) * 1e9 > static_cast<double>(kMaxTime)) return std::nullopt;
  return from_seconds(*value);
}

}  // namespace

// Integers all the way for plain decimal text: 0.1 s is 100,000,000 ns, not what a double nearest to 0.1 rounds to.
std::optional<std::int64_t> parse_seconds(std::string_view s) {
  static constexpr std::array<std::int64_t, 10> kScale = {1'000'000'000, 100'000'000, 10'000'000, 1'000'000, 100'000,
                                                          10'000,        1'000,       100,        10,        1};
  const char* p = s.data();
  const char* const end = p + s.size();
  const bool negative = p != end && *p == '-';
  if (negative) ++p;
  const char* const digits = p;
  std::int64_t whole = 0;
  for (; p != end && is_digit(*p); ++p) {
    if (whole > kMaxTime / kSecond) return seconds_by_double(s);  // too large, or an exponent makes it small again
    whole = whole * 10 + (*p - '0');
  }
  bool any = p != digits;
  std::int64_t fraction = 0;
  if (p != end && *p == '.') {
    const char* const point = ++p;
    const char* const ninth = end - p > 9 ? p + 9 : end;
    for (; p != ninth && is_digit(*p); ++p) fraction = fraction * 10 + (*p - '0');
    fraction *= kScale[static_cast<std::size_t>(p - point)];
    if (p != end && is_digit(*p)) fraction += *p >= '5' ? 1 : 0;  // the tenth digit rounds
    while (p != end && is_digit(*p)) ++p;
    any = any || p != point;
  }
  if (!any) return std::nullopt;
  if (p != end) return *p == 'e' || *p == 'E' ? seconds_by_double(s) : std::nullopt;
  if (whole > kMaxTime / kSecond) return std::nullopt;
  const Time t = whole * kSecond + fraction;
  if (t > kMaxTime) return std::nullopt;
  return negative ? -t : t;
}

namespace {

// "[D-]HH:MM:SS[.f]" and its short forms "MM:SS", "D-HH", "D-HH:MM".
std::optional<Time> clock_length(std::string_view s) {
  const std::size_t dash = s.find('-');
  const bool has_days = dash != std::string_view::npos;
  __extension__ using Wide = __int128;
  Wide total = 0;
  if (has_days) {
    const auto days = parse_int(s.substr(0, dash));
    if (!days || *days < 0 || *days > kMaxTime / kDay) return std::nullopt;
    total = static_cast<Wide>(*days) * kDay;
    s.remove_prefix(dash + 1);
  }
  const std::vector<std::string_view> parts = split(s, ':');
  if (parts.size() > 3 || (!has_days && parts.size() < 2)) return std::nullopt;
  std::size_t unit = has_days ? 0 : 3 - parts.size();  // 0 hours, 1 minutes, 2 seconds
  for (std::size_t i = 0; i < parts.size(); ++i, ++unit) {
    const auto value = unit == 2 ? parse_seconds(parts[i]) : parse_int(parts[i]);
    if (!value || *value < 0 || parts[i].starts_with('-')) return std::nullopt;
    const Time one = unit == 2 ? 1 : unit == 1 ? kMinute : kHour;
    const Time bound = unit == 0 ? 24 : unit == 1 ? 60 : kMinute;
    if ((has_days || i > 0) && *value >= bound) return std::nullopt;
    total += static_cast<Wide>(*value) * one;
  }
  if (total > kMaxTime) return std::nullopt;
  return static_cast<Time>(total);
}

}  // namespace

std::optional<std::int64_t> parse_length(std::string_view s) {
  struct Unit {
    std::string_view name;
    std::int64_t up;    // times this ...
    std::int64_t down;  // ... over this, from seconds
  };
  static constexpr std::array<Unit, 7> kUnits = {{{"ms", 1, 1'000},
                                                  {"us", 1, 1'000'000},
                                                  {"s", 1, 1},
                                                  {"m", 60, 1},
                                                  {"h", 3600, 1},
                                                  {"d", 86'400, 1},
                                                  {"w", 604'800, 1}}};
  s = trim(s);
  if (s.empty() || s.front() == '-') return std::nullopt;
  const bool exponent = s.find_first_of("eE") != std::string_view::npos;
  if (s.find(':') != std::string_view::npos || (!exponent && s.find('-') != std::string_view::npos)) {
    return clock_length(s);
  }
  for (const Unit& unit : kUnits) {
    if (!s.ends_with(unit.name)) continue;
    const auto value = parse_seconds(trim(s.substr(0, s.size() - unit.name.size())));
    if (!value || *value < 0 || *value > kMaxTime / unit.up) return std::nullopt;
    return (*value * unit.up + unit.down / 2) / unit.down;
  }
  return parse_seconds(s);
}

std::string format_double(double v, int digits) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  digits = std::clamp(digits, 0, 100);
  std::array<char, 512> buffer{};  // 309 digits before the point, 100 after it
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), v, std::chars_format::fixed, digits);
  std::string out(buffer.data(), end);
  if (out.starts_with('-') && out.find_first_of("123456789") == std::string::npos) out.erase(0, 1);
  return out;
}

std::string format_length(std::int64_t ns) {
  if (ns == kNever) return "never";
  if (ns < 0) return '-' + format_length(ns == std::numeric_limits<std::int64_t>::min() ? kNever - 1 : -ns);
  if (ns == 0) return "0 s";
  if (ns < kMicrosecond) return std::to_string(ns) + " ns";
  struct Unit {
    const char* name;
    std::int64_t ns;
    std::int64_t next;  // how many of it make the next unit
  };
  static constexpr std::array<Unit, 5> kUnits = {{{" us", kMicrosecond, 1000},
                                                  {" ms", kMillisecond, 1000},
                                                  {" s", kSecond, 60},
                                                  {" min", kMinute, 60},
                                                  {" h", kHour, 24}}};
  for (const Unit& unit : kUnits) {
    if (ns / unit.ns >= unit.next) continue;
    const std::int64_t tenths = (ns + unit.ns / 20) / (unit.ns / 10);
    if (tenths >= unit.next * 10) continue;  // 59.96 s is 1.0 min, not 60.0 s
    return std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10) + unit.name;
  }
  const std::int64_t hours = ns / kHour + (ns % kHour >= kHour / 2 ? 1 : 0);
  const std::string days = std::to_string(hours / 24) + " d";
  return hours % 24 == 0 ? days : days + ' ' + std::to_string(hours % 24) + " h";
}

}  // namespace comity
