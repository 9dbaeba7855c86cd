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

Row copy_row(const Trace& from, const Row& row, Trace& to) {
  const auto name = [&](std::uint32_t index) {
    return index == profile::kNoName ? index : to.names.intern(from.names[index]);
  };
  Row copy = row;
  copy.request.user = name(row.request.user);
  copy.request.tenant = name(row.request.tenant);
  copy.request.group = name(row.request.group);
  copy.request.gpu_type = name(row.request.gpu_type);
  if (row.request.attributes == profile::kNoAttributes) return copy;
  profile::Attributes attributes = from.attributes[row.request.attributes];
  for (const auto member : profile::kAttributeNames) attributes.*member = name(attributes.*member);
  const auto begin = [](const auto& all, profile::List list) { return all.begin() + list.first; };
  const profile::List deadlines = attributes.deadlines;
  attributes.deadlines.first = static_cast<std::uint32_t>(to.deadlines.size());
  to.deadlines.insert(to.deadlines.end(), begin(from.deadlines, deadlines),
                      begin(from.deadlines, deadlines) + deadlines.count);
  const profile::List models = attributes.gpu_models;
  attributes.gpu_models.first = static_cast<std::uint32_t>(to.gpu_models.size());
  for (std::uint32_t i = 0; i < models.count; ++i) to.gpu_models.push_back(name(from.gpu_models[models.first + i]));
  copy.request.attributes = static_cast<std::uint32_t>(to.attributes.size());
  to.attributes.push_back(attributes);
  return copy;
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
