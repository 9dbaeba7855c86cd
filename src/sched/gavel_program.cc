// SPDX-License-Identifier: Apache-2.0
#include "sched/gavel_program.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "sched/gavel_model.h"

namespace comity::sched {
namespace {

using math::Sense;
using math::SolveStatus;

class Planner : public GavelModel {
 public:
  using GavelModel::GavelModel;

  GavelPlan run() {
    if (std::none_of(live_.begin(), live_.end(), [](bool live) { return live; })) return plan_;
    switch (settings_.objective) {
      case GavelObjective::kMaxMin: max_min(); break;
      case GavelObjective::kFinishTime: finish_time(); break;
      case GavelObjective::kMakespan: makespan(); break;
      case GavelObjective::kCost: cost(); break;
    }
    return std::move(plan_);
  }

 private:
  // Whether each class can have its throughput; keeps the times if so. What is left over goes where it speeds up most.
  bool reaches(const std::vector<double>& wanted) {
    if (one_type_ != kNoType) {
      std::vector<OneTypeRow> rows = one_type_rows(std::vector<double>(classes_.size(), 1));
      for (std::size_t c = 0; c < rows.size(); ++c) rows[c].x = live_[c] ? wanted[c] / rows[c].full : 0;
      if (!reach_one_type(rows, gpus_[one_type_])) return false;
      keep(rows);
      return true;
    }
    LinearProgram p(Sense::kMaximise);
    const int more = p.add_variable(1, 0, kInfinity);
    add_times(p);
    std::vector<Term> total{{more, -1}};
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      if (!live_[c]) continue;
      const std::vector<Term> terms = speed_terms(c, 1);
      for (const Term& t : terms) total.push_back({t.variable, t.factor * classes_[c].jobs * classes_[c].gpus});
      p.add_row(wanted[c], kInfinity, terms);
    }
    p.add_row(0, kInfinity, total);
    const Solution s = solved(p);
    if (s.status != SolveStatus::kOptimal) return false;
    keep(s);
    return true;
  }

  void finish_time() {
    const std::vector<double> isolated = isolated_speed(classes_, gpus_);
    std::vector<double> ideal(classes_.size(), 1);
    double low = 1e-9;
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      if (!live_[c]) continue;
      const GavelClass& m = classes_[c];
      ideal[c] = std::max(m.isolated_s + m.left_s / isolated[c], 1e-6);
      low = std::max(low, (m.age_s + m.left_s / best_speed(c)) / ideal[c]);  // each on its best type all the time
    }
    const auto at = [&](double rho) {
      std::vector<double> wanted(classes_.size(), 0);
      for (std::size_t c = 0; c < classes_.size(); ++c) {
        if (!live_[c] || classes_[c].left_s <= 0) continue;
        const double time = rho * ideal[c] - classes_[c].age_s;
        wanted[c] = std::min(classes_[c].left_s / std::max(time, 1e-9), best_speed(c) * (time > 0 ? 1 : 2));
      }
      return wanted;
    };
    double high = low * 1.001;
    for (double step = 1.05; !reaches(at(high)); step *= step) {
      if (plan_.programs > kMostBisections) return;
      low = high;
      high *= step;
    }
    bisect(low, high, 1.001, at);
  }

  void makespan() {
    const auto at = [&](double span) {
      std::vector<double> wanted(classes_.size(), 0);
      for (std::size_t c = 0; c < classes_.size(); ++c) wanted[c] = live_[c] ? classes_[c].left_s / span : 0;
      return wanted;
    };
    double low = 100;
    double high = 1e6;
    while (!reaches(at(high))) {
      if (plan_.programs > kMostBisections) return;
      low = high;
      high *= 100;
    }
    bisect(low, high, 1.05, at);
  }

  template <class At>
  void bisect(double low, double high, double until, const At& at) {
    while (until * low < high && plan_.programs <= kMostBisections) {
      const double middle = std::sqrt(low * high);
      (reaches(at(middle)) ? high : low) = middle;
    }
    plan_.value = high;
  }

  // Y = tau X, sum s price Y = 1. X is as large as its ratios allow.
  void cost() {
    LinearProgram p(Sense::kMaximise);
    const int tau = p.add_variable(0, 0, kInfinity);
    const int gain = p.add_variable(1, 0, kInfinity);
    add_times(p, tau);
    std::vector<Term> paid;
    std::vector<Term> gained{{gain, -1}};
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      const double gpus = classes_[c].jobs * classes_[c].gpus;
      for (const Term& t : speed_terms(c, gpus)) gained.push_back(t);
      for (std::size_t j = 0; j < types_; ++j) {
        if (variable_[c * types_ + j] >= 0) paid.push_back({variable_[c * types_ + j], gpus * price_[j]});
      }
    }
    p.add_row(1, 1, paid);
    p.add_row(0, kInfinity, gained);
    const Solution s = solved(p);
    if (s.status != SolveStatus::kOptimal) return;
    plan_.value = s.objective;
    std::vector<double> used(types_, 0);
    double most = 0;
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      double busy = 0;
      for (std::size_t j = 0; j < types_; ++j) {
        const int v = variable_[c * types_ + j];
        const double y = v < 0 ? 0 : std::max(0.0, s.values[static_cast<std::size_t>(v)]);
        busy += y;
        used[j] += y * classes_[c].jobs * classes_[c].gpus;
      }
      most = std::max(most, busy);
    }
    for (std::size_t j = 0; j < types_; ++j) most = gpus_[j] > 0 ? std::max(most, used[j] / gpus_[j]) : most;
    if (most > 0) keep(s, 1 / most);
  }
};

}  // namespace

GavelPlan plan_gavel(const std::vector<GavelClass>& classes, const std::vector<double>& gpus,
                     const std::vector<double>& price, const GavelSettings& settings) {
  for (const GavelClass& c : classes) COMITY_CHECK(c.speed.size() == gpus.size() && c.weight > 0 && c.gpus > 0);
  return Planner(classes, gpus, price, settings).run();
}

}  // namespace comity::sched
