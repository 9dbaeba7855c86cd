// SPDX-License-Identifier: Apache-2.0
// A trace without its names is replayed as the one with them.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "trace/anonymise.h"
#include "trace/reader.h"
#include "trace/test_files.h"
#include "trace/writer.h"
#include "twin/replay.h"

namespace comity::twin {
namespace {

trace::Trace any_trace() {
  trace::Trace trace;
  const auto jobs = *rc::gen::inRange<std::size_t>(1, 25);
  const bool texts = *rc::gen::arbitrary<bool>();
  for (std::size_t i = 0; i < jobs; ++i) {
    trace::Row row;
    row.id = static_cast<std::int64_t>((i * 11 + 3) % 29);  // in no order
    row.submit = *rc::gen::inRange<Time>(0, 6) * kSecond;   // many at one instant
    row.duration = *rc::gen::inRange<Time>(0, 20) * kSecond;
    row.request.shape.gpus = *rc::gen::inRange(1U, 9U);
    row.request.user = trace.names.intern(std::to_string(*rc::gen::inRange(0, 3)));
    if (texts) trace.text_ids.push_back("job-" + std::to_string(i * 37 % 101));
    trace.rows.push_back(row);
  }
  return trace;
}

// Read back from the file that would be given away.
trace::Trace written(const trace::Trace& trace) {
  std::string csv;
  const trace::CsvColumns columns = trace::needed_columns(trace);
  trace::append_csv_header(csv, columns);
  for (std::size_t i = 0; i < trace.rows.size(); ++i) trace::append_csv_row(csv, columns, trace, i);
  auto source = memory_source(csv);
  RC_ASSERT(source.has_value());
  auto back = trace::read_trace_from(std::move(*source), "anonymised", {});
  if (!back) RC_FAIL(back.error().text() + " in " + csv);
  return std::move(*back);
}

RunResult run(const trace::Trace& trace, const std::string& policy, Ties ties) {
  ReplayOptions options;
  options.cluster = *cluster::parse_nodes("1x8");
  const Workload workload(trace, ties);
  auto result = replay(workload, **sched::find_policy(policy), sched::all_params(), options);
  RC_ASSERT(result.has_value());
  return *result;
}

TEST(Anonymised, IsReplayedAlike) {
  EXPECT_TRUE(rc::check("the same results, whatever becomes of the ids", [] {
    const trace::Trace trace = any_trace();
    const auto key = trace::Key::parse(std::string(64, "0123456789abcdef"[*rc::gen::inRange(0, 16)]));
    RC_ASSERT(key.has_value());
    for (const char* policy : {"fifo", "sjf", "easy"}) {
      const RunResult before = run(trace, policy, Ties::kId);
      for (const trace::Ids ids : {trace::Ids::kNumber, trace::Ids::kHash, trace::Ids::kKeep}) {
        trace::AnonymiseOptions options;
        options.ids = ids;
        const auto done = trace::anonymise(trace, *key, options);
        RC_ASSERT(done.has_value());
        // Pseudonyms have no order: the rows have it.
        const RunResult after = run(written(done->trace), policy, ids == trace::Ids::kHash ? Ties::kFile : Ties::kId);
        RC_ASSERT(after.avg_jct_s == before.avg_jct_s);
        RC_ASSERT(after.max_queue_s == before.max_queue_s);
        RC_ASSERT(after.makespan_s == before.makespan_s);
        RC_ASSERT(after.events == before.events);
        RC_ASSERT(after.fingerprint == before.fingerprint);
      }
    }
  }));
}

TEST(Anonymised, APhillyWeekIsReplayedAlike) {
  const std::string path = trace::shared_trace("philly_week_20171001.csv");
  COMITY_NEED_TRACE(path)
  const auto trace = trace::read_trace(path, {});
  ASSERT_TRUE(trace);
  const auto key = trace::Key::parse(std::string(64, '5'));
  const auto done = trace::anonymise(*trace, *key, {});
  ASSERT_TRUE(done);
  ReplayOptions options;
  options.cluster = *cluster::parse_nodes("64x8");
  for (const char* policy : {"fifo", "sing"}) {
    const auto run_one = [&](const trace::Trace& t) {
      return replay(Workload(t, Ties::kId), **sched::find_policy(policy), sched::all_params(), options);
    };
    const auto before = run_one(*trace);
    const auto after = run_one(done->trace);
    ASSERT_TRUE(before && after);
    EXPECT_EQ(after->finished, 10'650U);
    EXPECT_EQ(after->avg_jct_s, before->avg_jct_s);
    EXPECT_EQ(after->fingerprint, before->fingerprint);
  }
}

}  // namespace
}  // namespace comity::twin
