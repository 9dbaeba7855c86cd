// SPDX-License-Identifier: Apache-2.0
#include "base/calendar.h"

#include <ctime>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace comity {
namespace {

TEST(Calendar, KnownInstants) {
  EXPECT_EQ(parse_date_time("1970-01-01T00:00:00"), 0);
  EXPECT_EQ(parse_date_time("2001-09-09 01:46:40"), 1'000'000'000 * kSecond);
  EXPECT_EQ(parse_date_time("2024-02-29T12:00:00Z"), 1'709'208'000 * kSecond);
  EXPECT_EQ(parse_date_time("2024-02-29T14:00:00.25+02:00"), 1'709'208'000 * kSecond + kSecond / 4);
  EXPECT_EQ(parse_date_time("2024-02-29T04:30:00-0730"), 1'709'208'000 * kSecond);
  EXPECT_EQ(parse_date_time("2016-12-31T23:59:60Z"), 1'483'228'800 * kSecond);
}

TEST(Calendar, NoDates) {
  for (const char* text : {"",
                           "None",
                           "Unknown",
                           "2024-05-01",
                           "2023-02-29T00:00:00",
                           "2024-13-01T00:00:00",
                           "2024-00-01T00:00:00",
                           "2024-04-31T00:00:00",
                           "2024-05-01T24:00:00",
                           "2024-05-01T12:60:00",
                           "2024-05-01T12:00:61",
                           "1969-12-31T23:59:59",
                           "2024-05-01T12:00",
                           "2024-05-01T12:00:00 PDT",
                           "2024-05-01T12:00:00+2",
                           "2024-05-01T12:00:0",
                           "2024-05-01X12:00:00",
                           "2044-01-01T00:00:00",
                           "9999-12-31T00:00:00",
                           "24-05-01T12:00:00",
                           "2024-05-01T12:00:0.5"}) {
    EXPECT_EQ(parse_date_time(text), std::nullopt) << text;
  }
}

RC_GTEST_PROP(Calendar, AgreesWithTheCLibrary, ()) {
  const std::int64_t seconds = *rc::gen::inRange<std::int64_t>(0, kMaxTime / kSecond);
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  RC_ASSERT(gmtime_r(&time, &parts) != nullptr);
  char text[32];
  RC_ASSERT(std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts) == 19U);
  RC_ASSERT(parse_date_time(text) == seconds * kSecond);
}

}  // namespace
}  // namespace comity
