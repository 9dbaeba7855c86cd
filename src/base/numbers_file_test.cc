// SPDX-License-Identifier: Apache-2.0
#include "base/numbers_file.h"

#include <gtest/gtest.h>

namespace comity {
namespace {

Result<std::vector<double>> read(std::string_view bytes) {
  auto source = memory_source(bytes);
  EXPECT_TRUE(source.has_value());
  LineReader reader(std::move(*source), "numbers.csv");
  return read_numbers(reader);
}

TEST(NumbersFileTest, OneNumberALineWithOrWithoutATitle) {
  const std::vector<double> want = {121, 0.5, -3e3};
  EXPECT_EQ(*read("duration\n121\n0.5\r\n\n-3e3"), want);
  EXPECT_EQ(*read(" 121\n.5\n-3000\n"), want);
}

TEST(NumbersFileTest, AWordAfterTheTitleIsNamedWithItsLine) {
  const auto bad = read("duration\n1\nx\n");
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().line, 3);
  EXPECT_EQ(bad.error().file, "numbers.csv");
  EXPECT_FALSE(read("a\nb\n").has_value());
  EXPECT_FALSE(read("1\ninf\n").has_value());
}

TEST(NumbersFileTest, AnEmptyFileIsAnError) {
  EXPECT_FALSE(read("").has_value());
  EXPECT_FALSE(read("duration\n").has_value());
}

}  // namespace
}  // namespace comity
