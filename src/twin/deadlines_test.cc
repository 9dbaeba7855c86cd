// SPDX-License-Identifier: Apache-2.0
#include "twin/deadlines.h"

#include <array>

#include <gtest/gtest.h>

namespace comity::twin {
namespace {

TEST(Deadlines, WhatIsMissedByHand) {
  const std::array<profile::Deadline, 2> soft = {{{.after = 10, .value = 10}, {.after = 20, .value = 4}}};
  EXPECT_EQ(missed_value(soft, 10), 0);
  EXPECT_DOUBLE_EQ(missed_value(soft, 11), 0.6);
  EXPECT_EQ(missed_value(soft, 21), 1);
}

TEST(Deadlines, SumsOverARun) {
  const std::array<profile::Deadline, 1> strict = {{{.after = 10 * kSecond, .value = 10}}};
  DeadlineResult r;
  r.end(strict, 10 * kSecond, false);
  r.end(strict, 20 * kSecond, false);
  r.end(strict, 5 * kSecond, true);  // stopped before its work was done
  r.end({}, 7 * kSecond, false);
  r.reject(strict);
  r.reject({});
  EXPECT_EQ(r.jobs, 4U);
  EXPECT_EQ(r.missed, 3U);
  EXPECT_DOUBLE_EQ(r.miss_ratio(), 0.75);
  EXPECT_DOUBLE_EQ(r.avg_jct_s(), 35.0 / 3);
  EXPECT_DOUBLE_EQ(r.avg_others_jct_s(), 7);
}

}  // namespace
}  // namespace comity::twin
