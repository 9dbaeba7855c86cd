// SPDX-License-Identifier: Apache-2.0
// Finish-time fairness by auction (Themis, NSDI 2020), for jobs of a fixed size: a reconstruction, see
// docs/systems/themis.md. Each job is an app. With
//   N        jobs of the group that wait or run        C  its GPUs        g, W, R  a job's GPUs, work, remaining work
//   T_ideal  W x max(1, g N / C): alone on 1/N of the GPUs
//   rho      (now - submit + R) / T_ideal: what its finish-time fairness will be if it runs from now on
//
// GPUs are held under a lease (20 min); who is within its lease is left alone. At an auction the free GPUs and those
// whose leases have ended are offered:
//   1. to the job that is worst off, should it fit on what is free and the expired leases of those that are best off.
//      If it is too wide even so, leases granted meanwhile end together, at the next multiple of the lease, where all
//      is on offer at once. (Not in the paper, whose apps take any number of GPUs: a wide job of fixed size would
//      never be served.)
//   2. to the worst 1 - f of the jobs by rho. A bid says what the next lease is worth: the valuation is 1/rho, so the
//      gain is ln((now + lease - submit + R) / (now - submit + R)); sched/auction.h chooses the winners. The hidden
//      payment is taken in time, as these jobs cannot take fewer GPUs: a winner's lease is c times the full one.
//   3. to the others, worst rho first, then in the order of arrival: no GPU that a waiting job fits on stays idle.
//
// Leases end at multiples of themis.pool, so that GPUs are offered together; wake-ups are asked for only while
// somebody waits. Waiting jobs are ranked anew every themis.valuation; those that came since are valued each time.
//
// Cost of an auction: O(candidates log candidates + bidders x GPUs offered); of a ranking: O(waiting).
#include <algorithm>
#include <cmath>

#include "sched/auction.h"
#include "sched/owned_queues.h"
#include "sched/owners.h"
#include "sched/param.h"
#include "sched/policies.h"
#include "sched/room.h"
#include "sched/walk.h"

namespace comity::sched {
namespace {

struct Settings {
  double filter = 0.8;
  Time lease = 20 * kMinute;
  Time pool = kMinute;
  Time valuation = 10 * kMinute;
  Time cost = 0;
  std::size_t bidders = 64;
  bool payments = true;
  bool fair = true;  // false: everybody's rho counts as equal
};

class Themis : public Policy {
 public:
  explicit Themis(const Settings& settings) : set_(settings) {}

  [[nodiscard]] bool follows_queues() const override { return true; }
  void decide(Pass& pass, std::uint32_t group) override {
    const State& state = pass.state();
    if (group == 0) begin(state);
    if (group >= groups_.size()) groups_.resize(state.groups());
    Group& g = groups_[group];
    if (!g.contended) renew(g, pass.now());
    if (!state.active(group).empty()) {
      find_expired(pass, g);
      if (!expired_.empty() || any_fits(pass, group)) auction(pass, g, group);
      fill(pass, g, group);
    }
    g.contended = !state.active(group).empty();
    if (g.contended) wake(pass, g);
  }

 private:
  struct Waiting {
    Time submit;
    Time work;
    Time left;
    std::uint32_t gpus;
    std::uint32_t job;
  };
  struct Run {
    std::uint32_t job;
    std::uint32_t gpus;
    Time lease_end;
  };
  struct Group {
    std::vector<Waiting> waiting;
    std::unordered_map<std::uint32_t, std::uint32_t> at;  // job -> index in waiting
    std::vector<Run> runs;
    std::vector<std::uint32_t> ranked;  // jobs with the worst rho at the last valuation
    std::vector<std::uint32_t> fresh;   // that came since
    Time valued = -kMaxTime;
    Time wake = 0;
    bool hold = false;       // the worst off is too wide for what was on offer
    bool contended = false;  // somebody waited when the last pass ended
  };
  struct Candidate {
    double rho;
    double gain;
    std::uint32_t job;
    std::uint32_t gpus;
    bool runs;  // its lease has ended
    bool won;
    bool lost;  // had to make room for the worst off
    double part;
  };

