// SPDX-License-Identifier: Apache-2.0
// One page with every kind of chart, ordinary and awkward, written to the tests' temporary folder to be looked at.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "base/rng.h"
#include "report/chart.h"
#include "report/html.h"

namespace comity::report {
namespace {

class Dice {
 public:
  double next() { return static_cast<double>(mix64(++state_) >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_ = 42;
};

LineChart utilisation(Dice& dice) {
  LineChart chart{"GPUs in use",
                  "Time-weighted means over ten days, two policies.",
                  {.title = "time", .scale = Scale::kTime},
                  {.title = "GPUs in use", .unit = "GPUs"},
                  {}};
  for (const char* name : {"first come, first served", "EASY backfilling", "SING"}) {
    Series s{name, {}, {}, true};
    double level = 900;
    for (int i = 0; i < 512; ++i) {
      level = std::clamp(level + 160 * (dice.next() - 0.48), 0.0, 1920.0);
      s.x.push_back(i * 1687.5);
      s.y.push_back(level);
    }
    chart.series.push_back(s);
  }
  return chart;
}

CdfChart waits(Dice& dice) {
  CdfChart chart{"Waiting time", "", {.title = "waiting time", .scale = Scale::kLogTime}, {}};
  for (const double scale : {8.0, 6.5, 5.0}) {
    std::vector<double> x;
    for (int i = 0; i < 200; ++i) {
      x.push_back(std::exp(scale + 2.5 * (dice.next() + dice.next() + dice.next() - 1.5)));
    }
    std::sort(x.begin(), x.end());
    std::vector<double> f;
    for (std::size_t i = 0; i < x.size(); ++i) {
      f.push_back(static_cast<double>(i + 1) / static_cast<double>(x.size()));
    }
    chart.series.push_back({"policy " + std::to_string(chart.series.size() + 1), x, f});
  }
  return chart;
}

BarChart bars(bool many) {
  BarChart chart{many ? "Mean bounded slowdown by tenant" : "Mean waiting time",
                 "",
                 many ? "tenant" : "policy",
                 {.title = "value", .unit = many ? "" : "min"},
                 {},
                 {}};
  const std::vector<std::string> few{"FIFO", "EASY", "conservative"};
  const std::size_t n = many ? 14 : few.size();
  for (std::size_t i = 0; i < n; ++i) {
    chart.groups.push_back(many ? "department of subject " + std::to_string(i) : few[i]);
  }
  for (const char* name : {"small jobs", "large jobs"}) {
    BarSeries s{name, {}};
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t k = chart.series.size();
      s.values.push_back(many ? 1.0 + static_cast<double>((i * 7 + k * 3) % 11)
                              : 42.5 / (1.0 + static_cast<double>(i)) + 3.0 * static_cast<double>(k));
    }
    chart.series.push_back(s);
  }
  return chart;
}

HistogramChart lengths(Dice& dice) {
  HistogramChart chart{"Job lengths", "", {.title = "run time", .scale = Scale::kLogTime}, {.title = "jobs"}, {}, {}};
  for (int k = 0; k <= 30; ++k) {
    chart.edges.push_back(std::pow(10, k / 5.0));
    if (k < 30) {
      chart.counts.push_back(std::floor(40000 * std::exp(-std::pow((k - 14) / 6.0, 2)) * (0.8 + 0.4 * dice.next())));
    }
  }
  return chart;
}

HeatMap week(Dice& dice) {
  HeatMap map{"Submissions by hour of the week",
              "",
              "day",
              "hour",
              "jobs an hour",
              {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"},
              {},
              {}};
  for (int hour = 0; hour < 24; ++hour) {
    map.columns.push_back(std::to_string(hour));
  }
  for (int i = 0; i < 7 * 24; ++i) {
    const double busy = std::exp(-std::pow((i % 24 - 14) / 5.0, 2)) * (i / 24 < 5 ? 1.0 : 0.35);
    map.values.push_back(i == 100 ? NAN : 200 * busy + 20 * dice.next());
  }
  return map;
}

GanttChart plan(Dice& dice) {
  GanttChart chart{"Placement", "Eight nodes over a day; colours are users.", {.title = "time"}, "node", {}, {}};
  int job = 1000;
  for (std::size_t row = 0; row < 8; ++row) {
    chart.rows.push_back("gpu-node-" + std::to_string(row));
    for (double t = 600 * dice.next(); t < 86400;) {
      const double length = 400 + 14000 * dice.next() * dice.next();
      const std::string user = "user " + std::to_string(static_cast<int>(dice.next() * 11));
      chart.bars.push_back({row, t, t + length, user, "job " + std::to_string(job++) + " of " + user});
      t += length + 900 * dice.next();
    }
  }
  return chart;
}

Table results() {
  Table table({{"policy", false, Table::Best::kNone},
               {"jobs finished", true, Table::Best::kHighest},
               {"mean wait (min)", true, Table::Best::kLowest},
               {"p99 wait (h)", true, Table::Best::kLowest},
               {"mean bounded slowdown", true, Table::Best::kLowest},
               {"GPU use (%)", true, Table::Best::kHighest},
               {"fingerprint", false, Table::Best::kNone}});
  table.add_row({{"first come, first served"},
                 {"10,650", 10650},
                 {"42.5", 42.5},
                 {"9.1", 9.1},
                 {"18.2", 18.2},
                 {"61.0", 61},
                 {"9f3c2a7712ab00de"}});
  table.add_row({{"EASY backfilling"},
                 {"10,650", 10650},
                 {"21.3", 21.3},
                 {"7.7", 7.7},
                 {"6.4", 6.4},
                 {"68.9", 68.9},
                 {"12ab00de9f3c2a77"}});
  return table;
}

void add_awkward(Page& page) {
  const Axis axis{.title = "x", .unit = "s"};
  page.section("Awkward data");
  page.chart(draw(LineChart{"Nothing at all", "", axis, axis, {}}), true);
  page.chart(draw(LineChart{"One point", "", axis, axis, {{"a", {3}, {7}}}}), true);
  page.chart(draw(LineChart{"All zero", "", axis, axis, {{"a", {0, 1, 2}, {0, 0, 0}}}}), true);
  page.chart(draw(LineChart{"Gaps", "", axis, axis, {{"a", {0, 1, 2, 3, 4, 5}, {1, 2, NAN, 3, 4, INFINITY}}}}), true);
  LineChart many{"Twelve series", "", axis, {.title = "traffic", .unit = "bit/s"}, {}};
  for (int i = 0; i < 12; ++i) {
    many.series.push_back({"series number " + std::to_string(i), {0, 1, 2, 3}, {1e9 * i, 2e9 + 8e8 * i, 1e9, 5e8 * i}});
  }
  page.chart(draw(many), true);
  const Axis change{.title = "change", .unit = "%"};
  page.chart(draw(BarChart{"Signs", "", "group", change, {"a", "b", "c"}, {{"", {-12.5, 0, 30}}}}), true);
}

TEST(SamplePage, IsWritten) {
  Dice dice;
  Page page("Two policies on one cluster", "10,650 jobs on 240 nodes of 8 GPUs, ten days");
  page.section("Summary").paragraph("What the replay of the trace says, policy by policy.");
  page.figures({{"jobs finished", "10,650"}, {"mean wait", "21.3 min"}, {"GPU use", "68.9 %"}, {"unfinished", "0"}});
  page.table(results(), "Replay of the sample trace; * marks the best of a column.");
  page.note("Run times are those of the trace: no job is slowed down by its neighbours.");
  page.section("Over time").chart(draw(utilisation(dice))).chart(draw(plan(dice)));
  page.section("Waiting").chart(draw(waits(dice)), true).chart(draw(lengths(dice)), true);
  page.chart(draw(bars(false)), true).chart(draw(week(dice)), true).chart(draw(bars(true))).chart(draw(week(dice)));
  page.chart(draw(lengths(dice))).chart(draw(waits(dice)));
  add_awkward(page);
  page.heading("Command").code("comity replay trace.csv --policy easy --out report").data("{\"jobs\":10650}");
  const std::string path = (std::filesystem::path(::testing::TempDir()) / "comity_sample_report.html").string();
  ASSERT_TRUE(page.write(path).has_value());
  EXPECT_EQ(std::filesystem::file_size(path), page.html().size());
}

}  // namespace
}  // namespace comity::report
