// SPDX-License-Identifier: Apache-2.0
#include "twin/replay_notes.h"

#include <gtest/gtest.h>

#include "twin/summary.h"

namespace comity::twin {
namespace {

struct Fixture {
  trace::Trace trace;
  ReplayOptions options;

  void add(const char* user, const char* tenant, Time estimate) {
    trace::Row row;
    row.id = static_cast<std::int64_t>(trace.rows.size());
    row.request.shape.gpus = 1;
    row.request.user = trace.names.intern(user);
    row.request.tenant = trace.names.intern(tenant);
    row.request.estimate = estimate;
    trace.rows.push_back(row);
  }
  std::vector<std::string> notes() { return replay_notes(Workload(trace, Ties::kId), options); }
};

TEST(ReplayNotes, CountJobsWithoutAnEstimateWhereUsersAreAsked) {
  Fixture f;
  f.add("ann", "a", kSecond);
  f.add("ann", "a", -1);
  f.add("bob", "a", -1);
  EXPECT_TRUE(f.notes().empty());
  f.options.estimates = Estimates::kUser;
  ASSERT_EQ(f.notes().size(), 1U);
  EXPECT_EQ(f.notes()[0], "2 of 3 jobs have no estimate in the trace: policies were told their true run time");
  f.trace.rows.resize(1);
  EXPECT_TRUE(f.notes().empty());
}

TEST(ReplayNotes, NameTenantsAndUsersThatTheTraceDoesNotHave) {
  Fixture f;
  f.add("ann", "physics", -1);
  f.add("bob", "chemistry", -1);
  f.options.cluster.tenants = {{.name = "physics", .parent = "science", .cells = {}},
                               {.name = "chemistri", .max_gpus = 4, .parent = "science", .cells = {}},
                               {.name = "science", .parent = "", .cells = {}}};
  f.options.cluster.users = {{.name = "ann", .tenant = "physics"}, {.name = "zoe", .tenant = "physics"}};
  const auto notes = f.notes();
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes[0],
            "no job of the trace is of a tenant that the cluster file lists: chemistri (the trace has chemistry)");
  EXPECT_EQ(notes[1], "no job of the trace is of a user that the cluster file lists: zoe");
  // A user is no tenant, and the other way round.
  f.options.cluster.tenants = {{.name = "ann", .parent = "", .cells = {}}};
  EXPECT_EQ(f.notes().size(), 2U);
}

// What a table has in the row of a policy, by title.
std::string cell(const Table& table, std::size_t row, const std::string& title) {
  for (std::size_t c = 0; c < table.columns().size(); ++c) {
    if (table.columns()[c].title == title) return table.rows()[row][c].text;
  }
  return "no such column";
}

TEST(Summary, ShowsWhatWasStoppedInterruptedOrNeverRan) {
  const trace::Trace trace;
  ReplaySummary summary;
  summary.trace = &trace;
  summary.runs.resize(3);
  RunResult& whole = summary.runs[0];
  whole.policy = "whole";
  whole.submitted = whole.finished = 2;
  whole.avg_jct_s = 5;
  EXPECT_EQ(cell(to_table(summary), 0, "stopped"), "no such column");
  RunResult& partial = summary.runs[1];
  partial.policy = "cut";
  partial.partial = true;
  partial.submitted = 3;
  partial.finished = partial.stopped = 1;
  partial.unfinished = 1;
  partial.avg_jct_s = 1;
  RunResult& none = summary.runs[2];
  none.policy = "none";
  none.submitted = none.rejected = 7;
  summary.notes = {"a note"};
  const Table table = to_table(summary);
  EXPECT_EQ(cell(table, 0, "stopped"), "0");
  EXPECT_EQ(cell(table, 1, "stopped"), "1");
  EXPECT_EQ(cell(table, 1, "policy"), "cut (partial)");
  EXPECT_EQ(cell(table, 1, "avg JCT s"), "1.00");
  EXPECT_EQ(cell(table, 2, "rejected"), "7");
  for (const char* title : {"avg JCT s", "p99 JCT s", "max queue s", "makespan s", "GPU use %"})
    EXPECT_EQ(cell(table, 2, title), "-") << title;
  // Neither what was interrupted nor what never ran is the best of anything.
  EXPECT_EQ(table.best_rows(1), std::vector<std::size_t>{0});
  const std::string json = to_json(summary);
  EXPECT_NE(json.find("\"policy\":\"none\""), std::string::npos);
  EXPECT_NE(json.find("\"avg_jct_s\":null"), std::string::npos);
  EXPECT_NE(json.find("\"notes\":[\"a note\"]"), std::string::npos);
  const std::string csv = to_csv(summary);
  EXPECT_NE(csv.find("none,7,0,0,7,0,,,,,,,,0,,"), std::string::npos) << csv;
}

}  // namespace
}  // namespace comity::twin
