// SPDX-License-Identifier: Apache-2.0
#include "math/linear_program.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <string>

#include <coin/Cbc_C_Interface.h>
#include <coin/Clp_C_Interface.h>

#include "base/check.h"

namespace comity::math {

std::string_view solve_status_name(SolveStatus status) {
  switch (status) {
    case SolveStatus::kOptimal: return "optimal";
    case SolveStatus::kFeasible: return "feasible";
    case SolveStatus::kInfeasible: return "infeasible";
    case SolveStatus::kUnbounded: return "unbounded";
    case SolveStatus::kNone: return "none";
  }
  return "";
}

int LinearProgram::add(double objective, double lower, double upper, bool integer) {
  COMITY_CHECK(std::isfinite(objective) && lower <= upper);
  objective_.push_back(objective);
  lower_.push_back(lower);
  upper_.push_back(upper);
  integer_.push_back(integer ? 1 : 0);
  integers_ += integer ? 1 : 0;
  return variables() - 1;
}

int LinearProgram::add_row(double lower, double upper, std::span<const Term> terms) {
  COMITY_CHECK(lower <= upper);
  for (const Term& term : terms) {
    COMITY_CHECK(term.variable >= 0 && term.variable < variables() && std::isfinite(term.factor));
    terms_.push_back(term);
  }
  row_lower_.push_back(lower);
  row_upper_.push_back(upper);
  row_start_.push_back(static_cast<int>(terms_.size()));
  return rows() - 1;
}

double LinearProgram::value(std::span<const double> values) const {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += objective_[i] * values[i];
  return sum;
}

bool LinearProgram::feasible(std::span<const double> values, double tolerance) const {
  if (values.size() != objective_.size()) return false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!(values[i] >= lower_[i] - tolerance && values[i] <= upper_[i] + tolerance)) return false;
    if (integer_[i] != 0 && std::abs(values[i] - std::round(values[i])) > tolerance) return false;
  }
  for (std::size_t r = 0; r < row_lower_.size(); ++r) {
    double sum = 0;
    double scale = 1;
    for (int t = row_start_[r]; t < row_start_[r + 1]; ++t) {
      const double part = terms_[static_cast<std::size_t>(t)].factor *
                          values[static_cast<std::size_t>(terms_[static_cast<std::size_t>(t)].variable)];
      sum += part;
      scale = std::max(scale, std::abs(part));
    }
    if (sum < row_lower_[r] - tolerance * scale || sum > row_upper_[r] + tolerance * scale) return false;
  }
  return true;
}

