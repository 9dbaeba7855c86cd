// SPDX-License-Identifier: Apache-2.0
#include "trace/stats.h"

#include <numeric>

#include <gtest/gtest.h>

#include "trace/test_files.h"

namespace comity::trace {
namespace {

TEST(Stats, SmallTrace) {
  const auto trace = read_text("submit_s,duration_s,gpus,tenant\n0,3600,2,a\n3600,7200,4,b\n36000,0.5,2,a\n");
  ASSERT_TRUE(trace) << trace.error().text();
  const TraceStats stats = trace_stats(*trace);
  EXPECT_EQ(stats.jobs, 3U);
  EXPECT_NEAR(stats.gpu_hours, 10 + 1.0 / 3600, 1e-9);
  EXPECT_EQ(stats.span_s, 36'000);
  EXPECT_NEAR(stats.mean_gpus_demanded, 1, 1e-3);
  ASSERT_EQ(stats.sizes.size(), 2U);
  EXPECT_EQ(stats.sizes[0].jobs, 2U);
  ASSERT_EQ(stats.tenants.size(), 2U);
  EXPECT_EQ(stats.tenants[0].name, "b");
  EXPECT_TRUE(stats.users.empty());
  EXPECT_EQ(stats.duration_s.median, 3600);
  EXPECT_EQ(stats.duration_histogram.below, 1U);
  EXPECT_EQ(stats.arrivals_by_hour_of_week[10], 1U);
  EXPECT_EQ(trace_stats(Trace{}).jobs, 0U);
}

// The README's numbers: 85,803 GPU hours, 511 GPUs on average.
TEST(Stats, PhillyWeek) {
  const std::string path = shared_trace("philly_week_20171001.csv");
  COMITY_NEED_TRACE(path)
  const auto trace = read_trace(path, {});
  ASSERT_TRUE(trace);
  const TraceStats stats = trace_stats(*trace);
  EXPECT_NEAR(stats.gpu_hours, 85'803, 1);
  EXPECT_NEAR(stats.mean_gpus_demanded, 511, 1);
  const auto& hours = stats.arrivals_by_hour_of_week;
  EXPECT_EQ(std::accumulate(hours.begin(), hours.end(), std::uint64_t{0}), 10'650U);
}

}  // namespace
}  // namespace comity::trace
