// SPDX-License-Identifier: Apache-2.0
#include "base/params.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/limits.h"
#include "base/units.h"

namespace comity {
namespace {

Param declare(std::string name, Param::Type type, std::string fallback, double low = 0, double high = 0) {
  Param param;
  param.name = std::move(name);
  param.type = type;
  param.fallback = std::move(fallback);
  param.low = low;
  param.high = high;
  return param;
}

Params example() {
  Param choice = declare("easy.order", Param::Type::kChoice, "fifo");
  choice.choices = {"fifo", "short"};
  return Params({declare("easy.on", Param::Type::kBool, "true"), declare("easy.depth", Param::Type::kInt, "10", 1, 100),
                 declare("easy.weight", Param::Type::kReal, "0.5", 0, 1),
                 declare("easy.scale", Param::Type::kReal, "inf"),
                 declare("easy.window", Param::Type::kTime, "4h", 0, 86'400), choice,
                 declare("easy.note", Param::Type::kText, "")});
}

TEST(ParamsTest, DefaultsAreTyped) {
  const Params params = example();
  EXPECT_TRUE(params.boolean("easy.on"));
  EXPECT_EQ(params.integer("easy.depth"), 10);
  EXPECT_EQ(params.real("easy.weight"), 0.5);
  EXPECT_TRUE(std::isinf(params.real("easy.scale")));
  EXPECT_EQ(params.time("easy.window"), 4 * kHour);
  EXPECT_EQ(params.text("easy.order"), "fifo");
  EXPECT_EQ(params.text("easy.note"), "");
  EXPECT_EQ(params.origin("easy.depth"), "default");
  EXPECT_EQ(params.declared().size(), 7U);
}

TEST(ParamsTest, SetKeepsTextAndOrigin) {
  Params params = example();
  ASSERT_TRUE(params.set("easy.window", "02:00:00", "file"));
  EXPECT_EQ(params.time("easy.window"), 2 * kHour);
  EXPECT_EQ(params.value_text("easy.window"), "02:00:00");
  EXPECT_EQ(params.origin("easy.window"), "file");
  ASSERT_TRUE(params.set("easy.on", "off"));
  EXPECT_FALSE(params.boolean("easy.on"));
  EXPECT_EQ(params.origin("easy.on"), "flag");
}

TEST(ParamsTest, InfinityIsForRangesWithoutEnd) {
  Params params(
      {declare("a.part", Param::Type::kReal, "0.5", 0, 1), declare("a.factor", Param::Type::kReal, "1", 0, 1e18)});
  const Status refused = params.set("a.part", "inf");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, "a.part");
  EXPECT_EQ(params.real("a.part"), 0.5);
  ASSERT_TRUE(params.set("a.factor", "inf"));
  EXPECT_TRUE(std::isinf(params.real("a.factor")));
}

TEST(ParamsTest, UnknownNamesGetTheNearest) {
  Params params = example();
  const Status status = params.set("easy.dept", "1");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kUsage);
  EXPECT_EQ(status.error().text(), "easy.dept: unknown parameter (did you mean 'easy.depth'?)");
  EXPECT_FALSE(params.knows("easy.dept"));
  const Status far = params.set("\x1b[2Jzzzzzzzzz", "1");
  ASSERT_FALSE(far);
  EXPECT_EQ(far.error().text().find('\x1b'), std::string::npos);
  EXPECT_NE(far.error().hint.find("comity policy show"), std::string::npos);
}

TEST(ParamsTest, WrongValuesNameTheRangeAndChangeNothing) {
  Params params = example();
  const Status status = params.set("easy.depth", "101");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kUsage);
  EXPECT_EQ(status.error().text(), "easy.depth: 101 is out of range (1 to 100)");
  EXPECT_EQ(params.integer("easy.depth"), 10);
  EXPECT_EQ(params.origin("easy.depth"), "default");
  EXPECT_EQ(params.set("easy.window", "2d").error().text(), "easy.window: 2d is out of range (0 to 86400)");
  EXPECT_EQ(params.set("easy.window", "soon").error().message, "'soon' is not a time");
  EXPECT_EQ(params.set("easy.order", "long").error().message, "'long' is not one of fifo, short");
  for (const char* bad : {"", "x", "nan", "1.01", "-0.01", "-inf", "0.5 "}) {
    EXPECT_FALSE(params.set("easy.weight", bad)) << bad;
  }
  EXPECT_FALSE(params.set("easy.on", "maybe"));
  EXPECT_FALSE(params.set("easy.note", std::string(limits::kNameBytes + 1, 'x')));
}

TEST(ParamsTest, MisuseIsABug) {
  const Params params = example();
  EXPECT_EXIT((void)params.real("easy.depth"), testing::ExitedWithCode(70), "check failed");
  EXPECT_EXIT((void)params.integer("easy.window"), testing::ExitedWithCode(70), "check failed");
  EXPECT_EXIT((void)params.integer("nothing"), testing::ExitedWithCode(70), "check failed");
  EXPECT_EXIT(Params({declare("a", Param::Type::kInt, "7", 1, 3)}), testing::ExitedWithCode(70), "check failed");
  EXPECT_EXIT(Params({declare("a", Param::Type::kInt, "1"), declare("a", Param::Type::kInt, "1")}),
              testing::ExitedWithCode(70), "contains");
}

TEST(ParamsTest, AListIsNumbersWithinTheRange) {
  Params params({declare("easy.limits", Param::Type::kList, "1,2.5", 0, 100)});
  EXPECT_EQ(params.reals("easy.limits"), (std::vector<double>{1, 2.5}));
  ASSERT_TRUE(params.set("easy.limits", "7"));
  EXPECT_EQ(params.reals("easy.limits"), (std::vector<double>{7}));
  for (const char* bad : {"", "1,", "1,x", "1,101", "-1"}) EXPECT_FALSE(params.set("easy.limits", bad)) << bad;
  EXPECT_EQ(params.reals("easy.limits"), (std::vector<double>{7}));
}

TEST(ParamsTest, AFileIsItsPathUntilItsNumbersAreLoaded) {
  Params params({declare("easy.samples", Param::Type::kFile, "", 0, 100)});
  EXPECT_TRUE(params.reals("easy.samples").empty());
  ASSERT_TRUE(params.set("easy.samples", "a.csv"));
  EXPECT_EQ(params.value_text("easy.samples"), "a.csv");
  ASSERT_TRUE(params.load("easy.samples", {3, 4}));
  EXPECT_EQ(params.reals("easy.samples"), (std::vector<double>{3, 4}));
  const Status bad = params.load("easy.samples", {3, 400});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().file, "a.csv");
  EXPECT_NE(bad.error().message.find("number 2"), std::string::npos);
}

}  // namespace
}  // namespace comity
