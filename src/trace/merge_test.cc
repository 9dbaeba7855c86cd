// SPDX-License-Identifier: Apache-2.0
#include "trace/merge.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "trace/test_files.h"

namespace comity::trace {
namespace {

std::vector<Trace> read_all(const std::vector<std::string>& texts) {
  std::vector<Trace> traces;
  for (const std::string& text : texts) {
    auto trace = read_text(text);
    EXPECT_TRUE(trace) << trace.error().text();
    if (trace) traces.push_back(std::move(*trace));
  }
  return traces;
}

std::string name(const Trace& trace, std::uint32_t index) {
  return index == profile::kNoName ? "" : trace.names[index];
}

TEST(Merge, TwoFormatsInOrder) {
  const auto traces =
      read_all({"job_id,submit_s,duration_s,gpus,user,tenant,model\n"
                "1,30,5,2,ann,lab,bert\n2,10,6,1,bob,,\n",
                "job_id,submit_s,duration_s,gpus,vc\n7,10,1,4,lab\n8,40,2,8,x\n"});
  const auto merged = merge_traces(traces, {});
  ASSERT_TRUE(merged) << merged.error().text();
  EXPECT_FALSE(merged->ids_prefixed);
  const Trace& t = merged->trace;
  ASSERT_EQ(t.rows.size(), 4U);
  EXPECT_TRUE(t.text_ids.empty());
  const std::vector<std::int64_t> ids = {t.rows[0].id, t.rows[1].id, t.rows[2].id, t.rows[3].id};
  EXPECT_EQ(ids, (std::vector<std::int64_t>{2, 7, 1, 8}));  // of one instant, the first trace's job comes first
  EXPECT_EQ(t.rows[1].request.tenant, t.rows[2].request.tenant);
  EXPECT_EQ(name(t, t.rows[2].request.user), "ann");
  EXPECT_EQ(name(t, t.attributes[t.rows[2].request.attributes].model), "bert");
}

TEST(Merge, ListsStayWithTheirJobs) {
  const auto traces = read_all({"submit_s,duration_s,gpus,deadlines,gpu_models\n0,1,1,60:10:strict,a100\n2,1,1,,\n",
                                "submit_s,duration_s,gpus,deadlines,gpu_models\n1,1,1,5:2:soft|9:1:soft,v100|a100\n"});
  const auto merged = merge_traces(traces, {});
  ASSERT_TRUE(merged);
  const Trace& t = merged->trace;
  const profile::Attributes& a = t.attributes[t.rows[0].request.attributes];
  const profile::Attributes& b = t.attributes[t.rows[1].request.attributes];
  ASSERT_EQ(a.deadlines.count, 1U);
  ASSERT_EQ(b.deadlines.count, 2U);
  EXPECT_EQ(t.deadlines[a.deadlines.first].after, 60 * kSecond);
  EXPECT_EQ(t.deadlines[b.deadlines.first + 1].after, 9 * kSecond);
  ASSERT_EQ(b.gpu_models.count, 2U);
  EXPECT_EQ(t.gpu_models[b.gpu_models.first + 1], t.gpu_models[a.gpu_models.first]);
  EXPECT_EQ(t.rows[2].request.attributes, profile::kNoAttributes);
}

TEST(Merge, ClashingIdsGetTheirTracesNumber) {
  const auto traces = read_all(
      {"job_id,submit_s,duration_s,gpus\n1,0,1,1\n2,5,1,1\n", "job_id,submit_s,duration_s,gpus\n2,0,1,1\nx,7,1,1\n"});
  const auto merged = merge_traces(traces, {.align_start = false, .offsets = {}, .prefixes = {"a", ""}});
  ASSERT_TRUE(merged);
  EXPECT_TRUE(merged->ids_prefixed);
  EXPECT_EQ(merged->trace.text_ids, (std::vector<std::string>{"1:1", "2:2", "1:2", "2:x"}));
  const auto numbered = merge_traces(traces, {.number = true});
  ASSERT_TRUE(numbered);
  EXPECT_TRUE(numbered->trace.text_ids.empty());
  EXPECT_EQ(numbered->trace.rows[3].id, 3);
}

TEST(Merge, AlignsShiftsAndPrefixes) {
  const auto traces = read_all({"job_id,submit_s,duration_s,gpus,user,tenant\n1,100,1,1,ann,lab\n2,130,1,1,,lab\n",
                                "job_id,submit_s,duration_s,gpus,user,tenant\n3,1000,1,1,ann,lab\n"});
  const auto merged = merge_traces(traces, {.align_start = true, .offsets = {0, 20 * kSecond}, .prefixes = {"a", "b"}});
  ASSERT_TRUE(merged) << merged.error().text();
  const Trace& t = merged->trace;
  EXPECT_EQ(t.rows[0].submit, 0);
  EXPECT_EQ(t.rows[1].submit, 20 * kSecond);
  EXPECT_EQ(t.rows[2].submit, 30 * kSecond);
  EXPECT_EQ(name(t, t.rows[0].request.user), "a/ann");
  EXPECT_EQ(name(t, t.rows[1].request.user), "b/ann");
  EXPECT_EQ(name(t, t.rows[1].request.tenant), "b/lab");
  EXPECT_EQ(t.rows[2].request.user, profile::kNoName);
}

// Against the plain way: all jobs in one list, sorted by (time, trace, position in its own order).
TEST(Merge, IsTheSortedUnion) {
  EXPECT_TRUE(rc::check("every job once, in order, with its times and names", [] {
    const auto count = *rc::gen::inRange<std::size_t>(1, 5);
    std::vector<Trace> traces;
    MergeOptions options;
    options.align_start = *rc::gen::arbitrary<bool>();
    for (std::size_t k = 0; k < count; ++k) {
      Trace trace;
      const auto jobs = *rc::gen::inRange<std::size_t>(1, 12);
      for (std::size_t i = 0; i < jobs; ++i) {
        Row row;
        row.id = static_cast<std::int64_t>(i + k * 1000);
        row.submit = *rc::gen::inRange<Time>(0, 8);
        row.duration = static_cast<Time>(i);
        row.request.shape.gpus = 1;
        row.request.user = trace.names.intern(std::to_string(*rc::gen::inRange(0, 4)));
        trace.rows.push_back(row);
      }
      traces.push_back(std::move(trace));
      options.offsets.push_back(*rc::gen::inRange<Time>(0, 8));
    }
    using Key = std::tuple<Time, std::size_t, Time, std::size_t>;  // merged time, trace, own time, row
    std::vector<Key> expected;
    for (std::size_t k = 0; k < count; ++k) {
      Time first = kNever;
      for (const Row& row : traces[k].rows) first = std::min(first, row.submit);
      const Time shift = options.offsets[k] - (options.align_start ? first : 0);
      for (std::size_t i = 0; i < traces[k].rows.size(); ++i)
        expected.emplace_back(traces[k].rows[i].submit + shift, k, traces[k].rows[i].submit, i);
    }
    std::sort(expected.begin(), expected.end());
    const auto merged = merge_traces(traces, options);
    RC_ASSERT(merged.has_value());
    RC_ASSERT(!merged->ids_prefixed);
    RC_ASSERT(merged->trace.rows.size() == expected.size());
    for (std::size_t j = 0; j < expected.size(); ++j) {
      const auto& [submit, k, own, i] = expected[j];
      const Row& row = merged->trace.rows[j];
      RC_ASSERT(row.submit == submit);
      RC_ASSERT(row.id == traces[k].rows[i].id);
      RC_ASSERT(row.duration == traces[k].rows[i].duration);
      RC_ASSERT(merged->trace.names[row.request.user] == traces[k].names[traces[k].rows[i].request.user]);
    }
  }));
}

TEST(Merge, RealTracesOfThreeFormats) {
  std::vector<Trace> traces;
  std::size_t jobs = 0;
  double hours = 0;
  for (const char* file : {"philly_week_20171001.csv", "tiresias/60_job.csv", "swf/lublin_256.swf.gz"}) {
    const std::string path = shared_trace(file);
    COMITY_NEED_TRACE(path)
    auto trace = read_trace(path, {});
    ASSERT_TRUE(trace);
    jobs += trace->rows.size();
    hours += trace->gpu_hours();
    traces.push_back(std::move(*trace));
  }
  const auto merged = merge_traces(traces, {.align_start = true});
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->trace.rows.size(), jobs);
  EXPECT_EQ(jobs, 10'650U + 60 + 10'000);
  EXPECT_NEAR(merged->trace.gpu_hours(), hours, 1e-6 * hours);
  EXPECT_TRUE(merged->ids_prefixed);
  const std::set<std::string> unique(merged->trace.text_ids.begin(), merged->trace.text_ids.end());
  EXPECT_EQ(unique.size(), jobs);
}

TEST(Merge, Errors) {
  const auto traces = read_all({"submit_s,duration_s,gpus\n5,1,1\n", "submit_s,duration_s,gpus\n6,1,1\n"});
  const auto few = merge_traces(traces, {.offsets = {0}});
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().code, Code::kUsage);
  EXPECT_EQ(few.error().field, "--offset");
  EXPECT_EQ(merge_traces(traces, {.prefixes = {"a", "b", "c"}}).error().field, "--prefix");
  const auto late = merge_traces(traces, {.offsets = {0, kMaxTime}});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kInput);
  EXPECT_TRUE(merge_traces(traces, {.align_start = true, .offsets = {0, kMaxTime}}));
  EXPECT_EQ(merge_traces({}, {}).error().code, Code::kUsage);
}

}  // namespace
}  // namespace comity::trace