// The program by columns, as COIN takes it.
class Solver {
 public:
  explicit Solver(const LinearProgram& program) : p_(program) {
    const auto n = static_cast<std::size_t>(p_.variables());
    column_start_.assign(n + 1, 0);
    for (const LinearProgram::Term& t : p_.terms_) ++column_start_[static_cast<std::size_t>(t.variable) + 1];
    for (std::size_t i = 0; i < n; ++i) column_start_[i + 1] += column_start_[i];
    rows_.resize(p_.terms_.size());
    factors_.resize(p_.terms_.size());
    std::vector<CoinBigIndex> next(column_start_.begin(), column_start_.end() - 1);
    for (std::size_t r = 0; r < p_.row_lower_.size(); ++r) {
      for (int t = p_.row_start_[r]; t < p_.row_start_[r + 1]; ++t) {
        const LinearProgram::Term& term = p_.terms_[static_cast<std::size_t>(t)];
        const auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(term.variable)]++);
        rows_[at] = static_cast<int>(r);
        factors_[at] = term.factor;
      }
    }
  }

  Solution linear() const {
    const std::unique_ptr<Clp_Simplex, void (*)(Clp_Simplex*)> model(Clp_newModel(), Clp_deleteModel);
    Clp_setLogLevel(model.get(), 0);
    Clp_loadProblem(model.get(), p_.variables(), p_.rows(), column_start_.data(), rows_.data(), factors_.data(),
                    p_.lower_.data(), p_.upper_.data(), p_.objective_.data(), p_.row_lower_.data(),
                    p_.row_upper_.data());
    Clp_setOptimizationDirection(model.get(), p_.sense_ == Sense::kMaximise ? -1 : 1);
    Clp_setMaximumIterations(model.get(), kIterations);
    Clp_initialSolve(model.get());
    Solution s;
    switch (Clp_status(model.get())) {
      case 0: s.status = SolveStatus::kOptimal; break;
      case 1: s.status = SolveStatus::kInfeasible; return s;
      case 2: s.status = SolveStatus::kUnbounded; return s;
      default: return s;
    }
    const double* values = Clp_primalColumnSolution(model.get());
    s.values.assign(values, values + p_.variables());
    const double* duals = Clp_dualRowSolution(model.get());
    s.duals.assign(duals, duals + p_.rows());
    s.objective = s.bound = p_.value(s.values);
    return s;
  }

  Solution integer(const SolveLimits& limits, std::span<const double> start) const {
    const std::unique_ptr<Cbc_Model, void (*)(Cbc_Model*)> model(Cbc_newModel(), Cbc_deleteModel);
    Cbc_setLogLevel(model.get(), 0);
    Cbc_loadProblem(model.get(), p_.variables(), p_.rows(), column_start_.data(), rows_.data(), factors_.data(),
                    p_.lower_.data(), p_.upper_.data(), p_.objective_.data(), p_.row_lower_.data(),
                    p_.row_upper_.data());
    Cbc_setObjSense(model.get(), p_.sense_ == Sense::kMaximise ? -1 : 1);
    for (int i = 0; i < p_.variables(); ++i) {
      if (p_.integer_[static_cast<std::size_t>(i)] != 0) Cbc_setInteger(model.get(), i);
    }
    Cbc_setParameter(model.get(), "maxNodes", std::to_string(limits.nodes).c_str());
    Cbc_setParameter(model.get(), "threads", "0");
    if (limits.gap > 0) Cbc_setParameter(model.get(), "ratioGap", std::to_string(limits.gap).c_str());
    const bool started = p_.feasible(start);
    if (started) {
      std::vector<int> at(start.size());
      for (std::size_t i = 0; i < at.size(); ++i) at[i] = static_cast<int>(i);
      Cbc_setMIPStartI(model.get(), static_cast<int>(at.size()), at.data(), start.data());
    }
    {
      static std::mutex one_at_a_time;  // CBC 2.10 reads its parameters through one global parser of command lines
      const std::lock_guard lock(one_at_a_time);
      Cbc_solve(model.get());
    }
    Solution s = read(model.get());
    if (started) keep_better(s, start);
    return s;
  }

 private:
  static constexpr int kIterations = 1'000'000;

  Solution read(Cbc_Model* model) const {
    Solution s;
    s.nodes = Cbc_getNodeCount(model);
    const double* best = Cbc_bestSolution(model);
    if (Cbc_isProvenOptimal(model) != 0) {
      s.status = SolveStatus::kOptimal;
    } else if (Cbc_isProvenInfeasible(model) != 0) {
      s.status = SolveStatus::kInfeasible;
      return s;
    } else if (Cbc_isContinuousUnbounded(model) != 0) {
      s.status = SolveStatus::kUnbounded;
      return s;
    } else {
      s.status = best != nullptr ? SolveStatus::kFeasible : SolveStatus::kNone;
    }
    if (best == nullptr) {
      s.status = SolveStatus::kNone;
      return s;
    }
    s.values.assign(best, best + p_.variables());
    for (std::size_t i = 0; i < s.values.size(); ++i) {
      if (p_.integer_[i] != 0) s.values[i] = std::round(s.values[i]);
    }
    s.objective = p_.value(s.values);
    s.bound = s.status == SolveStatus::kOptimal ? s.objective : Cbc_getBestPossibleObjValue(model);
    return s;
  }

  void keep_better(Solution& s, std::span<const double> start) const {
    const double worth = p_.value(start);
    const bool better = p_.sense_ == Sense::kMaximise ? worth > s.objective : worth < s.objective;
    if (s.found() && !better) return;
    if (s.status != SolveStatus::kOptimal) s.status = SolveStatus::kFeasible;
    s.values.assign(start.begin(), start.end());
    s.objective = worth;
  }

  const LinearProgram& p_;
  std::vector<CoinBigIndex> column_start_;
  std::vector<int> rows_;
  std::vector<double> factors_;
};

Solution solve(const LinearProgram& program, const SolveLimits& limits, std::span<const double> start) {
  const Solver solver(program);
  return program.integers() == 0 ? solver.linear() : solver.integer(limits, start);
}

}  // namespace comity::math