  void begin(const State& state) {
    groups_.resize(state.groups());
    for (const JobId gone : state.left()) {
      for (Group& g : groups_) std::erase_if(g.runs, [&](const Run& run) { return run.job == gone.value; });
    }
    for (const JobId id : state.queue_changes()) {
      if (!state.ended(id) && state.job(id).status == cluster::JobStatus::kWaiting) add(state, id.value);
    }
  }
  void add(const State& state, std::uint32_t job) {
    const Job& j = state.job(JobId(job));
    Group& g = groups_[state.shape(j.shape).where.group];
    const auto [it, made] = g.at.try_emplace(job, static_cast<std::uint32_t>(g.waiting.size()));
    if (!made) return;
    g.waiting.push_back({j.submit, std::max<Time>(j.estimate, 1), j.estimate - j.executed, j.gpus, job});
    g.fresh.push_back(job);
  }
  static void remove(Group& g, std::uint32_t job) {
    const auto it = g.at.find(job);
    if (it == g.at.end()) return;
    const std::uint32_t i = it->second;
    g.at.erase(it);
    if (i + 1 != g.waiting.size()) {
      g.waiting[i] = g.waiting.back();
      g.at[g.waiting[i].job] = i;
    }
    g.waiting.pop_back();
  }

  // Nobody waited: leases that ended meanwhile were prolonged.
  void renew(Group& g, Time now) const {
    for (Run& run : g.runs) {
      if (run.lease_end <= now) run.lease_end += (now - run.lease_end) / set_.lease * set_.lease + set_.lease;
    }
  }
  void find_expired(const Pass& pass, const Group& g) {
    expired_.clear();
    for (const Run& run : g.runs) {
      if (run.lease_end <= pass.now()) expired_.push_back(run);
    }
  }
  [[nodiscard]] static bool any_fits(const Pass& pass, std::uint32_t group) {
    const auto& active = pass.state().active(group);
    return std::any_of(active.begin(), active.end(), [&](ShapeId id) { return pass.fits(id); });
  }

  [[nodiscard]] double rho(const Group& g, double gpus_of_group, Time now, const Waiting& w) const {
    const double crowd = static_cast<double>(g.waiting.size() + g.runs.size());
    const double slowed = std::max(1.0, w.gpus * crowd / std::max(gpus_of_group, 1.0));
    return set_.fair ? static_cast<double>(now - w.submit + w.left) / (static_cast<double>(w.work) * slowed) : 0;
  }
  void push_candidate(const Group& g, double all, Time now, const Waiting& w, bool runs) {
    const double age = std::max(static_cast<double>(now - w.submit + w.left), 1.0);
    const double gain = std::log1p(static_cast<double>(set_.lease) / age);
    candidates_.push_back({rho(g, all, now, w), gain, w.job, w.gpus, runs, false, false, 0});
  }

  // The worst by rho of those that wait, as of now.
  void value(Group& g, double all, Time now) {
    if (now < g.valued + set_.valuation && !g.ranked.empty()) return;
    g.valued = now;
    g.fresh.clear();
    g.ranked.clear();
    scored_.clear();
    for (const Waiting& w : g.waiting) scored_.push_back({-rho(g, all, now, w), w.job});
    const std::size_t keep = std::min(scored_.size(), set_.bidders);
    if (keep < scored_.size())
      std::nth_element(scored_.begin(), scored_.begin() + static_cast<std::ptrdiff_t>(keep), scored_.end());
    for (std::size_t i = 0; i < keep; ++i) g.ranked.push_back(scored_[i].second);
  }

  void gather(const Pass& pass, Group& g, double all) {
    const State& state = pass.state();
    candidates_.clear();
    for (const Run& run : expired_) {
      const Job& j = pass.job(run.job);
      const Waiting w{j.submit, std::max<Time>(j.estimate, 1), state.remaining_estimate(JobId(run.job), pass.now()),
                      run.gpus, run.job};
      push_candidate(g, all, pass.now(), w, true);
    }
    for (std::vector<std::uint32_t>* list : {&g.ranked, &g.fresh}) {
      std::erase_if(*list, [&](std::uint32_t job) { return !g.at.contains(job); });  // started meanwhile
      std::size_t taken = 0;
      for (const std::uint32_t job : *list) {
        if (taken == set_.bidders) break;
        if (state.ended(JobId(job)) || !state.eligible(JobId(job))) continue;
        push_candidate(g, all, pass.now(), g.waiting[g.at.at(job)], false);
        ++taken;
      }
    }
    std::sort(candidates_.begin(), candidates_.end(),
              [](const Candidate& a, const Candidate& b) { return a.rho != b.rho ? a.rho > b.rho : a.job < b.job; });
    // A job that was ranked, ran and was preempted stands in both lists.
    const auto same = [](const Candidate& a, const Candidate& b) { return a.job == b.job; };
    candidates_.erase(std::unique(candidates_.begin(), candidates_.end(), same), candidates_.end());
  }

