// SPDX-License-Identifier: Apache-2.0
// Where an axis begins and ends and which values it names. Ticks of a linear axis lie at multiples of 1, 2 or 5 times a
// power of ten; of a time axis at whole seconds, minutes, hours or days as people count them; of a logarithmic axis at
// powers of ten (with 2 and 5 between them when there are few). Labels of one axis all differ.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "report/chart.h"

namespace comity::report {

struct Tick {
  double at;
  std::string label;
};

// Least and greatest of the values an axis can show.
struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  [[nodiscard]] bool empty() const { return !(low <= high); }
  void add(double v, Scale scale);
};

// True when `v` has a place on a scale: finite, and positive on a logarithmic one.
[[nodiscard]] bool can_show(double v, Scale scale);

struct PlannedAxis {
  Scale scale = Scale::kLinear;
  double low = 0;
  double high = 1;
  std::string title;  // with its unit
  std::vector<Tick> ticks;

  // 0 at `low`, 1 at `high`; a little beyond for values outside. `v` must be showable.
  [[nodiscard]] double place(double v) const;
};

enum class Ends { kData, kRound };  // the axis ends at the data, or at the next tick beyond

// About `most` ticks at the most (1 to 2 more on logarithmic axes). An empty extent gives a plain 0 to 1 axis.
[[nodiscard]] PlannedAxis plan_axis(const Axis& axis, Extent data, std::size_t most, Ends ends);

// 1, 2 or 5 times a power of ten, the least with at most `most` steps in `range`. range > 0.
[[nodiscard]] double round_step(double range, std::size_t most);

// `v` for people with as many digits as tell multiples of `step` apart: "1,500", "0.25", "3 M".
[[nodiscard]] std::string number_label(double v, double step, double greatest);

// One number on its own, about four digits: "12,345", "0.1235", "1.235 M".
[[nodiscard]] std::string number_label(double v);

}  // namespace comity::report
