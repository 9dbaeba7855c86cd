// SPDX-License-Identifier: Apache-2.0
#include "twin/replay_notes.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "base/text.h"

namespace comity::twin {
namespace {

constexpr std::size_t kMostListed = 10;

// The names that jobs of the trace have in `member`, a set.
std::set<std::string, std::less<>> names_of(const trace::Trace& trace, std::uint32_t profile::JobRequest::* member) {
  std::vector<bool> seen(trace.names.size(), false);
  for (const trace::Row& row : trace.rows) {
    if (row.request.*member != profile::kNoName) seen[row.request.*member] = true;
  }
  std::set<std::string, std::less<>> names;
  for (std::uint32_t i = 0; i < seen.size(); ++i) {
    if (seen[i]) names.emplace(trace.names[i]);
  }
  return names;
}

std::string listed(const std::vector<std::string>& absent, const std::set<std::string, std::less<>>& present) {
  std::string out;
  const std::vector<std::string> candidates(present.begin(), present.end());
  for (std::size_t i = 0; i < std::min(absent.size(), kMostListed); ++i) {
    out += fmt::format("{}{}", out.empty() ? "" : ", ", printable(absent[i]));
    const std::string near = nearest(absent[i], candidates);
    if (!near.empty()) out += fmt::format(" (the trace has {})", printable(near));
  }
  return absent.size() > kMostListed ? out + ", ..." : out;
}

void add_absent_tenants(const Workload& workload, const cluster::ClusterSpec& spec, std::vector<std::string>& notes) {
  if (spec.tenants.empty()) return;
  const auto present = names_of(workload.trace(), &profile::JobRequest::tenant);
  std::set<std::string_view> parents;
  for (const cluster::TenantSpec& tenant : spec.tenants) parents.insert(tenant.parent);
  std::vector<std::string> absent;
  for (const cluster::TenantSpec& tenant : spec.tenants) {
    if (!present.contains(tenant.name) && !parents.contains(tenant.name)) absent.push_back(tenant.name);
  }
  if (absent.empty()) return;
  notes.push_back(fmt::format("no job of the trace is of {} that the cluster file lists: {}",
                              absent.size() == 1 ? "a tenant" : fmt::format("{} tenants", absent.size()),
                              listed(absent, present)));
}

void add_absent_users(const Workload& workload, const cluster::ClusterSpec& spec, std::vector<std::string>& notes) {
  if (spec.users.empty()) return;
  const auto present = names_of(workload.trace(), &profile::JobRequest::user);
  std::vector<std::string> absent;
  for (const cluster::UserSpec& user : spec.users) {
    if (!present.contains(user.name)) absent.push_back(user.name);
  }
  if (absent.empty()) return;
  notes.push_back(fmt::format("no job of the trace is of {} that the cluster file lists: {}",
                              absent.size() == 1 ? "a user" : fmt::format("{} users", absent.size()),
                              listed(absent, present)));
}

}  // namespace

std::vector<std::string> replay_notes(const Workload& workload, const ReplayOptions& options) {
  std::vector<std::string> notes;
  if (options.estimates == Estimates::kUser) {
    const auto& rows = workload.trace().rows;
    const auto without =
        std::count_if(rows.begin(), rows.end(), [](const trace::Row& row) { return row.request.estimate < 0; });
    if (without > 0)
      notes.push_back(fmt::format("{} of {} jobs have no estimate in the trace: policies were told their true run time",
                                  format_count(static_cast<std::uint64_t>(without)), format_count(rows.size())));
  }
  add_absent_tenants(workload, options.cluster, notes);
  add_absent_users(workload, options.cluster, notes);
  return notes;
}

}  // namespace comity::twin
