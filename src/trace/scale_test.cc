// SPDX-License-Identifier: Apache-2.0
#include "trace/scale.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "trace/stats.h"
#include "trace/test_files.h"

namespace comity::trace {
namespace {

Trace make(const std::vector<std::array<std::int64_t, 3>>& jobs) {  // submit s, duration s, GPUs
  Trace trace;
  for (const auto& [submit, duration, gpus] : jobs) {
    Row row;
    row.submit = submit * kSecond;
    row.duration = duration * kSecond;
    row.request.shape.gpus = static_cast<std::uint32_t>(gpus);
    row.id = static_cast<std::int64_t>(trace.rows.size());
    trace.rows.push_back(row);
  }
  return trace;
}

Trace any_trace() {
  std::vector<std::array<std::int64_t, 3>> jobs;
  const auto count = *rc::gen::inRange<std::size_t>(2, 40);
  for (std::size_t i = 0; i < count; ++i)
    jobs.push_back({*rc::gen::inRange<std::int64_t>(0, 1'000'000), *rc::gen::inRange<std::int64_t>(1, 100'000),
                    *rc::gen::inRange<std::int64_t>(1, 600)});
  return make(jobs);
}

TEST(Scale, TimesAreExact) {
  Trace trace = make({{100, 10, 1}, {110, 20, 1}, {400, 30, 1}});
  trace.rows[1].request.estimate = 50 * kSecond;
  trace.rows[2].wait = 7 * kSecond;
  const auto report = scale_trace(trace, {.time = 1.1, .duration = 0.3});
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(trace.rows[0].submit, 100 * kSecond);
  EXPECT_EQ(trace.rows[1].submit, 111 * kSecond);
  EXPECT_EQ(trace.rows[2].submit, 430 * kSecond);
  EXPECT_EQ(trace.rows[0].duration, 3 * kSecond);
  EXPECT_EQ(trace.rows[1].request.estimate, 15 * kSecond);
  EXPECT_EQ(trace.rows[0].request.estimate, -1);
  EXPECT_EQ(trace.rows[2].wait, -1);
  EXPECT_EQ(report->changes.size(), 3U);  // run times, submits, waits
}

TEST(Scale, WhatGoesWithSizesAndRunTimes) {
  auto trace = read_text("submit_s,duration_s,gpus,deadlines,cpu_milli,host_memory_mb\n0,10,2,60:1:strict,1500,1000\n");
  ASSERT_TRUE(trace) << trace.error().text();
  ASSERT_TRUE(scale_trace(*trace, {.duration = 2, .size = 3}));
  EXPECT_EQ(trace->deadlines.at(0).after, 120 * kSecond);
  EXPECT_EQ(trace->attributes.at(0).cpu_milli, 4500);
  EXPECT_EQ(trace->attributes.at(0).host_memory_mb, 3000);
}

TEST(Scale, LongTimesKeepTheirLastDigit) {
  Trace trace = make({{0, 1, 1}, {1'000'000'007, 1, 1}});
  trace.rows[1].submit += 3;
  ASSERT_TRUE(scale_trace(trace, {.time = 1.5}));
  EXPECT_EQ(trace.rows[1].submit, 1'500'000'010'500'000'005);  // 4.5 ns, halves up
}

TEST(Scale, SizesRoundAsSaid) {
  const auto sizes = [](double by, bool keep) {
    std::vector<std::int64_t> out;
    Trace trace = make({{0, 1, 1}, {1, 1, 2}, {2, 1, 3}, {3, 1, 4}, {4, 1, 12}, {5, 1, 64}});
    EXPECT_TRUE(scale_trace(trace, {.size = by, .keep_powers = keep}));
    for (const Row& row : trace.rows) out.push_back(row.request.shape.gpus);
    return out;
  };
  using List = std::vector<std::int64_t>;
  EXPECT_EQ(sizes(1.5, false), (List{2, 3, 5, 6, 18, 96}));
  EXPECT_EQ(sizes(1.5, true), (List{2, 4, 5, 8, 18, 128}));  // 1.5 is nearer to 2 than to 1, as a ratio
  EXPECT_EQ(sizes(1.4, true), (List{1, 2, 4, 4, 17, 64}));
  EXPECT_EQ(sizes(0.25, false), (List{1, 1, 1, 1, 3, 16}));
}

TEST(Scale, NodesGrowAndShrink) {
  const auto shape = [](profile::Shape old, double by) {
    Trace trace = make({{0, 1, 1}});
    trace.rows[0].request.shape = old;
    EXPECT_TRUE(scale_trace(trace, {.size = by}));
    return trace.rows[0].request.shape;
  };
  EXPECT_EQ(shape({2, 8}, 3), (profile::Shape{6, 8}));
  EXPECT_EQ(shape({4, 8}, 0.5), (profile::Shape{2, 8}));
  EXPECT_EQ(shape({2, 8}, 0.25), (profile::Shape{1, 4}));
  EXPECT_EQ(shape({1, 2}, 2), (profile::Shape{2, 2}));
}

TEST(Scale, ReachesTheLoad) {
  EXPECT_TRUE(rc::check("the statistics of the result have the load asked for", [] {
    Trace trace = any_trace();
    const std::size_t jobs = trace.rows.size();
    trace.rows[0].submit = 0;
    trace.rows[1].submit = 2'000'000 * kSecond;
    const double load = *rc::gen::inRange(1, 300) / 100.0;
    const auto report = scale_trace(trace, {.load = load, .gpus = 512});
    if (!report) {  // a factor below a millionth or a time above 73 years
      RC_ASSERT(report.error().field == "--load");
      return;
    }
    const TraceStats stats = trace_stats(trace);
    RC_ASSERT(stats.jobs == jobs);
    // The factor has twelve digits behind the point, so a small one is less exact.
    RC_ASSERT(std::abs(stats.mean_gpus_demanded / 512 - load) < 2e-6 * load);
  }));
}

TEST(Scale, PhillyAtALoad) {
  const std::string path = shared_trace("philly_week_20171001.csv");
  COMITY_NEED_TRACE(path)
  auto trace = read_trace(path, {});
  ASSERT_TRUE(trace);
  const double before = trace_stats(*trace).gpu_hours;
  const auto report = scale_trace(*trace, {.load = 0.8, .gpus = 512});
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_NEAR(report->mean_gpus_before, 511, 0.5);
  const TraceStats after = trace_stats(*trace);
  EXPECT_NEAR(after.mean_gpus_demanded, 0.8 * 512, 1e-6);
  EXPECT_EQ(after.gpu_hours, before);
}

TEST(Scale, SamplesNestAndRepeat) {
  EXPECT_TRUE(rc::check("a smaller sample is part of a larger one", [] {
    const Trace trace = any_trace();
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const auto ids = [&](double sample) {
      Trace part;
      part.rows = trace.rows;
      std::set<std::int64_t> out;
      if (scale_trace(part, {.sample = sample, .seed = seed}))
        for (const Row& row : part.rows) out.insert(row.id);
      return out;
    };
    const std::set<std::int64_t> small = ids(0.3);
    const std::set<std::int64_t> large = ids(0.7);
    RC_ASSERT(small == ids(0.3));
    RC_ASSERT(std::includes(large.begin(), large.end(), small.begin(), small.end()));
    RC_ASSERT(ids(1).size() == trace.rows.size());
  }));
  Trace many = make(std::vector<std::array<std::int64_t, 3>>(20'000, {1, 1, 1}));
  ASSERT_TRUE(scale_trace(many, {.sample = 0.25}));
  EXPECT_NEAR(static_cast<double>(many.rows.size()), 5000, 5 * std::sqrt(20'000 * .25 * .75));
}

TEST(Scale, WindowKeepsIdsAndTimes) {
  Trace trace = make({{10, 1, 1}, {20, 1, 1}, {30, 1, 1}, {20, 5, 2}});
  trace.text_ids = {"a", "b", "c", "d"};
  const auto report = scale_trace(trace, {.from = 20 * kSecond, .to = 30 * kSecond});
  ASSERT_TRUE(report);
  EXPECT_EQ(trace.text_ids, (std::vector<std::string>{"b", "d"}));
  ASSERT_EQ(trace.rows.size(), 2U);
  EXPECT_EQ(trace.rows[1].duration, 5 * kSecond);
  EXPECT_EQ(trace.rows[0].submit, 20 * kSecond);
}

TEST(Scale, NamesTheOptionThatIsWrong) {
  const std::vector<std::pair<ScaleOptions, std::string>> cases = {{{.time = 0}, "--time"},
                                                                   {{.time = NAN}, "--time"},
                                                                   {{.duration = -1}, "--duration"},
                                                                   {{.size = 1e9}, "--size"},
                                                                   {{.keep_powers = true}, "--keep-powers"},
                                                                   {{.load = 1}, "--load"},
                                                                   {{.load = 0, .gpus = 8}, "--load"},
                                                                   {{.load = NAN, .gpus = 8}, "--load"},
                                                                   {{.time = 2, .load = 1, .gpus = 8}, "--load"},
                                                                   {{.from = 5, .to = 5}, "--to"},
                                                                   {{.sample = 0}, "--sample"},
                                                                   {{.sample = 1.5}, "--sample"},
                                                                   {{.size = 1e6}, "--size"},
                                                                   {{.duration = 1e6}, "--duration"},
                                                                   {{.time = 1e6}, "--time"},
                                                                   {{.load = 1e6, .gpus = 1'000'000}, "--load"}};
  for (const auto& [options, field] : cases) {
    Trace trace = make({{0, 1, 2}, {100'000, 100'000, 2}});
    const auto report = scale_trace(trace, options);
    ASSERT_FALSE(report) << field;
    EXPECT_EQ(report.error().code, Code::kUsage);
    EXPECT_EQ(report.error().field, field);
  }
  Trace instant = make({{5, 10, 1}, {5, 10, 1}});
  EXPECT_EQ(scale_trace(instant, {.load = 1, .gpus = 8}).error().code, Code::kInput);
  Trace outside = make({{5, 10, 1}});
  EXPECT_EQ(scale_trace(outside, {.from = kDay}).error().code, Code::kInput);
}

}  // namespace
}  // namespace comity::trace
