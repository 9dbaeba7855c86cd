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

// False where the sum is beyond what a trace may hold.
bool add_run(Row& job, const Row& run) {
  __extension__ using Wide = __int128;
  const Row& earliest = run.submit < job.submit ? run : job;
  const auto gpus = static_cast<Wide>(earliest.request.shape.total());
  const Wide gpu_time = static_cast<Wide>(job.request.shape.total()) * job.duration +
                        static_cast<Wide>(run.request.shape.total()) * run.duration;
  const Wide duration = (gpu_time + gpus / 2) / gpus;
  if (duration > kMaxTime) return false;
  if (&earliest == &run) {
    const std::int64_t id = job.id;  // of a text id it is the row's position
    job = run;
    job.id = id;
  }
  job.duration = static_cast<Time>(duration);
  return true;
}

template <class Key, class KeyOf>
JoinedRuns join(Trace& trace, const std::vector<std::uint32_t>& repeated, KeyOf key_of) {
  std::unordered_map<Key, std::uint32_t> first;
  for (const std::uint32_t row : repeated) first.emplace(key_of(row), row);
  // Rows are met in rising order, so an id's first row is the one that is met before any that repeats it.
  for (std::uint32_t row = 0; row < trace.rows.size(); ++row) {
    const auto it = first.find(key_of(row));
    if (it != first.end() && row < it->second) it->second = row;
  }
  JoinedRuns out;
  for (const std::uint32_t row : repeated) {
    Row& job = trace.rows[first.find(key_of(row))->second];
    const Row& run = trace.rows[row];
    const bool same = job.request.user == run.request.user && job_name(trace, job) == job_name(trace, run);
    (same && add_run(job, run) ? out.joined : out.others).push_back(row);
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
