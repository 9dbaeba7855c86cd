// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/units.h"

namespace comity {
namespace {

TEST(LogTest, LevelsFilter) {
  testing::internal::CaptureStderr();
  set_log_level(LogLevel::kWarning);
  log_debug("a");
  log_info("b");
  log_warning("c");
  log_error("d");
  set_log_level(LogLevel::kDebug);
  log_debug("e");
  log_info("f");
  set_log_level(LogLevel::kInfo);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "comity: warning: c\ncomity: error: d\ncomity: debug: e\ncomity: f\n");
}

TEST(LogTest, ProgressIsSilentWhereStderrIsNoTerminal) {
  testing::internal::CaptureStderr();
  {
    Progress progress("reading", "jobs", 10, false);
    ::usleep(120'000);
    progress.update(5);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(LogTest, ProgressText) {
  EXPECT_EQ(progress_text("reading", "jobs", 4'200'000, 10'000'000, 2 * kSecond),
            "reading  42 %  2.1 M jobs/s  2.0 s left");
  EXPECT_EQ(progress_text("reading", "jobs", 340, 0, kSecond), "reading  340 jobs  340 jobs/s");
  EXPECT_EQ(progress_text("r", "jobs", 0, 10, 0), "r  0 %  0 jobs/s");
  EXPECT_EQ(progress_text("r", "jobs", 20, 10, kSecond), "r  100 %  20 jobs/s");
  EXPECT_EQ(progress_text("r", "B", 999'999, 0, kSecond), "r  1.0 M B  1.0 M B/s");
}

void interrupt_once() {
  install_interrupt_handler();
  const bool before = interrupted();
  ::raise(SIGINT);
  std::_Exit(!before && interrupted() ? 0 : 1);
}

void interrupt_twice() {
  install_interrupt_handler();
  ::raise(SIGTERM);
  ::raise(SIGINT);
  std::_Exit(1);
}

TEST(LogTest, FirstSignalIsNotedSecondEndsTheProcess) {
  EXPECT_EXIT(interrupt_once(), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(interrupt_twice(), testing::ExitedWithCode(130), "");
}

TEST(LogTest, MeasuresOfTheProcess) {
  const std::int64_t before = steady_ns();
  ::usleep(2000);
  EXPECT_GE(steady_ns() - before, 2 * kMillisecond);
  const std::uint64_t rss = peak_rss_bytes();
  EXPECT_GT(rss, std::uint64_t{1} << 20);
  const std::vector<char> block(rss + (16U << 20), 1);  // more than was ever resident
  EXPECT_EQ(block[block.size() / 2], 1);
  EXPECT_GT(peak_rss_bytes(), rss);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_FALSE(is_terminal(ends[0]));
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace comity
