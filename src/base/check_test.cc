// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <gtest/gtest.h>

#include "base/result.h"

namespace comity {
namespace {

TEST(CheckTest, FailureNamesThePlaceAndExitsWith70) {
  EXPECT_EXIT(COMITY_CHECK(1 + 1 == 3), testing::ExitedWithCode(70), "1 \\+ 1 == 3.*check_test.cc:");
}

TEST(CheckTest, ConditionIsEvaluatedOnce) {
  int count = 0;
  COMITY_CHECK(++count == 1);
  EXPECT_EQ(count, 1);
}

TEST(ErrorTest, TextLeavesOutWhatIsEmpty) {
  Error error;
  error.message = "wrong";
  EXPECT_EQ(error.text(), "wrong");
  error.hint = "do this";
  EXPECT_EQ(error.text(), "wrong (do this)");
  error.file = "a.csv";
  EXPECT_EQ(error.text(), "a.csv: wrong (do this)");
  error.line = 7;
  error.field = "gpus";
  error.cause = "because";
  EXPECT_EQ(error.text(), "a.csv:7: gpus: wrong: because (do this)");
  error.file.clear();
  EXPECT_EQ(error.text(), "line 7: gpus: wrong: because (do this)");
}

TEST(ErrorTest, FailCarriesTheCode) {
  const Status status = fail(Code::kConflict, "taken", "choose another");
  ASSERT_FALSE(status);
  EXPECT_EQ(static_cast<int>(status.error().code), 6);
  EXPECT_EQ(status.error().text(), "taken (choose another)");
}

}  // namespace
}  // namespace comity
