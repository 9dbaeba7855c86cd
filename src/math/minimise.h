// SPDX-License-Identifier: Apache-2.0
// Least value of a function of a few variables without derivatives: the simplex method of Nelder and Mead (1965),
// started again once from its own result, because a simplex may collapse early. Deterministic. Points where the
// function is not finite are never chosen.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace comity::math {

struct Minimum {
  std::vector<double> at;
  double value = 0;
  std::size_t evaluations = 0;
};

// From `start`, first moves of `step` along each axis; at most about `evaluations` calls. start.size() >= 1.
[[nodiscard]] Minimum minimise(const std::function<double(const std::vector<double>&)>& f, std::vector<double> start,
                               const std::vector<double>& step, std::size_t evaluations);

}  // namespace comity::math
