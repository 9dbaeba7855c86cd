// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "report/svg.h"

namespace comity::report {
namespace {

constexpr double kTurned = -38;          // degrees of labels too wide for their group
constexpr double kLabelMost = 150;       // widest group label
constexpr std::size_t kValuesMost = 16;  // bars that carry their value

double label_width(const BarChart& chart) {
  double widest = 0;
  for (const std::string& group : chart.groups) {
    widest = std::max(widest, text_width(group));
  }
  return std::min(widest, kLabelMost);
}

void paint_group_labels(Canvas& canvas, const Box& box, const BarChart& chart, bool turned) {
  const double slot = box.width / static_cast<double>(chart.groups.size());
  const auto every = static_cast<std::size_t>(std::ceil((turned ? 14.0 : 1.0) / slot));
  const double floor = box.top + box.height;
  for (std::size_t g = 0; g < chart.groups.size(); g += std::max<std::size_t>(every, 1)) {
    const double middle = box.left + (static_cast<double>(g) + 0.5) * slot;
    if (turned) {
      const double room = std::min(kLabelMost, (middle + 4) / std::cos(kTurned * M_PI / 180));
      canvas.text(middle + 4, floor + 14, "end", shortened(chart.groups[g], room), {}, kTurned);
    } else {
      canvas.text(middle, floor + 17, "middle", chart.groups[g]);
    }
  }
}

void paint_bars(Canvas& canvas, const Box& box, const BarChart& chart, const PlannedAxis& y) {
  const std::size_t bars = chart.groups.size() * chart.series.size();
  const double slot = box.width / static_cast<double>(chart.groups.size());
  const double across = std::min(slot * 0.8 / static_cast<double>(chart.series.size()), 60.0);
  const double zero = 1 - std::clamp(y.place(std::clamp(0.0, y.low, y.high)), 0.0, 1.0);
  for (std::size_t g = 0; g < chart.groups.size(); ++g) {
    const double left =
        box.left + (static_cast<double>(g) + 0.5) * slot - across * static_cast<double>(chart.series.size()) / 2;
    for (std::size_t s = 0; s < chart.series.size(); ++s) {
      const std::vector<double>& values = chart.series[s].values;
      if (g >= values.size() || !std::isfinite(values[g])) {
        continue;
      }
      const double end = 1 - std::clamp(y.place(values[g]), 0.0, 1.0);
      const double x = left + across * static_cast<double>(s);
      const Box bar{x + 0.5, box.top + std::min(zero, end) * box.height, std::max(across - 1, 0.5),
                    std::fabs(zero - end) * box.height};
      const std::string label = number_label(values[g]);
      const std::string& name = chart.series[s].name;
      canvas.rect(bar, "bar " + series_class(s), chart.groups[g] + (name.empty() ? "" : ", " + name) + ": " + label);
      if (bars <= kValuesMost && text_width(label) < across + 6) {
        canvas.text(x + across / 2, bar.top + (values[g] < 0 ? bar.height + 12 : -4), "middle", label, "value");
      }
    }
  }
}

}  // namespace

std::string draw(const BarChart& chart) {
  std::vector<LegendEntry> legend;
  Extent extent;
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    legend.push_back({chart.series[s].name, series_class(s), false});
    for (const double v : chart.series[s].values) {
      extent.add(v, Scale::kLinear);
    }
  }
  const bool empty = extent.empty() || chart.groups.empty();
  if (!extent.empty()) {
    extent.add(0, Scale::kLinear);
  }
  Axis y_axis = chart.y;
  y_axis.scale = y_axis.scale == Scale::kTime ? Scale::kTime : Scale::kLinear;
  return figure({chart.title, chart.description}, legend, 350, 280, [&](Canvas& canvas) {
    PlannedAxis x;
    x.title = chart.group_title;
    const PlannedAxis y = plan_axis(y_axis, extent, y_tick_count(canvas), Ends::kRound);
    const double widest = label_width(chart);
    const double slot = (canvas.width() - 70) / static_cast<double>(std::max<std::size_t>(chart.groups.size(), 1));
    const bool turned = widest + 8 > slot;
    const Margins margins{turned ? widest * 0.62 : 0, 0};
    canvas.resize(canvas.height() + margins.bottom);
    const Box box = draw_axes(canvas, x, &y, false, margins);
    if (empty) {
      draw_no_data(canvas);
      return;
    }
    paint_bars(canvas, box, chart, y);
    paint_group_labels(canvas, box, chart, turned);
  });
}

std::string draw(const HistogramChart& chart) {
  Extent x_extent;
  Extent y_extent;
  const std::size_t bins = chart.edges.empty() ? 0 : std::min(chart.counts.size(), chart.edges.size() - 1);
  for (std::size_t i = 0; i < bins; ++i) {
    x_extent.add(chart.edges[i], chart.x.scale);
    x_extent.add(chart.edges[i + 1], chart.x.scale);
    y_extent.add(chart.counts[i], Scale::kLinear);
  }
  Axis y_axis = chart.y;
  y_axis.scale = Scale::kLinear;
  return figure({chart.title, chart.description}, {}, 320, 250, [&](Canvas& canvas) {
    const PlannedAxis x = plan_axis(chart.x, x_extent, x_tick_count(canvas), Ends::kData);
    const PlannedAxis y = plan_axis(y_axis, y_extent, y_tick_count(canvas), Ends::kRound);
    const Box box = draw_axes(canvas, x, &y, true);
    if (x_extent.empty() || y_extent.empty()) {
      draw_no_data(canvas);
      return;
    }
    canvas.begin_clip(box);
    for (std::size_t i = 0; i < bins; ++i) {
      if (!can_show(chart.edges[i], x.scale) || !can_show(chart.edges[i + 1], x.scale) ||
          !std::isfinite(chart.counts[i])) {
        continue;
      }
      const double left = x.place(chart.edges[i]) * box.width;
      const double right = x.place(chart.edges[i + 1]) * box.width;
      const double height = std::max(y.place(chart.counts[i]), 0.0) * box.height;
      const double gap = right - left > 3 ? 1 : 0;
      canvas.rect({left, box.height - height, right - left - gap, height}, "bar s0",
                  number_label(chart.edges[i]) + " to " + number_label(chart.edges[i + 1]) + ": " +
                      number_label(chart.counts[i]));
    }
    canvas.end_clip();
  });
}

}  // namespace comity::report
