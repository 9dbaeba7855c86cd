// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "report/svg.h"

namespace comity::report {
namespace {

constexpr double kHeightMost = 1400;
constexpr double kThinnest = 0.7;  // a bar never vanishes

struct Keys {
  std::vector<LegendEntry> legend;
  std::unordered_map<std::string_view, std::size_t> index;  // by first appearance
};

bool can_draw(const GanttChart& chart, const GanttBar& bar) {
  return bar.row < chart.rows.size() && std::isfinite(bar.begin) && std::isfinite(bar.end) && bar.end >= bar.begin;
}

double rows_height(const GanttChart& chart, double each) {
  return std::clamp(each * static_cast<double>(chart.rows.size()), 60.0, kHeightMost);
}

void paint_rows(Canvas& canvas, const Box& box, const GanttChart& chart) {
  const double down = box.height / static_cast<double>(chart.rows.size());
  const auto every = static_cast<std::size_t>(std::max(std::ceil(13 / down), 1.0));
  for (std::size_t r = 0; r < chart.rows.size(); r += every) {
    const double middle = box.top + (static_cast<double>(r) + 0.5) * down;
    canvas.text(box.left - 6, middle + 4, "end", shortened(chart.rows[r], box.left - 6));
  }
}

void paint_bars(Canvas& canvas, const Box& box, const GanttChart& chart, const PlannedAxis& x, const Keys& keys) {
  const double down = box.height / static_cast<double>(chart.rows.size());
  const double gap = down > 6 ? 2 : 0;
  canvas.begin_clip(box);
  for (const GanttBar& bar : chart.bars) {
    if (!can_draw(chart, bar)) {
      continue;
    }
    const double left = x.place(bar.begin) * box.width;
    const double right = x.place(bar.end) * box.width;
    canvas.rect({left, static_cast<double>(bar.row) * down + gap / 2, std::max(right - left, kThinnest), down - gap},
                "bar " + keys.legend[keys.index.at(bar.key)].classes,
                canvas.narrow() ? std::string_view() : std::string_view(bar.label));  // thousands; nobody hovers there
  }
  canvas.end_clip();
}

}  // namespace

std::string draw(const GanttChart& chart) {
  Keys keys;
  Extent extent;
  for (const GanttBar& bar : chart.bars) {
    if (!can_draw(chart, bar)) {
      continue;
    }
    if (keys.index.emplace(bar.key, keys.legend.size()).second) {
      keys.legend.push_back({bar.key, series_class(keys.legend.size()), false});
    }
    extent.add(bar.begin, Scale::kTime);
    extent.add(bar.end, Scale::kTime);
  }
  Axis axis = chart.x;
  axis.scale = Scale::kTime;
  double widest = 0;
  for (const std::string& row : chart.rows) {
    widest = std::max(widest, text_width(row));
  }
  return figure({chart.title, chart.description}, keys.legend, rows_height(chart, 20) + 74, rows_height(chart, 16) + 74,
                [&](Canvas& canvas) {
                  if (extent.empty()) {
                    draw_no_data(canvas);
                    return;
                  }
                  PlannedAxis rows;
                  rows.title = chart.row_title;
                  const PlannedAxis x = plan_axis(axis, extent, x_tick_count(canvas), Ends::kData);
                  const double left = std::clamp(widest + 10, 20.0, canvas.narrow() ? 90.0 : 160.0);
                  const Box box = draw_axes(canvas, x, &rows, true, {0, left});
                  paint_rows(canvas, box, chart);
                  paint_bars(canvas, box, chart, x, keys);
                });
}

}  // namespace comity::report
