// SPDX-License-Identifier: Apache-2.0
#include "trace/civil_time.h"

#include <ctime>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace comity::trace {
namespace {

TEST(CivilTime, KnownInstants) {
  EXPECT_EQ(parse_civil_time("1970-01-01 00:00:00"), 0);
  EXPECT_EQ(parse_civil_time("2000-03-01T00:00:00Z"), 951'868'800 * kSecond);  // the day behind a 29 February
  EXPECT_EQ(parse_civil_time("2023-03-01 00:18:22+08:00"), parse_civil_time("2023-02-28 16:18:22"));
  EXPECT_EQ(parse_civil_time("2023-03-01 00:18:22-0530"), parse_civil_time("2023-03-01 05:48:22"));
  EXPECT_EQ(parse_civil_time("2023-03-01 00:18:22.25+08"), *parse_civil_time("2023-02-28 16:18:22") + kSecond / 4);
  EXPECT_EQ(parse_civil_time("1970-01-01 00:00:00.123456789"), 123'456'789);
}

TEST(CivilTime, RefusesWhatIsNone) {
  for (const char* text : {"",
                           "2020-06-09",
                           "2020-06-09 18:41",
                           "2020-13-01 00:00:00",
                           "2020-00-01 00:00:00",
                           "2021-02-29 00:00:00",
                           "2100-02-29 00:00:00",
                           "2020-06-31 00:00:00",
                           "2020-06-09 24:00:00",
                           "2020-06-09 18:60:00",
                           "2020-06-09 18:41:60",
                           "1969-12-31 23:59:59",
                           "1970-01-01 00:00:00+01:00",
                           "2044-01-01 00:00:00",
                           "2020-06-09 18:41:01x",
                           "2020-06-09 18:41:01+15:00",
                           "2020-06-09 18:41:01+8",
                           "2020-06-09 18:41:01.",
                           "20-06-09 18:41:01",
                           "2020/06/09 18:41:01",
                           "-020-06-09 18:41:01"}) {
    EXPECT_FALSE(parse_civil_time(text)) << text;
  }
}

TEST(CivilTime, IsTheCLibrarysCalendar) {
  EXPECT_TRUE(rc::check("strftime and back", [] {
    const std::time_t seconds = *rc::gen::inRange<std::time_t>(0, kMaxTime / kSecond - 3 * 86'400);
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    char text[32];
    RC_ASSERT(std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts) == 19U);
    RC_ASSERT(parse_civil_time(text) == seconds * kSecond);
  }));
}

}  // namespace
}  // namespace comity::trace
