// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/text.h"
#include "base/units.h"

namespace comity {
namespace {

constexpr std::optional<std::int64_t> kNone;

TEST(NumberTest, Integers) {
  EXPECT_EQ(parse_int("0"), 0);
  EXPECT_EQ(parse_int("-17"), -17);
  EXPECT_EQ(parse_int("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_int("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  for (const char* bad : {"", "-", "+1", " 1", "1 ", "1.0", "0x10", "9223372036854775808", "1e3", "--1"}) {
    EXPECT_EQ(parse_int(bad), kNone) << bad;
  }
}

TEST(NumberTest, Doubles) {
  EXPECT_EQ(parse_double("1.5"), 1.5);
  EXPECT_EQ(parse_double("-1e-3"), -0.001);
  EXPECT_EQ(parse_double(".5"), 0.5);
  EXPECT_EQ(parse_double("1e-400"), 0.0);
  EXPECT_EQ(parse_double("0." + std::string(400, '0') + "1"), 0.0);
  EXPECT_EQ(parse_double("1" + std::string(400, '0') + "e-400"), 1.0);
  for (const std::string& bad : {std::string(), std::string("inf"), std::string("nan"), std::string("-inf"),
                                 std::string("1e400"), std::string("1,5"), std::string("1 "), std::string("+1"),
                                 std::string("0x1p3"), std::string("1e"), "1" + std::string(400, '0')}) {
    EXPECT_FALSE(parse_double(bad).has_value()) << bad;
  }
}

TEST(NumberTest, SecondsAreExact) {
  EXPECT_EQ(parse_seconds("12"), 12 * kSecond);
  EXPECT_EQ(parse_seconds("0.25"), kSecond / 4);
  EXPECT_EQ(parse_seconds("1e3"), 1000 * kSecond);
  EXPECT_EQ(parse_seconds("2.5E-3"), 2'500'000);
  EXPECT_EQ(parse_seconds("-0.000000001"), -1);
  EXPECT_EQ(parse_seconds(".5"), kSecond / 2);
  EXPECT_EQ(parse_seconds("5."), 5 * kSecond);
  EXPECT_EQ(parse_seconds("1.0000000004"), kSecond);
  EXPECT_EQ(parse_seconds("1.0000000005"), kSecond + 1);
  EXPECT_EQ(parse_seconds("0.99999999999"), kSecond);
  EXPECT_EQ(parse_seconds("1700000000.123456789"), 1'700'000'000'123'456'789);  // a double would be 100 ns off
  EXPECT_EQ(parse_seconds("00000000000000000000012"), 12 * kSecond);
}

TEST(NumberTest, SecondsThatAreNoneAreRefused) {
  for (const char* bad : {"", ".", "-", "-.", "e3", "1.2.3", "1s", " 1", "1 ", "+1", "inf", "nan", "1e", "0x10",
                          "2305843010", "99999999999999999999", "1e10", "-1e300", "1.5x"}) {
    EXPECT_EQ(parse_seconds(bad), kNone) << bad;
  }
  EXPECT_EQ(parse_seconds("2305843009.213693952"), kMaxTime);
  EXPECT_EQ(parse_seconds("-2305843009.213693952"), -kMaxTime);
  EXPECT_EQ(parse_seconds("2305843009.213693953"), kNone);
}

TEST(NumberTest, Lengths) {
  EXPECT_EQ(parse_length("90"), 90 * kSecond);
  EXPECT_EQ(parse_length("1e3"), 1000 * kSecond);
  EXPECT_EQ(parse_length("4h"), 4 * kHour);
  EXPECT_EQ(parse_length(" 90m "), 90 * kMinute);
  EXPECT_EQ(parse_length("30s"), 30 * kSecond);
  EXPECT_EQ(parse_length("1.5d"), 36 * kHour);
  EXPECT_EQ(parse_length("2w"), 14 * kDay);
  EXPECT_EQ(parse_length("20ms"), 20 * kMillisecond);
  EXPECT_EQ(parse_length("1.5us"), 1500);
  EXPECT_EQ(parse_length("2 h"), 2 * kHour);
  EXPECT_EQ(parse_length("1-02:03:04"), kDay + 2 * kHour + 3 * kMinute + 4 * kSecond);
  EXPECT_EQ(parse_length("02:03:04.5"), 2 * kHour + 3 * kMinute + 4 * kSecond + kSecond / 2);
  EXPECT_EQ(parse_length("03:04"), 3 * kMinute + 4 * kSecond);
  EXPECT_EQ(parse_length("100:00:00"), 100 * kHour);
  EXPECT_EQ(parse_length("3-12"), 3 * kDay + 12 * kHour);
  EXPECT_EQ(parse_length("3-12:30"), 3 * kDay + 12 * kHour + 30 * kMinute);
}

TEST(NumberTest, LengthsThatAreNoneAreRefused) {
  for (const char* bad : {"",
                          "h",
                          "-4h",
                          "4x",
                          "1h30m",
                          "-1-02:03:04",
                          "1-24:00:00",
                          "00:60:00",
                          "00:00:60",
                          "1:2:3:4",
                          ":",
                          "1:",
                          ":1",
                          "1-",
                          "-",
                          "99999999d",
                          "9999999999-00:00:00",
                          "00:-1:00",
                          "inf",
                          "1-2-3",
                          "9223372036854775807:00:00",
                          "-5"}) {
    EXPECT_EQ(parse_length(bad), kNone) << bad;
  }
}

TEST(NumberTest, FormatDouble) {
  EXPECT_EQ(format_double(1.005, 1), "1.0");
  EXPECT_EQ(format_double(-0.001, 2), "0.00");
  EXPECT_EQ(format_double(-1.5, 0), "-2");
  EXPECT_EQ(format_double(1e300, 0).size(), 301U);
  EXPECT_EQ(format_double(-std::numeric_limits<double>::max(), 100).size(), 1 + 309 + 1 + 100U);
  EXPECT_EQ(format_double(std::nan(""), 2), "nan");
  EXPECT_EQ(format_double(-std::numeric_limits<double>::infinity(), 2), "-inf");
}

TEST(NumberTest, FormatLength) {
  EXPECT_EQ(format_length(0), "0 s");
  EXPECT_EQ(format_length(17), "17 ns");
  EXPECT_EQ(format_length(1500), "1.5 us");
  EXPECT_EQ(format_length(12'300 * kMillisecond), "12.3 s");
  EXPECT_EQ(format_length(59'960 * kMillisecond), "1.0 min");
  EXPECT_EQ(format_length(kHour * 41 / 10), "4.1 h");
  EXPECT_EQ(format_length(2 * kDay + 3 * kHour), "2 d 3 h");
  EXPECT_EQ(format_length(kDay - 1), "1 d");
  EXPECT_EQ(format_length(-12'300 * kMillisecond), "-12.3 s");
  EXPECT_EQ(format_length(kNever), "never");
  EXPECT_EQ(format_length(std::numeric_limits<std::int64_t>::min()).front(), '-');
}

RC_GTEST_PROP(NumberProperty, ParseIntAgreesWithStrtoll, ()) {
  const auto s = *rc::gen::container<std::string>(rc::gen::element('0', '1', '9', '5', '7', '-', '2', '3'));
  errno = 0;
  char* end = nullptr;
  const long long expected = std::strtoll(s.c_str(), &end, 10);
  const bool whole = !s.empty() && *end == '\0' && errno == 0;
  const auto got = parse_int(s);
  RC_ASSERT(got.has_value() == whole);
  if (whole) RC_ASSERT(*got == expected);
}

RC_GTEST_PROP(NumberProperty, EveryTimeReadsBackFromItsDecimals, ()) {
  const auto t = *rc::gen::inRange<std::int64_t>(-kMaxTime, kMaxTime);
  const std::int64_t size = t < 0 ? -t : t;
  const std::string fraction = std::to_string(size % kSecond);
  std::string text(t < 0 ? "-" : "");
  text.append(std::to_string(size / kSecond)).append(".").append(9 - fraction.size(), '0').append(fraction);
  RC_ASSERT(parse_seconds(text) == t);
}

RC_GTEST_PROP(NumberProperty, AnyTextIsReadOrRefused, (const std::string& s)) {
  const auto seconds = parse_seconds(s);
  if (seconds) RC_ASSERT(*seconds >= -kMaxTime && *seconds <= kMaxTime);
  const auto length = parse_length(s);
  if (length) RC_ASSERT(*length >= 0 && *length <= kMaxTime);
}

}  // namespace
}  // namespace comity
