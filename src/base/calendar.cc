// SPDX-License-Identifier: Apache-2.0
#include "base/calendar.h"

#include <chrono>

#include "base/text.h"

namespace comity {
namespace {

// Exactly `digits` digits off the front.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(0, digits)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

// "2024-05-01" off the front, as days.
std::optional<std::int64_t> take_date(std::string_view& text) {
  const auto year = take_number(text, 4);
  if (!year || !take(text, '-')) return std::nullopt;
  const auto month = take_number(text, 2);
  if (!month || !take(text, '-')) return std::nullopt;
  const auto day = take_number(text, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return days_from_epoch(*year, *month, *day);
}

// "12:00:00.5" off the front.
std::optional<Time> take_clock(std::string_view& text) {
  const auto hour = take_number(text, 2);
  if (!hour || *hour > 23 || !take(text, ':')) return std::nullopt;
  const auto minute = take_number(text, 2);
  if (!minute || *minute > 59 || !take(text, ':')) return std::nullopt;
  std::size_t length = 0;
  while (length < text.size() && (text[length] == '.' || (text[length] >= '0' && text[length] <= '9'))) ++length;
  const auto second = length >= 2 && text[1] != '.' ? parse_seconds(text.substr(0, length)) : std::nullopt;
  if (!second || *second >= 61 * kSecond) return std::nullopt;  // 60: a leap second
  text.remove_prefix(length);
  return *hour * kHour + *minute * kMinute + *second;
}

// "", "Z", "+02:00", "-0730": how far local time is ahead of UTC.
std::optional<Time> take_zone(std::string_view text) {
  if (text.empty() || text == "Z" || text == "z") return 0;
  const Time sign = text.front() == '-' ? -1 : 1;
  if (!take(text, '+') && !take(text, '-')) return std::nullopt;
  const auto hour = take_number(text, 2);
  (void)take(text, ':');
  const auto minute = take_number(text, 2);
  if (!hour || !minute || !text.empty() || *hour > 23 || *minute > 59) return std::nullopt;
  return sign * (*hour * kHour + *minute * kMinute);
}

}  // namespace

std::int64_t days_from_epoch(int year, int month, int day) {
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  return std::chrono::sys_days(date).time_since_epoch().count();
}

std::optional<Time> parse_date_time(std::string_view text) {
  const auto days = take_date(text);
  if (!days || *days > kMaxTime / kDay || *days < -1) return std::nullopt;
  if (!take(text, 'T') && !take(text, ' ')) return std::nullopt;
  const auto clock = take_clock(text);
  if (!clock) return std::nullopt;
  const auto zone = take_zone(text);
  if (!zone) return std::nullopt;
  const Time time = *days * kDay + *clock - *zone;
  if (time < 0 || time > kMaxTime) return std::nullopt;
  return time;
}

}  // namespace comity
