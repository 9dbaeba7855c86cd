// SPDX-License-Identifier: Apache-2.0
#include "trace/stats.h"

#include <algorithm>
#include <map>
#include <utility>

namespace comity::trace {
namespace {

Distribution describe(std::vector<double>& values) {
  Distribution d;
  if (values.empty()) return d;
  constexpr std::array<double, 8> kAt = {0, .1, .25, .5, .75, .9, .99, 1};
  d.mean = math::mean(values);
  const std::vector<double> q = math::quantiles(values, kAt);
  d.min = q[0], d.p10 = q[1], d.p25 = q[2], d.median = q[3], d.p75 = q[4], d.p90 = q[5], d.p99 = q[6], d.max = q[7];
  return d;
}

// Use by name index; the last entry is for jobs without a name.
std::vector<NameUse> by_name(const Trace& trace, std::uint32_t profile::JobRequest::* member) {
  std::vector<NameUse> uses(trace.names.size() + 1);
  for (const Row& row : trace.rows) {
    const std::uint32_t name = row.request.*member;
    NameUse& use = name == profile::kNoName ? uses.back() : uses[name];
    ++use.jobs;
    use.gpu_hours += static_cast<double>(row.request.shape.total()) * to_hours(row.duration);
  }
  for (std::uint32_t i = 0; i < trace.names.size(); ++i) uses[i].name = trace.names[i];
  std::erase_if(uses, [](const NameUse& use) { return use.jobs == 0; });
  if (uses.size() == 1 && uses[0].name.empty()) return {};  // no job has one
  std::sort(uses.begin(), uses.end(), [](const NameUse& a, const NameUse& b) {
    return std::pair(-a.gpu_hours, std::string_view(a.name)) < std::pair(-b.gpu_hours, std::string_view(b.name));
  });
  return uses;
}

void add_sizes(const Trace& trace, TraceStats& stats) {
  std::map<std::uint64_t, SizeUse> sizes;
  double gpus = 0;
  for (const Row& row : trace.rows) {
    const std::uint64_t total = row.request.shape.total();
    SizeUse& use = sizes[total];
    ++use.jobs;
    use.gpu_hours += static_cast<double>(total) * to_hours(row.duration);
    gpus += static_cast<double>(total);
  }
  for (auto& [total, use] : sizes) {
    use.gpus = total;
    stats.sizes.push_back(use);
  }
  stats.mean_gpus = gpus / static_cast<double>(trace.rows.size());
  stats.max_gpus = stats.sizes.back().gpus;
}

void add_times(const Trace& trace, TraceStats& stats) {
  Time first = kNever;
  Time last = 0;
  std::vector<double> durations;
  std::vector<double> waits;
  durations.reserve(trace.rows.size());
  for (const Row& row : trace.rows) {
    first = std::min(first, row.submit);
    last = std::max(last, row.submit);
    durations.push_back(to_seconds(row.duration));
    if (row.wait >= 0) waits.push_back(to_seconds(row.wait));
    if (row.request.estimate >= 0) ++stats.jobs_with_estimate;
    ++stats.arrivals_by_hour_of_week[static_cast<std::size_t>(row.submit / kHour % 168)];
  }
  stats.first_submit_s = to_seconds(first);
  stats.span_s = to_seconds(last - first);
  if (last > first) stats.mean_gpus_demanded = stats.gpu_hours / to_hours(last - first);
  stats.jobs_with_wait = waits.size();
  stats.wait_s = describe(waits);
  stats.duration_s = describe(durations);
  stats.duration_histogram = math::histogram(durations, math::log_edges(1, std::max(10.0, stats.duration_s.max)));
  stats.duration_ecdf = math::ecdf(durations);
}

}  // namespace

TraceStats trace_stats(const Trace& trace) {
  TraceStats stats;
  stats.jobs = trace.rows.size();
  if (trace.rows.empty()) return stats;
  stats.gpu_hours = trace.gpu_hours();
  add_sizes(trace, stats);
  add_times(trace, stats);
  stats.tenants = by_name(trace, &profile::JobRequest::tenant);
  stats.users = by_name(trace, &profile::JobRequest::user);
  stats.user_count = stats.users.size();
  if (stats.users.size() > TraceStats::kMostUsers) stats.users.resize(TraceStats::kMostUsers);
  return stats;
}

}  // namespace comity::trace
