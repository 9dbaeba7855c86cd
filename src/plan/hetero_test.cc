// SPDX-License-Identifier: Apache-2.0
#include "plan/hetero.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace comity::plan {
namespace {

HeteroQuestion question(std::int64_t a100s, std::int64_t h100s, const char* nic_a, const char* nic_b) {
  HeteroQuestion q;
  q.model = *workload::load_model("llama2-7b");
  q.clusters = {{"old", *workload::load_system("dgx-a100"), a100s, nic_a},
                {"new", *workload::load_system("dgx-h100"), h100s, nic_b}};
  q.base.batch = 256;
  q.base.zero = 1;
  q.base.dropout = false;
  q.cross_gb_s = 5;
  return q;
}

TEST(Hetero, LayersFollowSpeedAndGroupsStayInside) {
  const HeteroQuestion q = question(16, 16, "roce", "infiniband");
  const auto plan = plan_hetero(q);
  ASSERT_TRUE(plan.has_value()) << plan.error().text();
  EXPECT_FALSE(plan->replicas_across);  // NICs differ
  std::int64_t layers = 0;
  std::int64_t of_old = 0;
  for (const HeteroStage& s : plan->stages) {
    layers += s.layers;
    of_old += s.cluster == 0 ? s.layers : 0;
    EXPECT_LE(s.bytes, s.capacity_bytes);
    EXPECT_EQ(s.dp, plan->stages.front().dp);
  }
  EXPECT_EQ(layers, 32);
  EXPECT_LT(of_old, 16);
  EXPECT_GT(of_old, 5);
  EXPECT_LE(plan->share_of_layers(), 1);
  EXPECT_GE(plan->even_step_s, plan->step_s);
  EXPECT_EQ(fields(*plan).size(), 18U);
  EXPECT_EQ(stage_rows(q, *plan).size(), plan->stages.size());
  EXPECT_NE(explain(q, *plan).find("new"), std::string::npos);
}

TEST(Hetero, SameNicsMayShareMicrobatches) {
  const auto plan = plan_hetero(question(16, 16, "infiniband", "infiniband"));
  const auto apart = plan_hetero(question(16, 16, "infiniband", "roce"));
  ASSERT_TRUE(plan.has_value() && apart.has_value());
  EXPECT_LE(plan->step_s, apart->step_s);
}

TEST(Hetero, LawsOverSizesAndLinks) {
  for (const std::int64_t a : {8, 16, 40}) {
    for (const std::int64_t b : {8, 32}) {
      for (const char* nic : {"infiniband", "ethernet"}) {
        HeteroQuestion q = question(a, b, "infiniband", nic);
        const auto plan = plan_hetero(q);
        ASSERT_TRUE(plan.has_value()) << a << " " << b << ": " << plan.error().text();
        EXPECT_LE(plan->share_of_layers(), 1);
        EXPECT_LE(plan->share_of_peak(), plan->share_of_layers());
        EXPECT_TRUE(plan->even_step_s == 0 || plan->even_step_s >= plan->step_s);
        std::int64_t gpus = 0;
        for (const HeteroStage& s : plan->stages) gpus += s.tp * s.dp;
        EXPECT_EQ(gpus, a + b);
        q.cross_gb_s *= 4;  // a faster link never hurts
        EXPECT_LE(plan_hetero(q)->step_s, plan->step_s);
      }
    }
  }
}

// One cluster is what workload::estimate says of the same execution.
TEST(Hetero, OneClusterIsTheEstimate) {
  HeteroQuestion q = question(16, 16, "a", "b");
  q.clusters.pop_back();
  q.max_tp = 2;
  const auto plan = plan_hetero(q);
  ASSERT_TRUE(plan.has_value());
  workload::Execution e = q.base;
  e.tp = plan->stages.front().tp;
  e.dp = plan->stages.front().dp;
  e.pp = static_cast<std::int64_t>(plan->stages.size());
  e.microbatch = plan->microbatch;
  e.recompute = plan->recompute;
  e.sequence_parallel = e.tp > 1;
  for (const HeteroStage& s : plan->stages) e.stage_layers.push_back(s.layers);
  const auto estimate = workload::estimate(q.model, e, q.clusters.front().system, q.cost);
  EXPECT_NEAR(plan->step_s / estimate.iteration_s, 1, 0.03);
}

TEST(Hetero, NamesWhatIsWrong) {
  HeteroQuestion q = question(16, 0, "a", "b");
  EXPECT_EQ(plan_hetero(q).error().field, "clusters[1].gpus");
  q.clusters.clear();
  EXPECT_EQ(plan_hetero(q).error().field, "clusters");
  q = question(1, 1, "a", "b");
  q.model = *workload::load_model("gpt3-175b");
  EXPECT_EQ(plan_hetero(q).error().code, Code::kInput);
}

RC_GTEST_PROP(Hetero, MicrobatchesAreSharedBest, ()) {
  const auto n = *rc::gen::inRange<std::size_t>(1, 4);
  std::vector<std::int64_t> replicas;
  std::vector<double> fill;
  std::vector<double> each;
  for (std::size_t i = 0; i < n; ++i) {
    replicas.push_back(*rc::gen::inRange(1, 4));
    fill.push_back(*rc::gen::inRange(0, 9));
    each.push_back(*rc::gen::inRange(1, 9));
  }
  const auto total = *rc::gen::inRange<std::int64_t>(1, 13);
  const auto end = [&](const std::vector<std::int64_t>& m) {
    double last = 0;
    for (std::size_t i = 0; i < n; ++i)
      if (m[i] > 0) last = std::max(last, fill[i] + static_cast<double>(m[i]) * each[i]);
    return last;
  };
  const auto ours = share_microbatches(replicas, fill, each, total);
  RC_ASSERT(std::inner_product(ours.begin(), ours.end(), replicas.begin(), std::int64_t{0}) >= total);
  double best = 1e300;
  std::vector<std::int64_t> m(n, 0);
  while (true) {
    if (std::inner_product(m.begin(), m.end(), replicas.begin(), std::int64_t{0}) >= total)
      best = std::min(best, end(m));
    std::size_t i = 0;
    while (i < n && ++m[i] > total) m[i++] = 0;
    if (i == n) break;
  }
  RC_ASSERT(end(ours) == best);
}

// Order and rough size of the published numbers: docs/systems/hethub-holmes.md.
TEST(Hetero, ClaimsOfThePapers) {
  const auto claims = hetero_claims(*workload::load_system("dgx-a100"), *workload::load_system("mi300x"));
  ASSERT_EQ(claims.size(), 9U);
  for (std::size_t i = 2; i < 6; ++i) EXPECT_LT(claims[i].ours, claims[i - 2].ours) << claims[i].what;  // NIC by NIC
  EXPECT_LT(claims[6].ours, claims[0].ours);
  EXPECT_GT(claims[7].ours, 90);
  EXPECT_LE(claims[7].ours, 101);
  EXPECT_LE(claims[8].ours, claims[7].ours);
}

}  // namespace
}  // namespace comity::plan
