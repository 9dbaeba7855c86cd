// SPDX-License-Identifier: Apache-2.0
#include "report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "report/html.h"

namespace comity::report {
namespace {

constexpr double kTop = 26;      // room above the plot for the y title
constexpr double kBottom = 44;   // x labels and the x title
constexpr double kLetter = 6.6;  // mean width of a letter at 12 px
constexpr std::size_t kLegendMost = 24;

// Whether a byte of UTF-8 begins a letter.
bool begins_letter(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }

std::size_t letters(std::string_view words) {
  return static_cast<std::size_t>(std::count_if(words.begin(), words.end(), begins_letter));
}

// The byte at which letter `index` begins; the end when there are no more.
std::size_t letter_offset(std::string_view words, std::size_t index) {
  std::size_t at = 0;
  for (std::size_t seen = 0; at < words.size(); ++at) {
    if (begins_letter(words[at]) && seen++ == index) {
      break;
    }
  }
  return at;
}

std::string legend_markup(const std::vector<LegendEntry>& legend) {
  if (legend.size() < 2) {
    return {};
  }
  std::string out = "<ul class=\"legend\">";
  std::size_t shown = 0;
  for (const LegendEntry& entry : legend) {
    if (shown++ >= kLegendMost) {
      out += fmt::format("<li>and {} more</li>", legend.size() + 1 - shown);
      break;
    }
    out += "<li><svg class=\"key\" viewBox=\"0 0 22 12\" aria-hidden=\"true\">";
    const std::string& classes = entry.classes;
    out += entry.line ? fmt::format("<path class=\"line {}\" d=\"M1 6H21\"/>", classes)
                      : fmt::format("<rect class=\"bar {}\" x=\"5\" y=\"0\" width=\"12\" height=\"12\"/>", classes);
    out += "</svg>" + escape(shortened(entry.name, 300)) + "</li>";
  }
  return out + "</ul>";
}

std::string drawing(const FigureText& text, const Canvas& canvas) {
  std::string out =
      fmt::format("<svg class=\"{}\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\"><title>{}</title>",
                  canvas.narrow() ? "narrow" : "wide", canvas.width(), canvas.height(), escape(text.title));
  if (!text.description.empty()) {
    out += "<desc>" + escape(text.description) + "</desc>";
  }
  return out + canvas.body() + "</svg>";
}

}  // namespace

Canvas& Canvas::raw(std::string_view markup) {
  body_ += markup;
  return *this;
}

Canvas& Canvas::number(double v) {
  const auto tenths = std::isfinite(v) ? std::llround(std::clamp(v, -1e6, 1e6) * 10) : 0;
  const auto size = std::abs(tenths);
  fmt::format_to(std::back_inserter(body_), "{}{}", tenths < 0 ? "-" : "", size / 10);
  if (size % 10 != 0) {
    fmt::format_to(std::back_inserter(body_), ".{}", size % 10);
  }
  return *this;
}

void Canvas::text(double x, double y, std::string_view anchor, std::string_view words, std::string_view classes,
                  double degrees) {
  raw("<text x=\"").number(x).raw("\" y=\"").number(y).raw("\"");
  if (anchor != "start") {
    raw(" text-anchor=\"").raw(anchor).raw("\"");
  }
  if (!classes.empty()) {
    raw(" class=\"").raw(classes).raw("\"");
  }
  if (degrees != 0) {
    raw(" transform=\"rotate(").number(degrees).raw(" ").number(x).raw(" ").number(y).raw(")\"");
  }
  raw(">").raw(escape(words)).raw("</text>");
}

void Canvas::line(double x1, double y1, double x2, double y2, std::string_view classes) {
  raw("<path class=\"").raw(classes).raw("\" d=\"M").number(x1).raw(" ").number(y1);
  raw("L").number(x2).raw(" ").number(y2).raw("\"/>");
}

void Canvas::rect(const Box& box, std::string_view classes, std::string_view tooltip, double opacity) {
  raw("<rect x=\"").number(box.left).raw("\" y=\"").number(box.top).raw("\" width=\"").number(box.width);
  raw("\" height=\"").number(box.height).raw("\" class=\"").raw(classes).raw("\"");
  if (opacity < 1) {
    fmt::format_to(std::back_inserter(body_), " fill-opacity=\"{:.3f}\"", opacity);
  }
  if (tooltip.empty()) {
    raw("/>");
  } else {
    raw("><title>").raw(escape(tooltip)).raw("</title></rect>");
  }
}

void Canvas::begin_clip(const Box& box) {
  constexpr double kMargin = 4;  // half a stroke or a dot at the edge stays whole
  raw("<svg x=\"").number(box.left - kMargin).raw("\" y=\"").number(box.top - kMargin);
  raw("\" width=\"").number(box.width + 2 * kMargin).raw("\" height=\"").number(box.height + 2 * kMargin);
  raw("\" viewBox=\"").number(-kMargin).raw(" ").number(-kMargin).raw(" ").number(box.width + 2 * kMargin);
  raw(" ").number(box.height + 2 * kMargin).raw("\">");
}

void Canvas::end_clip() { raw("</svg>"); }

std::string figure(const FigureText& text, const std::vector<LegendEntry>& legend, double wide_height,
                   double narrow_height, const std::function<void(Canvas&)>& paint, std::string_view extra) {
  std::string out = "<figure class=\"chart\"><figcaption><b>" + escape(text.title) + "</b>";
  if (!text.description.empty()) {
    out += "<span>" + escape(text.description) + "</span>";
  }
  out += "</figcaption>" + legend_markup(legend);
  for (const bool narrow : {false, true}) {
    Canvas canvas(narrow, narrow ? narrow_height : wide_height);
    paint(canvas);
    out += drawing(text, canvas);
  }
  out += extra;
  return out + "</figure>\n";
}

std::string series_class(std::size_t index) {
  const std::size_t round = index / kColours;
  return round == 0 ? fmt::format("s{}", index) : fmt::format("s{} d{}", index % kColours, (round - 1) % 2 + 1);
}

double text_width(std::string_view words) { return kLetter * static_cast<double>(letters(words)); }

std::string shortened(std::string_view words, double width) {
  const auto most = static_cast<std::size_t>(std::max(width / kLetter, 2.0));
  if (letters(words) <= most) {
    return std::string(words);
  }
  const std::size_t tail = most >= 9 ? most / 3 : 0;
  const std::size_t head = most - 1 - tail;
  return std::string(words.substr(0, letter_offset(words, head))) + "…" +
         std::string(words.substr(letter_offset(words, letters(words) - tail)));
}

Box draw_axes(Canvas& canvas, const PlannedAxis& x, const PlannedAxis* y, bool x_ticks, const Margins& margins) {
  double left = margins.left;
  if (y != nullptr) {
    for (const Tick& tick : y->ticks) {
      left = std::max(left, text_width(tick.label) + 10);
    }
  }
  const double top = y != nullptr ? kTop : 6;
  const double bottom = kBottom + margins.bottom;
  const Box box{left, top, std::max(canvas.width() - left - 14, 20.0), std::max(canvas.height() - top - bottom, 20.0)};
  const double floor = box.top + box.height;
  if (y != nullptr) {
    canvas.text(0, 13, "start", shortened(y->title, canvas.width()), "title");
    for (const Tick& tick : y->ticks) {
      const double at = floor - y->place(tick.at) * box.height;
      canvas.line(box.left, at, box.left + box.width, at, "grid");
      canvas.text(box.left - 6, at + 4, "end", tick.label);
    }
  }
  double free_from = -1e9;
  for (const Tick& tick : x.ticks) {
    if (!x_ticks) {
      break;
    }
    const double at = box.left + x.place(tick.at) * box.width;
    canvas.line(at, y != nullptr ? floor : box.top, at, floor + 4, y != nullptr ? "axis" : "grid");
    const double half = text_width(tick.label) / 2;
    const double middle = std::clamp(at, half, canvas.width() - half);
    if (middle - half > free_from) {
      canvas.text(middle, floor + 17, "middle", tick.label);
      free_from = middle + half + 5;
    }
  }
  canvas.line(box.left, floor, box.left + box.width, floor, "axis");
  canvas.text(box.left + box.width / 2, canvas.height() - 6, "middle", shortened(x.title, box.width), "title");
  return box;
}

void draw_no_data(Canvas& canvas) {
  canvas.text(canvas.width() / 2, canvas.height() / 2, "middle", "no data", "title");
}

std::size_t x_tick_count(const Canvas& canvas) { return canvas.narrow() ? 5 : 10; }
std::size_t y_tick_count(const Canvas& canvas) { return canvas.narrow() ? 5 : 6; }

}  // namespace comity::report
