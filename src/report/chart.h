// SPDX-License-Identifier: Apache-2.0
// Charts as inline SVG text: read without JavaScript, coloured by CSS variables that html.h defines for a light and a
// dark theme, scaled by their viewBox. Each is a plain description that draw() turns into a <figure> with a title, a
// legend and an accessible description. The same description always gives the same bytes. Points that are not finite
// (or not positive on a logarithmic axis) are left out; a chart without a point says so. Names may hold anything:
// they are escaped and, where there is no room, shortened (the whole stays in a tooltip).
// Colours follow Okabe and Ito's palette, told apart also by colour-blind readers; series past the eighth are dashed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace comity::report {

inline constexpr double kAuto = std::numeric_limits<double>::quiet_NaN();

enum class Scale {
  kLinear,
  kLog,      // powers of ten; values must be positive
  kTime,     // values in seconds; ticks in ms, s, min, h or days
  kLogTime,  // lengths in seconds on a logarithmic scale, ticks at 1 s, 1 min, 1 h, 1 d ...
};

struct Axis {
  std::string title{};
  std::string unit{};  // shown behind the title as "title (unit)"; a time axis finds its own
  Scale scale = Scale::kLinear;
  double low = kAuto;   // kAuto: from the data; a y axis of non-negative values begins at 0
  double high = kAuto;  // kAuto: from the data
};

struct Series {
  std::string name{};
  std::vector<double> x{};
  std::vector<double> y{};  // as long as x
  bool step = false;        // y[i] holds from x[i] to x[i + 1]
};

// Lines or steps over x. Any number of series; a series of one point is a dot.
struct LineChart {
  std::string title{};
  std::string description{};  // for screen readers and below the title; may be empty
  Axis x{};
  Axis y{};
  std::vector<Series> series{};
};

// Cumulative distribution: y runs from 0 to 1 (shown in percent). Series as from math::ecdf().
struct CdfChart {
  std::string title{};
  std::string description{};
  Axis x{};
  std::vector<Series> series{};  // drawn as steps
};

// One group of bars for each entry of `groups`, one bar in it for each series.
struct BarSeries {
  std::string name{};
  std::vector<double> values{};  // as many as groups; NaN = no bar
};
struct BarChart {
  std::string title{};
  std::string description{};
  std::string group_title{};  // what the groups are
  Axis y{};                   // linear
  std::vector<std::string> groups{};
  std::vector<BarSeries> series{};
};

// Counts between edges, as from math::histogram(). A logarithmic x axis suits math::log_edges().
struct HistogramChart {
  std::string title{};
  std::string description{};
  Axis x{};
  Axis y{};  // linear
  std::vector<double> edges{};
  std::vector<double> counts{};  // edges.size() - 1
};

// A matrix as colours, light to dark, with its scale beside it. For example 7 days x 24 hours.
struct HeatMap {
  std::string title{};
  std::string description{};
  std::string row_title{};
  std::string column_title{};
  std::string value_title{};  // of the colour scale, with its unit
  std::vector<std::string> rows{};
  std::vector<std::string> columns{};
  std::vector<double> values{};  // row by row; NaN = no value
};

// Who uses which row (node, GPU) when. Bars of one key (a user, a job class) share a colour; the keys are the legend.
struct GanttBar {
  std::size_t row = 0;
  double begin = 0;  // seconds
  double end = 0;
  std::string key{};
  std::string label{};  // tooltip, for example "job 1042: 8 GPUs"
};
struct GanttChart {
  std::string title{};
  std::string description{};
  Axis x{};  // kTime whatever is set
  std::string row_title{};
  std::vector<std::string> rows{};
  std::vector<GanttBar> bars{};
};

[[nodiscard]] std::string draw(const LineChart& chart);
[[nodiscard]] std::string draw(const CdfChart& chart);
[[nodiscard]] std::string draw(const BarChart& chart);
[[nodiscard]] std::string draw(const HistogramChart& chart);
[[nodiscard]] std::string draw(const HeatMap& chart);
[[nodiscard]] std::string draw(const GanttChart& chart);

// At most about `points` points with the same picture: x is cut into points / 2 equal runs of samples, and of each the
// lowest and the highest are kept in their order (with the first and the last sample of all). Peaks never vanish.
// draw() does this itself for more than 1,000 points a series. O(n).
[[nodiscard]] Series thin(const Series& series, std::size_t points = 1000);

}  // namespace comity::report
