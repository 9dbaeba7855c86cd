// SPDX-License-Identifier: Apache-2.0
// What a trace holds, as plain numbers: who asked for how much, when, and for how long. Times are seconds, sizes GPUs.
// Weekdays and hours count from the trace's origin, whatever the weekday it was. O(jobs log jobs), 16 bytes a job.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "math/quantile.h"
#include "trace/trace.h"

namespace comity::trace {

struct Distribution {
  double mean = 0, min = 0, p10 = 0, p25 = 0, median = 0, p75 = 0, p90 = 0, p99 = 0, max = 0;
};
struct SizeUse {
  std::uint64_t gpus = 0;  // in all
  std::uint64_t jobs = 0;
  double gpu_hours = 0;
};
struct NameUse {
  std::string name;  // "" = jobs without one
  std::uint64_t jobs = 0;
  double gpu_hours = 0;
};

struct TraceStats {
  std::uint64_t jobs = 0;
  double gpu_hours = 0;
  double first_submit_s = 0;
  double span_s = 0;              // first to last submission
  double mean_gpus_demanded = 0;  // GPU time of all jobs over that span: the offered load; 0 where the span is 0
  double mean_gpus = 0;           // size of a job
  std::uint64_t max_gpus = 0;
  Distribution duration_s;
  Distribution wait_s;  // of the jobs whose wait the log knows
  std::uint64_t jobs_with_wait = 0;
  std::uint64_t jobs_with_estimate = 0;
  math::Histogram duration_histogram;  // log bins, five a decade, from 1 s; shorter jobs in `below`
  math::Ecdf duration_ecdf;
  std::vector<SizeUse> sizes;    // by size
  std::vector<NameUse> tenants;  // by GPU hours, most first
  std::vector<NameUse> users;    // the same, at most `kMostUsers`
  std::uint64_t user_count = 0;
  std::array<std::uint64_t, 168> arrivals_by_hour_of_week{};
  static constexpr std::size_t kMostUsers = 20;
};

[[nodiscard]] TraceStats trace_stats(const Trace& trace);

}  // namespace comity::trace
