// SPDX-License-Identifier: Apache-2.0
// Jobs that start with another number of GPUs than they asked for, or get another one while they run: by hand, and
// under a policy that does so at random.
#include <map>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "twin/replay.h"

namespace comity::twin {
namespace {

using cluster::Pool;
using profile::Shape;

// Starts the only job on 2 of its 4 GPUs at half speed; after 40 s gives it 8, at twice the speed, for 10 s of work.
class TwoThenEight : public sched::Policy {
 public:
  void decide(sched::Pass& pass, std::uint32_t group) override {
    if (!pass.state().active(group).empty()) {
      EXPECT_TRUE(pass.start_sized(0, {0, 2}, {}, 0.5));
      pass.wake_at(pass.now() + 40 * kSecond);
    } else if (pass.now() == 40 * kSecond) {
      EXPECT_FALSE(pass.resize(0, {0, 9}, {}, 2, 0));  // the node has 8
      EXPECT_TRUE(pass.resize(0, {0, 8}, {}, 2, 10 * kSecond));
    }
  }
};

// Starts what fits in a size and at a speed drawn from job and instant; every 7 s a third of the running jobs gets
// another size or waits again.
class AnySize : public sched::Policy {
 public:
  void decide(sched::Pass& pass, std::uint32_t group) override {
    const sched::State& state = pass.state();
    std::vector<std::uint32_t> waiting;
    for (const sched::ShapeId id : state.active(group)) waiting.push_back(state.front(id).job);
    for (const std::uint32_t job : waiting) {
      Rng rng(job, static_cast<std::uint64_t>(pass.now()));
      pass.start_sized(job, size(rng), state.shape(state.job(JobId(job)).shape).where, speed(rng));
    }
    if (state.live() == 0 || pass.now() < again_) return;
    again_ = pass.now() + 7 * kSecond;
    pass.wake_at(again_);
    std::vector<std::uint32_t> running;
    for (const cluster::Running& r : state.running()) {
      if ((r.job.value + static_cast<std::uint64_t>(pass.now() / kSecond)) % 3 == 0) running.push_back(r.job.value);
    }
    for (const std::uint32_t job : running) {
      Rng rng(job, static_cast<std::uint64_t>(pass.now()) + 1);
      if (rng.below(4) == 0) {
        pass.preempt(job, kSecond);
      } else {
        pass.resize(job, size(rng), state.shape(state.job(JobId(job)).shape).where, speed(rng), kSecond / 2);
      }
    }
  }

 private:
  Time again_ = 0;
  static Shape size(Rng& rng) { return {0, static_cast<std::uint32_t>(1 + rng.below(6))}; }
  static double speed(Rng& rng) { return 0.25 + static_cast<double>(rng.below(8)) / 4; }
};

template <class T>
sched::PolicyInfo info_of(const char* name) {
  sched::PolicyInfo info;
  info.name = name;
  info.make = [](const Params&) -> std::unique_ptr<sched::Policy> { return std::make_unique<T>(); };
  return info;
}

TEST(Elastic, AJobGrowsAndSpeedsUp) {
  trace::Trace trace;
  trace.rows.emplace_back().request.shape = {0, 4};
  trace.rows.back().duration = 100 * kSecond;
  ReplayOptions options;
  options.cluster = *cluster::parse_nodes("1x8");
  options.detail = true;
  const Workload workload(trace, Ties::kId);
  const auto r = replay(workload, info_of<TwoThenEight>("two_then_eight"), sched::all_params(), options);
  ASSERT_TRUE(r.has_value()) << r.error().text();
  // 20 of 100 s of work are done at 40 s; 80 + 10 are left and take 45 s.
  EXPECT_EQ(r->makespan_s, 85);
  EXPECT_EQ(r->resizes, 1U);
  EXPECT_NEAR(r->gpu_utilization, (40 * 2 + 45 * 8) / (8.0 * 85), 1e-12);
  ASSERT_EQ(r->detail.front().stretches.size(), 2U);
  EXPECT_EQ(r->detail.front().stretches[0].gpus, 2U);
  EXPECT_EQ(r->detail.front().stretches[1].gpus, 8U);
}

TEST(Elastic, NothingIsLostAndLimitsAndReservationsHold) {
  std::uint64_t resized = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Rng rng(seed, 2);
    trace::Trace trace;
    for (std::int64_t i = 0; i < 100; ++i) {
      trace::Row& row = trace.rows.emplace_back();
      row.id = i;
      row.submit = static_cast<Time>(rng.below(900)) * kSecond;
      row.duration = static_cast<Time>(1 + rng.below(100)) * kSecond;
      row.request.shape = {0, static_cast<std::uint32_t>(1 + rng.below(6))};
      row.request.user = trace.names.intern("user" + std::to_string(rng.below(3)));
      row.request.tenant = trace.names.intern("lab" + std::to_string(rng.below(2)));
    }
    ReplayOptions options;
    options.cluster = *cluster::parse_nodes("4x4");
    options.cluster.user_max_gpus = 7;
    cluster::ReservationSpec& reserved = options.cluster.reservations.emplace_back();
    reserved.nodes = {3};
    reserved.start = 400 * kSecond;
    reserved.end = 700 * kSecond;
    reserved.tenants = {"lab1"};
    options.placement = *cluster::parse_placement(cluster::placement_names()[seed % cluster::placement_names().size()]);
    options.detail = true;
    const Workload workload(trace, Ties::kId);
    const auto r = replay(workload, info_of<AnySize>("any_size"), sched::all_params(), options);
    ASSERT_TRUE(r.has_value()) << seed << ": " << r.error().text();  // the replay checks jobs and GPU time itself
    EXPECT_EQ(r->finished, 100U);
    resized += r->resizes;
    std::map<std::pair<std::uint32_t, Time>, std::int64_t> by_user;
    std::map<std::pair<std::uint32_t, Time>, std::int64_t> by_node;
    for (const Stretch& s : r->detail.front().stretches) {
      by_user[{workload.row(s.job).request.user, s.start}] += s.gpus;
      by_user[{workload.row(s.job).request.user, s.end}] -= s.gpus;
      by_node[{s.node, s.start}] += s.gpus;
      by_node[{s.node, s.end}] -= s.gpus;
    }
    std::map<std::uint32_t, std::int64_t> held;
    for (const auto& [at, gpus] : by_user) EXPECT_LE(held[at.first] += gpus, 7) << seed;
    held.clear();
    for (const auto& [at, gpus] : by_node) EXPECT_LE(held[at.first] += gpus, 4) << seed;
  }
  EXPECT_GT(resized, 100U);
}

}  // namespace
}  // namespace comity::twin
