// SPDX-License-Identifier: Apache-2.0
#include "trace/runs.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace comity::trace {
namespace {

std::uint32_t job_name(const Trace& trace, const Row& row) {
  const std::uint32_t at = row.request.attributes;
  return at == profile::kNoAttributes ? profile::kNoName : trace.attributes[at].name;
}

__extension__ using Wide = __int128;

Wide gpu_time(const Row& row) { return static_cast<Wide>(row.request.shape.total()) * row.duration; }

// A job while its runs are added up.
struct Job {
  std::uint32_t row = 0;  // its first in the trace
  std::uint32_t earliest = 0;
  Wide gpu_time = -1;  // < 0: no run was added yet
};

// In units of the GPUs of `row`, rounded once, when all runs are known.
Wide duration_of(Wide gpu_time, const Row& row) {
  const auto gpus = static_cast<Wide>(row.request.shape.total());
  return (gpu_time + gpus / 2) / gpus;
}

// False where the run is another job's, or the sum is beyond what a trace may hold.
bool add_run(const Trace& trace, Job& job, std::uint32_t row) {
  const Row& first = trace.rows[job.row];
  const Row& run = trace.rows[row];
  if (first.request.user != run.request.user || job_name(trace, first) != job_name(trace, run)) return false;
  const Wide sum = (job.gpu_time < 0 ? gpu_time(first) : job.gpu_time) + gpu_time(run);
  const std::uint32_t earliest = run.submit < trace.rows[job.earliest].submit ? row : job.earliest;
  if (duration_of(sum, trace.rows[earliest]) > kMaxTime) return false;
  job.gpu_time = sum;
  job.earliest = earliest;
  return true;
}

template <class Key, class KeyOf>
JoinedRuns join(Trace& trace, const std::vector<std::uint32_t>& repeated, KeyOf key_of) {
  std::unordered_map<Key, Job> jobs;
  for (const std::uint32_t row : repeated) jobs.emplace(key_of(row), Job{.row = row, .earliest = row});
  for (std::uint32_t row = 0; row < trace.rows.size(); ++row) {
    const auto it = jobs.find(key_of(row));
    if (it != jobs.end() && row < it->second.row) it->second.row = it->second.earliest = row;
  }
  JoinedRuns out;
  for (const std::uint32_t row : repeated) {
    const bool added = add_run(trace, jobs.find(key_of(row))->second, row);
    (added ? out.joined : out.others).push_back(row);
  }
  for (const auto& [key, job] : jobs) {
    if (job.gpu_time < 0) continue;
    Row& row = trace.rows[job.row];
    const std::int64_t id = row.id;  // of a text id it is the row's position
    row = trace.rows[job.earliest];
    row.id = id;
    row.duration = static_cast<Time>(duration_of(job.gpu_time, row));
  }
  return out;
}

}  // namespace

JoinedRuns join_runs(Trace& trace, const std::vector<std::uint32_t>& repeated) {
  if (!trace.text_ids.empty()) {
    return join<std::string_view>(trace, repeated,
                                  [&](std::uint32_t row) { return std::string_view(trace.text_ids[row]); });
  }
  return join<std::int64_t>(trace, repeated, [&](std::uint32_t row) { return trace.rows[row].id; });
}

}  // namespace comity::trace
