// SPDX-License-Identifier: Apache-2.0
// What all charts share: a figure with its caption and legend in HTML (they wrap by themselves), and the drawing twice
// as SVG, once laid out for a wide screen and once for a narrow one, of which the style sheet shows one.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/axis.h"

namespace comity::report {

inline constexpr std::size_t kColours = 8;

struct Box {
  double left = 0;
  double top = 0;
  double width = 0;
  double height = 0;
};

// One SVG being written. Coordinates are rounded to tenths. Text is escaped.
class Canvas {
 public:
  Canvas(bool narrow, double height) : narrow_(narrow), width_(narrow ? 336 : 860), height_(height) {}

  [[nodiscard]] bool narrow() const { return narrow_; }
  [[nodiscard]] double width() const { return width_; }
  [[nodiscard]] double height() const { return height_; }
  void resize(double height) { height_ = height; }
  [[nodiscard]] const std::string& body() const { return body_; }

  Canvas& raw(std::string_view markup);
  Canvas& number(double v);  // to a tenth
  // `anchor`: "start", "middle" or "end"; `degrees` turns it about its own point.
  void text(double x, double y, std::string_view anchor, std::string_view words, std::string_view classes = {},
            double degrees = 0);
  void line(double x1, double y1, double x2, double y2, std::string_view classes);
  void rect(const Box& box, std::string_view classes, std::string_view tooltip = {}, double opacity = 1);
  // A nested drawing with its origin at the box's corner that shows nothing outside of the box.
  void begin_clip(const Box& box);
  void end_clip();

 private:
  bool narrow_;
  double width_;
  double height_;
  std::string body_;
};

struct LegendEntry {
  std::string name;
  std::string classes;  // colour and dash, as used for the mark
  bool line = false;
};

struct FigureText {
  const std::string& title;
  const std::string& description;
};

// The figure; `paint` is called for the wide and for the narrow drawing. A legend of one entry is left out unless
// `always_legend`. `extra` is markup below the legend.
[[nodiscard]] std::string figure(const FigureText& text, const std::vector<LegendEntry>& legend, double wide_height,
                                 double narrow_height, const std::function<void(Canvas&)>& paint,
                                 std::string_view extra = {});

// "s3" and, from the ninth on, " d1", " d2": colour and dash or shade of series `index`.
[[nodiscard]] std::string series_class(std::size_t index);

// About how wide `words` are at the charts' text size.
[[nodiscard]] double text_width(std::string_view words);
// `words` cut to at most `width`, with an ellipsis; where there is room for it the end stays too, for it is often the
// end that tells names apart.
[[nodiscard]] std::string shortened(std::string_view words, double width);

// Axes around the returned plot box; y labels at the left, the y title above them, the x title below. Labels that
// would run into one another are left out. `x_ticks`: false leaves the room for the caller's own labels.
struct Margins {
  double bottom = 0;  // room for x labels beyond the usual; 0: one line
  double left = 0;    // room for row labels; 0: from the y ticks
};
[[nodiscard]] Box draw_axes(Canvas& canvas, const PlannedAxis& x, const PlannedAxis* y, bool x_ticks,
                            const Margins& margins = {});
void draw_no_data(Canvas& canvas);
// Ticks that suit the canvas.
[[nodiscard]] std::size_t x_tick_count(const Canvas& canvas);
[[nodiscard]] std::size_t y_tick_count(const Canvas& canvas);

}  // namespace comity::report
