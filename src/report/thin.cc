// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "report/chart.h"

namespace comity::report {

Series thin(const Series& series, std::size_t points) {
  const std::size_t n = std::min(series.x.size(), series.y.size());
  if (n <= std::max<std::size_t>(points, 4)) {
    return series;
  }
  Series result{series.name, {}, {}, series.step};
  const std::size_t runs = std::max<std::size_t>(points / 2, 2) - 1;
  std::size_t kept = n;  // none
  const auto keep = [&](std::size_t i) {
    if (i != kept) {
      result.x.push_back(series.x[i]);
      result.y.push_back(series.y[i]);
      kept = i;
    }
  };
  keep(0);
  for (std::size_t run = 0; run < runs; ++run) {
    const std::size_t begin = run * n / runs;
    const std::size_t end = (run + 1) * n / runs;
    std::size_t low = begin;
    std::size_t high = begin;
    for (std::size_t i = begin; i < end; ++i) {
      low = series.y[i] < series.y[low] || std::isnan(series.y[low]) ? i : low;
      high = series.y[i] > series.y[high] || std::isnan(series.y[high]) ? i : high;
    }
    keep(std::min(low, high));
    keep(std::max(low, high));
  }
  keep(n - 1);
  return result;
}

}  // namespace comity::report
