// SPDX-License-Identifier: Apache-2.0
// Whole replays: the hand case of the review's V1 on every policy, the eleven-job case of SING's demonstration, and a
// plain reference scheduler that looks at every job at every event.
#include "twin/replay.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace comity::twin {
namespace {

trace::Trace make_trace(const std::vector<std::array<std::int64_t, 4>>& jobs) {  // nodes, gpus, submit s, duration s
  trace::Trace trace;
  for (const auto& j : jobs) {
    trace::Row row;
    row.id = static_cast<std::int64_t>(trace.rows.size());
    row.request.shape = {static_cast<std::uint32_t>(j[0]), static_cast<std::uint32_t>(j[1])};
    row.submit = j[2] * kSecond;
    row.duration = j[3] * kSecond;
    trace.rows.push_back(row);
  }
  return trace;
}

RunResult run(const trace::Trace& trace, const std::string& policy, const std::string& nodes,
              cluster::Placement placement, const std::map<std::string, std::string>& sets = {}, bool detail = false) {
  Params params = sched::all_params();
  for (const auto& [name, value] : sets) EXPECT_TRUE(params.set(name, value).has_value());
  ReplayOptions options;
  options.cluster = *cluster::parse_nodes(nodes);
  options.placement = placement;
  options.mode = Mode::kSkip;
  options.detail = detail;
  const Workload workload(trace, Ties::kId);
  auto result = replay(workload, **sched::find_policy(policy), params, options);
  EXPECT_TRUE(result.has_value()) << policy << ": " << (result ? "" : result.error().text());
  return result ? *result : RunResult{};
}

TEST(Replay, HandCase) {  // specs: V1
  const trace::Trace trace =
      make_trace({{0, 4, 0, 10}, {0, 6, 1, 10}, {0, 2, 2, 8}, {0, 4, 3, 4}, {0, 2, 4, 30}, {0, 8, 5, 5}});
  const std::map<std::string, std::array<double, 3>> expected = {{"fifo", {27, 95 / 6.0, 55}},
                                                                 {"fit", {122 / 6.0, 55 / 6.0, 39}},
                                                                 {"sjf", {116 / 6.0, 49 / 6.0, 49}},
                                                                 {"easy", {122 / 6.0, 55 / 6.0, 39}},
                                                                 {"conservative", {122 / 6.0, 55 / 6.0, 39}}};
  for (const auto& [policy, want] : expected) {
    const RunResult r = run(trace, policy, "1x8", cluster::Placement::kCount);
    EXPECT_NEAR(r.avg_jct_s, want[0], 1e-9) << policy;
    EXPECT_NEAR(r.avg_queue_s, want[1], 1e-9) << policy;
    EXPECT_NEAR(r.makespan_s, want[2], 1e-9) << policy;
  }
}

std::vector<std::array<std::int64_t, 4>> demonstration() {  // SING specs 11.2
  std::vector<std::array<std::int64_t, 4>> jobs = {{6, 8, 0, 14}, {4, 8, 0, 5}};
  for (int i = 0; i < 12; ++i) jobs.push_back({1, 4, 0, 4});
  return jobs;
}
std::vector<double> starts(const RunResult& r) {
  std::vector<double> out;
  for (const JobOutcome& o : r.detail.front().jobs) out.push_back(to_seconds(o.first_start));
  return out;
}

TEST(Replay, ExactlyTheHeadsSizeOvertakesIt) {
  const trace::Trace trace = make_trace(demonstration());
  const auto one = starts(run(trace, "sing", "8x8", cluster::Placement::kBestFit, {}, true));
  EXPECT_EQ(one[1], 14);
  EXPECT_EQ(std::count_if(one.begin() + 2, one.end(), [](double t) { return t < 14; }) * 4, 32);
  const auto none = starts(run(trace, "sing", "8x8", cluster::Placement::kBestFit, {{"sing.factor", "0"}}, true));
  EXPECT_EQ(none[1], 14);
  EXPECT_TRUE(std::all_of(none.begin() + 2, none.end(), [](double t) { return t >= 14; }));
  const auto all = starts(run(trace, "sing", "8x8", cluster::Placement::kBestFit, {{"sing.factor", "inf"}}, true));
  for (int i = 0; i < 12; ++i) EXPECT_EQ(all[static_cast<std::size_t>(2 + i)], 4 * (i / 4));
}

TEST(Replay, AJobMovedAndSuspendedInOnePassLeavesItsNodes) {
  // At 60 s the first job is moved to make a node free for the fourth; then the oldest make room for the fifth.
  const trace::Trace trace =
      make_trace({{1, 2, 0, 1000}, {1, 2, 0, 10}, {1, 2, 0, 1000}, {1, 4, 20, 1000}, {1, 4, 20, 1000}});
  const RunResult r = run(trace, "gandiva", "2x4", cluster::Placement::kBestFit, {{"gandiva.pack", "false"}}, true);
  EXPECT_EQ(r.finished, 5U);
  EXPECT_EQ(r.migrations, 1U);
  for (const Stretch& a : r.detail.front().stretches) {
    EXPECT_TRUE(a.job != 0 || a.end <= 60 * kSecond || a.start > 60 * kSecond);
  }
}

trace::Trace random_trace(std::uint64_t seed, std::size_t jobs, bool equal_instants, std::uint64_t longest_s = 60,
                          std::uint64_t widest = 12) {
  Rng rng(seed);
  trace::Trace trace;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < jobs; ++i) {
    trace::Row row;
    row.id = static_cast<std::int64_t>(i);
    at += static_cast<std::int64_t>(rng.below(equal_instants ? 3 : 30));
    row.submit = at * kSecond;
    row.duration = static_cast<Time>(rng.below(longest_s)) * kSecond;
    row.request.shape.gpus = static_cast<std::uint32_t>(1 + rng.below(widest));
    trace.rows.push_back(row);
  }
  return trace;
}

