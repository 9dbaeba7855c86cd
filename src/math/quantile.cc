// SPDX-License-Identifier: Apache-2.0
#include "math/quantile.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace comity::math {
namespace {

// Rank h = (n - 1) q as its whole and its fractional part.
struct Rank {
  std::size_t below;
  double part;
};

Rank rank_of(std::size_t n, double q) {
  COMITY_CHECK(q >= 0 && q <= 1);
  const double h = static_cast<double>(n - 1) * q;
  const double whole = std::floor(h);
  return {std::min(static_cast<std::size_t>(whole), n - 1), h - whole};
}

double between(double low, double high, double part) {
  return part == 0 || low == high ? low : low + part * (high - low);
}

// The quantile `q` of all of `values`, of which everything before `from` is known to be no greater than the rest.
// Afterwards everything before the returned rank's element is no greater than what follows.
double select(std::span<double> values, std::size_t from, Rank rank) {
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(rank.below);
  if (rank.below >= from) {
    std::nth_element(values.begin() + static_cast<std::ptrdiff_t>(from), nth, values.end());
  }
  if (rank.part == 0 || rank.below + 1 == values.size()) {
    return *nth;
  }
  return between(*nth, *std::min_element(nth + 1, values.end()), rank.part);
}

}  // namespace

double quantile(std::span<double> values, double q) {
  if (values.empty()) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return select(values, 0, rank_of(values.size(), q));
}

std::vector<double> quantiles(std::span<double> values, std::span<const double> qs) {
  std::vector<double> result(qs.size(), std::numeric_limits<double>::quiet_NaN());
  if (values.empty()) {
    return result;
  }
  std::vector<std::size_t> order(qs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return qs[a] < qs[b]; });
  std::size_t from = 0;  // rising ranks: each selection works on what the last one left above it
  for (const std::size_t i : order) {
    const Rank rank = rank_of(values.size(), qs[i]);
    result[i] = select(values, from, rank);
    from = rank.below + 1;
  }
  return result;
}

double mean(std::span<const double> values) {
  double sum = 0;
  double lost = 0;  // Neumaier
  for (const double x : values) {
    const double next = sum + x;
    lost += std::fabs(sum) >= std::fabs(x) ? (sum - next) + x : (x - next) + sum;
    sum = next;
  }
  const double total = std::isfinite(sum) ? sum + lost : sum;
  return values.empty() ? std::numeric_limits<double>::quiet_NaN() : total / static_cast<double>(values.size());
}

std::size_t drop_nan(std::vector<double>& values) {
  return std::erase_if(values, [](double x) { return std::isnan(x); });
}

Ecdf ecdf(std::span<double> values, std::size_t points) {
  Ecdf result;
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  const std::size_t kept = std::min(std::max<std::size_t>(points, 2), n);
  for (std::size_t k = 0; k < kept; ++k) {
    const std::size_t rank = kept == 1 ? n - 1 : k * (n - 1) / (kept - 1);
    const double x = values[rank];
    if (!result.x.empty() && x == result.x.back()) {
      continue;
    }
    const auto after = std::upper_bound(values.begin() + static_cast<std::ptrdiff_t>(rank), values.end(), x);
    result.x.push_back(x);
    result.f.push_back(static_cast<double>(after - values.begin()) / static_cast<double>(n));
  }
  return result;
}

Histogram histogram(std::span<const double> values, std::vector<double> edges) {
  COMITY_CHECK(edges.size() >= 2 && std::is_sorted(edges.begin(), edges.end(), std::less_equal<>()));
  Histogram result;
  result.edges = std::move(edges);
  result.counts.assign(result.edges.size() - 1, 0);
  for (const double x : values) {
    if (x < result.edges.front()) {
      ++result.below;
    } else if (x > result.edges.back()) {
      ++result.above;
    } else if (!std::isnan(x)) {
      const auto after = std::upper_bound(result.edges.begin(), result.edges.end(), x);
      const auto bin = static_cast<std::size_t>(after - result.edges.begin()) - 1;
      ++result.counts[std::min(bin, result.counts.size() - 1)];
    }
  }
  return result;
}

std::vector<double> linear_edges(double low, double high, std::size_t bins) {
  COMITY_CHECK(low < high && bins >= 1);
  std::vector<double> edges(bins + 1);
  for (std::size_t i = 0; i < bins; ++i) {
    edges[i] = low + (high - low) * (static_cast<double>(i) / static_cast<double>(bins));
  }
  edges[bins] = high;
  return edges;
}

std::vector<double> log_edges(double low, double high, std::size_t per_decade) {
  COMITY_CHECK(low > 0 && low <= high && std::isfinite(high) && per_decade >= 1);
  const auto per = static_cast<long>(per_decade);
  const auto edge = [&](long k) { return std::pow(10.0, static_cast<double>(k) / static_cast<double>(per)); };
  long first = std::lround(std::floor(std::log10(low) * static_cast<double>(per)));
  while (edge(first) > low) {
    --first;
  }
  while (edge(first + 1) <= low) {
    ++first;
  }
  std::vector<double> edges{edge(first)};
  for (long k = first + 1; edges.size() < 2 || edges.back() < high; ++k) {
    edges.push_back(edge(k));
  }
  return edges;
}

}  // namespace comity::math
