// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sched/packing.h"
#include "sched/test_cluster.h"

namespace comity::sched {
namespace {

profile::Attributes profile_of(double memory_mb, double use) {
  profile::Attributes a;
  a.memory_mb = memory_mb;
  a.gpu_utilization = use;
  return a;
}

TEST(Lucid, MeasuresOnTheNodesSetAsideAndQueuesAgain) {
  TestCluster w(*cluster::parse_nodes("4x8"), "lucid");
  const std::uint32_t narrow = w.submit({0, 2}, "", 100 * kSecond);
  const std::uint32_t wide = w.submit({0, 5}, "", 100 * kSecond);
  EXPECT_EQ(w.pass(), (std::vector<std::uint32_t>{narrow, wide}));
  const auto node_of = [&](std::uint32_t job) {
    return w.state().running()[w.job(job).slot].allocation.parts.at(0).node.value;
  };
  EXPECT_GE(node_of(narrow), 2U);  // the last two are set aside
  EXPECT_LT(node_of(wide), 2U);
  EXPECT_EQ(w.woken(), 80 * kSecond);
  w.step(80 * kSecond);
  EXPECT_EQ(w.pass(), (std::vector<std::uint32_t>{narrow}));
  EXPECT_LT(node_of(narrow), 2U);
  EXPECT_EQ(w.job(narrow).executed, 0);  // what it did while it was measured is lost
}

TEST(Lucid, FewestGpusAreMeasuredFirstAndTheHeadBlocks) {
  TestCluster w(*cluster::parse_nodes("2x8"), "lucid", {{"lucid.profile_nodes", "1"}, {"lucid.profile_factor", "8"}});
  const std::uint32_t six = w.submit({0, 6});
  EXPECT_EQ(w.pass(), (std::vector<std::uint32_t>{six}));
  const std::uint32_t four = w.submit({0, 4});
  const std::uint32_t three = w.submit({0, 3});
  const std::uint32_t two = w.submit({0, 2});
  EXPECT_EQ(w.pass(), (std::vector<std::uint32_t>{two}));
  w.end(six);
  EXPECT_EQ(w.pass(), (std::vector<std::uint32_t>{three}));
  w.end(two);
  EXPECT_EQ(w.pass(), (std::vector<std::uint32_t>{four}));
}

TEST(Lucid, AJobThatNeedsAllNodesGetsThem) {
  TestCluster w(*cluster::parse_nodes("4x8"), "lucid");
  const std::uint32_t all = w.submit({0, 32});
  EXPECT_EQ(w.pass(), (std::vector<std::uint32_t>{all}));
}

// Least GPU time first; the partner is the first in order of starting that leaves room and wants as little.
TEST(Lucid, WhoJoinsWhom) {
  TestCluster w(*cluster::parse_nodes("2x8"), "lucid", {{"lucid.profile_nodes", "0"}});
  w.allow_sharing({profile_of(2000, 90), profile_of(20000, 10), profile_of(2000, 30), profile_of(3000, 30)});
  const std::uint32_t busy = w.submit({0, 8}, "", 100 * kSecond);  // score 2
  const std::uint32_t full = w.submit({0, 8}, "", 200 * kSecond);  // little room, score 2 by its memory
  EXPECT_EQ(w.pass(), (std::vector<std::uint32_t>{busy, full}));
  const std::uint32_t first = w.submit({0, 8}, "", 10 * kSecond);  // score 1: with neither
  EXPECT_TRUE(w.pass().empty());
  w.end(busy);
  EXPECT_EQ(w.pass(), (std::vector<std::uint32_t>{first}));
  const std::uint32_t longer = w.submit({0, 8}, "", 21 * kSecond);  // more than twice the work of `first`
  w.pass();
  EXPECT_TRUE(w.waiting(longer));
  w.submit({0, 3}, "", kHour);
  w.submit({0, 3}, "", kHour);
  w.submit({0, 3}, "", kHour);
  const std::uint32_t shorter = w.submit({0, 8}, "", 20 * kSecond);
  w.pass();
  ASSERT_TRUE(w.running(shorter));
  EXPECT_EQ(w.state().running()[w.job(shorter).slot].partner, JobId(first));
}

TEST(Lucid, Packing) {
  EXPECT_EQ(Packing::score_by_profile(24, 100), 0);
  EXPECT_EQ(Packing::score_by_profile(25, 100), 1);
  EXPECT_EQ(Packing::score_by_profile(60, 100), 2);
  EXPECT_EQ(Packing::score_by_profile(1, 11'000), 2);
  TestCluster w(*cluster::parse_nodes("1x8"), "fifo");
  profile::Attributes unwilling = profile_of(100, 10);
  unwilling.share = 0;
  w.allow_sharing({profile_of(100, 60), profile_of(100, 90), profile_of(-1, 10), profile_of(100, -1), unwilling});
  for (int i = 0; i < 7; ++i) w.submit({0, 1});
  Packing packing;
  const World world;
  std::vector<Packing::Class> c;
  for (std::uint32_t i = 0; i < 7; ++i) c.push_back(packing.class_of(w.state(), world, JobId(i)));
  EXPECT_EQ(c, (std::vector<Packing::Class>{1, 2, 0, 0, 0, 1, 2}));
  EXPECT_EQ(packing.speeds(world, 1, 2, true), (profile::PairSpeeds{100.0 / 150, 100.0 / 150}));
}

// The figures of packing.h, counted on the kinds that Lucid's authors labelled.
TEST(Lucid, ScoresByProfileAgainstTheLabels) {
  const char* root = std::getenv("COMITY_SHARED");
  const auto path = std::filesystem::path(root != nullptr ? root : "../shared") / "data/traces/lucid/single_data.csv";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent (set COMITY_SHARED)";
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);  // model,dataset,batchsize,amp,speed,gpu_util,gmem_util,gmem,label
  std::map<int, int> off;    // by how much the rule's score is above the label
  while (std::getline(file, line)) {
    std::vector<std::string> fields;
    std::istringstream words(line);
    for (std::string field; std::getline(words, field, ',');) fields.push_back(field);
    ++off[Packing::score_by_profile(std::stod(fields.at(5)), std::stod(fields.at(7))) - std::stoi(fields.at(8))];
  }
  EXPECT_EQ(off, (std::map<int, int>{{-1, 2}, {0, 54}, {1, 10}}));
}

std::vector<profile::Attributes> some_profiles() {
  return {profile_of(2000, 10), profile_of(9000, 40), profile_of(14000, 80), profile_of(3000, 20), {}};
}
struct Setting {
  const char* policy;
  const char* compat;
  std::map<std::string, std::string> sets;
};

// Lives with failures, holds and cancels: no GPU is given twice but to a pair (checked by TestCluster), none is lost,
// and in the end every job can be run.
TEST(Lucid, RandomLives) {
  const std::vector<Setting> settings = {{"lucid", "", {}},
                                         {"lucid", "lucid", {}},
                                         {"lucid", "", {{"lucid.profile_nodes", "0"}}},
                                         {"gandiva", "", {}},
                                         {"gandiva", "", {{"gandiva.pack", "false"}}}};
  std::uint64_t shared = 0;
  for (const Setting& s : settings) {
    for (const auto placement :
         {cluster::Placement::kBestFit, cluster::Placement::kCount, cluster::Placement::kBuddy}) {
      for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        TestCluster w(*cluster::parse_nodes("6x8"), s.policy, s.sets, placement, s.compat);
        w.allow_sharing(some_profiles());
        RandomLife life;
        life.seed = seed;
        life.after_pass = [&](TestCluster& c) {
          for (const Decision& d : c.decisions()) shared += d.action == Action::kCoLocate ? 1 : 0;
        };
        random_life(w, life);
        for (std::uint32_t n = 0; n < 6; ++n) w.node(true, n);
        for (std::uint32_t j = 0; j < w.jobs(); ++j) {
          if (w.waiting(j)) w.apply(cluster::EventKind::kRelease, j);
        }
        for (int round = 0; round < 4000 && w.state().live() > 0; ++round) {
          w.step(100 * kSecond);
          w.pass();
          for (std::uint32_t j = 0; j < w.jobs(); ++j) {
            if (w.running(j)) w.end(j);
          }
        }
        EXPECT_EQ(w.state().live(), 0U) << s.policy << " " << s.compat << " seed " << seed;
        EXPECT_EQ(w.state().pool().free_gpus(), 48);
      }
    }
  }
  EXPECT_GT(shared, 100U);
}

TEST(Gandiva, TakesTurnsInOrder) {
  TestCluster w(*cluster::parse_nodes("1x8"), "gandiva");
  const std::uint32_t a = w.submit({0, 8});
  const std::uint32_t b = w.submit({0, 8});
  const std::uint32_t c = w.submit({0, 8});
  EXPECT_EQ(w.pass(), (std::vector<std::uint32_t>{a}));
  EXPECT_EQ(w.woken(), 60 * kSecond);
  w.step(60 * kSecond);
  EXPECT_EQ(w.pass(), (std::vector<std::uint32_t>{b}));
  EXPECT_EQ(w.job(a).executed, 60 * kSecond);
  EXPECT_EQ(w.job(a).estimate, kHour + kSecond);
  w.step(30 * kSecond);
  EXPECT_TRUE(w.pass().empty());
  w.step(30 * kSecond);
  EXPECT_EQ(w.pass(), (std::vector<std::uint32_t>{c}));
  w.step(60 * kSecond);
  EXPECT_EQ(w.pass(), (std::vector<std::uint32_t>{a}));
}

// Two nodes with four GPUs free each: the job of one moves to the other, and eight are together.
TEST(Gandiva, MovesAJobToMakeRoom) {
  for (const bool move : {true, false}) {
    TestCluster w(*cluster::parse_nodes("2x8"), "gandiva", {{"gandiva.nodes", move ? "4" : "0"}});
    w.allow_sharing({{}});
    const std::uint32_t first = w.submit({0, 8});
    const std::uint32_t b = w.submit({0, 4});
    const std::uint32_t c = w.submit({0, 4});
    w.pass();
    w.end(first);
    const std::uint32_t d = w.submit({0, 4});
    w.pass();
    w.end(c);
    w.step(kSecond);
    const std::uint32_t eight = w.submit({0, 8});
    EXPECT_TRUE(w.pass().empty());
    w.step(59 * kSecond);
    w.pass();
    const auto moves = std::count_if(w.decisions().begin(), w.decisions().end(),
                                     [](const Decision& x) { return x.action == Action::kMigrate; });
    EXPECT_EQ(moves, move ? 1 : 0);
    EXPECT_EQ(w.preemptions(), move ? 0U : 1U);  // else one is suspended, and started again where there is room
    for (const std::uint32_t job : {b, d, eight}) EXPECT_TRUE(w.running(job)) << job;
    EXPECT_EQ(w.job(b).estimate + w.job(d).estimate, 2 * kHour + (move ? 5 : 1) * kSecond);  // the cost of either
  }
}

}  // namespace
}  // namespace comity::sched
