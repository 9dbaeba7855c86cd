// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "trace/test_files.h"

namespace comity::trace {
namespace {

TEST(Swf, Fields) {
  const auto trace = read_text(
      "; Version: 2.2\n; MaxNodes: 64\n; MaxProcs: 128 (64, 64)\n;\n"
      "  1  0  5  60  4 -1 -1   8 3600 -1 1 12  3 -1 -1 -1 -1 -1\n"
      "; a remark\n"
      "2 10 -1 0 2 -1 -1 -1 -1 -1 0 -1 -1 -1 -1 -1 -1 -1\n");
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_EQ(trace->format, "swf");
  EXPECT_EQ(trace->declared_gpus, 128U);
  ASSERT_EQ(trace->rows.size(), 2U);
  const Row& a = trace->rows[0];
  EXPECT_EQ(a.request.shape, (profile::Shape{0, 8}));  // requested, not used
  EXPECT_EQ(a.wait, 5 * kSecond);
  EXPECT_EQ(a.request.estimate, kHour);
  EXPECT_EQ(trace->names[a.request.user], "12");
  EXPECT_EQ(trace->names[a.request.tenant], "3");
  const Row& b = trace->rows[1];
  EXPECT_EQ(b.request.shape.gpus, 2U);  // used
  EXPECT_EQ(b.duration, 0);
  EXPECT_EQ(b.wait, -1);
  EXPECT_EQ(b.request.estimate, -1);
  EXPECT_EQ(b.request.user, profile::kNoName);
}

TEST(Swf, JobsThatNeverRanAreBadLines) {
  const std::string good = "1 0 5 60 4 -1 -1 8 3600 -1 1 12 3 -1 -1 -1 -1 -1\n";
  for (const char* bad :
       {"2 0 5 0 -1 -1 -1 8 3600 -1 5 12 3 -1 -1 -1 -1 -1", "2 0 5 -1 -1 -1 -1 8 9 -1 5 1 3 -1 -1 -1 -1 -1",
        "2 0 5 -1 4 -1 -1 8 3600 -1 1 12 3 -1 -1 -1 -1 -1", "2 0 5 9 -1 -1 -1 -1 9 -1 1 12 3 -1 -1 -1 -1 -1",
        "2 0 5 9 0 -1 -1 0 9 -1 1 12 3 -1 -1 -1 -1 -1", "2 -1 5 9 1 -1 -1 1 9 -1 1 12 3 -1 -1 -1 -1 -1",
        "2 0 5 9 1 -1 -1 1 9 -1 1 12 3 -1 -1 -1 -1", "2 0 5 9 1 -1 -1 1 9 -1 1 12 3 -1 -1 -1 -1 -1 -1",
        "2 0 5 x 1 -1 -1 1 9 -1 1 12 3 -1 -1 -1 -1 -1"}) {
    const auto trace = read_text(good + bad + "\n");
    ASSERT_FALSE(trace) << bad;
    EXPECT_EQ(trace.error().line, 2);
    ReadOptions options;
    options.skip_bad = true;
    const auto lenient = read_text(good + bad + "\n", options);
    ASSERT_TRUE(lenient);
    EXPECT_EQ(lenient->rows.size(), 1U);
  }
}

TEST(Swf, SemicolonsAreNotSwf) {
  const std::string path = shared_trace("swf/jobs500_ubccr.swf");
  COMITY_NEED_TRACE(path)
  for (const char* format : {"", "swf"}) {
    ReadOptions options;
    options.format = format;
    const auto trace = read_trace(path, options);
    ASSERT_FALSE(trace);
    EXPECT_EQ(trace.error().code, Code::kInput);
    EXPECT_NE(trace.error().message.find("semicolons"), std::string::npos);
    EXPECT_NE(trace.error().hint.find("--columns"), std::string::npos);
  }
  ReadOptions columns;
  columns.columns = "id=1,submit=2,duration=4,gpus=5,estimate=9,user=12,tenant=13";
  columns.skip_bad = true;
  const auto trace = read_trace(path, columns);
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_EQ(trace->rows.size() + trace->skipped_lines, 500U);
  EXPECT_EQ(trace->rows[0].id, 1001);
  EXPECT_EQ(trace->rows[0].request.shape.gpus, 12U);
  EXPECT_EQ(trace->names[trace->rows[0].request.user], "user5");
}

}  // namespace
}  // namespace comity::trace
