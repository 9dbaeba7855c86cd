// SPDX-License-Identifier: Apache-2.0
#include "trace/runs.h"

#include <algorithm>
#include <map>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "trace/reader_checks.h"

namespace comity::trace {
namespace {

// However the runs of jobs are mixed: one row a job, from its earliest submission, with all of its GPU time.
RC_GTEST_PROP(Runs, KeepTheGpuTimeOfEveryJob, ()) {
  struct Job {
    std::int64_t first = kMaxTime, gpu_seconds = 0, gpus_of_first = 0;
  };
  std::map<std::int64_t, Job> jobs;
  const bool text = *rc::gen::arbitrary<bool>();
  std::string csv = "JobIDRaw|State|Submit|ElapsedRaw|AllocTRES\n";
  for (int i = *rc::gen::inRange(1, 20); i > 0; --i) {
    const std::int64_t id = *rc::gen::inRange(1, 6);
    const std::int64_t submit = 1000 + i * 7 % 20;  // distinct, in no order
    const std::int64_t gpus = *rc::gen::inRange(1, 9);
    const std::int64_t elapsed = *rc::gen::inRange(0, 1000);
    csv += std::to_string(id) + (text ? "_0" : "") + "|COMPLETED|" + std::to_string(submit) + "|" +
           std::to_string(elapsed) + "|gres/gpu=" + std::to_string(gpus) + "\n";
    Job& job = jobs[id];
    if (submit < job.first) job.gpus_of_first = gpus;
    job.first = std::min(job.first, submit);
    job.gpu_seconds += gpus * elapsed;
  }
  const auto trace = read_text(csv);
  RC_ASSERT(trace.has_value());
  RC_ASSERT(trace->rows.size() == jobs.size());
  for (std::size_t i = 0; i < trace->rows.size(); ++i) {
    const Row& row = trace->rows[i];
    const std::int64_t id = text ? std::stoll(trace->text_ids[i]) : row.id;
    const Job& job = jobs.at(id);
    RC_ASSERT(row.submit == job.first * kSecond);
    RC_ASSERT(static_cast<std::int64_t>(row.request.shape.total()) == job.gpus_of_first);
    const Time gpu_time = row.duration * job.gpus_of_first;
    RC_ASSERT(std::abs(gpu_time - job.gpu_seconds * kSecond) <= job.gpus_of_first);
  }
}

TEST(Runs, TooLongATimeIsNotJoined) {
  const std::string run = "|COMPLETED|1000|2000000000|gres/gpu=1\n";
  const auto trace = read_text("JobIDRaw|State|Submit|ElapsedRaw|AllocTRES\n1" + run + "1" + run);
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().line, 3);
}

}  // namespace
}  // namespace comity::trace