  void auction(Pass& pass, Group& g, std::uint32_t group) {
    const Pool::Where where{.group = group, .type = Pool::kAnyType};
    const auto all = static_cast<double>(pass.state().pool().up_gpus(where));
    drop_stale(pass.state(), g);
    value(g, all, pass.now());
    gather(pass, g, all);
    std::int64_t offered = pass.state().pool().free_gpus(where);
    for (const Run& run : expired_) offered += run.gpus;
    const std::uint32_t first = serve_worst(pass);
    g.hold = first == kTooWide;
    if (!g.hold) offered -= first;
    choose(g, static_cast<std::uint32_t>(std::max<std::int64_t>(offered, 0)));
    for (const Candidate& c : candidates_) {  // who lost its GPUs
      if (!c.runs || c.won) continue;
      std::erase_if(g.runs, [&](const Run& run) { return run.job == c.job; });
      pass.preempt(c.job, set_.cost);
      add(pass.state(), c.job);
    }
    for (const Candidate& c : candidates_) {
      if (!c.won) continue;
      if (c.runs) {
        for (Run& run : g.runs) {
          if (run.job == c.job) run.lease_end = lease_end(g, pass.now(), c.part);
        }
      } else {
        start(pass, g, c.job, c.part);
      }
    }
  }
  // Cancelled or held since: dropped when the list is ranked anew; a job that comes back enters again.
  void drop_stale(const State& state, Group& g) {
    if (g.waiting.size() <= state.waiting()) return;
    stale_.clear();
    for (const Waiting& w : g.waiting) {
      if (state.ended(JobId(w.job)) || state.job(JobId(w.job)).status != cluster::JobStatus::kWaiting)
        stale_.push_back(w.job);
    }
    for (const std::uint32_t job : stale_) remove(g, job);
  }

  // Marks the worst off as a winner, and as losers those that must make room for it. Its GPUs, or kTooWide.
  std::uint32_t serve_worst(const Pass& pass) {
    if (candidates_.empty() || !set_.fair) return 0;
    const State& state = pass.state();
    Candidate& worst = candidates_.front();
    const ShapeClass& wanted = state.shape(pass.job(worst.job).shape);
    bool fits = worst.runs || state.pool_of(wanted).fits(wanted.shape, wanted.where);
    if (!fits) room_.assign(state.pool_of(wanted));
    std::size_t i = candidates_.size();
    while (!fits && --i > 0) {
      if (!candidates_[i].runs) continue;
      const cluster::Running& r = state.running()[pass.job(candidates_[i].job).slot];
      if (!state.pool().allows(wanted.where, r.allocation.node_class)) continue;
      room_.release(r.allocation);
      fits = room_.fits(wanted.shape, wanted.where);
    }
    if (!fits) return kTooWide;
    worst.won = true;
    worst.part = 1;
    for (std::size_t k = candidates_.size(); k-- > i;) candidates_[k].lost = candidates_[k].runs;
    return worst.gpus;
  }

  // Marks the winners: the auction among the worst, then what is left in order of rho.
  void choose(const Group& g, std::uint32_t offered) {
    const double crowd = static_cast<double>(g.waiting.size() + g.runs.size());
    auto worst = static_cast<std::size_t>(std::ceil((1 - set_.filter) * crowd - 1e-9));
    worst = std::clamp<std::size_t>(worst, 1, set_.bidders);
    bids_.clear();
    bidder_.clear();
    std::uint64_t wanted = 0;
    for (std::size_t i = 0; i < candidates_.size() && bids_.size() < worst; ++i) {
      wanted += candidates_[i].gpus;
      if ((bids_.size() + 2) * (std::min<std::uint64_t>(offered, wanted) + 1) > kMostCells) break;
      if (candidates_[i].won || candidates_[i].lost || candidates_[i].gpus > offered) continue;
      bids_.push_back({candidates_[i].gpus, candidates_[i].gain});
      bidder_.push_back(i);
    }
    auction_.run(bids_, offered, awards_);
    for (std::size_t i = 0; i < awards_.size(); ++i) {
      if (!awards_[i].won) continue;
      candidates_[bidder_[i]].won = true;
      candidates_[bidder_[i]].part = set_.payments ? awards_[i].part : 1;
      offered -= bids_[i].gpus;
    }
    for (Candidate& c : candidates_) {
      if (c.won || c.lost || c.gpus > offered) continue;
      c.won = true;
      c.part = 1;
      offered -= c.gpus;
    }
  }

