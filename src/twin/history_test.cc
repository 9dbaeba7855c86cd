// SPDX-License-Identifier: Apache-2.0
#include "twin/history.h"

#include <gtest/gtest.h>

namespace comity::twin {
namespace {

TEST(History, PredictsFromTheNearestThatIsKnown) {
  History h;
  EXPECT_EQ(h.predict(1, 1, kHour), kHour);  // nothing has finished
  h.add(1, 1, 10 * kSecond);
  h.add(1, 1, 20 * kSecond);
  h.add(1, 2, 60 * kSecond);
  h.add(2, profile::kNoName, 110 * kSecond);
  EXPECT_EQ(h.predict(1, 1, kHour), 15 * kSecond);                 // the same name
  EXPECT_EQ(h.predict(1, 3, kHour), 30 * kSecond);                 // the same user
  EXPECT_EQ(h.predict(2, 1, kHour), 110 * kSecond);                // a name is its user's own
  EXPECT_EQ(h.predict(3, 1, kHour), 50 * kSecond);                 // anybody
  EXPECT_EQ(h.predict(profile::kNoName, 1, kHour), 50 * kSecond);  // nobody's job
}

}  // namespace
}  // namespace comity::twin
