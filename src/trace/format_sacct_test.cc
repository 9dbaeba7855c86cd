// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "trace/reader_checks.h"
#include "trace/slurm_job.h"

namespace comity::trace {
namespace {

// As Slurm 22.05 printed it: an array, a gang with steps, a requeued job whose second run comes later, a job without
// GPUs, a name with the separator, one cancelled while it waited, one that runs, one that waits for a dependency.
constexpr const char* kFile =
    "JobID|JobIDRaw|JobName|User|Account|Partition|State|Submit|Eligible|Start|End|Elapsed|ElapsedRaw|TimelimitRaw|"
    "NNodes|NodeList|ReqTRES|AllocTRES\n"
    "1|1|a|ann|lab|gpu|COMPLETED|2024-05-01T10:00:00|2024-05-01T10:00:00|2024-05-01T10:00:05|2024-05-02T11:00:05|"
    "1-01:00:00|90000|2880|1|g1|cpu=1,gres/gpu=3,node=1|billing=1,cpu=1,gres/gpu=3,mem=1G,node=1\n"
    "1.batch|1.batch|batch||lab||COMPLETED|2024-05-01T10:00:05|2024-05-01T10:00:05|2024-05-01T10:00:05|"
    "2024-05-02T11:00:05|1-01:00:00|90000||1|g1||cpu=1,gres/gpu=3,mem=1G,node=1\n"
    "2_0|3|arr|ann|lab|gpu|COMPLETED|2024-05-01T10:00:01|2024-05-01T10:00:01|2024-05-01T10:00:01|2024-05-01T10:00:11|"
    "00:00:10|10|60|1|g1|gres/gpu=1,node=1|gres/gpu=1,node=1\n"
    "2_1|2|arr|ann|lab|gpu|FAILED|2024-05-01T10:00:01|2024-05-01T10:00:11|2024-05-01T10:00:11|2024-05-01T10:00:11|"
    "00:00:00|0|60|1|g1|gres/gpu=1,node=1|gres/gpu=1,node=1\n"
    "4|4|again|bob|phys|gpu|REQUEUED|2024-05-01T10:00:02|2024-05-01T10:00:02|2024-05-01T10:00:04|2024-05-01T10:00:14|"
    "00:00:10|10|UNLIMITED|2|g[1-2]|gres/gpu=16,node=2|gres/gpu=16,node=2\n"
    "5|5|cpu|bob|phys|gpu|COMPLETED|2024-05-01T10:00:02|2024-05-01T10:00:02|2024-05-01T10:00:04|2024-05-01T10:00:14|"
    "00:00:10|10|60|1|g1|cpu=1,node=1|cpu=1,node=1\n"
    "6|6|pi|pe|bob|phys|gpu|OUT_OF_MEMORY|2024-05-01T10:00:03|2024-05-01T10:00:03|2024-05-01T10:00:04|"
    "2024-05-01T10:00:14|00:00:10|10|60|3|g[1-3]|gres/gpu:a100=5,node=3|gres/gpu:a100=5,gres/gpu=5,node=3\n"
    "7|7|never|bob|phys|gpu|CANCELLED by 1000|2024-05-01T10:00:03|2024-05-01T10:00:03|None|2024-05-01T10:00:14|"
    "00:00:00|0|60|1|None assigned|gres/gpu=8,node=1|\n"
    "8_[2-9%2]|8|wait|bob|phys|gpu|PENDING|2024-05-01T10:00:03|Unknown|Unknown|Unknown|00:00:00|0|60|1|None "
    "assigned|gres/gpu=8,node=1|\n"
    "9|9|runs|bob|phys|gpu|RUNNING|2024-05-01T10:00:03|2024-05-01T10:00:03|2024-05-01T10:00:09|Unknown|00:00:10|10|60|"
    "1|g1|gres/gpu=8,node=1|gres/gpu=8,node=1\n"
    "10|10|after|bob|phys|gpu|TIMEOUT|2024-05-01T10:00:03|2024-05-01T12:00:00|2024-05-01T12:00:30|2024-05-01T13:00:30|"
    "01:00:00|3600|60|1|g1|gres/gpu=8,node=1|gres/gpu=8,node=1\n"
    "4|4|again|bob|phys|gpu|COMPLETED|2024-05-01T10:00:14|2024-05-01T10:02:14|2024-05-01T10:02:14|2024-05-01T10:02:44|"
    "00:00:30|30|UNLIMITED|2|g[1-2]|gres/gpu=16,node=2|gres/gpu=16,node=2\n";

constexpr Time kTen = 1'714'557'600 * kSecond;  // 2024-05-01 10:00 UTC

TEST(Sacct, Fields) {
  const auto trace = read_text(kFile);
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_EQ(trace->format, "sacct");
  EXPECT_EQ(trace->ignored_columns, (std::vector<std::string>{"Partition", "NodeList"}));
  ASSERT_EQ(trace->rows.size(), 6U);
  const Row& a = trace->rows[0];
  EXPECT_EQ(a.id, 1);
  EXPECT_EQ(a.submit, kTen);
  EXPECT_EQ(a.duration, 25 * kHour);
  EXPECT_EQ(a.wait, 5 * kSecond);
  EXPECT_EQ(a.request.estimate, 2 * kDay);
  EXPECT_EQ(a.request.shape, (profile::Shape{1, 3}));
  EXPECT_EQ(trace->names[a.request.user], "ann");
  EXPECT_EQ(trace->names[a.request.tenant], "lab");
  EXPECT_EQ(a.request.group, profile::kNoName);  // a partition would make the job unrunnable elsewhere
  EXPECT_EQ(a.request.gpu_type, profile::kNoName);
  EXPECT_EQ(trace->names[trace->attributes[a.request.attributes].name], "a");
  EXPECT_EQ(trace->rows[2].duration, 0);  // failed within the second, but had its GPU
  const Row& uneven = trace->rows[4];
  EXPECT_EQ(uneven.request.shape, (profile::Shape{0, 5}));  // 5 GPUs on 3 nodes
  EXPECT_EQ(trace->names[uneven.request.gpu_type], "a100");
  EXPECT_EQ(trace->names[trace->attributes[uneven.request.attributes].name], "pi|pe");
  const Row& after = trace->rows[5];
  EXPECT_EQ(after.submit, kTen + 2 * kHour);  // eligible
  EXPECT_EQ(after.wait, 30 * kSecond);
}

TEST(Sacct, RunsOfARequeuedJobAreOneJob) {
  const auto trace = read_text(kFile);
  ASSERT_TRUE(trace) << trace.error().text();
  const Row& again = trace->rows[3];
  EXPECT_EQ(again.id, 4);
  EXPECT_EQ(again.submit, kTen + 2 * kSecond);
  EXPECT_EQ(again.duration, 40 * kSecond);
  EXPECT_EQ(again.wait, 2 * kSecond);
  EXPECT_EQ(again.request.shape, (profile::Shape{2, 8}));
  EXPECT_EQ(again.request.estimate, -1);
  // 3 * 90000 + 10 + 16 * 10 + 5 * 10 + 8 * 3600 + 16 * 30 GPU seconds
  EXPECT_DOUBLE_EQ(trace->gpu_hours(), 299'500 / 3600.0);
}

TEST(Sacct, OtherRowsAreCountedByReason) {
  const auto trace = read_text(kFile);
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_EQ(other_rows(*trace, "a step of a job"), 1U);
  EXPECT_EQ(other_rows(*trace, "a job without GPUs"), 1U);
  EXPECT_EQ(other_rows(*trace, "a job that ended before it started"), 1U);
  EXPECT_EQ(other_rows(*trace, "a job that still waits"), 1U);
  EXPECT_EQ(other_rows(*trace, "a job that still runs"), 1U);
  EXPECT_EQ(other_rows(*trace, "a further run of a job, added to its first"), 1U);
  std::uint64_t all = trace->rows.size();
  for (const OtherRows& rows : trace->other_rows) all += rows.count;
  const std::string text = kFile;
  EXPECT_EQ(static_cast<std::ptrdiff_t>(all), std::count(text.begin(), text.end(), '\n') - 1);
}

TEST(Sacct, CutAndConverted) {
  expect_rows_or_a_line_when_cut(kFile, "");
  const auto trace = read_text(kFile);
  ASSERT_TRUE(trace);
  expect_csv_loses_nothing(*trace);
}

TEST(Sacct, OlderColumnsAndOtherSeparators) {
  // Slurm 18 to 20 without gres/gpu among the tracked resources: AllocGRES, all nodes together. -p ends lines with |.
  const auto old = read_text(
      "JobID|User|State|Submit|Start|End|Elapsed|Timelimit|AllocNodes|AllocGRES|\n"
      "11|ann|COMPLETED|2019-05-01T10:00:00|2019-05-01T10:00:05|2019-05-01T11:00:05|01:00:00|1-00:00:00|2|gpu:8|\n"
      "12_3|ann|TIMEOUT|2019-05-01T10:00:00|2019-05-01T10:00:05|2019-05-01T10:00:07|00:00:02|Partition_Limit|1|"
      "7696487:2|\n");
  ASSERT_TRUE(old) << old.error().text();
  EXPECT_EQ(old->rows[0].request.shape, (profile::Shape{2, 4}));
  EXPECT_EQ(old->rows[0].request.estimate, kDay);
  EXPECT_EQ(old->rows[1].request.shape, (profile::Shape{1, 2}));
  EXPECT_EQ(old->rows[1].request.estimate, -1);
  EXPECT_EQ(old->text_ids, (std::vector<std::string>{"11", "12_3"}));
  // SLURM_TIME_FORMAT=%s and --delimiter; without Elapsed; what was asked for where nothing else is there.
  const auto tabs = read_text("jobidraw\tstart\tend\tsubmit\tstate\treqtres\n5\t100\t160\t90\tCOMPLETED\tgres/gpu=2\n");
  ASSERT_TRUE(tabs) << tabs.error().text();
  EXPECT_EQ(tabs->rows[0].submit, 90 * kSecond);
  EXPECT_EQ(tabs->rows[0].duration, kMinute);
  EXPECT_EQ(tabs->rows[0].request.shape, (profile::Shape{0, 2}));
  // Two files put one behind the other.
  const auto twice = read_text(
      "JobID|State|Submit|ElapsedRaw|AllocTRES\n1|FAILED|2024-05-01T10:00:00|5|gres/gpu=1\n"
      "JobID|State|Submit|ElapsedRaw|AllocTRES\n2|FAILED|2024-05-01T10:00:00|5|gres/gpu=1\n");
  ASSERT_TRUE(twice) << twice.error().text();
  EXPECT_EQ(twice->rows.size(), 2U);
}

TEST(Sacct, AnIdThatOnlyReturnsIsNoRun) {
  const std::string header = "JobID|JobName|User|State|Submit|ElapsedRaw|AllocTRES\n";
  const std::string first = "1|a|ann|COMPLETED|2024-05-01T10:00:00|5|gres/gpu=1\n";
  const std::string other = "1|a|bob|COMPLETED|2024-06-01T10:00:00|5|gres/gpu=1\n";
  const std::string run = "1|a|ann|COMPLETED|2024-06-01T10:00:00|7|gres/gpu=2\n";
  const auto strict = read_text(header + first + other + run);
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().line, 3);
  ReadOptions options;
  options.skip_bad = true;
  const auto lenient = read_text(header + first + other + run, options);
  ASSERT_TRUE(lenient) << lenient.error().text();
  ASSERT_EQ(lenient->rows.size(), 1U);
  EXPECT_EQ(lenient->rows[0].duration, 19 * kSecond);  // 5 + 2 * 7: the first run's one GPU carries the GPU time
  EXPECT_EQ(lenient->skipped_lines, 1U);
}

TEST(Sacct, BadLines) {
  const std::string header = "JobID|State|Submit|End|ElapsedRaw|NNodes|AllocTRES\n";
  struct Bad {
    const char* line;
    const char* field;
  };
  for (const Bad& bad :
       std::vector<Bad>{{"1|COMPLETED|yesterday|2024-05-01T10:00:00|5|1|gres/gpu=1", "Submit"},
                        {"1|COMPLETED|Unknown|2024-05-01T10:00:00|5|1|gres/gpu=1", "Submit"},
                        {"1|COMPLETED|2024-05-01T10:00:00|2024-05-01T10:00:09|-5|1|gres/gpu=1", "ElapsedRaw"},
                        {"1|COMPLETED|2024-05-01T10:00:00|2024-05-01T10:00:09|5|x|gres/gpu=1", "NNodes"},
                        {"1|COMPLETED|2024-05-01T10:00:00|2024-05-01T10:00:09|5|1|gres/gpu=one", "AllocTRES"},
                        {"1|COMPLETED|2024-05-01T10:00:00|2024-05-01T10:00:09|5|1|gres/gpu=-1", "AllocTRES"},
                        {"1|FLOATING|2024-05-01T10:00:00|Unknown|5|1|gres/gpu=1", "State"},
                        {"|COMPLETED|2024-05-01T10:00:00|2024-05-01T10:00:09|5|1|gres/gpu=1", "JobID"},
                        {"1|COMPLETED|2024-05-01T10:00:00|2024-05-01T10:00:09|5|1", "AllocTRES"},
                        {"1|COMPLETED|2024-05-01T10:00:00|2024-05-01T10:00:09|5|1|gres/gpu=1|x", ""}}) {
    const auto trace = read_text(header + bad.line + "\n");
    ASSERT_FALSE(trace) << bad.line;
    EXPECT_EQ(trace.error().line, 2) << trace.error().text();
    EXPECT_EQ(trace.error().field, bad.field) << trace.error().text();
  }
}

TEST(Sacct, HeadersThatLackWhatIsNeeded) {
  for (const char* header : {"JobID|State|End|ElapsedRaw|AllocTRES", "State|Submit|End|ElapsedRaw|AllocTRES",
                             "JobID|Submit|ElapsedRaw|AllocTRES", "JobID|State|Submit|Start|AllocTRES",
                             "JobID|State|Submit|ElapsedRaw|NNodes"}) {
    ReadOptions options;
    options.format = "sacct";
    const auto trace = read_text(std::string(header) + "\n1|1|1|1|1\n", options);
    ASSERT_FALSE(trace) << header;
    EXPECT_EQ(trace.error().line, 1);
    EXPECT_NE(trace.error().hint.find("sacct -a -D -P"), std::string::npos);
  }
  const auto table = read_text(
      "JobID           JobName  Partition    Account  AllocCPUS      State ExitCode \n"
      "------------ ---------- ---------- ---------- ---------- ---------- -------- \n");
  ASSERT_FALSE(table);
  EXPECT_NE(table.error().message.find("--parsable2"), std::string::npos) << table.error().text();
  const auto none = read_text("JobID|State|Submit|ElapsedRaw|AllocTRES\n1|PENDING|2024-05-01T10:00:00|0|\n");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("1 a job that still waits"), std::string::npos) << none.error().text();
}

TEST(Slurm, Tres) {
  struct Case {
    const char* text;
    std::int64_t gpus, nodes;
    const char* type;
  };
  for (const Case& c : std::vector<Case>{{"", 0, 0, ""},
                                         {"billing=4,cpu=4,gres/gpu=4,mem=100M,node=2", 4, 2, ""},
                                         {"gres/gpu:a100=4,gres/gpu=4", 4, 0, "a100"},
                                         {"gres/gpu=4,gres/gpu:a100=4", 4, 0, "a100"},
                                         {"gres/gpu:1g.10gb=1", 1, 0, "1g.10gb"},
                                         {"gres/gpu:a100=4,gres/gpu:v100=2", 6, 0, ""},
                                         {"gres/gpu:a100=4,gres/gpu:v100=0,gres/gpu=4", 4, 0, "a100"},
                                         {"gres/gpu:a100=2,gres/gpu=4", 4, 0, ""},
                                         {"gres/gpumem=80G,gres/gpuutil=50,gres/shard=5", 0, 0, ""},
                                         {"cpu,,=,gres/gpu=0", 0, 0, ""}}) {
    Tres tres;
    ASSERT_TRUE(parse_tres(c.text, tres)) << c.text;
    EXPECT_EQ(tres.gpus, c.gpus) << c.text;
    EXPECT_EQ(tres.nodes, c.nodes) << c.text;
    EXPECT_EQ(tres.gpu_type, c.type) << c.text;
  }
  Tres tres;
  for (const char* bad : {"gres/gpu=", "gres/gpu=x", "gres/gpu=1000001", "gres/gpu:a=-1", "node=1e3"})
    EXPECT_FALSE(parse_tres(bad, tres)) << bad;
}

TEST(Slurm, Gres) {
  struct Case {
    const char* text;
    std::int64_t gpus;
    const char* type;
  };
  for (const Case& c : std::vector<Case>{{"", 0, ""},
                                         {"gpu", 1, ""},
                                         {"gpu:4", 4, ""},
                                         {"gpu:tesla:2", 2, "tesla"},
                                         {"gpu:tesla", 1, "tesla"},
                                         {"gpu:tesla:2,gpu:k80:2,mic:1", 4, ""},
                                         {"gpu:2(IDX:0-1)", 2, ""},
                                         {"craynetwork:1", 0, ""}}) {
    Tres tres;
    ASSERT_TRUE(parse_gres(c.text, tres)) << c.text;
    EXPECT_EQ(tres.gpus, c.gpus) << c.text;
    EXPECT_EQ(tres.gpu_type, c.type) << c.text;
  }
}

}  // namespace
}  // namespace comity::trace
