// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "trace/test_files.h"

namespace comity::trace {
namespace {

Result<Trace> read_columns(const std::string& text, const std::string& columns) {
  ReadOptions options;
  options.columns = columns;
  return read_text(text, options);
}

TEST(Columns, AnySeparator) {
  for (const char* c : {",", ";", "\t"}) {
    const std::string s = c;
    const auto trace = read_columns(
        "who" + s + "start" + s + "n" + s + "run" + s + "rest\nann" + s + "5" + s + "2" + s + "7.5" + s + "x\n",
        "submit=start,gpus=n,duration=run,user=who");
    ASSERT_TRUE(trace) << trace.error().text();
    EXPECT_EQ(trace->format, "columns");
    EXPECT_EQ(trace->rows[0].submit, 5 * kSecond);
    EXPECT_EQ(trace->rows[0].duration, 7'500'000'000);
    EXPECT_EQ(trace->rows[0].request.shape.gpus, 2U);
    EXPECT_EQ(trace->names[trace->rows[0].request.user], "ann");
  }
}

TEST(Columns, NumbersWithAndWithoutHeader) {
  const std::string columns = "submit=2,duration=3,nodes=4,gpus_per_node=5";
  const auto bare = read_columns("a,0,5,2,4\nb,1,6,1,8\n", columns);
  ASSERT_TRUE(bare) << bare.error().text();
  EXPECT_EQ(bare->rows.size(), 2U);
  const auto headed = read_columns("id,s,d,n,g\na,0,5,2,4\nb,1,6,1,8\n", columns);
  ASSERT_TRUE(headed) << headed.error().text();
  EXPECT_EQ(headed->rows.size(), 2U);
  EXPECT_EQ(headed->rows[0].request.shape, (profile::Shape{2, 4}));
}

TEST(Columns, Errors) {
  const std::string text = "s,d,g\n0,1,1\n";
  struct Case {
    const char* columns;
    Code code;
  };
  for (const Case& c :
       {Case{"submit=s,duration=d", Code::kInput}, Case{"submit=s,duration=d,gpus=h", Code::kInput},
        Case{"submit", Code::kUsage}, Case{"submti=s,duration=d,gpus=g", Code::kUsage},
        Case{"submit=s,submit=d,gpus=g", Code::kUsage}, Case{"submit=s,duration=s,gpus=g", Code::kUsage},
        Case{"submit=s,duration=d,gpus=0", Code::kInput}, Case{"submit=s,duration=d,gpus=99999", Code::kInput}}) {
    const auto trace = read_columns(text, c.columns);
    ASSERT_FALSE(trace) << c.columns;
    EXPECT_EQ(trace.error().code, c.code) << trace.error().text();
  }
  const auto short_line = read_columns("s,d,g\n0,1\n", "submit=s,duration=d,gpus=g");
  ASSERT_FALSE(short_line);
  EXPECT_EQ(short_line.error().line, 2);
}

// A first line with a number in it was meant as a job: what is wrong with it is said.
TEST(Columns, AFirstLineWithANumberIsNoHeader) {
  const auto bad = read_columns("a,x,5,2\nb,1,6,1\n", "submit=2,duration=3,gpus=4");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().line, 1);
  EXPECT_EQ(bad.error().field, "column 2");
  ReadOptions options;
  options.columns = "submit=2,duration=3,gpus=4";
  options.skip_bad = true;
  const auto skipped = read_text("a,x,5,2\nb,1,6,1\n", options);
  ASSERT_TRUE(skipped) << skipped.error().text();
  EXPECT_EQ(skipped->skipped_lines, 1U);
  EXPECT_EQ(skipped->rows.size(), 1U);
}

}  // namespace
}  // namespace comity::trace
