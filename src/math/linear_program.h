// SPDX-License-Identifier: Apache-2.0
// Linear programs, with or without integer variables, solved by COIN-OR's CLP and CBC.
//
//   LinearProgram p(Sense::kMaximise);
//   const int x = p.add_integer(3, 0, 10), y = p.add_variable(2, 0, kInfinity);
//   p.add_row(-kInfinity, 12, {{x, 2}, {y, 1}});      // 2 x + y <= 12
//   const Solution s = solve(p);
//
// Work is bounded by nodes, never by seconds, so that the same program gives the same solution on every machine. Any
// thread may solve; programs with integers wait for each other, because CBC has a global state.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace comity::math {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

enum class Sense : std::uint8_t { kMinimise, kMaximise };

class LinearProgram {
 public:
  struct Term {
    int variable = 0;
    double factor = 0;
  };

  explicit LinearProgram(Sense sense) : sense_(sense) {}

  // The new variable's number. lower <= upper; either may be infinite.
  int add_variable(double objective, double lower, double upper) { return add(objective, lower, upper, false); }
  int add_integer(double objective, double lower, double upper) { return add(objective, lower, upper, true); }
  // lower <= sum of factor x variable <= upper; the row's number. A variable may stand in a row once.
  int add_row(double lower, double upper, std::span<const Term> terms);
  int add_row(double lower, double upper, std::initializer_list<Term> terms) {
    return add_row(lower, upper, std::span<const Term>(terms.begin(), terms.size()));
  }

  [[nodiscard]] Sense sense() const { return sense_; }
  [[nodiscard]] int variables() const { return static_cast<int>(objective_.size()); }
  [[nodiscard]] int rows() const { return static_cast<int>(row_lower_.size()); }
  [[nodiscard]] int integers() const { return integers_; }
  // Whether `values` keeps every bound, row and integrality up to `tolerance`, and what it is worth.
  [[nodiscard]] bool feasible(std::span<const double> values, double tolerance = 1e-6) const;
  [[nodiscard]] double value(std::span<const double> values) const;

 private:
  friend class Solver;
  int add(double objective, double lower, double upper, bool integer);

  Sense sense_;
  int integers_ = 0;
  std::vector<double> objective_, lower_, upper_;  // by variable
  std::vector<std::uint8_t> integer_;
  std::vector<double> row_lower_, row_upper_;
  std::vector<int> row_start_{0};  // into terms_
  std::vector<Term> terms_;
};

struct SolveLimits {
  std::int64_t nodes = 10'000;  // of branch and bound; simplex iterations are bounded by 10^6 a node
  double gap = 0;               // stop within this fraction of the bound
};

enum class SolveStatus : std::uint8_t {
  kOptimal,     // proved, up to SolveLimits::gap
  kFeasible,    // the limit came first; values are the best that was found
  kInfeasible,  // proved
  kUnbounded,
  kNone,  // the limit came first and nothing was found, or the solver gave up
};
[[nodiscard]] std::string_view solve_status_name(SolveStatus status);

struct Solution {
  SolveStatus status = SolveStatus::kNone;
  double objective = 0;        // of values
  double bound = 0;            // no solution is better
  std::vector<double> values;  // by variable; integers are whole. Empty without a solution
  std::vector<double> duals;   // by row, of a program without integers: change of the objective with the row's bound
  std::int64_t nodes = 0;
  [[nodiscard]] bool found() const { return !values.empty(); }
};

// `start`: a feasible solution to begin with (checked; ignored where it is none), only for programs with integers. The
// result is never worse.
[[nodiscard]] Solution solve(const LinearProgram& program, const SolveLimits& limits = {},
                             std::span<const double> start = {});

}  // namespace comity::math
