// SPDX-License-Identifier: Apache-2.0
#include "math/linear_program.h"

#include <cmath>
#include <thread>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace comity::math {
namespace {

TEST(LinearProgram, TextbookMaximum) {  // max 3x + 5y, x <= 4, 2y <= 12, 3x + 2y <= 18: (2, 6), 36, duals 0, 1.5, 1
  LinearProgram p(Sense::kMaximise);
  const int x = p.add_variable(3, 0, kInfinity);
  const int y = p.add_variable(5, 0, kInfinity);
  p.add_row(-kInfinity, 4, {{x, 1}});
  p.add_row(-kInfinity, 12, {{y, 2}});
  p.add_row(-kInfinity, 18, {{x, 3}, {y, 2}});
  const Solution s = solve(p);
  ASSERT_EQ(s.status, SolveStatus::kOptimal);
  EXPECT_NEAR(s.objective, 36, 1e-9);
  EXPECT_NEAR(s.values[0], 2, 1e-9);
  EXPECT_NEAR(s.values[1], 6, 1e-9);
  EXPECT_NEAR(s.duals[0], 0, 1e-9);
  EXPECT_NEAR(s.duals[1], 1.5, 1e-9);
  EXPECT_NEAR(s.duals[2], 1, 1e-9);
}

TEST(LinearProgram, SaysWhatHasNoSolution) {
  LinearProgram none(Sense::kMinimise);
  const int x = none.add_variable(1, 0, 1);
  none.add_row(2, kInfinity, {{x, 1}});
  EXPECT_EQ(solve(none).status, SolveStatus::kInfeasible);
  LinearProgram whole(Sense::kMinimise);
  const int i = whole.add_integer(1, 0, 10);
  whole.add_row(1, 1, {{i, 2}});
  EXPECT_EQ(solve(whole).status, SolveStatus::kInfeasible);
  LinearProgram endless(Sense::kMaximise);
  const int y = endless.add_variable(1, 0, kInfinity);
  endless.add_row(0, kInfinity, {{y, 1}});
  EXPECT_EQ(solve(endless).status, SolveStatus::kUnbounded);
}

struct Knapsack {
  std::vector<int> worth, weight;
  int room = 0;
};

Knapsack any_knapsack(std::size_t items) {
  Knapsack k;
  for (std::size_t i = 0; i < items; ++i) {
    k.worth.push_back(*rc::gen::inRange(1, 50));
    k.weight.push_back(*rc::gen::inRange(1, 20));
  }
  k.room = *rc::gen::inRange(0, 80);
  return k;
}

LinearProgram program_of(const Knapsack& k) {
  LinearProgram p(Sense::kMaximise);
  std::vector<LinearProgram::Term> terms;
  for (std::size_t i = 0; i < k.worth.size(); ++i) {
    const int x = p.add_integer(k.worth[i], 0, 1);
    terms.push_back({x, static_cast<double>(k.weight[i])});
  }
  p.add_row(-kInfinity, k.room, terms);
  return p;
}

RC_GTEST_PROP(LinearProgramProperty, KnapsacksHaveTheBestSubset, ()) {
  const Knapsack k = any_knapsack(*rc::gen::inRange<std::size_t>(1, 12));
  const LinearProgram p = program_of(k);
  const Solution s = solve(p);
  RC_ASSERT(s.status == SolveStatus::kOptimal);
  RC_ASSERT(p.feasible(s.values));
  int best = 0;
  for (unsigned set = 0; set < 1U << k.worth.size(); ++set) {
    int worth = 0;
    int weight = 0;
    for (std::size_t i = 0; i < k.worth.size(); ++i) {
      if ((set >> i & 1U) != 0) worth += k.worth[i], weight += k.weight[i];
    }
    if (weight <= k.room) best = std::max(best, worth);
  }
  RC_ASSERT(std::lround(s.objective) == best);
  RC_ASSERT(std::abs(s.objective - p.value(s.values)) < 1e-9);
}

RC_GTEST_PROP(LinearProgramProperty, IsNeverWorseThanItsStart, ()) {
  const Knapsack k = any_knapsack(12);
  const LinearProgram p = program_of(k);
  std::vector<double> start(k.worth.size(), 0);
  int room = k.room;
  for (std::size_t i = 0; i < start.size(); ++i) {
    if (k.weight[i] > room) continue;
    room -= k.weight[i];
    start[i] = 1;
  }
  const Solution s = solve(p, {.nodes = 1, .gap = 0}, start);
  RC_ASSERT(s.found());
  RC_ASSERT(p.feasible(s.values));
  RC_ASSERT(s.objective >= p.value(start) - 1e-9);
}

// The dual value of a bound is what the objective gains when the bound moves.
RC_GTEST_PROP(LinearProgramProperty, DualsAreTheSlopes, ()) {
  const auto make = [](const std::vector<double>& c, const std::vector<double>& a, double b) {
    LinearProgram p(Sense::kMaximise);
    std::vector<LinearProgram::Term> terms;
    for (std::size_t i = 0; i < c.size(); ++i) terms.push_back({p.add_variable(c[i], 0, 5), a[i]});
    p.add_row(-kInfinity, b, terms);
    return solve(p);
  };
  std::vector<double> c;
  std::vector<double> a;
  for (int i = 0; i < 6; ++i) {
    c.push_back(*rc::gen::inRange(1, 100));
    a.push_back(*rc::gen::inRange(1, 100));
  }
  const double b = *rc::gen::inRange(1, 1000);
  const Solution at = make(c, a, b);
  const Solution beyond = make(c, a, b + 1e-4);
  RC_ASSERT(at.status == SolveStatus::kOptimal);
  RC_ASSERT(beyond.objective - at.objective <= at.duals[0] * 1e-4 + 1e-9);  // concave in b
  RC_ASSERT(at.duals[0] >= -1e-12);
}

Solution hard_knapsack(int kind) {
  Knapsack k;
  for (int i = 0; i < 40; ++i) {
    k.worth.push_back(20 + (i * 37 + kind * 11) % 23);
    k.weight.push_back(15 + (i * 53 + kind * 7) % 19);
  }
  k.room = 317;
  return solve(program_of(k), {.nodes = 20, .gap = 0});
}

TEST(LinearProgram, SameProgramSameSolutionOnAnyThread) {
  std::vector<Solution> expected;
  for (int kind = 0; kind < 10; ++kind) expected.push_back(hard_knapsack(kind));
  std::vector<std::vector<Solution>> got(2);
  std::vector<std::thread> threads;
  for (std::vector<Solution>& mine : got)
    threads.emplace_back([&mine] {
      for (int kind = 0; kind < 10; ++kind) mine.push_back(hard_knapsack(kind));
    });
  for (std::thread& t : threads) t.join();
  for (const std::vector<Solution>& mine : got) {
    for (std::size_t kind = 0; kind < 10; ++kind) {
      EXPECT_EQ(mine[kind].values, expected[kind].values);
      EXPECT_EQ(mine[kind].nodes, expected[kind].nodes);
    }
  }
}

}  // namespace
}  // namespace comity::math
