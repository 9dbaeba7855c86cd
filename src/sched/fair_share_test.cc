// SPDX-License-Identifier: Apache-2.0
// Slurm's factors against the examples and rules of its own pages.
#include "sched/fair_share.h"

#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "sched/associations.h"
#include "sched/multifactor.h"

namespace comity::sched {
namespace {

TEST(FairShare, ClassicIsOneHalfAtTheOwnShare) {  // V11
  FairShareTree tree;
  const auto a = tree.add_user(FairShareTree::kRoot, 1);
  const auto b = tree.add_user(FairShareTree::kRoot, 3);
  tree.charge(a, 25);
  tree.charge(b, 75);
  tree.classic(1);
  EXPECT_DOUBLE_EQ(tree.factor(a), 0.5);
  EXPECT_DOUBLE_EQ(tree.factor(b), 0.5);
  tree.classic(2);  // the dampening factor divides the exponent
  EXPECT_DOUBLE_EQ(tree.factor(a), std::exp2(-0.5));
}

TEST(FairShare, AgeOfHalfTheMaximumIsHalfTheWeight) {  // V11
  MultifactorWeights w;
  EXPECT_EQ(multifactor_priority(w, {.age = 30 * kDay, .fair_share = 1}), 0);  // all weights are 0 by default
  w.age = 1000;
  EXPECT_EQ(multifactor_priority(w, {.age = 84 * kHour}), 500);
  EXPECT_EQ(multifactor_priority(w, {.age = 30 * kDay}), 1000);
}

// The example of slurm.schedmd.com/classic_fair_share.html: accounts A (40: B 30, C 10) and D (60: E 25, F 35).
TEST(FairShare, ClassicGivesTheExampleOfItsPage) {
  FairShareTree tree;
  const auto a = tree.add_account(FairShareTree::kRoot, 40);
  const auto b = tree.add_account(a, 30);
  const auto c = tree.add_account(a, 10);
  const auto d = tree.add_account(FairShareTree::kRoot, 60);
  const auto e = tree.add_account(d, 25);
  const auto f = tree.add_account(d, 35);
  const FairShareTree::Id users[] = {tree.add_user(b, 1), tree.add_user(c, 1), tree.add_user(c, 1), tree.add_user(e, 1),
                                     tree.add_user(f, 1)};
  tree.charge(users[0], 0.2);
  tree.charge(users[1], 0.25);
  tree.charge(users[3], 0.25);
  tree.classic(1, 1.0);
  const double want[] = {0.408479, 0.022097, 0.125, 0.5, 0.749154};
  for (int i = 0; i < 5; ++i)
    EXPECT_NEAR(tree.factor(users[i]), want[i], 6e-5) << i;  // the page rounds .14583 to .1458
}

// slurm.schedmd.com/fair_tree.html, section "Ties".
TEST(FairShare, FairTreeTies) {
  FairShareTree tree;
  const auto user = tree.add_user(FairShareTree::kRoot, 1);
  const auto x = tree.add_account(FairShareTree::kRoot, 1);
  const auto y = tree.add_account(FairShareTree::kRoot, 1);
  const auto x1 = tree.add_user(x, 1);
  const auto x2 = tree.add_user(x, 1);
  const auto y1 = tree.add_user(y, 3);
  const auto y2 = tree.add_user(y, 1);
  tree.charge(user, 10);
  tree.charge(x1, 6);
  tree.charge(x2, 4);
  tree.charge(y1, 5);
  tree.charge(y2, 5);
  tree.fair_tree();
  // All three siblings have LF 1, so x and y are merged: y1 3/4 / .5 = 1.5, x2 .5/.4 = 1.25, x1 .833, y2 .5.
  EXPECT_DOUBLE_EQ(tree.factor(user), 1.0);
  EXPECT_DOUBLE_EQ(tree.factor(y1), 1.0);  // ties with the user, as the highest of the tied accounts
  EXPECT_DOUBLE_EQ(tree.factor(x2), 3 / 5.0);
  EXPECT_DOUBLE_EQ(tree.factor(x1), 2 / 5.0);
  EXPECT_DOUBLE_EQ(tree.factor(y2), 1 / 5.0);
}

// The promise of the page: a higher sibling account puts all its users above all users of the lower one.
TEST(FairShare, FairTreeKeepsAccountsTogether) {
  EXPECT_TRUE(rc::check([] {
    FairShareTree tree;
    const auto accounts = *rc::gen::inRange(2, 6);
    std::vector<std::vector<FairShareTree::Id>> users(static_cast<std::size_t>(accounts));
    std::vector<double> share;
    std::vector<double> usage(users.size(), 0);
    for (auto& mine : users) {
      share.push_back(*rc::gen::inRange(1, 10));
      const auto account = tree.add_account(FairShareTree::kRoot, share.back());
      const auto n = *rc::gen::inRange(1, 5);
      for (int i = 0; i < n; ++i) {
        mine.push_back(tree.add_user(account, *rc::gen::inRange(1, 5)));
        const double used = *rc::gen::inRange(1, 1000);
        tree.charge(mine.back(), used);
        usage[static_cast<std::size_t>(&mine - users.data())] += used;
      }
    }
    tree.fair_tree();
    double best = 0;
    for (std::size_t i = 0; i < users.size(); ++i) {
      for (const auto u : users[i]) {
        best = std::max(best, tree.factor(u));
        RC_ASSERT(tree.factor(u) > 0 && tree.factor(u) <= 1);
        for (std::size_t k = 0; k < users.size(); ++k) {
          if (share[i] / usage[i] <= share[k] / usage[k] * (1 + 1e-9)) continue;
          for (const auto v : users[k]) RC_ASSERT(tree.factor(u) > tree.factor(v));
        }
      }
    }
    RC_ASSERT(best == 1.0);
  }));
}

struct Fixture {
  profile::NameTable names;
  cluster::ClusterSpec spec = *cluster::parse_nodes("1x8");
  std::unique_ptr<cluster::State> state = std::make_unique<cluster::State>(spec, cluster::Placement::kCount, names);
  cluster::Job job(const std::string& user) {
    cluster::Job j;
    j.user = names.intern(user);
    j.tenant = names.intern("t");
    return j;
  }
};

TEST(Associations, UsageHalvesInAHalfLife) {
  Fixture f;
  Associations a({.half_life = kDay});
  const auto user = a.of(*f.state, f.job("u"));
  a.advance(0);
  a.hold(user, 4, 0);
  a.advance(5 * kMinute);
  a.hold(user, -4, 5 * kMinute);
  EXPECT_NEAR(a.usage(user), 4 * 300, 1e-9);
  a.advance(5 * kMinute + kDay);
  EXPECT_NEAR(a.usage(user), 4 * 150, 1e-6);
}

// Any number of periods in one step is the same as stepping through each of them.
TEST(Associations, OneLongStepEqualsManyShortOnes) {
  Fixture f;
  const Associations::Settings settings{.half_life = 3 * kHour, .calc_period = 5 * kMinute};
  Associations once(settings);
  Associations often(settings);
  const auto job = f.job("u");
  once.of(*f.state, job);
  often.of(*f.state, job);
  for (Associations* a : {&once, &often}) {
    a->advance(7 * kSecond);
    a->hold(0, 3, 7 * kSecond);
  }
  const Time end = 2 * kDay + 61 * kSecond;
  for (Time t = 7 * kSecond; t < end; t += 41 * kSecond) often.advance(t);
  often.advance(end);
  once.advance(end);
  EXPECT_NEAR(once.usage(0), often.usage(0), 1e-6 * often.usage(0));
  // By hand: a constant rate r decays towards r P / (1 - D).
  const double d = std::exp2(-300.0 / (3 * 3600));
  EXPECT_NEAR(once.usage(0), 3 * 300 / (1 - d), 1e-3 * once.usage(0));
}

}  // namespace
}  // namespace comity::sched
