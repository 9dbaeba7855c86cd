// SPDX-License-Identifier: Apache-2.0
// The choice by GPU count against a walk over everybody in one sorted list.
#include "sched/quota.h"

#include <map>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace comity::sched {
namespace {

TEST(Quota, ChoosesAsAWalkOverOneList) {
  EXPECT_TRUE(rc::check([] {
    const auto total = *rc::gen::inRange<std::int64_t>(1, 40);
    const auto count = *rc::gen::inRange<std::uint32_t>(0, 40);
    std::vector<Ranked> running;
    std::vector<Ranked> all;
    std::map<std::uint32_t, cluster::OrderedQueue> waiting;  // by GPUs
    for (std::uint32_t job = 0; job < count; ++job) {
      Ranked r;
      r.rank = *rc::gen::inRange(0, 5);
      r.tie = *rc::gen::inRange(0, 5);
      r.job = job;
      r.gpus = *rc::gen::inRange(1U, 12U);
      r.fresh = *rc::gen::arbitrary<bool>();
      all.push_back(r);
      if (!r.fresh) running.push_back(r);
      if (r.fresh) waiting[r.gpus].insert({.rank = r.rank, .eligible = r.tie, .job = job, .unused = 0, .estimate = 0});
    }
    const auto less = [](const Ranked& a, const Ranked& b) { return before(a, b); };
    std::sort(running.begin(), running.end(), less);
    std::sort(all.begin(), all.end(), less);
    cluster::ClusterSpec spec;
    spec.nodes.emplace_back().gpus = static_cast<std::uint32_t>(total);
    const profile::NameTable names;
    const State state(spec, cluster::Placement::kCount, names);
    std::map<std::uint32_t, ShapeClass> shapes;
    Quota quota;
    quota.begin(state, 0);
    for (const auto& [gpus, queue] : waiting) {
      shapes[gpus].gpus = gpus;
      quota.offer(queue, shapes[gpus]);
    }
    const bool changes = quota.choose(running);
    std::vector<std::uint32_t> in;
    std::vector<std::uint32_t> out;
    std::int64_t left = total;
    bool some = false;
    for (const Ranked& r : all) {
      if (r.gpus <= left) {
        left -= r.gpus;
        in.push_back(r.job);
        some = some || r.fresh;
      } else if (!r.fresh) {
        out.push_back(r.job);
      }
    }
    const auto jobs = [](const std::vector<Ranked>& list) {
      std::vector<std::uint32_t> ids;
      for (const Ranked& r : list) ids.push_back(r.job);
      return ids;
    };
    RC_ASSERT(changes == (some || !out.empty()));
    RC_ASSERT(jobs(changes ? quota.chosen() : running) == in);
    RC_ASSERT(jobs(quota.losers()) == out);
  }));
}

}  // namespace
}  // namespace comity::sched
