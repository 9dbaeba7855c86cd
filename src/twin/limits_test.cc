// SPDX-License-Identifier: Apache-2.0
// Limits of users and tenants, and reservations, hold at every instant under every policy and placement: random traces,
// the intervals in which GPUs were held looked at one by one.
#include <map>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "twin/replay.h"

namespace comity::twin {
namespace {

constexpr Time kWindowStart = 400 * kSecond;
constexpr Time kWindowEnd = 900 * kSecond;
constexpr std::uint32_t kReservedNode = 3;
constexpr std::int64_t kUserLimit = 7;
constexpr std::int64_t kTenantLimit = 9;

trace::Trace random_trace(std::uint64_t seed) {
  Rng rng(seed, 1);
  trace::Trace trace;
  for (std::int64_t i = 0; i < 150; ++i) {
    trace::Row row;
    row.id = i;
    row.submit = static_cast<Time>(rng.below(1200)) * kSecond;
    row.duration = static_cast<Time>(1 + rng.below(200)) * kSecond;
    const bool flat = rng.below(2) == 0;
    row.request.shape = {flat ? 0U : static_cast<std::uint32_t>(1 + rng.below(2)),
                         static_cast<std::uint32_t>(1 + rng.below(flat ? 7 : 3))};
    row.request.user = trace.names.intern("user" + std::to_string(rng.below(6)));
    row.request.tenant = trace.names.intern("lab" + std::to_string(rng.below(3)));
    trace.rows.push_back(row);
  }
  return trace;
}

cluster::ClusterSpec cluster_of(bool limits, bool reserved) {
  cluster::ClusterSpec spec = *cluster::parse_nodes("4x4");
  if (limits) {
    spec.user_max_gpus = kUserLimit;
    spec.tenants.emplace_back().name = "lab0";
    spec.tenants.back().max_gpus = kTenantLimit;
  }
  if (reserved) {
    cluster::ReservationSpec& r = spec.reservations.emplace_back();
    r.nodes = {kReservedNode};
    r.start = kWindowStart;
    r.end = kWindowEnd;
    r.tenants = {"lab1"};
  }
  return spec;
}

// The most GPUs that jobs of one owner held at once.
std::int64_t most_held(const trace::Trace& trace, const Workload& workload, const Detail& detail, bool tenant,
                       const std::string& only) {
  std::map<std::pair<std::uint32_t, Time>, std::int64_t> change;
  for (const Stretch& s : detail.stretches) {
    const profile::JobRequest& request = workload.row(s.job).request;
    const std::uint32_t owner = tenant ? request.tenant : request.user;
    if (!only.empty() && trace.names[owner] != only) continue;
    change[{owner, s.start}] += s.gpus;
    change[{owner, s.end}] -= s.gpus;
  }
  std::map<std::uint32_t, std::int64_t> held;
  std::int64_t most = 0;
  for (const auto& [at, gpus] : change) most = std::max(most, held[at.first] += gpus);
  return most;
}

TEST(Limits, AndReservationsHoldUnderEveryPolicy) {
  std::uint64_t in_window = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const trace::Trace trace = random_trace(seed);
    const Workload workload(trace, Ties::kId);
    for (const sched::PolicyInfo& info : sched::registry()) {
      for (const std::string& placement : cluster::placement_names()) {
        ReplayOptions options;
        options.cluster = cluster_of(seed % 3 != 0, seed % 3 != 1);
        options.placement = *cluster::parse_placement(placement);
        options.mode = Mode::kSkip;
        options.detail = true;
        const auto r = replay(workload, info, sched::all_params(), options);
        ASSERT_TRUE(r.has_value()) << info.name << " " << placement << " " << seed << ": " << r.error().text();
        const std::string where = info.name + " " + placement + " " + std::to_string(seed);
        EXPECT_EQ(r->finished + r->rejected, 150U) << where;
        const Detail& detail = r->detail.front();
        if (seed % 3 != 0) {
          EXPECT_LE(most_held(trace, workload, detail, false, ""), kUserLimit) << where;
          EXPECT_LE(most_held(trace, workload, detail, true, "lab0"), kTenantLimit) << where;
        }
        for (const Stretch& s : detail.stretches) {
          if (seed % 3 == 1 || s.node != kReservedNode || s.start >= kWindowEnd || s.end <= kWindowStart) continue;
          ++in_window;
          EXPECT_EQ(trace.names[workload.row(s.job).request.tenant], "lab1") << where << " job " << s.job;
        }
      }
    }
  }
  EXPECT_GT(in_window, 100U);  // who is admitted does use the nodes
}

}  // namespace
}  // namespace comity::twin
