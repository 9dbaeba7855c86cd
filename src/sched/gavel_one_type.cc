// SPDX-License-Identifier: Apache-2.0
#include "sched/gavel_one_type.h"

#include <algorithm>

namespace comity::sched {
namespace {

constexpr double kSlack = 1e-9;  // relative

// Rows that take part, by `full`, rising.
std::vector<OneTypeRow*> by_full(std::vector<OneTypeRow>& rows) {
  std::vector<OneTypeRow*> order;
  for (OneTypeRow& row : rows) {
    if (row.demand > 0 && row.full > 0) order.push_back(&row);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const OneTypeRow* a, const OneTypeRow* b) { return a->full < b->full; });
  return order;
}

}  // namespace

double fill_one_type(std::vector<OneTypeRow>& rows, double gpus) {
  const std::vector<OneTypeRow*> order = by_full(rows);
  std::vector<double> slope(order.size() + 1, 0);  // GPUs for each unit of the level, of this row and those behind it
  for (std::size_t i = order.size(); i-- > 0;) slope[i] = slope[i + 1] + order[i]->demand / order[i]->full;
  double least = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    OneTypeRow& row = *order[i];
    const double level = std::min(row.full, std::max(0.0, gpus) / slope[i]);  // the rows before have x = 1
    if (i == 0) least = level;
    if (level < row.full) {
      for (std::size_t k = i; k < order.size(); ++k) order[k]->x = level / order[k]->full;
      return least;
    }
    row.x = 1;
    gpus -= row.demand;
  }
  return least;
}

bool reach_one_type(std::vector<OneTypeRow>& rows, double gpus) {
  double used = 0;
  for (OneTypeRow& row : rows) {
    if (row.x > 1 + kSlack) return false;
    row.x = std::clamp(row.x, 0.0, 1.0);
    used += row.demand * row.x;
  }
  if (used > gpus * (1 + kSlack)) return false;
  double left = std::max(0.0, gpus - used);
  const std::vector<OneTypeRow*> order = by_full(rows);
  for (std::size_t i = order.size(); i-- > 0;) {
    const double more = std::min(1 - order[i]->x, left / order[i]->demand);
    order[i]->x += more;
    left -= more * order[i]->demand;
  }
  return true;
}

}  // namespace comity::sched
