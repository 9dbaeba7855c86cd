// SPDX-License-Identifier: Apache-2.0
// For tests: a cluster by hand under one policy. Events in, passes run, decisions looked at; after each pass the state
// is checked: no GPU held twice or of a node that is down at its start, no job lost, nothing over capacity.
// random_life() drives it through submissions, ends, cancels, holds, limits and node failures.
#pragma once

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "sched/policy.h"

namespace comity::sched {

class TestCluster {
 public:
  TestCluster(const cluster::ClusterSpec& spec, const std::string& policy,
              const std::map<std::string, std::string>& sets = {},
              cluster::Placement placement = cluster::Placement::kBestFit, const std::string& compat = "") {
    const PolicyInfo* info = *find_policy(policy, compat);
    Params params(info->params);
    for (const auto& [name, value] : sets) EXPECT_TRUE(params.set(name, value).has_value()) << name;
    const Status checked = info->check == nullptr ? Status{} : info->check(params, spec);
    EXPECT_TRUE(checked.has_value()) << (checked ? "" : checked.error().text());
    policy_ = info->make(params);
    state_ = std::make_unique<cluster::State>(spec, placement, names_, policy_->rank());
  }

  // From now on jobs may share GPUs and be moved; each has one of these profiles, in turn.
  void allow_sharing(std::vector<profile::Attributes> profiles) {
    profiles_ = std::move(profiles);
    state_->set_attributes(&profiles_);
    world_.co_locate = true;
    world_.migrate = true;
  }
  // The same, and jobs may hold other numbers of GPUs than they ask for.
  void allow_resizing(std::vector<profile::Attributes> profiles) {
    allow_sharing(std::move(profiles));
    world_.resize = true;
  }
  // Speeds by type of GPU from now on; they must outlive this.
  void use_rates(const profile::Rates& rates) { world_.rates = &rates; }
  std::uint32_t intern(const std::string& text) { return names_.intern(text); }
  std::uint32_t submit(profile::Shape shape, const std::string& tenant = "", Time estimate = kHour,
                       const std::string& user = "u") {
    profile::JobRequest& r = *requests_.emplace_back(std::make_unique<profile::JobRequest>());
    r.shape = shape;
    if (!user.empty()) r.user = names_.intern(user);
    if (!tenant.empty()) r.tenant = names_.intern(tenant);
    r.estimate = estimate;
    if (!profiles_.empty()) r.attributes = static_cast<std::uint32_t>((requests_.size() - 1) % profiles_.size());
    cluster::Event e;
    e.kind = cluster::EventKind::kSubmit;
    e.at = now_;
    e.job = JobId(static_cast<std::uint32_t>(requests_.size() - 1));
    e.value = estimate;
    e.request = &r;
    state_->apply(e);
    return e.job.value;
  }
  std::uint32_t submit_with_deadlines(profile::Shape shape, Time estimate, const std::vector<profile::Deadline>& list) {
    profile::Attributes& a = profiles_.emplace_back();
    a.deadlines = {.first = static_cast<std::uint32_t>(deadlines_.size()),
                   .count = static_cast<std::uint32_t>(list.size())};
    deadlines_.insert(deadlines_.end(), list.begin(), list.end());
    state_->set_attributes(&profiles_, &deadlines_);
    return submit(shape, "", estimate);  // its profile is the newest: one was added for each job
  }
  [[nodiscard]] std::vector<std::pair<std::string, double>> figures() const { return policy_->figures(); }
  void apply(cluster::EventKind kind, std::uint32_t job) {
    cluster::Event e;
    e.kind = kind;
    e.at = now_;
    e.job = JobId(job);
    state_->apply(e);
  }
  void end(std::uint32_t job) { apply(cluster::EventKind::kEnd, job); }
  void node(bool up, std::uint32_t node) {
    cluster::Event e;
    e.kind = up ? cluster::EventKind::kNodeUp : cluster::EventKind::kNodeDown;
    e.at = now_;
    e.node = NodeId(node);
    state_->apply(e);
  }
  // Runs a pass and checks the state. The jobs that were started, in order.
  std::vector<std::uint32_t> pass() {
    run_pass(*policy_, *state_, now_, world_, decisions_);
    std::vector<std::uint32_t> started;
    woken_ = kNever;
    for (const Decision& d : decisions_) {
      if (d.action == Action::kStart) started.push_back(d.job.value);
      if (d.action == Action::kWakeAt) woken_ = std::min(woken_, d.value);
    }
    check();
    return started;
  }
  void step(Time by = kSecond) { now_ += by; }

  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] Time woken() const { return woken_; }  // the earliest wake-up of the last pass
  [[nodiscard]] cluster::State& state() { return *state_; }
  [[nodiscard]] const cluster::Job& job(std::uint32_t id) const { return state_->job(JobId(id)); }
  [[nodiscard]] std::string tenant(std::uint32_t id) const {
    return requests_[id]->tenant == profile::kNoName ? "" : names_[requests_[id]->tenant];
  }
  [[nodiscard]] std::size_t jobs() const { return requests_.size(); }
  [[nodiscard]] bool ended(std::uint32_t id) const { return state_->ended(JobId(id)); }
  [[nodiscard]] bool running(std::uint32_t id) const {
    return !ended(id) && job(id).status == cluster::JobStatus::kRunning;
  }
  [[nodiscard]] bool waiting(std::uint32_t id) const {
    return !ended(id) && job(id).status == cluster::JobStatus::kWaiting;
  }
  // One of Policy::figures(); -1 = there is none of that name.
  [[nodiscard]] double figure(const std::string& name) const {
    for (const auto& [own, value] : policy_->figures()) {
      if (own == name) return value;
    }
    return -1;
  }
  [[nodiscard]] const std::vector<Decision>& decisions() const { return decisions_; }
  [[nodiscard]] std::uint64_t preemptions() const {
    return static_cast<std::uint64_t>(std::count_if(decisions_.begin(), decisions_.end(),
                                                    [](const Decision& d) { return d.action == Action::kPreempt; }));
  }

