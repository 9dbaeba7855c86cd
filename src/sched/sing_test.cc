// SPDX-License-Identifier: Apache-2.0
// SING's bound by rule: for every job, the GPUs that overtook it while it was head never exceed factor x its own, over
// its whole life: cancels, holds, node failures, requeues, quota blocks and two groups included (verify 2, S1-S7).
#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "sched/policy.h"

namespace comity::sched {
namespace {

using cluster::Event;
using cluster::EventKind;
using cluster::JobStatus;

// A world by hand: events in, passes run, decisions looked at.
class TestCluster {
 public:
  TestCluster(const cluster::ClusterSpec& spec, const std::string& factor) : state_(make(spec, factor)) {}

  std::uint32_t submit(std::uint32_t nodes, std::uint32_t gpus, const std::string& user = "u",
                       const std::string& group = "") {
    profile::JobRequest& r = *requests_.emplace_back(std::make_unique<profile::JobRequest>());
    r.shape = {nodes, gpus};
    r.user = names_.intern(user);
    if (!group.empty()) r.group = names_.intern(group);
    r.estimate = kHour;
    Event e;
    e.kind = EventKind::kSubmit;
    e.at = now_;
    e.job = JobId(static_cast<std::uint32_t>(requests_.size() - 1));
    e.value = kHour;
    e.request = &r;
    state_->apply(e);
    return e.job.value;
  }
  void apply(EventKind kind, std::uint32_t job) {
    Event e;
    e.kind = kind;
    e.at = now_;
    e.job = JobId(job);
    state_->apply(e);
  }
  void node(EventKind kind, std::uint32_t node) {
    Event e;
    e.kind = kind;
    e.at = now_;
    e.node = NodeId(node);
    state_->apply(e);
  }
  void user_limit(const std::string& user, std::int64_t gpus) {
    Event e;
    e.kind = EventKind::kUserLimit;
    e.at = now_;
    e.name = names_.intern(user);
    e.value = gpus;
    state_->apply(e);
  }
  std::vector<std::uint32_t> pass() {
    run_pass(*policy_, *state_, now_, world_, decisions_);
    std::vector<std::uint32_t> started;
    for (const Decision& d : decisions_) {
      if (d.action == Action::kStart) started.push_back(d.job.value);
    }
    return started;
  }
  void step(Time by = kSecond) { now_ += by; }
  [[nodiscard]] cluster::State& state() { return *state_; }
  [[nodiscard]] const cluster::Job& job(std::uint32_t id) const { return state_->job(JobId(id)); }
  [[nodiscard]] std::size_t jobs() const { return requests_.size(); }
  [[nodiscard]] bool running(std::uint32_t id) const { return !ended(id) && job(id).status == JobStatus::kRunning; }
  [[nodiscard]] bool waiting(std::uint32_t id) const { return !ended(id) && job(id).status == JobStatus::kWaiting; }
  [[nodiscard]] bool ended(std::uint32_t id) const { return state_->ended(JobId(id)); }
  [[nodiscard]] std::vector<Decision>& decisions() { return decisions_; }

 private:
  std::unique_ptr<cluster::State> make(const cluster::ClusterSpec& spec, const std::string& factor) {
    const PolicyInfo* info = *find_policy("sing");
    Params params(info->params);
    EXPECT_TRUE(params.set("sing.factor", factor).has_value());
    policy_ = info->make(params);
    return std::make_unique<cluster::State>(spec, cluster::Placement::kBestFit, names_, policy_->rank());
  }

