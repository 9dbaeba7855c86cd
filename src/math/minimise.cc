// SPDX-License-Identifier: Apache-2.0
#include "math/minimise.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace comity::math {
namespace {

class Simplex {
 public:
  Simplex(const std::function<double(const std::vector<double>&)>& f, const std::vector<double>& start,
          const std::vector<double>& step, std::size_t& evaluations)
      : f_(f), evaluations_(evaluations) {
    corners_.push_back(corner(start));
    for (std::size_t i = 0; i < start.size(); ++i) {
      std::vector<double> x = start;
      x[i] += step[i];
      corners_.push_back(corner(std::move(x)));
    }
    order();
  }

  void run(std::size_t until) {
    while (evaluations_ < until && spread() > 1e-12 * (1 + std::abs(corners_.front().value))) {
      step();
      order();
    }
  }
  [[nodiscard]] const std::vector<double>& at() const { return corners_.front().x; }
  [[nodiscard]] double value() const { return corners_.front().value; }

 private:
  struct Corner {
    std::vector<double> x;
    double value;
  };
  Corner corner(std::vector<double> x) {
    ++evaluations_;
    const double v = f_(x);
    return {std::move(x), std::isfinite(v) ? v : std::numeric_limits<double>::max()};
  }
  void order() {
    std::stable_sort(corners_.begin(), corners_.end(),
                     [](const Corner& a, const Corner& b) { return a.value < b.value; });
  }
  [[nodiscard]] double spread() const { return corners_.back().value - corners_.front().value; }

  // The point c + t (worst - c), c the centre of all corners but the worst.
  Corner along(double t) {
    const std::size_t n = corners_.size() - 1;
    std::vector<double> x(n, 0);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) x[j] += corners_[i].x[j] / static_cast<double>(n);
    for (std::size_t j = 0; j < n; ++j) x[j] += t * (corners_.back().x[j] - x[j]);
    return corner(std::move(x));
  }
  void step() {
    Corner reflected = along(-1);
    const std::size_t n = corners_.size() - 1;
    if (reflected.value < corners_.front().value) {
      Corner expanded = along(-2);
      corners_.back() = expanded.value < reflected.value ? std::move(expanded) : std::move(reflected);
    } else if (reflected.value < corners_[n > 1 ? n - 1 : 0].value) {
      corners_.back() = std::move(reflected);
    } else if (Corner inside = along(0.5); inside.value < corners_.back().value) {
      corners_.back() = std::move(inside);
    } else {
      for (std::size_t i = 1; i <= n; ++i) {
        std::vector<double> x = corners_[i].x;
        for (std::size_t j = 0; j < n; ++j) x[j] = (x[j] + corners_.front().x[j]) / 2;
        corners_[i] = corner(std::move(x));
      }
    }
  }

  const std::function<double(const std::vector<double>&)>& f_;
  std::size_t& evaluations_;
  std::vector<Corner> corners_;
};

}  // namespace

Minimum minimise(const std::function<double(const std::vector<double>&)>& f, std::vector<double> start,
                 const std::vector<double>& step, std::size_t evaluations) {
  COMITY_CHECK(!start.empty() && start.size() == step.size());
  Minimum out;
  for (int round = 1; round <= 2; ++round) {
    Simplex simplex(f, start, step, out.evaluations);
    simplex.run(static_cast<std::size_t>(round) * evaluations / 2);
    start = simplex.at();
    out.value = simplex.value();
  }
  out.at = std::move(start);
  return out;
}

}  // namespace comity::math
