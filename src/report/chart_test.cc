// SPDX-License-Identifier: Apache-2.0
#include "report/chart.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "report/well_formed.h"

namespace comity::report {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const std::string kHostile = std::string("</script><svg onload=\"x\">'&\xff\x80") + '\0' + "\x1b[2J";

const std::vector<std::vector<double>> kSamples{{},
                                                {0},
                                                {5},
                                                {0, 0, 0},
                                                {NAN},
                                                {NAN, 3, NAN},
                                                {1, NAN, 2, kInf, -kInf, 4},
                                                {-3, -1, 2},
                                                {1e-300, 1e300},
                                                {-kInf},
                                                {1.7e308, -1.7e308},
                                                {1e16, 1e16 + 2}};

std::vector<double> ramp(std::size_t n) {
  std::vector<double> x(n);
  std::iota(x.begin(), x.end(), 0.0);
  return x;
}

// Every chart kind drawn from `y` with `name` wherever a name can stand.
std::vector<std::string> draw_all(const std::vector<double>& y, const std::string& name) {
  std::vector<std::string> out;
  const std::vector<std::string> names(y.size(), name);
  for (const Scale scale : {Scale::kLinear, Scale::kLog, Scale::kTime, Scale::kLogTime}) {
    const Axis axis{.title = name, .unit = name, .scale = scale};
    const std::vector<double> x = ramp(y.size());
    out.push_back(draw(LineChart{name, name, axis, axis, {{name, x, y}, {name, y, x, true}}}));
    out.push_back(draw(CdfChart{name, name, axis, {{name, y, x}}}));
    out.push_back(draw(BarChart{name, name, name, axis, names, {{name, y}, {name, y}}}));
    std::vector<double> edges = ramp(y.size() + 1);
    out.push_back(draw(HistogramChart{name, name, axis, axis, edges, y}));
  }
  out.push_back(draw(HeatMap{name, name, name, name, name, {name}, names, y}));
  GanttChart gantt{name, name, {}, name, {name, name}, {}};
  for (std::size_t i = 0; i < y.size(); ++i) {
    gantt.bars.push_back({i % 3, y[i], y[i] + 1, name + std::to_string(i % 12), name});
  }
  out.push_back(draw(gantt));
  return out;
}

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++n;
  }
  return n;
}

TEST(Charts, AreWellFormedWhateverTheData) {
  for (const std::vector<double>& y : kSamples) {
    for (const std::string& figure : draw_all(y, "name")) {
      ASSERT_EQ(WellFormed::fault(figure), "") << figure;
      ASSERT_EQ(figure.find("nan"), std::string::npos) << figure;
      ASSERT_EQ(figure.find("inf"), std::string::npos) << figure;
    }
  }
}

TEST(Charts, EscapeHostileNames) {
  for (const std::string& figure : draw_all({1, 2, 3}, kHostile)) {
    ASSERT_EQ(WellFormed::fault(figure), "");
    ASSERT_EQ(figure.find("<svg onload"), std::string::npos);
    ASSERT_EQ(figure.find("</script"), std::string::npos);
    ASSERT_EQ(figure.find('\x1b'), std::string::npos);
    ASSERT_EQ(figure.find('\0'), std::string::npos);
  }
}

TEST(Charts, AreTheSameBytesForTheSameData) { EXPECT_EQ(draw_all({1, 5, 2}, "a"), draw_all({1, 5, 2}, "a")); }

TEST(Charts, HaveATitleAndADescriptionForScreenReaders) {
  for (const std::string& figure : draw_all({1, 2, 3}, "name")) {
    EXPECT_EQ(count(figure, "role=\"img\"><title>name</title><desc>name</desc>"), 2U);
  }
}

TEST(Charts, SayWhenThereIsNothingToShow) {
  for (const std::string& figure : draw_all({}, "name")) {
    EXPECT_EQ(count(figure, "no data"), 2U);
  }
}

TEST(LineChartDrawing, ASinglePointIsADotAndNanBreaksTheLine) {
  const std::string dot = draw(LineChart{"t", "", {}, {}, {{"a", {1}, {2}}}});
  EXPECT_EQ(count(dot, "<circle"), 2U);
  const std::string broken = draw(LineChart{"t", "", {}, {}, {{"a", {0, 1, 2, 3, 4, 5}, {1, 2, NAN, 3, NAN, 4}}}});
  EXPECT_EQ(count(broken, "<path class=\"line s0\""), 2U);
  EXPECT_EQ(count(broken, "<circle"), 4U);
}

TEST(LineChartDrawing, TheNinthSeriesIsDashed) {
  LineChart chart{"t", "", {}, {}, {}};
  for (int i = 0; i < 9; ++i) {
    chart.series.push_back({std::to_string(i), {0, 1}, {0, 1.0 + i}});
  }
  EXPECT_EQ(count(draw(chart), "class=\"line s0 d1\""), 3U);  // two drawings and the legend
}

TEST(LineChartDrawing, LongSeriesAreThinned) {
  LineChart chart{"t", "", {}, {}, {{"a", ramp(1'000'000), ramp(1'000'000)}}};
  EXPECT_LT(draw(chart).size(), 60'000U);
}

TEST(GanttDrawing, OneColourAKeyAndATooltipABar) {
  const GanttChart chart{"t",
                         "",
                         {},
                         "GPU",
                         {"g0", "g1"},
                         {{0, 0, 5, "ann", "job 1"},
                          {1, 0, 3, "bob", "job 2"},
                          {1, 3, 5, "ann", "job 3"},
                          {7, 0, 1, "eve", "no such row"},
                          {0, 5, 4, "eve", "ends before it begins"}}};
  const std::string figure = draw(chart);
  EXPECT_EQ(count(figure, "<title>job 3</title>"), 1U);
  EXPECT_EQ(count(figure, "class=\"bar s0\""), 2U * 2 + 1);
  EXPECT_EQ(figure.find("eve"), std::string::npos);
}

TEST(HeatMapDrawing, ColoursRiseWithTheValue) {
  const std::string figure = draw(HeatMap{"t", "", "day", "hour", "jobs", {"Mon"}, {"0", "1", "2"}, {0, 5, 10}});
  EXPECT_LT(figure.find("fill-opacity=\"0.070\""), figure.find("fill-opacity=\"0.535\""));
  EXPECT_EQ(count(figure, "class=\"heat\""), 6U);
}

TEST(Thin, KeepsPeaksEndsAndOrder) {
  Series series{"a", ramp(10'007), std::vector<double>(10'007, 1.0), true};
  series.y[4321] = 100;
  series.y[4322] = -50;
  series.y[10'006] = 7;
  const Series thinned = thin(series, 100);
  EXPECT_LE(thinned.x.size(), 100U);
  EXPECT_EQ(*std::max_element(thinned.y.begin(), thinned.y.end()), 100);
  EXPECT_EQ(*std::min_element(thinned.y.begin(), thinned.y.end()), -50);
  EXPECT_TRUE(std::is_sorted(thinned.x.begin(), thinned.x.end(), std::less_equal<>()));
  EXPECT_EQ(thinned.x.front(), 0);
  EXPECT_EQ(thinned.y.back(), 7);
  EXPECT_TRUE(thinned.step);
  EXPECT_EQ(thin(thinned, 100).x, thinned.x);
}

TEST(Thin, PassesOverNan) {
  Series series{"a", ramp(1000), std::vector<double>(1000, NAN), false};
  series.y[500] = 3;
  const Series thinned = thin(series, 20);
  EXPECT_EQ(std::count(thinned.y.begin(), thinned.y.end(), 3), 1);
}

}  // namespace
}  // namespace comity::report
