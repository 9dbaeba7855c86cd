// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gtest/gtest.h>

#include "trace/reader_checks.h"

namespace comity::trace {
namespace {

std::string gpus(int count) {
  std::string list;
  for (int i = 0; i < count; ++i) list += (i == 0 ? "\"gpu" : ", \"gpu") + std::to_string(i) + "\"";
  return "[" + list + "]";
}

std::string attempt(const std::string& start, const std::string& end, int servers, int each) {
  std::string detail;
  for (int i = 0; i < servers; ++i)
    detail +=
        std::string(i == 0 ? "" : ", ") + "{\"ip\": \"m" + std::to_string(i) + "\", \"gpus\": " + gpus(each) + "}";
  const auto quoted = [](const std::string& t) { return t == "null" ? t : "\"" + t + "\""; };
  return "{\"start_time\": " + quoted(start) + ",\n \"end_time\": " + quoted(end) + ", \"detail\": [" + detail + "]}";
}

std::string job(const std::string& id, const std::string& attempts) {
  return "{\"status\": \"Pass\", \"vc\": \"ee9e8c\", \"jobid\": \"" + id + "\",\n \"attempts\": [" + attempts +
         "], \"submitted_time\": \"2017-10-07 01:11:39\", \"user\": \"ce2f4c\"}";
}

// The times of the entry that the README of the trace shows, and what else its notes speak of.
std::string file() {
  return "[" +
         job("application_1_1", attempt("2017-10-07 01:12:09", "2017-10-07 01:13:23", 1, 8) + ", " +
                                    attempt("2017-10-07 01:13:30", "2017-10-09 06:53:12", 1, 8)) +
         ",\n" + job("application_1_2", "") + ",\n" +
         job("application_1_3", attempt("2017-10-07 02:00:00", "null", 1, 1)) + ",\n" +
         job("application_1_4", attempt("None", "None", 1, 1)) + ",\n" +
         job("application_1_5", attempt("2017-10-07 02:00:00", "2017-10-07 03:00:00", 0, 0)) + ",\n" +
         job("application_1_6", attempt("2017-10-07 02:00:00", "2017-10-07 02:00:10", 3, 2) + ", " +
                                    attempt("2017-10-07 02:00:10", "2017-10-07 02:00:20", 1, 3)) +
         "]\n";
}

TEST(PhillyLog, Fields) {
  const auto trace = read_text(file());
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_EQ(trace->format, "philly_log");
  ASSERT_EQ(trace->rows.size(), 2U);
  const Row& a = trace->rows[0];
  EXPECT_EQ(trace->text_ids[0], "application_1_1");
  EXPECT_EQ(a.submit, 1'507'338'699 * kSecond);     // date -u -d "2017-10-07 01:11:39" +%s
  EXPECT_EQ(a.duration, (74 + 193'182) * kSecond);  // the README's two attempts; 7 s lie between them
  EXPECT_EQ(a.wait, 30 * kSecond);
  EXPECT_EQ(a.request.shape, (profile::Shape{0, 8}));
  EXPECT_EQ(trace->names[a.request.tenant], "ee9e8c");
  EXPECT_EQ(trace->names[a.request.user], "ce2f4c");
  const Row& b = trace->rows[1];
  EXPECT_EQ(b.request.shape, (profile::Shape{0, 6}));
  EXPECT_EQ(b.duration, 15 * kSecond);  // 6 GPUs for 10 s, then 3 for 10 s
  EXPECT_EQ(other_rows(*trace, "a job that never started"), 1U);
  EXPECT_EQ(other_rows(*trace, "a job that still ran when the log was taken"), 1U);
  EXPECT_EQ(other_rows(*trace, "a job whose attempts have no times"), 1U);
  EXPECT_EQ(other_rows(*trace, "a job without GPUs"), 1U);
}

TEST(PhillyLog, CutAndConverted) {
  expect_rows_or_a_line_when_cut(file(), "");
  expect_rows_or_a_line_when_cut(file(), "philly_log");
  const auto trace = read_text(file());
  ASSERT_TRUE(trace);
  expect_csv_loses_nothing(*trace);
}

TEST(PhillyLog, BadJobsHaveLineAndField) {
  const std::string good = job("a", attempt("2017-10-07 02:00:00", "2017-10-07 03:00:00", 1, 1));
  struct Bad {
    std::string job;
    const char* field;
  };
  for (const Bad& bad :
       std::vector<Bad>{{job("b", attempt("2017-10-07 02:00:00", "2017-10-07 01:00:00", 1, 1)), "end_time"},
                        {job("b", attempt("2017-10-07", "2017-10-07 01:00:00", 1, 1)), "start_time"},
                        {job("", attempt("2017-10-07 02:00:00", "2017-10-07 03:00:00", 1, 1)), "jobid"},
                        {job("a", attempt("2017-10-07 02:00:00", "2017-10-07 03:00:00", 1, 1)), "job_id"},
                        {"{\"jobid\": \"b\", \"submitted_time\": \"2017-10-07 02:00:00\"}", "attempts"},
                        {"{\"jobid\": \"b\", \"attempts\": []}", "submitted_time"},
                        {"{\"jobid\": \"b\", \"attempts\": [], \"submitted_time\": 5}", "submitted_time"},
                        {"{\"jobid\": b}", ""},
                        {"[]", ""}}) {
    const std::string text = "[" + good + ",\n" + bad.job + "]";
    const auto strict = read_text(text);
    ASSERT_FALSE(strict) << bad.job;
    EXPECT_EQ(strict.error().field, bad.field) << strict.error().text();
    EXPECT_EQ(strict.error().line, 4) << strict.error().text();
    ReadOptions options;
    options.skip_bad = true;
    const auto lenient = read_text(text, options);
    ASSERT_TRUE(lenient) << lenient.error().text();
    EXPECT_EQ(lenient->rows.size(), 1U);
    EXPECT_EQ(lenient->skipped_lines, 1U);
  }
}

}  // namespace
}  // namespace comity::trace
