// SPDX-License-Identifier: Apache-2.0
#include "trace/synth.h"

#include <cmath>

#include <gtest/gtest.h>

#include "trace/stats.h"
#include "trace/test_files.h"
#include "trace/writer.h"

namespace comity::trace {
namespace {

std::string as_csv(const Trace& trace) {
  std::string out;
  append_csv_header(out, needed_columns(trace));
  for (std::size_t i = 0; i < trace.rows.size(); ++i) append_csv_row(out, needed_columns(trace), trace, i);
  return out;
}

// sing.md 7.5: mean size 10.08 GPUs, mean run 9.78 h times the scale, 1136 jobs a week at load 100.
TEST(SynthSing, MeansAndRhythm) {
  SingOptions options;
  options.weeks = 60;
  const auto trace = synth_sing(options);
  ASSERT_TRUE(trace);
  const double jobs = static_cast<double>(trace->rows.size());
  double gpus = 0;
  double hours = 0;
  std::array<double, 168> arrivals{};
  for (const Row& row : trace->rows) {
    gpus += static_cast<double>(row.request.shape.total());
    hours += to_hours(row.duration);
    EXPECT_LE(row.duration, kDay);
    if (row.submit >= kDay) arrivals[static_cast<std::size_t>((row.submit - kDay) / kHour % 168)] += 1;
  }
  EXPECT_NEAR(gpus / jobs, 10.08, 0.03 * 10.08);
  EXPECT_NEAR(hours / jobs, 9.78 * 0.15, 0.03 * 9.78 * 0.15);
  const double expected = 100 * 168 / (10.08 * 9.78 * 0.15);
  EXPECT_NEAR(expected, 1136, 1);
  const auto weights = sing_arrival_weights(options.phi);
  double sum = 0;
  double chi2 = 0;
  for (std::size_t i = 0; i < 168; ++i) {
    const double mean = 60 * expected * weights[i];
    chi2 += (arrivals[i] - mean) * (arrivals[i] - mean) / mean;
    sum += weights[i];
  }
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_NEAR(chi2, 168, 5 * std::sqrt(2 * 168.0));  // noise, and no more
}

TEST(SynthSing, RunTimesStopAtADay) {
  SingOptions options;
  options.scale = 3;
  options.weeks = 20;
  const auto trace = synth_sing(options);
  ASSERT_TRUE(trace);
  Time longest = 0;
  for (const Row& row : trace->rows) longest = std::max(longest, row.duration);
  EXPECT_EQ(longest, kDay);
}

TEST(Synth, TheSameSeedGivesTheSameBytes) {
  SingOptions sing;
  const auto a = synth_sing(sing);
  const auto b = synth_sing(sing);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(as_csv(*a), as_csv(*b));
  sing.seed = 2;
  EXPECT_NE(as_csv(*a), as_csv(*synth_sing(sing)));
  SteadyOptions steady;
  steady.jobs = 1000;
  EXPECT_EQ(as_csv(*synth_steady(steady)), as_csv(*synth_steady(steady)));
  const auto week = synth_bootstrap(*a, {});
  ASSERT_TRUE(week);
  EXPECT_EQ(as_csv(*week), as_csv(*synth_bootstrap(*a, {})));
}

TEST(SynthSteady, OffersTheLoad) {
  SteadyOptions options;
  options.jobs = 200'000;
  options.sigma = 1;
  const auto trace = synth_steady(options);
  ASSERT_TRUE(trace);
  const TraceStats stats = trace_stats(*trace);
  EXPECT_NEAR(stats.mean_gpus_demanded, 0.9 * 512, 0.03 * 0.9 * 512);
  EXPECT_EQ(stats.max_gpus, 32U);
  for (std::size_t i = 1; i < trace->rows.size(); ++i) ASSERT_GE(trace->rows[i].submit, trace->rows[i - 1].submit);
  options.gpus = 4;
  EXPECT_EQ(trace_stats(*synth_steady(options)).max_gpus, 4U);
}

TEST(SynthBootstrap, KeepsBlocksWhole) {
  // Two weeks; day d of week w has d + 1 jobs of user "w<w>" at one instant.
  Trace source;
  for (int w = 0; w < 2; ++w) {
    for (int d = 0; d < 7; ++d) {
      for (int j = 0; j <= d; ++j) {
        Row row;
        row.submit = (w * 7 + d) * kDay + 5 * kHour;
        row.duration = kHour;
        row.request.shape.gpus = 1;
        row.request.user = source.names.intern(w == 0 ? "first" : "second");
        source.rows.push_back(row);
      }
    }
  }
  BootstrapOptions options;
  options.weeks = 10;
  const auto trace = synth_bootstrap(source, options);
  ASSERT_TRUE(trace) << trace.error().text();
  ASSERT_EQ(trace->rows.size(), 10U * 28);  // each day of the week has the same number in either week
  for (std::size_t i = 0; i < trace->rows.size(); ++i) {
    const Row& row = trace->rows[i];
    EXPECT_EQ(row.id, static_cast<std::int64_t>(i));
    EXPECT_EQ(row.submit % kDay, 5 * kHour);
    EXPECT_NE(row.request.user, profile::kNoName);
  }
  options.load_factor = 2.5;
  const auto more = synth_bootstrap(source, options);
  ASSERT_TRUE(more);
  EXPECT_NEAR(static_cast<double>(more->rows.size()), 700, 50);
}

TEST(SynthBootstrap, PhillyKeepsItsLoad) {
  const std::string path = shared_trace("philly_week_20171001.csv");
  COMITY_NEED_TRACE(path)
  const auto source = read_trace(path, {});
  ASSERT_TRUE(source);
  for (const bool by_hour : {false, true}) {
    BootstrapOptions options;
    options.weeks = 4;
    options.by_hour = by_hour;
    const auto trace = synth_bootstrap(*source, options);
    ASSERT_TRUE(trace);
    EXPECT_NEAR(static_cast<double>(trace->rows.size()), 4 * 10'650, 0.1 * 4 * 10'650);
    EXPECT_EQ(trace->names.size(), source->names.size());
  }
}

TEST(Synth, RefusesNonsense) {
  SingOptions sing;
  sing.phi = 2;
  EXPECT_EQ(synth_sing(sing).error().code, Code::kUsage);
  sing = {};
  sing.load = 1e12;
  EXPECT_EQ(synth_sing(sing).error().code, Code::kUsage);
  sing.load = NAN;
  EXPECT_EQ(synth_sing(sing).error().code, Code::kUsage);
  SteadyOptions steady;
  steady.load = 0;
  EXPECT_EQ(synth_steady(steady).error().code, Code::kUsage);
  steady = {};
  steady.gpus = 1;
  steady.load = 0.0001;
  steady.jobs = 1'000'000'000;
  EXPECT_EQ(synth_steady(steady).error().code, Code::kUsage);
  EXPECT_EQ(synth_bootstrap(Trace{}, {}).error().code, Code::kInput);
}

TEST(SynthBootstrap, RefusesAtOnceWhatWouldBeTooMuch) {
  Trace source;
  source.rows.resize(2000);  // in one day
  for (Row& row : source.rows) row.request.shape.gpus = 1;
  BootstrapOptions options;
  options.weeks = 2000;  // 28 million jobs
  options.load_factor = 4;
  const auto refused = synth_bootstrap(source, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUsage);
  EXPECT_NE(refused.error().message.find("112 million"), std::string::npos) << refused.error().message;
}

}  // namespace
}  // namespace comity::trace