 private:
  void check() {
    std::vector<std::uint64_t> held(state_->pool().nodes(), 0);
    std::uint64_t used = 0;
    for (const cluster::Running& r : state_->running()) {
      if (r.partner.valid()) {
        const cluster::Running& other = state_->running()[job(r.partner.value).slot];
        EXPECT_EQ(other.partner, r.job);
        EXPECT_TRUE(std::equal(r.allocation.parts.begin(), r.allocation.parts.end(), other.allocation.parts.begin(),
                               other.allocation.parts.end(), [](const cluster::Part& a, const cluster::Part& b) {
                                 return a.node == b.node && a.gpus == b.gpus;
                               }));
        if (r.partner.value < r.job.value) continue;  // counted with the other
      }
      std::uint64_t own = 0;
      for (const cluster::Part& part : r.allocation.parts) {
        EXPECT_EQ(held[part.node.index()] & part.gpus, 0U) << "a GPU twice";
        EXPECT_EQ(state_->pool().free_mask(part.node) & part.gpus, 0U) << "held and free";
        EXPECT_TRUE(r.start != now_ || state_->pool().is_up(part.node)) << "started on a node that is down";
        held[part.node.index()] |= part.gpus;
        own += static_cast<std::uint64_t>(std::popcount(part.gpus));
      }
      EXPECT_TRUE(r.allocation.parts.empty() || own == r.gpus);
      used += r.gpus;
    }
    EXPECT_LE(used, state_->pool().capacity());
    std::uint64_t live = 0;
    for (std::uint32_t id = 0; id < jobs(); ++id) live += running(id) || waiting(id) ? 1 : 0;
    EXPECT_EQ(live, state_->live());
  }

  profile::NameTable names_;
  std::unique_ptr<Policy> policy_;
  std::vector<std::unique_ptr<profile::JobRequest>> requests_;
  std::vector<profile::Attributes> profiles_;
  std::vector<profile::Deadline> deadlines_;
  std::unique_ptr<cluster::State> state_;
  World world_;
  std::vector<Decision> decisions_;
  Time now_ = 0;
  Time woken_ = kNever;
};

struct RandomLife {
  std::uint64_t seed = 1;
  int steps = 300;
  std::vector<std::string> tenants = {"a", "b", "c"};
  bool failures = true;                                // nodes go down and come up
  bool holds = true;                                   // holds, releases, cancels
  bool gangs = true;                                   // shapes of several nodes
  std::function<void(TestCluster&)> before_pass = {};  // events are in, nothing decided
  std::function<void(TestCluster&)> after_pass = {};
};

// Everything that ran on a node goes back to the queue with it.
inline void fail_node(TestCluster& w, std::uint32_t node) {
  w.node(false, node);
  for (std::uint32_t j = 0; j < w.jobs(); ++j) {
    if (!w.running(j)) continue;
    const auto& parts = w.state().running()[w.job(j).slot].allocation.parts;
    if (std::any_of(parts.begin(), parts.end(), [&](const cluster::Part& p) { return p.node.value == node; }))
      w.apply(cluster::EventKind::kRequeue, j);
  }
}

inline void random_event(TestCluster& w, Rng& rng, const RandomLife& life, std::vector<bool>& down) {
  using cluster::EventKind;
  const auto pick = static_cast<std::uint32_t>(w.jobs() == 0 ? 0 : rng.below(w.jobs()));
  switch (w.jobs() == 0 ? 9 : rng.below(10)) {
    case 0:
      if (life.holds && (w.waiting(pick) || w.running(pick))) w.apply(EventKind::kCancel, pick);
      return;
    case 1:
      if (life.holds && w.waiting(pick)) w.apply(EventKind::kHold, pick);
      return;
    case 2:
      if (life.holds && w.waiting(pick)) w.apply(EventKind::kRelease, pick);
      return;
    case 3: {
      if (!life.failures) return;
      const auto n = static_cast<std::uint32_t>(rng.below(down.size()));
      down[n] = !down[n];
      if (down[n]) {
        fail_node(w, n);
      } else {
        w.node(true, n);
      }
      return;
    }
    case 4:
    case 5:
    case 6:
      for (std::uint32_t j = 0; j < w.jobs(); ++j) {
        if (w.running(j) && rng.below(4) == 0) w.end(j);
      }
      return;
    default: {
      constexpr std::uint32_t kSizes[] = {1, 2, 3, 4, 8, 11};
      profile::Shape shape{0, kSizes[rng.below(6)]};
      if (life.gangs && rng.below(4) == 0) shape = {static_cast<std::uint32_t>(1 + rng.below(3)), kSizes[rng.below(5)]};
      const auto estimate = static_cast<Time>(1 + rng.below(5000)) * kSecond;
      w.submit(shape, life.tenants[rng.below(life.tenants.size())], estimate, "u" + std::to_string(rng.below(3)));
    }
  }
}

inline void random_life(TestCluster& w, const RandomLife& life) {
  Rng rng(life.seed);
  std::vector<bool> down(w.state().pool().nodes(), false);
  for (int step = 0; step < life.steps; ++step) {
    w.step(static_cast<Time>(1 + rng.below(400)) * kSecond);
    random_event(w, rng, life, down);
    if (life.before_pass) life.before_pass(w);
    w.pass();
    if (life.after_pass) life.after_pass(w);
  }
}

}  // namespace comity::sched
