// SPDX-License-Identifier: Apache-2.0
#include "sched/gavel_program.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "math/linear_program.h"

namespace comity::sched {
namespace {

using Numbers = std::vector<double>;

GavelClass job(Numbers speed, double gpus = 1) {
  GavelClass c;
  c.speed = std::move(speed);
  c.gpus = gpus;
  return c;
}
GavelSettings settings(GavelObjective objective, bool water_filling = true) {
  GavelSettings s;
  s.objective = objective;
  s.water_filling = water_filling;
  return s;
}
Numbers shares(const std::vector<GavelClass>& classes, const Numbers& gpus, const Numbers& x) {
  Numbers out = share_factors(classes, gpus, false);
  for (std::size_t c = 0; c < classes.size(); ++c) {
    double speed = 0;
    for (std::size_t j = 0; j < gpus.size(); ++j) speed += classes[c].speed[j] * x[c * gpus.size() + j];
    out[c] *= speed;
  }
  return out;
}

// The example of three jobs on a V100 and a K80.
const std::vector<GavelClass> kThree = {job({4, 1}), job({3, 1}), job({1, 1})};

TEST(GavelProgram, MaxMinOfThreeJobsToTheDigit) {
  const GavelPlan plan = plan_gavel(kThree, {1, 1}, {1, 1}, settings(GavelObjective::kMaxMin));
  EXPECT_NEAR(plan.value, 1.230769, 5e-7);  // 16 / 13
  const Numbers x = {.5128, 0, .4872, .1795, 0, .8205};
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(plan.x[i], x[i], 5e-5) << i;
  EXPECT_NEAR(equal_share_speed(kThree, {1, 1}, false)[0], 5.0 / 3, 1e-12);
  EXPECT_NEAR(equal_share_speed(kThree, {1, 1}, true)[0], 2.5, 1e-12);
}

TEST(GavelProgram, GavelsNormaliserDividesShareBelowOneToo) {
  GavelSettings s = settings(GavelObjective::kMaxMin);
  s.artifact_normaliser = true;
  EXPECT_NEAR(plan_gavel(kThree, {1, 1}, {1, 1}, s).value, 0.820513, 5e-7);
}

TEST(GavelProgram, AnEqualShareMayBeTheBest) {
  EXPECT_NEAR(plan_gavel(kThree, {1, 2}, {1, 1}, settings(GavelObjective::kMaxMin)).value, 1, 5e-7);
}

// The third can have no more than a GPU all the time, which is 1 x its equal share; the others, on a GPU that it leaves
// to them, rise to 1.5 x theirs.
TEST(GavelProgram, WaterFillingRaisesWhoeverCanRise) {
  const std::vector<GavelClass> jobs = {job({1, 0}), job({2, 0}), job({1, 1})};
  for (const bool filling : {true, false}) {
    const GavelPlan plan = plan_gavel(jobs, {1, 2}, {1, 1}, settings(GavelObjective::kMaxMin, filling));
    EXPECT_NEAR(plan.value, 1, 1e-6);
    EXPECT_EQ(plan.x[0] > 0.499 && plan.x[2] > 0.499, filling) << plan.x[0] << " " << plan.x[2];
    EXPECT_EQ(plan.programs > 1, filling);
  }
}

TEST(GavelProgram, FinishTimeByHand) {
  // Alone on its share the first runs at 1.5 and the second at 1; the second is best off with 1 at all times.
  std::vector<GavelClass> jobs = {job({2, 1}), job({1, 1})};
  for (GavelClass& c : jobs) c.left_s = 300;
  const GavelPlan plan = plan_gavel(jobs, {1, 1}, {1, 1}, settings(GavelObjective::kFinishTime));
  EXPECT_GE(plan.value, 1);
  EXPECT_LE(plan.value, 1.002);
  // Two jobs on one GPU; one of them waited for 300 s, and would have been done in 200 s alone on half the GPU: it
  // needs all the GPU for 100 s, 400 / 200 = 2; the other one can have none before.
  jobs = {job({1}), job({1})};
  jobs[0].left_s = jobs[1].left_s = 100;
  jobs[0].age_s = 300;
  const GavelPlan late = plan_gavel(jobs, {1}, {1}, settings(GavelObjective::kFinishTime));
  EXPECT_GT(late.x[0], late.x[1]);
  // (300 + 100 / x) / 200 = (100 / (1 - x)) / 200 at x = (1 + 13^.5) / 6
  EXPECT_NEAR(late.x[0], 0.7676, 0.003);
}

TEST(GavelProgram, MakespanByHand) {
  std::vector<GavelClass> jobs = {job({2, 1}), job({1, 1})};
  jobs[0].left_s = 3000;
  jobs[1].left_s = 1000;
  const GavelPlan plan = plan_gavel(jobs, {1, 1}, {1, 1}, settings(GavelObjective::kMakespan));
  EXPECT_GE(plan.value, 1500 * 0.999);
  EXPECT_LE(plan.value, 1500 * 1.05);
  jobs.assign(3, job({1}));
  for (GavelClass& c : jobs) c.left_s = 1000;
  const double three = plan_gavel(jobs, {1}, {1}, settings(GavelObjective::kMakespan)).value;
  EXPECT_GE(three, 3000 * 0.999);
  EXPECT_LE(three, 3000 * 1.05);
}

TEST(GavelProgram, CostByHand) {
  // Progress for the price: 2 and 3 of the first job, .5 and 2 of the second.
  const GavelPlan plan = plan_gavel({job({4, 1.5}), job({1, 1})}, {1, 1}, {2, 0.5}, settings(GavelObjective::kCost));
  EXPECT_NEAR(plan.value, 3, 1e-6);
  EXPECT_NEAR(plan.x[1], 1, 1e-6);
  EXPECT_NEAR(plan.x[0] + plan.x[2] + plan.x[3], 0, 1e-6);
}

TEST(GavelProgram, WhoRunsNowhereGetsNothingAndHoldsNobodyUp) {
  for (const GavelObjective objective :
       {GavelObjective::kMaxMin, GavelObjective::kFinishTime, GavelObjective::kMakespan, GavelObjective::kCost}) {
    std::vector<GavelClass> jobs = {job({0, 1}), job({1, 0})};
    for (GavelClass& c : jobs) c.left_s = 100;
    const GavelPlan plan = plan_gavel(jobs, {1, 0}, {1, 1}, settings(objective));
    EXPECT_EQ(plan.x[0] + plan.x[1], 0);
    EXPECT_NEAR(plan.x[2], 1, 1e-6);
    EXPECT_EQ(plan_gavel({job({0, 1})}, {1, 0}, {1, 1}, settings(objective)).x, (Numbers{0, 0}));
  }
}

struct Instance {
  std::vector<GavelClass> classes;
  Numbers gpus;
};
Instance any_instance(std::size_t most_types) {
  Instance in;
  const auto types = *rc::gen::inRange<std::size_t>(1, most_types + 1);
  for (std::size_t j = 0; j < types; ++j) in.gpus.push_back(*rc::gen::inRange(1, 9));
  const auto classes = *rc::gen::inRange<std::size_t>(1, 7);
  for (std::size_t c = 0; c < classes; ++c) {
    GavelClass& m = in.classes.emplace_back();
    for (std::size_t j = 0; j < types; ++j) m.speed.push_back(*rc::gen::inRange(0, 9) / 2.0);
    m.jobs = *rc::gen::inRange(1, 5);
    m.gpus = 1 << *rc::gen::inRange(0, 3);
    m.weight = *rc::gen::element(0.5, 1.0, 2.0);
    m.left_s = *rc::gen::inRange(1, 1000);
    m.age_s = *rc::gen::inRange(0, 1000);
  }
  return in;
}

// The most that class c can have while nobody who has no more than it gets less: an independent program.
double most_for(const Instance& in, const Numbers& level, std::size_t c) {
  using math::kInfinity;
  math::LinearProgram p(math::Sense::kMaximise);
  const std::size_t types = in.gpus.size();
  const Numbers factor = share_factors(in.classes, in.gpus, false);
  for (std::size_t m = 0; m < in.classes.size(); ++m) {
    for (std::size_t j = 0; j < types; ++j)
      p.add_variable(m == c ? factor[m] * in.classes[m].speed[j] : 0, 0, in.classes[m].speed[j] > 0 ? 1 : 0);
  }
  for (std::size_t j = 0; j < types; ++j) {
    std::vector<math::LinearProgram::Term> row;
    for (std::size_t m = 0; m < in.classes.size(); ++m)
      row.push_back({static_cast<int>(m * types + j), in.classes[m].jobs * in.classes[m].gpus});
    p.add_row(-kInfinity, in.gpus[j], row);
  }
  for (std::size_t m = 0; m < in.classes.size(); ++m) {
    std::vector<math::LinearProgram::Term> time;
    std::vector<math::LinearProgram::Term> share;
    for (std::size_t j = 0; j < types; ++j) {
      time.push_back({static_cast<int>(m * types + j), 1});
      share.push_back({static_cast<int>(m * types + j), factor[m] * in.classes[m].speed[j]});
    }
    p.add_row(-kInfinity, 1, time);
    if (m != c && level[m] <= level[c] * (1 + 1e-7)) p.add_row(level[m] * (1 - 1e-7), kInfinity, share);
  }
  const math::Solution s = math::solve(p);
  RC_ASSERT(s.found());
  return s.objective;
}

void check_feasible(const Instance& in, const Numbers& x) {
  const std::size_t types = in.gpus.size();
  Numbers used(types, 0);
  for (std::size_t c = 0; c < in.classes.size(); ++c) {
    double time = 0;
    for (std::size_t j = 0; j < types; ++j) {
      const double part = x[c * types + j];
      RC_ASSERT(part >= 0);
      RC_ASSERT(part == 0 || in.classes[c].speed[j] > 0);
      time += part;
      used[j] += part * in.classes[c].jobs * in.classes[c].gpus;
    }
    RC_ASSERT(time <= 1 + 1e-6);
  }
  for (std::size_t j = 0; j < types; ++j) RC_ASSERT(used[j] <= in.gpus[j] + 1e-5);
}

// Nobody can have more but at the cost of somebody who has no more: the whole vector is max-min fair.
RC_GTEST_PROP(GavelProgramProperty, MaxMinIsMaxMin, ()) {
  const Instance in = any_instance(3);
  const GavelPlan plan = plan_gavel(in.classes, in.gpus, Numbers(in.gpus.size(), 1), settings(GavelObjective::kMaxMin));
  check_feasible(in, plan.x);
  const Numbers level = shares(in.classes, in.gpus, plan.x);
  for (std::size_t c = 0; c < level.size(); ++c) {
    const double most = most_for(in, level, c);
    RC_ASSERT(most <= level[c] * (1 + 1e-4) + 1e-5);  // the solver works to 10^-7 of each row
  }
}

RC_GTEST_PROP(GavelProgramProperty, EveryObjectiveIsFeasible, ()) {
  const Instance in = any_instance(3);
  for (const GavelObjective objective :
       {GavelObjective::kMaxMin, GavelObjective::kFinishTime, GavelObjective::kMakespan, GavelObjective::kCost})
    check_feasible(in, plan_gavel(in.classes, in.gpus, Numbers(in.gpus.size(), 1), settings(objective)).x);
}

// A row with a count is as good as so many rows.
RC_GTEST_PROP(GavelProgramProperty, EqualJobsMayShareARow, ()) {
  const Instance in = any_instance(3);
  Instance apart;
  apart.gpus = in.gpus;
  for (const GavelClass& c : in.classes) {
    apart.classes.insert(apart.classes.end(), static_cast<std::size_t>(c.jobs), c);
    for (auto one = apart.classes.end() - static_cast<std::ptrdiff_t>(c.jobs); one != apart.classes.end(); ++one)
      one->jobs = 1;
  }
  const GavelSettings set = settings(GavelObjective::kMaxMin);
  const Numbers price(in.gpus.size(), 1);
  const Numbers together = shares(in.classes, in.gpus, plan_gavel(in.classes, in.gpus, price, set).x);
  const Numbers each = shares(apart.classes, in.gpus, plan_gavel(apart.classes, in.gpus, price, set).x);
  std::size_t at = 0;
  for (std::size_t c = 0; c < in.classes.size(); ++c) {
    for (double n = 0; n < in.classes[c].jobs; ++n, ++at)
      RC_ASSERT(std::abs(each[at] - together[c]) <= 1e-5 * (1 + together[c]));
  }
}

// The closed forms for one type say what the programs say.
RC_GTEST_PROP(GavelProgramProperty, OneTypeNeedsNoProgram, ()) {
  const Instance in = any_instance(1);
  for (const GavelObjective objective :
       {GavelObjective::kMaxMin, GavelObjective::kFinishTime, GavelObjective::kMakespan}) {
    GavelSettings set = settings(objective);
    const GavelPlan closed = plan_gavel(in.classes, in.gpus, {1}, set);
    set.always_programs = true;
    const GavelPlan solved = plan_gavel(in.classes, in.gpus, {1}, set);
    RC_ASSERT(objective != GavelObjective::kMaxMin || closed.programs == 0);
    RC_ASSERT(std::abs(closed.value - solved.value) <= 1e-5 * (1 + solved.value));
    if (objective != GavelObjective::kMaxMin) continue;
    for (std::size_t c = 0; c < closed.x.size(); ++c) RC_ASSERT(std::abs(closed.x[c] - solved.x[c]) <= 1e-5);
  }
}

}  // namespace
}  // namespace comity::sched
