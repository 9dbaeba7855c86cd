// SPDX-License-Identifier: Apache-2.0
#include "trace/civil_time.h"

#include <array>
#include <cstdint>

namespace comity::trace {
namespace {

// Reads from the front of a text.
class Scan {
 public:
  explicit Scan(std::string_view text) : rest_(text) {}

  // `digits` digits as a number, or -1.
  int number(std::size_t digits) {
    if (rest_.size() < digits) return -1;
    int value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      if (rest_[i] < '0' || rest_[i] > '9') return -1;
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(digits);
    return value;
  }
  bool skip(std::string_view any_of) {
    if (rest_.empty() || any_of.find(rest_.front()) == std::string_view::npos) return false;
    last_ = rest_.front();
    rest_.remove_prefix(1);
    return true;
  }
  [[nodiscard]] char last() const { return last_; }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  [[nodiscard]] bool digit() const { return !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; }

 private:
  std::string_view rest_;
  char last_ = 0;
};

bool is_leap(int year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

std::int64_t leap_years_before(int year) { return (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400; }

// Days since 1970-01-01, or -1 where there is no such day.
std::int64_t days(int year, int month, int day) {
  constexpr std::array<int, 12> kLength = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (year < 1970 || month < 1 || month > 12) return -1;
  const auto length = [&](int m) {
    return kLength[static_cast<std::size_t>(m - 1)] + (m == 2 && is_leap(year) ? 1 : 0);
  };
  if (day < 1 || day > length(month)) return -1;
  std::int64_t sum = 365LL * (year - 1970) + leap_years_before(year) - leap_years_before(1970) + day - 1;
  for (int m = 1; m < month; ++m) sum += length(m);
  return sum;
}

// ns east of UTC; false when it is no zone.
bool zone(Scan& scan, Time& offset) {
  offset = 0;
  if (scan.at_end() || scan.skip("Z")) return scan.at_end();
  if (!scan.skip("+-")) return false;
  const Time sign = scan.last() == '-' ? -1 : 1;
  const int hours = scan.number(2);
  int minutes = 0;
  if (!scan.at_end()) {
    scan.skip(":");
    minutes = scan.number(2);
  }
  if (hours < 0 || hours > 14 || minutes < 0 || minutes > 59 || !scan.at_end()) return false;
  offset = sign * (hours * kHour + minutes * kMinute);
  return true;
}

}  // namespace

std::optional<Time> parse_civil_time(std::string_view text) {
  Scan scan(text);
  const int year = scan.number(4);
  if (!scan.skip("-")) return std::nullopt;
  const int month = scan.number(2);
  if (!scan.skip("-")) return std::nullopt;
  const int day = scan.number(2);
  const std::int64_t date = days(year, month, day);
  if (date < 0 || !scan.skip(" T")) return std::nullopt;
  const int hour = scan.number(2);
  if (!scan.skip(":")) return std::nullopt;
  const int minute = scan.number(2);
  if (!scan.skip(":")) return std::nullopt;
  const int second = scan.number(2);
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return std::nullopt;
  Time fraction = 0;
  if (scan.skip(".")) {
    if (!scan.digit()) return std::nullopt;
    for (Time unit = kSecond / 10; scan.digit(); unit /= 10) fraction += unit * scan.number(1);
  }
  Time offset = 0;
  if (!zone(scan, offset) || date > kMaxTime / kDay - 2) return std::nullopt;
  const Time time = date * kDay + hour * kHour + minute * kMinute + second * kSecond + fraction - offset;
  return time < 0 ? std::nullopt : std::optional<Time>(time);
}

}  // namespace comity::trace
