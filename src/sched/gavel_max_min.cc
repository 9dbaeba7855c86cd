// SPDX-License-Identifier: Apache-2.0
// Water filling. A class has a cap: its share when it is on its best type all the time. While classes are open:
//   caps    the most of them, lowest caps first, that can have their caps while the others have the greatest of these;
//           they are fixed there. Tried are one, all, and then the middle
//   level   the others as high as can be together; those whose rows have a dual, one at least, can't rise: fixed there
// Where nothing is short that takes two programs.
#include <cmath>

#include "base/check.h"
#include "sched/gavel_model.h"

namespace comity::sched {
namespace {

using math::Sense;
using math::SolveStatus;

constexpr double kTight = 1 - 1e-9;

}  // namespace

struct GavelModel::Filling {
  GavelModel& model;
  std::vector<double> factors;
  std::vector<double> caps;       // by class
  std::vector<double> fixed;      // levels that are kept; -1 = open
  std::vector<std::size_t> open;  // by cap, rising
  std::vector<int> rows;          // of the last program, by class

  explicit Filling(GavelModel& m)
      : model(m),
        factors(share_factors(m.classes_, m.gpus_, m.settings_.artifact_normaliser)),
        caps(factors.size(), 0),
        fixed(factors.size(), -1) {
    for (std::size_t c = 0; c < caps.size(); ++c) {
      caps[c] = factors[c] * model.best_speed(c);
      if (model.live_[c]) open.push_back(c);
    }
    std::stable_sort(open.begin(), open.end(), [&](std::size_t a, std::size_t b) { return caps[a] < caps[b]; });
  }

  // Each class at `least` or more; open ones at the variable `level` if there is one.
  Solution solve(const std::vector<double>& least, bool with_level) {
    LinearProgram p(Sense::kMaximise);
    const int level = with_level ? p.add_variable(1, 0, kInfinity) : -1;
    model.add_times(p);
    rows.assign(caps.size(), -1);
    for (std::size_t c = 0; c < caps.size(); ++c) {
      if (!model.live_[c]) continue;
      std::vector<Term> terms = model.speed_terms(c, factors[c]);
      const bool rises = with_level && fixed[c] < 0;
      if (rises) terms.push_back({level, -1});
      rows[c] = p.add_row(rises ? 0 : std::max(least[c], 0.0), kInfinity, terms);
    }
    return model.solved(p);
  }

  // Whether the first n open classes can have their caps and the others the greatest of these; keeps the times if so.
  bool caps_fit(std::size_t n) {
    std::vector<double> least = fixed;
    for (std::size_t i = 0; i < open.size(); ++i) least[open[i]] = caps[open[std::min(i, n - 1)]] * kTight;
    const Solution s = solve(least, false);
    if (s.status != SolveStatus::kOptimal) return false;
    model.keep(s);
    return true;
  }
  void fix_caps() {
    std::size_t low = 0;  // so many fit
    std::size_t high = open.size() + 1;
    for (std::size_t n = 1; low + 1 < high; n = n == 1 && open.size() > 1 ? open.size() : (low + high) / 2)
      (caps_fit(n) ? low : high) = n;
    const std::size_t fits = low;
    for (std::size_t i = 0; i < fits; ++i) fixed[open[i]] = caps[open[i]] * kTight;
    open.erase(open.begin(), open.begin() + static_cast<std::ptrdiff_t>(fits));
  }

  // The level of the open classes, or -1; fixes those that cannot rise, or all if no dual says which.
  double fix_level() {
    const Solution s = solve(fixed, true);
    if (s.status != SolveStatus::kOptimal) return -1;  // what was found before stands
    model.keep(s);
    const auto tight = [&](std::size_t c) { return std::abs(s.duals[static_cast<std::size_t>(rows[c])]) >= 1e-9; };
    const bool any = std::any_of(open.begin(), open.end(), tight);
    std::erase_if(open, [&](std::size_t c) {
      if (any && !tight(c)) return false;
      fixed[c] = s.objective * kTight;
      return true;
    });
    return s.objective;
  }
};

void GavelModel::max_min() {
  Filling f(*this);
  if (one_type_ != kNoType) {
    std::vector<OneTypeRow> rows = one_type_rows(f.factors);
    plan_.value = fill_one_type(rows, gpus_[one_type_]);
    return keep(rows);
  }
  const std::size_t lowest = f.open.front();
  if (settings_.water_filling) f.fix_caps();
  if (f.fixed[lowest] >= 0) plan_.value = f.caps[lowest];
  for (bool first = f.fixed[lowest] < 0; !f.open.empty() && plan_.programs < kMostFillings; first = false) {
    const double level = f.fix_level();
    if (first) plan_.value = std::max(0.0, level);
    if (level < 0 || !settings_.water_filling) return;
    if (!f.open.empty()) f.fix_caps();
  }
}

}  // namespace comity::sched