  [[nodiscard]] Time lease_end(const Group& g, Time now, double part) const {
    const Time together = (now / set_.lease + 1) * set_.lease;
    const auto length = std::max<Time>(1, static_cast<Time>(static_cast<double>(set_.lease) * part));
    const Time end = (now + length + set_.pool - 1) / set_.pool * set_.pool;
    return g.hold ? std::min(end, together) : end;
  }
  bool start(Pass& pass, Group& g, std::uint32_t job, double part) {
    if (!pass.start(job)) return false;
    remove(g, job);
    g.runs.push_back({job, pass.job(job).gpus, lease_end(g, pass.now(), part)});
    return true;
  }
  // Whatever still fits, in the order of arrival.
  void fill(Pass& pass, Group& g, std::uint32_t group) {
    walk_.begin(pass.state(), group, [&](ShapeId shape) { return pass.fits(shape); });
    while (const QueueEntry* entry = walk_.next()) {
      if (!pass.fits(walk_.shape()) || !start(pass, g, entry->job, 1)) walk_.skip_shape();
    }
  }

  void wake(Pass& pass, Group& g) const {
    Time at = kNever;
    for (const Run& run : g.runs) at = std::min(at, run.lease_end);
    if (at == kNever || at <= pass.now() || (g.wake > pass.now() && g.wake <= at)) return;
    g.wake = at;
    pass.wake_at(at);
  }

  static constexpr std::uint32_t kTooWide = 0xffffffffU;
  static constexpr std::uint64_t kMostCells = 1 << 22;  // of an auction's tables: fewer bidders where GPUs are many

  Settings set_;
  std::vector<Group> groups_;
  Room room_;
  std::vector<Run> expired_;
  std::vector<Candidate> candidates_;
  std::vector<std::pair<double, std::uint32_t>> scored_;
  std::vector<std::uint32_t> stale_;
  std::vector<Bid> bids_;
  std::vector<std::size_t> bidder_;
  std::vector<Award> awards_;
  Auction auction_;
  Walk walk_;
};

std::vector<Param> params() {
  using enum Param::Type;
  return {
      make_param("themis.filter", kReal, "", "0.8", 0, 1, "f: GPUs are offered to the worst 1 - f of the jobs"),
      make_param("themis.lease", kTime, "s", "1200", 1, 1e9, "how long GPUs are given"),
      make_param("themis.pool", kTime, "s", "60", 1, 1e6,
                 "leases end at its multiples, so that GPUs are offered together"),
      make_param("themis.valuation", kTime, "s", "600", 0, 1e9,
                 "waiting jobs are ranked anew when the ranking is older"),
      make_param("themis.bidders", kInt, "jobs", "64", 1, 4096, "most bidders of an auction"),
      make_param("themis.payments", kBool, "", "true", 0, 0, "hidden payments: a winner's lease is cut to its part"),
      make_param("themis.fair", kBool, "", "true", 0, 0, "false: the offer goes round without regard to fairness"),
      make_param("themis.preemption_cost", kTime, "s", "0", 0, 1e6,
                 "time added to a job's remaining work when its lease is not renewed"),
  };
}

}  // namespace

void add_themis(std::vector<PolicyInfo>& list) {
  list.push_back({"themis", "Finish-time fairness: leases are auctioned to the jobs that are worst off.",
                  "Mahajan et al., NSDI 2020 (reconstruction)", true, true, params(),
                  [](const Params& p) -> std::unique_ptr<Policy> {
                    Settings s;
                    s.filter = p.real("themis.filter");
                    s.lease = p.time("themis.lease");
                    s.pool = p.time("themis.pool");
                    s.valuation = p.time("themis.valuation");
                    s.bidders = static_cast<std::size_t>(p.integer("themis.bidders"));
                    s.payments = p.boolean("themis.payments");
                    s.fair = p.boolean("themis.fair");
                    s.cost = p.time("themis.preemption_cost");
                    return std::make_unique<Themis>(s);
                  }});
}

}  // namespace comity::sched
