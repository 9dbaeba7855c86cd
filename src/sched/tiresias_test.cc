// SPDX-License-Identifier: Apache-2.0
// tiresias, qssf and longest_first through random lives of a cluster (submissions, ends, cancels, holds, limits, node
// failures): no GPU twice, nothing lost, and under `count` no eligible job waits that the free GPUs would hold.
#include "sched/test_cluster.h"

namespace comity::sched {
namespace {

using Sets = std::map<std::string, std::string>;

void live(const std::string& policy, const Sets& sets, cluster::Placement placement, std::int64_t user_limit) {
  std::uint64_t preemptions = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    cluster::ClusterSpec spec = *cluster::parse_nodes("4x8");
    spec.user_max_gpus = user_limit;
    TestCluster w(spec, policy, sets, placement);
    RandomLife life;
    life.seed = seed;
    life.after_pass = [&](TestCluster& at) {
      preemptions += at.preemptions();
      if (placement != cluster::Placement::kCount || user_limit >= 0 || policy != "tiresias") return;
      const std::int64_t free = at.state().pool().free_gpus();
      for (std::uint32_t id = 0; id < at.jobs(); ++id) {
        if (at.ended(id) || !at.state().eligible(JobId(id))) continue;
        EXPECT_GT(std::int64_t{at.job(id).gpus}, free) << seed;
      }
    };
    random_life(w, life);
  }
  EXPECT_EQ(preemptions > 0, policy == "tiresias");
}

TEST(Tiresias, RandomLivesKeepTheLaws) {
  const Sets variants[] = {
      {{"tiresias.variant", "dlas"}, {"tiresias.limits", "300,900"}},
      {{"tiresias.variant", "dlas_gpu"}, {"tiresias.limits", "1000,5000,9000"}, {"tiresias.queues", "4"}},
      {{"tiresias.limits", "1000,5000"}, {"tiresias.order", "fifo"}, {"tiresias.jump", "exact"}},
      {{"tiresias.variant", "gittins"}},
      {{"tiresias.variant", "gittins"}, {"tiresias.gittins_order", "artifact"}, {"tiresias.preemption_cost", "7"}}};
  for (const Sets& sets : variants) {
    for (const auto placement : {cluster::Placement::kCount, cluster::Placement::kBestFit}) {
      live("tiresias", sets, placement, -1);
      live("tiresias", sets, placement, 12);
    }
  }
}

TEST(Qssf, RandomLivesKeepTheLaws) {
  for (const char* blocking : {"head", "skip"}) {
    live("qssf", {{"qssf.blocking", blocking}}, cluster::Placement::kBestFit, -1);
    live("qssf", {{"qssf.blocking", blocking}}, cluster::Placement::kBestFit, 12);
  }
}

TEST(LongestFirst, RandomLivesKeepTheLaws) {
  for (const char* walk : {"artifact", "every"}) {
    live("longest_first", {{"longest_first.walk", walk}}, cluster::Placement::kBestFit, -1);
    live("longest_first", {{"longest_first.walk", walk}}, cluster::Placement::kBestFit, 12);
  }
}

TEST(Qssf, LeastGpuTimeFirstAndTheHeadBlocks) {
  TestCluster w(*cluster::parse_nodes("1x8"), "qssf");
  const std::uint32_t runs = w.submit({0, 6}, "", kHour);
  w.pass();
  const std::uint32_t wide = w.submit({0, 8}, "", 10 * kSecond);     // 80 GPU s
  const std::uint32_t narrow = w.submit({0, 1}, "", 90 * kSecond);   // 90 GPU s
  const std::uint32_t shorter = w.submit({0, 2}, "", 39 * kSecond);  // 78 GPU s
  EXPECT_EQ(w.pass(), (std::vector<std::uint32_t>{shorter}));
  w.end(shorter);
  EXPECT_TRUE(w.pass().empty());
  w.end(runs);
  EXPECT_EQ(w.pass(), (std::vector<std::uint32_t>{wide}));
  EXPECT_TRUE(w.waiting(narrow));
}

TEST(LongestFirst, TheNextInLineIsPassedOverAfterAStart) {
  for (const bool every : {false, true}) {
    TestCluster w(*cluster::parse_nodes("1x8"), "longest_first",
                  {{"longest_first.walk", every ? "every" : "artifact"}});
    for (int i = 0; i < 4; ++i) w.submit({0, 1});
    EXPECT_EQ(w.pass(), every ? (std::vector<std::uint32_t>{0, 1, 2, 3}) : (std::vector<std::uint32_t>{0, 2}));
    w.end(0);
    EXPECT_EQ(w.pass(), every ? (std::vector<std::uint32_t>{}) : (std::vector<std::uint32_t>{1}));
  }
}

}  // namespace
}  // namespace comity::sched
