// SPDX-License-Identifier: Apache-2.0
#include "base/table.h"

#include <gtest/gtest.h>

namespace comity {
namespace {

Table example() {
  Table table({{"policy", false, Table::Best::kNone},
               {"JCT", true, Table::Best::kLowest},
               {"use", true, Table::Best::kHighest}});
  table.add_row({{"fifo"}, {"10.0", 10}, {"0.5", 0.5}});
  table.add_row({{"easy, deep"}, {"9.5", 9.5}, {"0.5", 0.5}});
  table.add_row({{"none"}, {"-"}, {"0.4", 0.4}});
  return table;
}

TEST(TableTest, TextIsAlignedAndMarked) {
  EXPECT_EQ(example().text(false),
            "policy        JCT   use\n"
            "fifo        10.0   0.5*\n"
            "easy, deep   9.5*  0.5*\n"
            "none           -   0.4\n");
}

TEST(TableTest, ColourWrapsTheBest) {
  const std::string text = example().text(true);
  EXPECT_NE(text.find("\x1b[1;32m9.5*\x1b[0m"), std::string::npos);
  EXPECT_EQ(text.find("\x1b[1;32m10.0"), std::string::npos);
}

TEST(TableTest, BestRowsIncludeTiesAndLeaveOutNaN) {
  const Table table = example();
  EXPECT_TRUE(table.best_rows(0).empty());
  EXPECT_EQ(table.best_rows(1), (std::vector<std::size_t>{1}));
  EXPECT_EQ(table.best_rows(2), (std::vector<std::size_t>{0, 1}));
}

TEST(TableTest, CsvQuotesAndHasNoMarks) {
  EXPECT_EQ(example().csv(), "policy,JCT,use\nfifo,10.0,0.5\n\"easy, deep\",9.5,0.5\nnone,-,0.4\n");
}

TEST(TableTest, HostileCellsAreDisarmedAndWideTextAligned) {
  Table table({{"name", false, Table::Best::kNone}, {"n", true, Table::Best::kNone}});
  table.add_row({{"\x1b[2J"}, {"1"}});
  table.add_row({{"\xc3\xa9t\xc3\xa9"}, {"22"}});
  EXPECT_EQ(table.text(false), "name      n\n\\x1b[2J   1\n\xc3\xa9t\xc3\xa9      22\n");
}

TEST(TableTest, OneRowIsNoWinner) {
  Table table({{"x", true, Table::Best::kLowest}});
  table.add_row({{"1", 1}});
  EXPECT_EQ(table.text(false), " x\n1\n");
}

TEST(TableTest, WrongWidthIsABug) {
  Table table({{"x", true, Table::Best::kNone}});
  EXPECT_EXIT(table.add_row({}), testing::ExitedWithCode(70), "check failed");
}

}  // namespace
}  // namespace comity
