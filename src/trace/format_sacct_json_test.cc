// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gtest/gtest.h>

#include "trace/reader_checks.h"

namespace comity::trace {
namespace {

// One job in the three shapes: 2 nodes x 4 A100, submitted at 1000, eligible at 1100, ran 1200 to 1800 with 60 s
// suspended, limit 30 minutes.
constexpr const char* kJob2205 =
    R"({"account": "lab", "allocation_nodes": 2, "array": {"job_id": 0, "task_id": null},
    "association": {"user": "ann"},
    "job_id": 7, "name": "train", "state": {"current": "COMPLETED", "reason": "None"},
    "steps": [{"time": {"elapsed": 540}, "tres": {"allocated": [{"type": "gres", "name": "gpu", "count": 99}]}}],
    "time": {"elapsed": 540, "eligible": 1100, "end": 1800, "start": 1100, "submission": 1000,
             "suspended": 60, "limit": 30},
    "tres": {"allocated": [{"type": "cpu", "name": null, "id": 1, "count": 8},
                           {"type": "energy", "name": null, "id": 3, "count": null},
                           {"type": "node", "name": null, "id": 4, "count": 2},
                           {"type": "gres", "name": "gpu", "id": 1001, "count": 8}],
             "requested": [{"type": "gres", "name": "gpu:a100", "id": 1002, "count": 8}]},
    "user": "ann"})";
constexpr const char* kJob2302 =
    R"({"account": "lab", "allocation_nodes": 2, "array": {"job_id": 0,
    "task_id": {"set": false, "infinite": false, "number": 0}},
    "job_id": 7, "name": "train", "state": {"current": "COMPLETED", "reason": "None"}, "steps": [],
    "time": {"elapsed": 540, "eligible": 1100, "end": 1800, "start": 1200, "submission": 1000, "suspended": 60,
             "limit": {"set": true, "infinite": false, "number": 30}},
    "tres": {"allocated": [{"type": "node", "name": "", "id": 4, "count": 2},
                           {"type": "energy", "name": "", "id": 3, "count": 18446744073709551614},
                           {"type": "gres", "name": "gpu", "id": 1001, "count": 8}],
             "requested": [{"type": "gres", "name": "gpu:a100", "id": 1002, "count": 8}]}, "user": "ann"})";
constexpr const char* kJob2411 =
    R"({"account": "lab", "allocation_nodes": 2, "association": {"user": "ann", "id": 5}, "job_id": 7, "name": "train",
    "priority": {"set": true, "infinite": false, "number": 4}, "state": {"current": ["COMPLETED"], "reason": "None"},
    "steps": [], "stdout_expanded": "", "time": {"elapsed": 540, "eligible": 1100, "end": 1800, "planned": {"set": true,
    "infinite": false, "number": 100}, "start": 1200, "submission": 1000, "suspended": 60,
    "limit": {"set": true, "infinite": false, "number": 30}},
    "tres": {"allocated": [{"type": "node", "name": "", "id": 4, "count": 2},
                           {"type": "gres", "name": "gpu", "id": 1001, "count": 8},
                           {"type": "gres", "name": "gpu:a100", "id": 1002, "count": 8}],
             "requested": [{"type": "gres", "name": "gpu", "id": 1001, "count": 8},
                           {"type": "gres", "name": "gpu:a100", "id": 1002, "count": 8}]}, "user": "ann"})";

std::string document(const std::string& jobs, bool meta_first = true) {
  const std::string meta = R"("meta": {"plugin": {"type": "openapi/dbv0.0.38"}, "Slurm": {"release": "22.05.8"}})";
  const std::string list = "\"jobs\": [\n" + jobs + "\n]";
  return "{" + (meta_first ? meta + ", \"errors\": [], " + list : list + ", \"errors\": [], " + meta) + "}\n";
}

// A job with some of its text replaced.
std::string with(std::string job, const std::string& from, const std::string& to) {
  const std::size_t at = job.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? job : job.replace(at, from.size(), to);
}

TEST(SacctJson, TheShapesOfThreeReleasesSayTheSame) {
  for (const char* job : {kJob2205, kJob2302, kJob2411}) {
    for (const bool meta_first : {true, false}) {
      const auto trace = read_text(document(job, meta_first));
      ASSERT_TRUE(trace) << trace.error().text();
      EXPECT_EQ(trace->format, "sacct_json");
      ASSERT_EQ(trace->rows.size(), 1U);
      const Row& row = trace->rows[0];
      EXPECT_EQ(row.id, 7);
      EXPECT_EQ(row.submit, 1100 * kSecond);
      EXPECT_EQ(row.wait, 100 * kSecond);  // though 22.05 says that it started when it was eligible
      EXPECT_EQ(row.duration, 540 * kSecond);
      EXPECT_EQ(row.request.estimate, 30 * kMinute);
      EXPECT_EQ(row.request.shape, (profile::Shape{2, 4}));
      EXPECT_EQ(trace->names[row.request.user], "ann");
      EXPECT_EQ(trace->names[row.request.tenant], "lab");
      EXPECT_EQ(trace->names[row.request.gpu_type], "a100");
      EXPECT_EQ(trace->names[trace->attributes[row.request.attributes].name], "train");
    }
  }
}

