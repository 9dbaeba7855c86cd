// SPDX-License-Identifier: Apache-2.0
// Order statistics of samples: quantiles, the empirical distribution function and histograms.
//
// The quantile q of the sorted sample x_0 <= ... <= x_{n-1} is x_j + (h - j)(x_{j+1} - x_j) with h = (n - 1) q and
// j = floor(h): Hyndman and Fan's type 7, the default of NumPy and R. Samples must not hold NaN (drop_nan() removes
// them); infinities are ordered like numbers. Nothing here keeps state: safe from any thread on its own data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace comity::math {

// The quantile q in [0, 1]; NaN for an empty sample. Reorders `values`. O(n) expected.
[[nodiscard]] double quantile(std::span<double> values, double q);

// Several quantiles at once, in the order asked, any order. Reorders `values`. O(n k) for k quantiles.
[[nodiscard]] std::vector<double> quantiles(std::span<double> values, std::span<const double> qs);

// Arithmetic mean (compensated); NaN for an empty sample.
[[nodiscard]] double mean(std::span<const double> values);

// Removes NaN in place, keeping the order of the rest; returns how many went.
std::size_t drop_nan(std::vector<double>& values);

// F(x) = share of the sample that is <= x, as points for a step or line plot: x strictly rising, F rising to 1. At each
// kept point F is exact; at most max(points, 2) points are kept, among them the least and the greatest sample, the rest
// evenly spread in rank. Sorts `values`. O(n log n). Empty for an empty sample.
struct Ecdf {
  std::vector<double> x;
  std::vector<double> f;
};
[[nodiscard]] Ecdf ecdf(std::span<double> values, std::size_t points = 200);

// Counts in bins [edge_i, edge_{i+1}), the last one closed at its right end. `edges` strictly rising, at least two.
// Samples outside are counted in `below` and `above`; NaN in neither. O(n log bins).
struct Histogram {
  std::vector<double> edges;
  std::vector<std::uint64_t> counts;  // edges.size() - 1
  std::uint64_t below = 0;
  std::uint64_t above = 0;
};
[[nodiscard]] Histogram histogram(std::span<const double> values, std::vector<double> edges);

// `bins` equal bins over [low, high]; low < high, bins >= 1.
[[nodiscard]] std::vector<double> linear_edges(double low, double high, std::size_t bins);
// Edges at 10^(k / per_decade), from the last one <= low to the first one >= high; 0 < low <= high. Whole powers of ten
// are exact, so that the same data always falls in the same bins.
[[nodiscard]] std::vector<double> log_edges(double low, double high, std::size_t per_decade = 5);

}  // namespace comity::math
