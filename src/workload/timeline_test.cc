// SPDX-License-Identifier: Apache-2.0
#include "workload/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/json_document.h"
#include "base/toml.h"

namespace comity::workload {
namespace {

PipelineTimes alike(double transfer_s = 0) {
  PipelineTimes times;
  times.stages = {{.forward_s = 1, .backward_s = 2, .weight_s = 1}};
  times.transfer_s = transfer_s;
  return times;
}

std::string labels(const TimelineRow& row) {
  std::string out;
  for (const TimelineBar& bar : row.bars) out += (out.empty() ? "" : ", ") + bar.label;
  return out;
}

TEST(Timeline, RowsOfBars) {
  const PipelineShape shape{.schedule = Schedule::k1f1b, .ranks = 2, .microbatches = 2};
  const Timeline plain = timeline(shape, *simulate(shape, alike()));
  EXPECT_EQ(plain.title, "1f1b, 2 ranks, 2 micro-batches");
  ASSERT_EQ(plain.rows.size(), 2U);
  EXPECT_EQ(plain.rows[1].name, "rank 1");
  EXPECT_EQ(labels(plain.rows[0]), "F 0, F 1, B 0, B 1");
  EXPECT_EQ(plain.rows[0].bars[2].start_s, 4);
  EXPECT_EQ(plain.rows[0].bars[2].end_s, 6);
  EXPECT_EQ(plain.rows[0].bars[2].kind, BarKind::kBackward);
  EXPECT_EQ(plain.end_s, 9);

  const Timeline sends = timeline(shape, *simulate(shape, alike(0.5)), 0.5);
  EXPECT_EQ(labels(sends.rows[0]), "F 0, F 0 to rank 1, F 1, F 1 to rank 1, B 0, B 1");
  EXPECT_EQ(sends.rows[0].bars[1].kind, BarKind::kSend);
  EXPECT_EQ(sends.rows[0].bars[1].end_s, 1.5);
}

TEST(Timeline, ChunksAreNamed) {
  const PipelineShape interleaved{.schedule = Schedule::kInterleaved, .ranks = 2, .chunks = 2, .microbatches = 2};
  const Timeline bars = timeline(interleaved, *simulate(interleaved, alike()));
  EXPECT_EQ(bars.title, "interleaved, 2 ranks, 2 micro-batches, 2 chunks a rank");
  EXPECT_EQ(labels(bars.rows[1]), "F 0.0, F 1.0, F 0.1, B 0.1, F 1.1, B 1.1, B 0.0, B 1.0");
  const PipelineShape dual{.schedule = Schedule::kDualPipe, .ranks = 2, .microbatches = 4};
  const Timeline pairs = timeline(dual, *simulate(dual, alike()));
  EXPECT_EQ(labels(pairs.rows[0]), "F 0.0, F 2.1, F 1.0, B 2.1, F 3.1, B 0.0, B 3.1, I 1.0, W 1.0");
  EXPECT_EQ(pairs.rows[0].bars[4].start_s, pairs.rows[0].bars[5].start_s);
}

TEST(ChromeTrace, IsJsonWithEveryOperation) {
  const PipelineShape shape{.schedule = Schedule::kZbH1, .ranks = 4, .microbatches = 64};
  const auto run = simulate(shape, alike(0.25));
  std::string text;
  int pieces = 0;
  chrome_trace(shape, *run, 0.25, [&](std::string_view piece) {
    text += piece;
    ++pieces;
  });
  EXPECT_GT(pieces, 2);
  const auto trace = parse_json(text, "trace");
  ASSERT_TRUE(trace);
  std::size_t operations = 0;
  std::size_t sends = 0;
  double last = 0;
  double held = 0;
  std::set<std::int64_t> streams;
  for (TomlReader& event : TomlReader(*trace, "trace", "").tables("traceEvents")) {
    const std::string ph = event.text("ph", "");
    if (ph == "C") held = std::max(held, event.table("args")->real("micro-batches", 0, 0, 1e9));
    if (ph != "X") continue;
    streams.insert(event.integer("tid", -1, 0, 9));
    ++(event.text("cat", "") == "send" ? sends : operations);
    last = std::max(last, event.real("ts", -1, 0, 1e18) + event.real("dur", -1, 0, 1e18));
  }
  EXPECT_EQ(operations, 4U * 64 * 3);
  EXPECT_EQ(sends, 2U * 3 * 64);
  EXPECT_EQ(streams, (std::set<std::int64_t>{0, 1, 2, 3}));
  EXPECT_NEAR(last, run->makespan_s * 1e6, 1e-3);
  EXPECT_EQ(held, 4);
}

}  // namespace
}  // namespace comity::workload