TEST(SacctJson, OtherRowsRunsAndLimits) {
  const std::string waits = with(with(with(with(kJob2411, "COMPLETED", "PENDING"), "\"start\": 1200", "\"start\": 0"),
                                      "\"end\": 1800", "\"end\": 0"),
                                 "\"elapsed\": 540", "\"elapsed\": 0");
  const std::string runs = with(with(kJob2411, "COMPLETED", "RUNNING"), "\"end\": 1800", "\"end\": 0");
  const std::string never = with(with(with(kJob2411, "COMPLETED", "CANCELLED"), "\"start\": 1200", "\"start\": 0"),
                                 "\"elapsed\": 540", "\"elapsed\": 0");
  std::string no_gpu = with(kJob2411, "\"gpu\"", "\"shard\"");
  no_gpu = with(no_gpu, "\"gpu:a100\"", "\"shard:x\"");
  const std::string unlimited =
      with(with(kJob2411, "\"infinite\": false, \"number\": 30", "\"infinite\": true, \"number\": 0"), "\"job_id\": 7",
           "\"job_id\": 8");
  const std::string second = with(
      with(with(kJob2411, "\"submission\": 1000", "\"submission\": 1800"), "\"eligible\": 1100", "\"eligible\": 1900"),
      "\"end\": 1800", "\"end\": 2800");
  const auto trace = read_text(
      document(waits + "," + runs + ",\n" + second + "," + never + "," + no_gpu + "," + unlimited + ",\n" + kJob2411));
  ASSERT_TRUE(trace) << trace.error().text();
  ASSERT_EQ(trace->rows.size(), 2U);
  EXPECT_EQ(trace->rows[0].submit, 1100 * kSecond);  // of the earlier run, though it comes last
  EXPECT_EQ(trace->rows[0].duration, 1080 * kSecond);
  EXPECT_EQ(trace->rows[1].request.estimate, -1);
  EXPECT_EQ(other_rows(*trace, "a job that still waits"), 1U);
  EXPECT_EQ(other_rows(*trace, "a job that still runs"), 1U);
  EXPECT_EQ(other_rows(*trace, "a job that ended before it started"), 1U);
  EXPECT_EQ(other_rows(*trace, "a job without GPUs"), 1U);
  EXPECT_EQ(other_rows(*trace, "a further run of a job, added to its first"), 1U);
}

TEST(SacctJson, BadJobsHaveLineAndField) {
  struct Bad {
    std::string job;
    const char* field;
  };
  for (const Bad& bad : std::vector<Bad>{{with(kJob2411, "\"job_id\": 7", "\"job_id\": \"7\""), "job_id"},
                                         {with(kJob2411, "[\"COMPLETED\"]", "[]"), "state.current"},
                                         {with(kJob2411, "\"elapsed\": 540", "\"elapsed\": -1"), "time.elapsed"},
                                         {with(kJob2411, "\"elapsed\": 540", "\"elapsed\": 1.5"), "time.elapsed"},
                                         {with(kJob2411, "\"elapsed\": 540", "\"elapsed\": 2000"), "time.elapsed"},
                                         {with(kJob2411, "\"submission\": 1000", "\"submission\": null"), "Submit"},
                                         {with(kJob2411, "\"count\": 8", "\"count\": \"8\""), "tres"},
                                         {with(kJob2411, "\"count\": 8", "\"count\": 8000000"), "tres.allocated"},
                                         {with(kJob2411, "\"account\": \"lab\"", "account"), ""},
                                         {"5", ""}}) {
    const std::string text = document(std::string(kJob2205) + ",\n" + bad.job);
    const auto strict = read_text(text);
    ASSERT_FALSE(strict) << bad.job;
    EXPECT_EQ(strict.error().code, Code::kInput);
    EXPECT_EQ(strict.error().field, bad.field) << strict.error().text();
    EXPECT_EQ(strict.error().line, 14) << strict.error().text();
    ReadOptions options;
    options.skip_bad = true;
    const auto lenient = read_text(text, options);
    ASSERT_TRUE(lenient) << lenient.error().text();
    EXPECT_EQ(lenient->skipped_lines, 1U);
  }
}

TEST(SacctJson, CutAndConverted) {
  const std::string text = document(kJob2205);
  expect_rows_or_a_line_when_cut(text, "");
  expect_rows_or_a_line_when_cut(text, "sacct_json");
  const auto trace = read_text(text);
  ASSERT_TRUE(trace);
  expect_csv_loses_nothing(*trace);
}

TEST(SacctJson, SqueueIsRefusedByName) {
  const auto trace = read_text(R"({"meta": {"Slurm": {}}, "jobs": [{"accrue_time": 0, "batch_flag": true}]})");
  ASSERT_FALSE(trace);
  EXPECT_NE(trace.error().message.find("squeue"), std::string::npos) << trace.error().text();
  const auto empty = read_text(document(""));
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().code, Code::kInput);
  EXPECT_GE(empty.error().line, 1);
}

}  // namespace
}  // namespace comity::trace
