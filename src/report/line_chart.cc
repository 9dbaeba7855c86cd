// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "report/svg.h"

namespace comity::report {
namespace {

constexpr std::size_t kMostPoints = 1000;

// One series as a path; points that cannot be shown break it, and a point alone becomes a dot.
class Pen {
 public:
  Pen(Canvas& canvas, std::string classes, bool step) : canvas_(canvas), classes_(std::move(classes)), step_(step) {}
  ~Pen() { lift(); }
  Pen(const Pen&) = delete;
  Pen& operator=(const Pen&) = delete;

  void to(double x, double y) {
    if (count_ == 0) {
      first_ = {x, y};
    } else {
      if (count_ == 1) {
        canvas_.raw("<path class=\"line ").raw(classes_).raw("\" d=\"M");
        canvas_.number(first_.first).raw(" ").number(first_.second);
      }
      if (step_) {
        canvas_.raw("H").number(x).raw("V").number(y);
      } else {
        canvas_.raw("L").number(x).raw(" ").number(y);
      }
    }
    ++count_;
  }
  void lift() {
    if (count_ == 1) {
      canvas_.raw("<circle class=\"dot ").raw(classes_).raw("\" cx=\"").number(first_.first);
      canvas_.raw("\" cy=\"").number(first_.second).raw("\" r=\"3.5\"/>");
    } else if (count_ > 1) {
      canvas_.raw("\"/>");
    }
    count_ = 0;
  }

 private:
  Canvas& canvas_;
  std::string classes_;
  bool step_;
  std::pair<double, double> first_;
  std::size_t count_ = 0;
};

void paint_series(Canvas& canvas, const Box& box, const PlannedAxis& x, const PlannedAxis& y, const Series& series,
                  std::size_t index) {
  Pen pen(canvas, series_class(index), series.step);
  for (std::size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i) {
    if (can_show(series.x[i], x.scale) && can_show(series.y[i], y.scale)) {
      pen.to(x.place(series.x[i]) * box.width, (1 - y.place(series.y[i])) * box.height);
    } else {
      pen.lift();
    }
  }
}

std::string draw_lines(const FigureText& text, const Axis& x_axis, const Axis& y_axis,
                       const std::vector<Series>& series) {
  std::vector<LegendEntry> legend;
  std::vector<Series> thinned;
  Extent x_extent;
  Extent y_extent;
  for (std::size_t k = 0; k < series.size(); ++k) {
    legend.push_back({series[k].name, series_class(k), true});
    thinned.push_back(thin(series[k], kMostPoints));
    const Series& s = thinned.back();
    for (std::size_t i = 0; i < std::min(s.x.size(), s.y.size()); ++i) {
      if (can_show(s.x[i], x_axis.scale) && can_show(s.y[i], y_axis.scale)) {
        x_extent.add(s.x[i], x_axis.scale);
        y_extent.add(s.y[i], y_axis.scale);
      }
    }
  }
  return figure(text, legend, 350, 270, [&](Canvas& canvas) {
    const PlannedAxis x = plan_axis(x_axis, x_extent, x_tick_count(canvas), Ends::kData);
    const PlannedAxis y = plan_axis(y_axis, y_extent, y_tick_count(canvas), Ends::kRound);
    const Box box = draw_axes(canvas, x, &y, true);
    if (x_extent.empty()) {
      draw_no_data(canvas);
      return;
    }
    canvas.begin_clip(box);
    for (std::size_t k = 0; k < thinned.size(); ++k) {
      paint_series(canvas, box, x, y, thinned[k], k);
    }
    canvas.end_clip();
  });
}

}  // namespace

std::string draw(const LineChart& chart) {
  return draw_lines({chart.title, chart.description}, chart.x, chart.y, chart.series);
}

std::string draw(const CdfChart& chart) {
  std::vector<Series> steps = chart.series;
  for (Series& s : steps) {
    s.step = true;
    for (double& f : s.y) {
      f *= 100;
    }
    if (!s.x.empty() && s.x.size() == s.y.size()) {  // the distribution rises from zero at its least sample
      s.x.insert(s.x.begin(), s.x.front());
      s.y.insert(s.y.begin(), 0);
    }
  }
  const Axis y{.title = "share at or below", .unit = "%", .scale = Scale::kLinear, .low = 0, .high = 100};
  return draw_lines({chart.title, chart.description}, chart.x, y, steps);
}

}  // namespace comity::report
