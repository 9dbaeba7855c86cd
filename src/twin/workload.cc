// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <set>

#include "twin/replay.h"

namespace comity::twin {
namespace {

// Whole numbers by value; other ids by length, then text, so that job-2 comes before job-10.
bool id_before(const trace::Trace& trace, std::uint32_t a, std::uint32_t b) {
  if (trace.text_ids.empty()) return trace.rows[a].id < trace.rows[b].id;
  const std::string& x = trace.text_ids[a];
  const std::string& y = trace.text_ids[b];
  return x.size() != y.size() ? x.size() < y.size() : x < y;
}

}  // namespace

Workload::Workload(const trace::Trace& trace, Ties ties) : trace_(&trace) {
  const auto less = [&](std::uint32_t a, std::uint32_t b) {
    const Time x = trace.rows[a].submit;
    const Time y = trace.rows[b].submit;
    if (x != y) return x < y;
    return ties == Ties::kId && id_before(trace, a, b);
  };
  bool sorted = true;
  for (std::uint32_t i = 1; i < trace.rows.size() && sorted; ++i) sorted = !less(i, i - 1);
  if (sorted) return;
  order_.resize(trace.rows.size());
  std::iota(order_.begin(), order_.end(), 0U);
  std::stable_sort(order_.begin(), order_.end(), less);
}

std::vector<cluster::TenantSpec> tenants_of(const trace::Trace& trace) {
  std::set<std::string> names;
  for (const trace::Row& row : trace.rows) {
    const std::uint32_t name = row.request.tenant == profile::kNoName ? row.request.user : row.request.tenant;
    names.insert(name == profile::kNoName ? std::string() : trace.names[name]);
  }
  std::vector<cluster::TenantSpec> out;
  for (const std::string& name : names) out.emplace_back().name = name;
  return out;
}

std::string Workload::id_text(std::size_t job) const {
  const std::uint32_t at = row_of(job);
  return trace_->text_ids.empty() ? std::to_string(trace_->rows[at].id) : trace_->text_ids[at];
}

}  // namespace comity::twin
