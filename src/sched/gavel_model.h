// SPDX-License-Identifier: Apache-2.0
// What Gavel's linear programs have in common (gavel_program.h): the variables X, the rows that hold for every
// objective, the closed form for one type, and the plan that comes of it.
#pragma once

#include <algorithm>
#include <vector>

#include "math/linear_program.h"
#include "sched/gavel_one_type.h"
#include "sched/gavel_program.h"

namespace comity::sched {

class GavelModel {
 public:
  using LinearProgram = math::LinearProgram;
  using Solution = math::Solution;
  using Term = LinearProgram::Term;
  static constexpr double kInfinity = math::kInfinity;

  GavelModel(const std::vector<GavelClass>& classes, const std::vector<double>& gpus, const std::vector<double>& price,
             const GavelSettings& settings)
      : classes_(classes), gpus_(gpus), price_(price), settings_(settings), types_(gpus.size()) {
    for (const GavelClass& c : classes_) {
      bool runs = false;
      for (std::size_t j = 0; j < types_; ++j) runs = runs || usable(c, j);
      live_.push_back(runs);
    }
    plan_.x.assign(classes.size() * types_, 0);
    for (std::size_t j = 0; j < types_; ++j) {
      const auto used = [&](const GavelClass& c) { return usable(c, j); };
      if (std::none_of(classes_.begin(), classes_.end(), used)) continue;
      one_type_ = one_type_ == kNoType ? j : kSeveral;
    }
    if (one_type_ >= types_ || settings_.always_programs) one_type_ = kNoType;
  }

  // Lexicographic max-min, or the first level of it: src/sched/gavel_max_min.cc.
  void max_min();

 protected:
  [[nodiscard]] bool usable(const GavelClass& c, std::size_t j) const { return c.speed[j] > 0 && gpus_[j] > 0; }

  // X_mj for what is usable, and the rows that hold for every objective. `tau`: a variable that stands for 1.
  void add_times(LinearProgram& p, int tau = -1) {
    variable_.assign(classes_.size() * types_, -1);
    std::vector<std::vector<Term>> by_type(types_);
    std::vector<Term> row;
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      row.clear();
      for (std::size_t j = 0; j < types_; ++j) {
        if (!live_[c] || !usable(classes_[c], j)) continue;
        const int v = p.add_variable(0, 0, tau < 0 ? 1 : kInfinity);
        variable_[c * types_ + j] = v;
        row.push_back({v, 1});
        by_type[j].push_back({v, classes_[c].jobs * classes_[c].gpus});
      }
      if (row.empty() || (row.size() == 1 && tau < 0)) continue;  // one type: the bound says it
      if (tau >= 0) row.push_back({tau, -1});
      p.add_row(-kInfinity, tau < 0 ? 1 : 0, row);
    }
    for (std::size_t j = 0; j < types_; ++j) {
      if (by_type[j].empty()) continue;
      if (tau >= 0) by_type[j].push_back({tau, -gpus_[j]});
      p.add_row(-kInfinity, tau < 0 ? gpus_[j] : 0, by_type[j]);
    }
  }
  // factor x sum_j T_cj X_cj
  [[nodiscard]] std::vector<Term> speed_terms(std::size_t c, double factor) const {
    std::vector<Term> terms;
    for (std::size_t j = 0; j < types_; ++j) {
      const int v = variable_[c * types_ + j];
      if (v >= 0) terms.push_back({v, factor * classes_[c].speed[j]});
    }
    return terms;
  }
  [[nodiscard]] double best_speed(std::size_t c) const {
    double best = 0;
    for (std::size_t j = 0; j < types_; ++j)
      best = usable(classes_[c], j) ? std::max(best, classes_[c].speed[j]) : best;
    return best;
  }
  Solution solved(const LinearProgram& p) {
    ++plan_.programs;
    return math::solve(p);
  }
  void keep(const Solution& s, double scale = 1) {
    for (std::size_t i = 0; i < variable_.size(); ++i) {
      const int v = variable_[i];
      plan_.x[i] = v < 0 ? 0 : std::clamp(s.values[static_cast<std::size_t>(v)] * scale, 0.0, 1.0);
    }
  }

  // The rows of the only type, with `full` = factor x throughput, and back.
  [[nodiscard]] std::vector<OneTypeRow> one_type_rows(const std::vector<double>& factors) const {
    std::vector<OneTypeRow> rows(classes_.size());
    for (std::size_t c = 0; c < rows.size(); ++c) {
      if (live_[c]) rows[c] = {classes_[c].jobs * classes_[c].gpus, factors[c] * classes_[c].speed[one_type_], 0};
    }
    return rows;
  }
  void keep(const std::vector<OneTypeRow>& rows) {
    for (std::size_t c = 0; c < rows.size(); ++c) plan_.x[c * types_ + one_type_] = rows[c].x;
  }

  struct Filling;  // of max_min()

  static constexpr std::size_t kNoType = static_cast<std::size_t>(-1);
  static constexpr std::size_t kSeveral = kNoType - 1;
  static constexpr int kMostFillings = 256;
  static constexpr int kMostBisections = 64;

  const std::vector<GavelClass>& classes_;
  const std::vector<double>& gpus_;
  const std::vector<double>& price_;
  const GavelSettings& settings_;
  std::size_t types_;
  std::size_t one_type_ = kNoType;  // the only one that anybody can use: no program is needed
  std::vector<bool> live_;
  std::vector<int> variable_;  // [class * types + type]
  GavelPlan plan_;
};

}  // namespace comity::sched
