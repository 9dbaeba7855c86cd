// SPDX-License-Identifier: Apache-2.0
#include "plan/spot.h"

#include <cmath>
#include <functional>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/spot_search.h"

namespace comity::plan {
namespace {

// Round numbers in the manner of a cloud's list.
SpotQuestion question() {
  SpotQuestion q;
  q.instances = {{"cpu", "", 0, 0, 0.4, 0, 1.25, 0, 4},
                 {"t4", "T4", 1, 20, 0.53, 0.16, 0.6, 0.05, 16},
                 {"v100", "V100", 1, 60, 3.06, 0.92, 1.25, 0.08, 16},
                 {"a10g", "A10G", 1, 55, 1.0, 0.4, 1.25, 0.04, 16}};
  q.work_tflop = 2e7;
  q.deadline_h = 24;
  q.checkpoint_gb = 4;
  q.scaling = 0.95;
  return q;
}

TEST(Checkpoints, IntervalsAreNearTheBest) {
  const Interruptions w{1.0 / 36000, 30, 120};
  const double best = best_interval_s(w);
  EXPECT_NEAR(young_interval_s(w), std::sqrt(2 * 30 * 36000.0), 1e-9);
  EXPECT_NEAR(daly_interval_s(w) / best, 1, 0.01);
  EXPECT_NEAR(young_interval_s(w) / best, 1, 0.05);
  for (const double other : {best * 0.7, best * 1.4, young_interval_s(w), daly_interval_s(w)})
    EXPECT_LE(expected_time_s(w, 1e9, best), expected_time_s(w, 1e9, other) * (1 + 1e-6));
  EXPECT_TRUE(std::isinf(best_interval_s({0, 30, 120})));
}

TEST(Checkpoints, SimulationAgreesWithTheClosedForm) {
  for (const Interruptions& w : {Interruptions{1.0 / 3600, 20, 60}, {1.0 / 900, 30, 200}, {1.0 / 20000, 5, 0}}) {
    const double interval = best_interval_s(w);
    const double work = 20000;
    double sum = 0;
    double squares = 0;
    const int runs = 4000;
    for (int i = 0; i < runs; ++i) {
      const double t = simulate_run(w, work, interval, 11, static_cast<std::uint64_t>(i)).time_s;
      sum += t;
      squares += t * t;
    }
    const double mean = sum / runs;
    const double error = std::sqrt((squares / runs - mean * mean) / runs);
    EXPECT_NEAR(mean, expected_time_s(w, work, interval), 4 * error);
  }
  const InterruptedRun calm = simulate_run({0, 10, 99}, 1000, 100, 1);
  EXPECT_DOUBLE_EQ(calm.time_s, 1000 + 10 * 10);
  EXPECT_EQ(calm.checkpoints, 10);
}

// However often checkpoints are taken, a simulation takes no longer; one that never ends says so.
TEST(Checkpoints, SimulationIsBounded) {
  const InterruptedRun often = simulate_run({1.0 / 3600, 0, 120}, 1e9, 1e-3, 1);
  EXPECT_NEAR(often.time_s, 1e9 + often.lost_s, 1);
  EXPECT_NEAR(static_cast<double>(often.checkpoints), 1e12, 1e6);
  EXPECT_TRUE(std::isinf(simulate_run({1, 10, 50}, 1e6, 1000, 1).time_s));
}

RC_GTEST_PROP(Checkpoints, Laws, ()) {
  const Interruptions w{*rc::gen::inRange(1, 100) / 1e5, *rc::gen::inRange(1, 300) / 1.0,
                        *rc::gen::inRange(0, 300) / 1.0};
  const double work = *rc::gen::inRange(1, 100000);
  const double interval = *rc::gen::inRange(1, 5000);
  RC_ASSERT(expected_time_s(w, work, interval) >= work + w.write_s);
  const Interruptions calm{w.rate_per_s / 2, w.write_s, w.restart_s};
  RC_ASSERT(expected_time_s(calm, work, interval) <= expected_time_s(w, work, interval));
  const InterruptedRun run = simulate_run(w, work, best_interval_s(w), 5);
  const double written = static_cast<double>(run.checkpoints) * w.write_s;
  RC_ASSERT(std::abs(run.time_s - (work + written + run.lost_s)) < 1e-6 * run.time_s);
}

TEST(Spot, SavesAgainstOnDemandAndSaysHow) {
  const SpotQuestion q = question();
  const auto plan = plan_spot(q);
  ASSERT_TRUE(plan.has_value()) << plan.error().text();
  EXPECT_EQ(plan->by_architecture.size(), 3U);
  EXPECT_NE(plan->best.architecture, SpotArchitecture::kOnDemand);
  EXPECT_GT(plan->saving, 0.3);
  EXPECT_TRUE(meets(q, plan->best));
  EXPECT_EQ(plan->by_flopp.front(), 3U);  // a10g: 137.5 TFLOP/s per price, t4 125, v100 65
  EXPECT_EQ(architecture_rows(q, *plan).size(), 3U);
  EXPECT_EQ(instance_rows(q, *plan).size(), 4U);
  EXPECT_EQ(fields(q, *plan).size(), 13U);
  EXPECT_NE(explain(q, *plan).find("Daly"), std::string::npos);
}

TEST(Spot, TrialsAgreeWithTheExpectation) {
  const SpotQuestion q = question();
  const auto plan = plan_spot(q);
  ASSERT_TRUE(plan.has_value());
  const SpotTrial trial = simulate_spot(q, plan->best, 2000, 3);
  EXPECT_NEAR(trial.mean_h, plan->best.expected_h, 4 * trial.deviation_h / std::sqrt(2000));
  EXPECT_NEAR(trial.mean_cost / plan->best.expected_cost, 1, 0.02);
  EXPECT_EQ(simulate_spot(q, plan->best, 50, 3).mean_h, simulate_spot(q, plan->best, 50, 3).mean_h);
}

// A slow anchor makes every checkpoint longer; a tier of its own for each kind shortens them again.
TEST(Spot, AnchorsSaturate) {
  SpotQuestion q = question();
  SpotChoice c;
  c.architecture = SpotArchitecture::kSingleAnchor;
  c.spot = {0, 8, 0, 8};
  c.on_demand = {1, 0, 0, 0};
  EXPECT_DOUBLE_EQ(evaluate_spot(q, c).interruptions.write_s, 16 * 4 / 1.25);
  c.architecture = SpotArchitecture::kTiering;
  c.on_demand = {2, 0, 0, 0};
  EXPECT_DOUBLE_EQ(evaluate_spot(q, c).interruptions.write_s, 8 * 4 / 1.25);
  c.spot = {0, 1, 0, 0};
  EXPECT_DOUBLE_EQ(evaluate_spot(q, c).interruptions.write_s, 4 / 0.6);
}

TEST(Spot, NamesWhatIsWrong) {
  SpotQuestion q = question();
  q.deadline_h = 1e-3;
  const auto late = plan_spot(q);
  ASSERT_FALSE(late.has_value());
  EXPECT_NE(late.error().hint.find("on demand takes"), std::string::npos);
  q.instances[1].on_demand = 0;
  EXPECT_EQ(plan_spot(q).error().field, "instances[1].on_demand");
  q = question();
  q.goal = SpotGoal::kFastest;
  EXPECT_EQ(plan_spot(q).error().field, "budget");
}

TEST(Spot, SaysWhenTheSearchWasCutShort) {
  SpotQuestion q = question();
  q.max_nodes = 3;
  const auto plan = plan_spot(q);
  ASSERT_TRUE(plan.has_value());
  EXPECT_FALSE(plan->exact);
  EXPECT_TRUE(meets(q, plan->best));
  EXPECT_NE(explain(q, *plan).find("cut short"), std::string::npos);
}

// Every count of every kind, every anchor.
std::optional<SpotChoice> brute(const SpotQuestion& q) {
  std::optional<SpotChoice> best;
  const std::size_t n = q.instances.size();
  const auto offer = [&](const SpotChoice& c) {
    if (c.machines() == 0 || c.machines() > q.max_machines) return;
    for (std::size_t i = 0; i < n; ++i)
      if (c.spot[i] + c.on_demand[i] > q.instances[i].limit) return;
    const SpotChoice done = evaluate_spot(q, c);
    if (meets(q, done) && (!best || better_spot(q, done, *best))) best = done;
  };
  std::vector<std::int64_t> counts(n, 0);
  const std::function<void(std::size_t)> fill = [&](std::size_t i) {
    if (i < n) {
      for (counts[i] = 0; counts[i] <= q.instances[i].limit; ++counts[i]) fill(i + 1);
      counts[i] = 0;
      return;
    }
    SpotChoice c;
    c.spot.assign(n, 0);
    c.on_demand = counts;
    offer(c);
    std::int64_t kinds = 0;
    for (std::size_t k = 0; k < n; ++k) {
      if (counts[k] > 0 && (q.instances[k].spot == 0 || q.instances[k].tflops == 0)) return;
      kinds += counts[k] > 0 ? 1 : 0;
    }
    if (kinds == 0) return;
    c.spot = counts;
    for (std::size_t anchor = 0; anchor < n; ++anchor) {
      for (const SpotArchitecture a : {SpotArchitecture::kSingleAnchor, SpotArchitecture::kTiering}) {
        c.architecture = a;
        c.on_demand.assign(n, 0);
        c.on_demand[anchor] = a == SpotArchitecture::kTiering ? kinds : 1;
        offer(c);
      }
    }
  };
  fill(0);
  return best;
}

RC_GTEST_PROP(Spot, IsTheOptimum, ()) {
  SpotQuestion q;
  const auto kinds = *rc::gen::inRange(1, 4);
  for (int i = 0; i < kinds; ++i) {
    const double price = *rc::gen::inRange(1, 40) / 10.0;
    q.instances.push_back({"i", "g", 1, *rc::gen::inRange(0, 60) / 1.0, price, price * *rc::gen::inRange(0, 8) / 10.0,
                           *rc::gen::inRange(1, 20) / 8.0, *rc::gen::inRange(0, 50) / 10.0, *rc::gen::inRange(0, 5)});
  }
  q.goal = *rc::gen::element(SpotGoal::kCheapest, SpotGoal::kFastest);
  q.work_tflop = *rc::gen::inRange(1, 300) * 1e4;
  q.deadline_h = *rc::gen::inRange(0, 60);
  q.budget = *rc::gen::inRange(q.goal == SpotGoal::kFastest ? 1 : 0, 90);
  q.checkpoint_gb = *rc::gen::inRange(0, 100);
  q.restart_s = *rc::gen::inRange(0, 300);
  q.scaling = *rc::gen::element(1.0, 0.9, 0.7);
  q.interval_s = *rc::gen::element(0.0, 600.0);
  q.max_machines = *rc::gen::inRange(1, 12);
  const auto ours = plan_spot(q);
  const auto best = brute(q);
  RC_ASSERT(ours.has_value() == best.has_value());
  if (!best) return;
  if (q.goal == SpotGoal::kCheapest)
    RC_ASSERT(std::abs(ours->best.expected_cost - best->expected_cost) <= 1e-8 * best->expected_cost);
  else
    RC_ASSERT(std::abs(ours->best.expected_h - best->expected_h) <= 1e-8 * best->expected_h);
}

}  // namespace
}  // namespace comity::plan