// Every job at every second: fifo (skip = false), fit (skip), sjf, by GPU count. Returns the sum of starts in seconds.
std::int64_t reference(const trace::Trace& trace, bool skip, bool shortest, std::int64_t gpus) {
  std::vector<std::int64_t> start(trace.rows.size(), -1);
  std::size_t left = trace.rows.size();
  for (std::int64_t now = 0; left > 0; ++now) {
    for (bool again = true; again;) {  // a job of length 0 frees its GPUs within the instant
      again = false;
      std::int64_t free = gpus;
      std::vector<std::size_t> waiting;
      for (std::size_t i = 0; i < start.size(); ++i) {
        const trace::Row& r = trace.rows[i];
        if (start[i] >= 0 && start[i] * kSecond + r.duration > now * kSecond) free -= r.request.shape.gpus;
        if (start[i] < 0 && r.submit <= now * kSecond) waiting.push_back(i);
      }
      if (shortest)
        std::stable_sort(waiting.begin(), waiting.end(),
                         [&](std::size_t a, std::size_t b) { return trace.rows[a].duration < trace.rows[b].duration; });
      for (const std::size_t i : waiting) {
        if (trace.rows[i].request.shape.gpus > free) {
          if (skip) continue;
          break;
        }
        free -= trace.rows[i].request.shape.gpus;
        start[i] = now;
        --left;
        again = again || trace.rows[i].duration == 0;
      }
    }
  }
  std::int64_t sum = 0;
  for (const std::int64_t s : start) sum += s;
  return sum;
}

std::int64_t sum_of_starts(const RunResult& r) {
  std::int64_t sum = 0;
  for (const JobOutcome& o : r.detail.front().jobs) sum += o.first_start / kSecond;
  return sum;
}

TEST(Replay, AgreesWithLookingAtEveryJobEverySecond) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    const trace::Trace trace = random_trace(seed, 120, seed % 2 == 0);
    const auto count = cluster::Placement::kCount;
    EXPECT_EQ(sum_of_starts(run(trace, "fifo", "3x4", count, {}, true)), reference(trace, false, false, 12)) << seed;
    EXPECT_EQ(sum_of_starts(run(trace, "fit", "3x4", count, {}, true)), reference(trace, true, false, 12)) << seed;
    EXPECT_EQ(sum_of_starts(run(trace, "sjf", "3x4", count, {}, true)), reference(trace, false, true, 12)) << seed;
    EXPECT_EQ(sum_of_starts(run(trace, "sjf", "3x4", count, {{"sjf.blocking", "skip"}}, true)),
              reference(trace, true, true, 12))
        << seed;
    EXPECT_EQ(sum_of_starts(run(trace, "sing", "3x4", count, {{"sing.factor", "0"}}, true)),
              reference(trace, false, false, 12))
        << seed;
    EXPECT_EQ(sum_of_starts(run(trace, "sing", "3x4", count, {{"sing.factor", "inf"}}, true)),
              reference(trace, true, false, 12))
        << seed;
  }
}