  profile::NameTable names_;
  std::unique_ptr<Policy> policy_;
  std::vector<std::unique_ptr<profile::JobRequest>> requests_;
  std::unique_ptr<cluster::State> state_;
  World world_;
  std::vector<Decision> decisions_;
  Time now_ = 0;
};

cluster::ClusterSpec eight_by_eight() { return *cluster::parse_nodes("8x8"); }

TEST(Sing, AnArrivalIntoAnEmptyQueueMayBeOvertakenByItsOwnSize) {  // S7 (i)
  TestCluster w(eight_by_eight(), "1");
  for (int i = 0; i < 7; ++i) w.submit(1, 8);
  w.submit(1, 4);
  w.pass();
  const std::uint32_t big = w.submit(8, 8);
  const std::uint32_t small = w.submit(1, 4);
  w.pass();
  EXPECT_TRUE(w.running(small));
  EXPECT_TRUE(w.waiting(big));
  EXPECT_EQ(w.job(big).overtaken, 4U);
}

TEST(Sing, AHeadAtItsUsersQuotaIsNoHead) {  // S7 (ii)
  TestCluster w(eight_by_eight(), "0");
  w.user_limit("a", 8);
  const std::uint32_t big = w.submit(8, 8, "a");
  const std::uint32_t small = w.submit(1, 1, "b");
  w.pass();
  EXPECT_TRUE(w.running(small));
  EXPECT_TRUE(w.waiting(big));
  EXPECT_NE(w.state().blocks(JobId(big)) & cluster::kUserLimit, 0);
  EXPECT_EQ(w.job(big).overtaken, 0U);
}

TEST(Sing, AJobThatTheNodesThatAreUpCannotHoldIsNoHead) {  // S7 (iii)
  TestCluster w(eight_by_eight(), "0");
  w.node(EventKind::kNodeDown, 3);
  const std::uint32_t big = w.submit(8, 8);
  const std::uint32_t small = w.submit(1, 1);
  w.pass();
  EXPECT_TRUE(w.running(small));
  EXPECT_FALSE(w.state().eligible(JobId(big)));
  w.node(EventKind::kNodeUp, 3);
  EXPECT_TRUE(w.state().eligible(JobId(big)));
}

TEST(Sing, OneHeadForEachGroup) {  // S3
  cluster::ClusterSpec spec = *cluster::parse_nodes("2x8");
  spec.nodes[0].group = "x";
  spec.nodes[1].group = "y";
  TestCluster w(spec, "0");
  const std::uint32_t a = w.submit(1, 4, "u", "x");
  const std::uint32_t blocked = w.submit(1, 8, "u", "x");
  const std::uint32_t other = w.submit(1, 8, "u", "y");
  w.pass();
  EXPECT_TRUE(w.running(a));
  EXPECT_TRUE(w.waiting(blocked));
  EXPECT_TRUE(w.running(other));
}

TEST(Sing, ReleaseFromAHoldMovesTheEligibleTimeAndALimitDoesNot) {  // S1
  TestCluster w(eight_by_eight(), "1");
  const std::uint32_t held = w.submit(1, 1);
  const std::uint32_t limited = w.submit(1, 8, "a");
  w.apply(EventKind::kHold, held);
  w.user_limit("a", 4);
  w.step();
  w.apply(EventKind::kRelease, held);
  w.user_limit("a", -1);
  EXPECT_EQ(w.job(held).eligible, kSecond);
  EXPECT_EQ(w.job(limited).eligible, 0);
  EXPECT_EQ(w.pass(), (std::vector<std::uint32_t>{limited, held}));
}

// One random life of a cluster; returns how many GPUs overtook some head in all.
std::uint64_t random_life(std::uint64_t seed, double factor, const std::string& text) {
  Rng rng(seed);
  cluster::ClusterSpec spec = *cluster::parse_nodes("6x8");
  for (int i = 0; i < 3; ++i) spec.nodes[static_cast<std::size_t>(i)].group = "x";
  for (int i = 3; i < 6; ++i) spec.nodes[static_cast<std::size_t>(i)].group = "y";
  TestCluster w(spec, text);
  std::map<std::uint32_t, std::uint64_t> overtaken;
  std::vector<bool> down(6, false);
  for (int step = 0; step < 400; ++step) {
    w.step();
    const auto pick = static_cast<std::uint32_t>(w.jobs() == 0 ? 0 : rng.below(w.jobs()));
    switch (w.jobs() == 0 ? 9 : rng.below(10)) {
      case 0:
        if (w.waiting(pick) || w.running(pick)) w.apply(EventKind::kCancel, pick);
        break;
      case 1:
        if (w.waiting(pick)) w.apply(EventKind::kHold, pick);
        break;
      case 2:
        if (w.waiting(pick)) w.apply(EventKind::kRelease, pick);
        break;
      case 3: w.user_limit(rng.below(2) == 0 ? "a" : "b", static_cast<std::int64_t>(rng.below(40)) - 1); break;
      case 4: {
        const auto n = static_cast<std::uint32_t>(rng.below(6));
        w.node(down[n] ? EventKind::kNodeUp : EventKind::kNodeDown, n);
        down[n] = !down[n];
        for (std::uint32_t j = 0; down[n] && j < w.jobs(); ++j) {  // what ran there goes back to the queue
          if (!w.running(j)) continue;
          const auto& parts = w.state().running()[w.job(j).slot].allocation.parts;
          if (std::any_of(parts.begin(), parts.end(), [&](const cluster::Part& p) { return p.node.value == n; }))
            w.apply(EventKind::kRequeue, j);
        }
        break;
      }
      case 5:
      case 6:
        for (std::uint32_t j = 0; j < w.jobs(); ++j) {
          if (w.running(j) && rng.below(4) == 0) w.apply(EventKind::kEnd, j);
        }
        break;
      default: {
        constexpr std::uint32_t kSizes[] = {1, 2, 4, 8};
        w.submit(static_cast<std::uint32_t>(1 + rng.below(3)), kSizes[rng.below(4)], rng.below(2) == 0 ? "a" : "b",
                 rng.below(2) == 0 ? "x" : "y");
      }
    }
    w.pass();
    for (const Decision& d : w.decisions()) {
      if (d.action != Action::kStart || !d.other.valid()) continue;
      EXPECT_TRUE(w.waiting(d.other.value));
      overtaken[d.other.value] += w.job(d.job.value).gpus;
    }
    for (const Decision& d : w.decisions()) {
      if (d.action != Action::kStart || !d.other.valid()) continue;
      EXPECT_EQ(w.job(d.other.value).overtaken, overtaken[d.other.value]);
      EXPECT_LE(static_cast<double>(overtaken[d.other.value]), factor * w.job(d.other.value).gpus) << "seed " << seed;
    }
  }
  std::uint64_t sum = 0;
  for (const auto& [job, gpus] : overtaken) sum += gpus;
  return sum;
}

TEST(Sing, TheBoundHoldsForEveryJobsWholeLife) {
  std::uint64_t half = 0;
  std::uint64_t one = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    EXPECT_EQ(random_life(seed, 0, "0"), 0U);
    half += random_life(seed, 0.5, "0.5");
    one += random_life(seed, 1, "1");
  }
  EXPECT_GT(half, 0U);  // the rule was at work
  EXPECT_GT(one, half);
}

}  // namespace
}  // namespace comity::sched
