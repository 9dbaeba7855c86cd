// SPDX-License-Identifier: Apache-2.0
#include "trace/trace.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "trace/record.h"

namespace comity::trace {

double Trace::gpu_hours() const {
  // Whole jobs in integers where they fit, so that the sum does not depend on the order of the rows.
  __extension__ using Wide = __int128;
  Wide sum = 0;
  for (const Row& row : rows) sum += static_cast<Wide>(row.request.shape.total()) * row.duration;
  return static_cast<double>(sum) / static_cast<double>(kHour);
}

std::vector<OtherRows> duration_bases(const Trace& trace) {
  std::vector<std::uint64_t> jobs(trace.names.size());
  for (const Row& row : trace.rows) {
    if (row.request.attributes == profile::kNoAttributes) continue;
    const std::uint32_t basis = trace.attributes[row.request.attributes].duration_basis;
    if (basis != profile::kNoName) ++jobs[basis];
  }
  std::vector<OtherRows> list;
  for (std::uint32_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i] > 0) list.push_back({.reason = trace.names[i], .count = jobs[i]});
  }
  std::stable_sort(list.begin(), list.end(), [](const OtherRows& a, const OtherRows& b) { return a.count > b.count; });
  return list;
}

Status need_durations(const Trace& trace) {
  for (const OtherRows& basis : duration_bases(trace)) {
    if (basis.reason != kNotKnown) continue;
    Error error;
    error.code = Code::kInput;
    error.message = fmt::format("the file doesn't say when {} of its {} jobs came and how long they ran",
                                format_count(basis.count), format_count(trace.rows.size()));
    error.file = trace.path;
    error.hint = "such a list of jobs can be counted and placed, not replayed";
    return fail(std::move(error));
  }
  return {};
}

}  // namespace comity::trace
