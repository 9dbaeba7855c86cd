// SPDX-License-Identifier: Apache-2.0
// Jobs that run at the speeds of types of GPUs, whatever the policy.
#include "profile/rates.h"

#include <gtest/gtest.h>

#include "twin/replay.h"

namespace comity::twin {
namespace {

const profile::Rates& rates() {
  static const profile::Rates table = *profile::parse_rates(
      "schema = \"comity.rates/1\"\nreference = \"fast\"\n"
      "[[rates]]\nmodel = \"x\"\nbatch_size = 8\ngpus = [1]\npacked.fast = [4]\npacked.slow = [1]\n",
      "rates");
  return table;
}

struct Case {
  trace::Trace trace;
  ReplayOptions options;
  void add_node(const std::string& type) {
    cluster::NodeSpec& node = options.cluster.nodes.emplace_back();
    node.name = "n" + std::to_string(options.cluster.nodes.size());
    node.gpu_type = type;
    node.gpus = 1;
  }
  void add_job(Time duration, const std::string& model = "x", std::int64_t batch = 8) {
    profile::Attributes& a = trace.attributes.emplace_back();
    a.model = trace.names.intern(model);
    a.batch_size = batch;
    trace::Row& row = trace.rows.emplace_back();
    row.id = static_cast<std::int64_t>(trace.rows.size());
    row.request.shape = {0, 1};
    row.request.attributes = static_cast<std::uint32_t>(trace.attributes.size() - 1);
    row.duration = duration;
  }
  RunResult run(const sched::PolicyInfo& policy, bool with_rates = true) {
    options.rates = with_rates ? &rates() : nullptr;
    options.detail = true;
    const Workload workload(trace, Ties::kId);
    auto result = replay(workload, policy, sched::all_params(), options);
    EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().text());
    return result ? std::move(*result) : RunResult{};
  }
};
Time end_of(const RunResult& r, std::size_t job) { return r.detail.front().jobs[job].end; }

template <class T>
sched::PolicyInfo info_of(const char* name) {
  sched::PolicyInfo info;
  info.name = name;
  info.make = [](const Params&) -> std::unique_ptr<sched::Policy> { return std::make_unique<T>(); };
  return info;
}

TEST(Rates, AJobRunsAtTheSpeedOfItsGpu) {
  Case c;
  c.add_node("slow");
  c.add_job(100 * kSecond);
  const sched::PolicyInfo& fifo = **sched::find_policy("fifo");
  EXPECT_EQ(c.run(fifo).makespan_s, 400);
  EXPECT_EQ(c.run(fifo, false).makespan_s, 100);
  c.trace.attributes[0].batch_size = 16;  // of that there is no row
  EXPECT_EQ(c.run(fifo).makespan_s, 100);
}

// 40 s on the slow GPU are 10 s of work; 90 are left, and 5 for the move.
class Moves : public sched::Policy {
 public:
  void decide(sched::Pass& pass, std::uint32_t) override {
    const auto node = [](std::uint32_t n) { return cluster::Allocation{n, 1, {{NodeId(n), 1}}}; };
    const sched::Pool& pool = pass.state().pool();
    const auto at = [&](const char* type) {
      const bool first = pool.types()[pool.class_type(pool.class_of(NodeId(0)))] == type;
      cluster::Allocation a = node(first ? 0 : 1);
      a.node_class = pool.class_of(a.parts[0].node);
      return a;
    };
    if (pass.now() == 0) {
      EXPECT_TRUE(pass.start_at(0, at("slow")));
      pass.wake_at(40 * kSecond);
    } else if (pass.now() == 40 * kSecond) {
      EXPECT_TRUE(pass.migrate(0, at("fast"), 5 * kSecond));
    }
  }
};
TEST(Rates, AMigrationChangesTheSpeed) {
  Case c;
  c.add_node("slow");
  c.add_node("fast");
  c.add_job(100 * kSecond);
  EXPECT_EQ(c.run(info_of<Moves>("moves")).makespan_s, 40 + 90 + 5);
}

class Together : public sched::Policy {
 public:
  void decide(sched::Pass& pass, std::uint32_t) override {
    if (pass.now() > 0) return;
    EXPECT_TRUE(pass.start(0));
    EXPECT_TRUE(pass.co_locate(1, 0, 0.5, 0.5));
  }
};
// Half of a quarter each; who is left runs at the quarter again.
TEST(Rates, TwoThatShareRunAtPartsOfTheSpeedOfTheirGpu) {
  for (const std::size_t shorter : {0U, 1U}) {
    Case c;
    c.add_node("slow");
    c.add_job((shorter == 0 ? 50 : 100) * kSecond);
    c.add_job((shorter == 1 ? 50 : 100) * kSecond);
    const RunResult r = c.run(info_of<Together>("together"));
    EXPECT_EQ(end_of(r, shorter), 400 * kSecond);
    EXPECT_EQ(end_of(r, 1 - shorter), 600 * kSecond);
  }
}

// Every policy ends every job and keeps the sums, on two types with rates.
TEST(Rates, EveryPolicyConservesJobs) {
  for (const sched::PolicyInfo& info : sched::registry()) {
    Case c;
    for (const char* type : {"fast", "slow", "slow", "other"}) c.add_node(type);
    for (int i = 0; i < 60; ++i) {
      c.add_job((37 * i % 900 + 10) * kSecond, i % 3 == 0 ? "unknown" : "x");
      c.trace.rows.back().submit = (i / 4) * 50 * kSecond;
    }
    const RunResult r = c.run(info);
    EXPECT_EQ(r.finished + r.stopped + r.rejected, 60U) << info.name;
  }
}

}  // namespace
}  // namespace comity::twin
