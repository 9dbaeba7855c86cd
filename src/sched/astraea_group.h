// SPDX-License-Identifier: Apache-2.0
// The jobs and tenants of one resource group under astraea: who waits, who runs until when, what each has had and
// deserves. The rules are in astraea.cc.
#pragma once

#include <unordered_map>
#include <vector>

#include "sched/astraea.h"
#include "sched/astraea_tenants.h"

namespace comity::sched::astraea {

class Group {
 public:
  Group(const Settings& settings, Figures& figures, std::uint32_t group)
      : set_(settings), figures_(figures), group_(group), lifetimes_(to_seconds(settings.lease)) {}

  void pass(Pass& pass, Tenants& tenants);
  void add_usage(std::vector<Usage>& usage) const;  // of each tenant over the whole run

 private:
  enum class Phase : std::uint8_t { kAway, kWaiting, kRunning };
  struct Entry {
    std::uint32_t gpus = 0;
    std::uint32_t tenant = 0;
    Time submit = 0;
    Time waits_since = 0;
    Time started = 0;  // the present run
    Time lease_start = 0;
    Time done = 0;         // executed before the present run
    Time lost = 0;         // executed, but thrown away by a cancel
    double deserved = 0;   // before `base`
    double base = 0;       // the entitlement of its kind when it joined
    std::uint32_t at = 0;  // in waiting_ or runs_
    Phase phase = Phase::kAway;
    bool ran = false;
    bool had_lease = false;

    [[nodiscard]] Time executed(Time now) const { return done - lost + (phase == Phase::kRunning ? now - started : 0); }
  };
  struct Member {  // a tenant
    explicit Member(std::size_t window_of) : window(window_of) {}
    Window window;
    Usage ever;
    Entitlement entitlement;
    double quota = 0;
    std::int64_t running = 0;   // GPUs
    std::int64_t demand = 0;    // of those that wait too
    std::int64_t on_offer = 0;  // of running, in this pass
    std::uint64_t jobs = 0;
  };
  struct Candidate {
    Rank rank;
    Time submit;
    std::uint32_t job;
    std::uint32_t gpus;
    std::uint32_t tenant;
    bool starves;
    bool runs;
  };
  using Candidates = std::vector<Candidate>;

  // Following what happens (astraea_group.cc).
  void account(const Tenants& tenants, const State& state, Time now);
  void set_quotas(const Tenants& tenants);
  void follow(const State& state, Tenants& tenants, Time now);
  void join(const State& state, std::uint32_t id, std::uint32_t tenant, Time now);
  void leave(std::uint32_t job);
  void finish(std::uint32_t job, Time now);
  void stopped(const State& state, std::uint32_t job, Time now);
  void move(std::uint32_t job, Phase phase);
  void unlist(const Entry& e);
  [[nodiscard]] double deserved_by(const Entry& e);
  void renew(Time now);
  void wake(Pass& pass);
  [[nodiscard]] Time next_tick(Time now) const { return (now + set_.tick - 1) / set_.tick * set_.tick; }
  // Deciding (astraea_plan.cc).
  void schedule(Pass& pass);
  void offer(const Pass& pass);
  void put_on_offer(std::uint32_t job);
  void reclaim();
  [[nodiscard]] Candidate candidate(const Pass& pass, std::uint32_t job, const Entry& e);
  void gather(const Pass& pass);
  void begin_plan();
  [[nodiscard]] bool allowed(const Candidate& c, double times) const;
  void choose(bool beyond_quota);
  void grant_one(std::size_t tenant, double times);
  bool carry_out(Pass& pass);
  bool start(Pass& pass, std::uint32_t job);
  void fill(Pass& pass);
  [[nodiscard]] std::int64_t early_runs(Time now, std::size_t tenant, Candidates& out);
  void cancel_for_newcomers(Pass& pass);
  void cancel(Pass& pass, std::uint32_t job);

  const Settings& set_;
  Figures& figures_;
  std::uint32_t group_;
  Lifetimes lifetimes_;
  Time accounted_ = kNever;
  Time wake_ = 0;
  double capacity_ = 0;
  bool contended_ = false;  // somebody waited when the last pass ended
  std::unordered_map<std::uint32_t, Entry> entries_;
  std::vector<std::uint32_t> waiting_;
  std::vector<std::uint32_t> runs_;
  std::vector<Member> members_;
  // Of one pass.
  std::vector<std::uint32_t> offered_;  // runs
  std::vector<Candidates> heaps_;       // by tenant: who is next is at the front
  std::vector<Candidates> beyond_;      // by tenant: beyond its quota
  Candidates chosen_;
  std::vector<ShapeId> full_;
  TenantPick pick_{1};
  std::int64_t left_ = 0;  // GPUs on offer
};

}  // namespace comity::sched::astraea