TEST(Replay, EveryPolicyConservesJobsAndGpuTimeUnderEveryPlacement) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    // Long jobs outlive the slices and leases of policies that suspend, narrow ones are migrated.
    const trace::Trace trace =
        seed % 4 < 2 ? random_trace(seed, 200, seed % 2 == 0) : random_trace(seed, 200, seed % 2 == 0, 1800, 4);
    for (const sched::PolicyInfo& info : sched::registry()) {
      for (const std::string& name : cluster::placement_names()) {
        const RunResult r = run(trace, info.name, "4x4", *cluster::parse_placement(name), {}, true);
        EXPECT_EQ(r.submitted, 200U);
        EXPECT_EQ(r.finished + r.rejected, 200U) << info.name << " " << name;
        std::map<std::pair<std::uint32_t, Time>, std::int64_t> change;  // GPUs held on a node over time
        for (const Stretch& s : r.detail.front().stretches) {
          change[{s.node, s.start}] += s.gpus;
          change[{s.node, s.end}] -= s.gpus;
        }
        std::map<std::uint32_t, std::int64_t> held;
        for (const auto& [at, gpus] : change) EXPECT_LE(held[at.first] += gpus, 4) << info.name << " " << name;
      }
    }
  }
}

TEST(Replay, SameBytesOnAnyNumberOfThreads) {
  const trace::Trace trace = random_trace(3, 400, true);
  const Workload workload(trace, Ties::kId);
  std::vector<const sched::PolicyInfo*> policies;
  for (const sched::PolicyInfo& info : sched::registry()) policies.push_back(&info);
  ReplayOptions options;
  options.cluster = *cluster::parse_nodes("4x4");
  options.mode = Mode::kSkip;
  const auto one = replay_all(workload, policies, sched::all_params(), options, 1);
  const auto two = replay_all(workload, policies, sched::all_params(), options, 2);
  ASSERT_TRUE(one.has_value());
  ASSERT_TRUE(two.has_value());
  for (std::size_t i = 0; i < policies.size(); ++i) {
    EXPECT_EQ((*one)[i].fingerprint, (*two)[i].fingerprint) << policies[i]->name;
    EXPECT_EQ((*one)[i].avg_jct_s, (*two)[i].avg_jct_s);
  }
}

TEST(Replay, AJobThatCanNeverRunIsNamedOrCounted) {
  const trace::Trace trace = make_trace({{0, 1, 0, 1}, {0, 99, 0, 1}, {3, 4, 0, 1}});
  const Workload workload(trace, Ties::kId);
  ReplayOptions options;
  options.cluster = *cluster::parse_nodes("2x4");
  const auto strict = replay(workload, **sched::find_policy("fifo"), Params(), options);
  ASSERT_FALSE(strict.has_value());
  EXPECT_EQ(strict.error().code, Code::kInput);
  EXPECT_NE(strict.error().message.find("job 1, 2"), std::string::npos) << strict.error().message;
  const RunResult skip = run(trace, "fifo", "2x4", cluster::Placement::kBestFit);
  EXPECT_EQ(skip.rejected, 2U);
  EXPECT_EQ(skip.finished, 1U);
}

TEST(Replay, PreemptionCostIsAddedToTheWork) {
  const trace::Trace trace = make_trace({{0, 4, 0, 100}, {0, 4, 10, 20}});
  const RunResult free = run(trace, "srtf", "1x4", cluster::Placement::kCount);
  const RunResult paid = run(trace, "srtf", "1x4", cluster::Placement::kCount, {{"srtf.preemption_cost", "7"}});
  EXPECT_EQ(free.preemptions, 1U);
  EXPECT_EQ(free.makespan_s, 120);
  EXPECT_EQ(paid.makespan_s, 127);
  EXPECT_EQ(paid.avg_queue_s, 10);
}

TEST(Replay, PeakRuleWarnsAndStopsAfterTheGraceOnlyWhileSomebodyWaits) {  // SING verify 8
  const std::map<std::string, std::string> on = {{"sing.peak", "true"}};
  const auto alone = run(make_trace({{0, 4, 0, 200000}}), "sing", "1x4", cluster::Placement::kCount, on, true);
  EXPECT_EQ(alone.stopped, 0U);
  const auto waited =
      run(make_trace({{0, 4, 0, 200000}, {0, 4, 1000, 50}}), "sing", "1x4", cluster::Placement::kCount, on, true);
  EXPECT_EQ(waited.stopped, 1U);
  EXPECT_EQ(to_seconds(waited.detail.front().jobs[0].end), 86400 + 600);
  EXPECT_EQ(to_seconds(waited.detail.front().jobs[1].first_start), 86400 + 600);
}

}  // namespace
}  // namespace comity::twin
