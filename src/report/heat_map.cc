// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "report/html.h"
#include "report/svg.h"

namespace comity::report {
namespace {

constexpr double kFaintest = 0.07;

double widest_label(const std::vector<std::string>& labels, double most) {
  double widest = 0;
  for (const std::string& label : labels) {
    widest = std::max(widest, text_width(label));
  }
  return std::min(widest, most);
}

// The share of full colour of a value; all the same is half.
double strength(double v, const Extent& scale) {
  const double share = scale.high > scale.low ? (v - scale.low) / (scale.high - scale.low) : 0.5;
  return kFaintest + (1 - kFaintest) * std::clamp(share, 0.0, 1.0);
}

void paint_cells(Canvas& canvas, const Box& box, const HeatMap& map, const Extent& scale) {
  const std::size_t columns = map.columns.size();
  const double across = box.width / static_cast<double>(columns);
  const double down = box.height / static_cast<double>(map.rows.size());
  const double gap = across > 6 && down > 6 ? 1 : 0;
  for (std::size_t i = 0; i < std::min(map.values.size(), columns * map.rows.size()); ++i) {
    const std::size_t row = i / columns;
    const std::size_t column = i % columns;
    const Box cell{box.left + static_cast<double>(column) * across, box.top + static_cast<double>(row) * down,
                   across - gap, down - gap};
    if (std::isfinite(map.values[i])) {
      canvas.rect(cell, "heat", map.rows[row] + ", " + map.columns[column] + ": " + number_label(map.values[i]),
                  strength(map.values[i], scale));
    } else {
      canvas.rect(cell, "none");
    }
  }
}

void paint_labels(Canvas& canvas, const Box& box, const HeatMap& map) {
  const double down = box.height / static_cast<double>(map.rows.size());
  const auto every_row = static_cast<std::size_t>(std::max(std::ceil(13 / down), 1.0));
  for (std::size_t r = 0; r < map.rows.size(); r += every_row) {
    canvas.text(box.left - 6, box.top + (static_cast<double>(r) + 0.5) * down + 4, "end",
                shortened(map.rows[r], box.left - 6));
  }
  const double across = box.width / static_cast<double>(map.columns.size());
  const double widest = widest_label(map.columns, 90);
  const auto every = static_cast<std::size_t>(std::max(std::ceil((widest + 6) / across), 1.0));
  for (std::size_t c = 0; c < map.columns.size(); c += every) {
    canvas.text(box.left + (static_cast<double>(c) + 0.5) * across, box.top + box.height + 16, "middle",
                shortened(map.columns[c], 90));
  }
}

std::string scale_markup(const HeatMap& map, const Extent& scale) {
  return "<p class=\"scale\"><span>" + escape(map.value_title) + "</span><span>" + escape(number_label(scale.low)) +
         "</span><i class=\"ramp\"></i><span>" + escape(number_label(scale.high)) + "</span></p>";
}

}  // namespace

std::string draw(const HeatMap& map) {
  Extent scale;
  for (const double v : map.values) {
    scale.add(v, Scale::kLinear);
  }
  const bool empty = scale.empty() || map.rows.empty() || map.columns.empty();
  if (!empty && scale.low > 0) {
    scale.low = 0;
  }
  const double rows = static_cast<double>(std::max<std::size_t>(map.rows.size(), 2));
  const auto height = [&](double each) { return std::clamp(rows * each, 80.0, 900.0) + 70; };
  return figure(
      {map.title, map.description}, {}, height(26), height(22),
      [&](Canvas& canvas) {
        if (empty) {
          draw_no_data(canvas);
          return;
        }
        const double left = widest_label(map.rows, canvas.narrow() ? 90 : 160) + 10;
        const Box box{left, 22, canvas.width() - left - 4, canvas.height() - 22 - 42};
        canvas.text(0, 13, "start", shortened(map.row_title, canvas.width()), "title");
        canvas.text(box.left + box.width / 2, canvas.height() - 6, "middle", shortened(map.column_title, box.width),
                    "title");
        paint_cells(canvas, box, map, scale);
        paint_labels(canvas, box, map);
      },
      empty ? std::string() : scale_markup(map, scale));
}

}  // namespace comity::report
