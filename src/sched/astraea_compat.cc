// SPDX-License-Identifier: Apache-2.0
// astraea exactly as the simulator of its artifact runs it, for --compat astraea: rule R8 of the review. A clock ticks
// from 0; at each tick, in this order:
//   1. hours that are over close (closed hours alone count); waiting and running jobs and tenants are credited with a
//      whole tick: a tenant's share is divided by the jobs that it had before any ended
//   2. the list of running jobs, in the order of starting, is walked for jobs whose work is done or whose lease is
//      over. Whoever leaves it makes the walk pass over the next one, which is looked at again a tick later: until then
//      it holds its GPUs and is credited, although its end is dated back to the second. It may even be cancelled
//   3. who may be cancelled is noted (astraea.h: is_early), with its rho as of the beginning of its lease; newcomers
//      join
//   4. the plan: tenants are picked (TenantPick) while GPUs are free; of each the next job that fits is granted, what
//      does not fit is passed over for this tick. Starving jobs come first, in the order of submission
//   5. the placement, tenant by tenant in the order of the cluster file: a job that has never run nor been cancelled
//      and that the grant does not cover cancels runs of its tenant, the highest rho and latest submission first, until
//      it does; a run loses what it did in this lease. A job that is not covered or does not fit is passed over, or
//      holds its tenant up if it is starving or under block_scheduling
// Saving and loading jobs costs nothing. Jobs wider than the quota are rejected. `2das` ranks by time executed, not by
// GPU time; job_reward's histogram is never filled, so that its probability is 1; fifo, smallestfirst,
// shortestremain and 2das never cancel. Of `dynamic`, whose backfill is random, there is none. Nodes don't matter:
// the placement that goes with it is `count`.
//
// Sums of floating point are made in the simulator's order, tick by tick; jobs are ordered only at ticks at which one
// could start. Cost of a tick: O(waiting + running).
#include <algorithm>
#include <memory>
#include <unordered_map>

#include <fmt/format.h>

#include "sched/astraea.h"
#include "sched/astraea_tenants.h"
#include "sched/policies.h"

namespace comity::sched {
namespace {

using namespace astraea;

struct TickJob {
  std::uint32_t id = 0;
  std::uint32_t gpus = 0;
  std::uint32_t tenant = 0;
  Time submit = 0;
  Time work = 0;
  Time ended = kNever;  // when its work was done
  Time executed = 0;
  Time in_lease = 0;
  Time waited = 0;  // since its last start or expiry
  double deserved = 0;
  double themis = 0;  // its rank when it was last ordered
  bool had_lease = false;
  bool cancelled = false;
};
using Slot = std::uint32_t;

// One resource group.
class TickGroup {
 public:
  TickGroup(const Settings& settings, Figures& figures) : set_(settings), figures_(figures) {}

  void submit(const State& state, std::uint32_t id, std::uint32_t tenant) {
    const Job& job = state.job(JobId(id));
    const auto [it, made] = at_.try_emplace(id, static_cast<Slot>(jobs_.size()));
    if (!made) return;
    jobs_.emplace_back();
    jobs_.back().id = id;
    jobs_.back().gpus = job.gpus;
    jobs_.back().tenant = tenant;
    jobs_.back().submit = job.submit;
    jobs_.back().work = job.estimate;
    arriving_.push_back(it->second);
  }
  // Its work is done, and nobody has looked yet; or somebody withdrew it.
  void ended(std::uint32_t id, Time now) {
    const auto it = at_.find(id);
    if (it != at_.end() && jobs_[it->second].ended == kNever) jobs_[it->second].ended = now;
  }
  void add_usage(std::vector<Usage>& usage) const {
    for (std::size_t u = 0; u < tenants_.size(); ++u) usage[u] += tenants_[u].ever;
  }
  [[nodiscard]] bool idle() const { return live_ == 0 && arriving_.empty(); }

  void tick(Pass& pass, const Tenants& tenants, double capacity) {
    if (next_ != kNever && pass.now() < next_) return;  // a job of no length ended at this tick
    begin(tenants, capacity, pass.now());
    credit_until(pass.now() - set_.tick);
    credit(pass.now());
    end_and_expire(pass);
    note_early(pass.state());
    arrive(pass.now());
    if (!any_could_start()) return;
    order_all(pass.now());
    plan();
    for (Slot u = 0; u < tenants_.size(); ++u) place(pass, u);
  }

 private:
  struct Tenant {
    explicit Tenant(std::size_t window_of) : window(window_of) {}
    Window window;
    Usage ever;
    double quota = 0;
    std::vector<Slot> pending;
    std::vector<Slot> early;   // runs that may be cancelled
    std::vector<Slot> order;   // of pending: the starving first
    std::size_t starving = 0;  // of order
    std::size_t tried = 0;     // by the plan
    std::int64_t running = 0;  // GPUs
    std::uint64_t runs = 0;    // jobs
    bool newcomer = false;     // some pending job may cancel
    double share = 0;          // of each of its jobs
  };

  void begin(const Tenants& tenants, double capacity, Time now) {
    if (next_ == kNever) next_ = std::max<Time>(0, now / kHour - static_cast<Time>(set_.window) - 1) * kHour;
    while (tenants_.size() < tenants.size()) tenants_.emplace_back(set_.window);
    const std::vector<double> all = quotas(capacity, tenants.shares(), true);
    capacity_ = static_cast<std::int64_t>(capacity);
    for (std::size_t u = 0; u < tenants_.size(); ++u) tenants_[u].quota = all[u];
  }
  // Ticks at which nobody was there.
  void credit_until(Time last) {
    for (next_ = (next_ + set_.tick - 1) / set_.tick * set_.tick; next_ <= last; next_ += set_.tick) {
      for (Tenant& t : tenants_) credit(t, next_);
    }
  }
  void credit(Tenant& t, Time now) const {
    if (now % kHour == 0) t.window.close();
    double demand = static_cast<double>(t.running);
    for (const Slot s : t.pending) demand += jobs_[s].gpus;
    const Usage usage = Rates{t.quota, static_cast<double>(t.running), demand}.over(to_seconds(set_.tick));
    t.window.add(usage);
    t.ever += usage;
    const std::uint64_t jobs = t.pending.size() + t.runs;
    if (jobs > 0) t.share = 1.0 / static_cast<double>(jobs) * t.quota;
  }
  void credit(Time now) {
    next_ = now + set_.tick;
    const double seconds = to_seconds(set_.tick);
    const auto deserves = [&](TickJob& j, double share) {
      j.deserved += std::min(static_cast<double>(j.gpus), share) * seconds;
    };
    for (Tenant& t : tenants_) {
      credit(t, now);
      for (const Slot s : t.pending) {
        TickJob& j = jobs_[s];
        const Time waited = j.waited + set_.tick;
        if (j.waited < set_.starvation && waited >= set_.starvation) j.themis = themis_rank(j, now - set_.tick);
        j.waited = waited;
        deserves(j, t.share);
      }
    }
    for (const Slot s : running_) {
      jobs_[s].executed += set_.tick;
      jobs_[s].in_lease += set_.tick;
      deserves(jobs_[s], tenants_[jobs_[s].tenant].share);
    }
  }
  [[nodiscard]] Facts facts(const TickJob& j, Time now, Time executed) const {
    Facts f{to_seconds(now - j.submit), to_seconds(executed), to_seconds(j.work - executed), j.deserved,
            static_cast<double>(j.gpus)};
    return f;
  }
  [[nodiscard]] double themis_rank(const TickJob& j, Time now) const {
    return set_.selection == Selection::kThemis ? rank_of(set_.selection, facts(j, now, j.executed))[0] : 0;
  }

  void leave_running(const TickJob& j) {
    tenants_[j.tenant].running -= j.gpus;
    --tenants_[j.tenant].runs;
  }
  void end_and_expire(Pass& pass) {
    std::size_t kept = 0;
    bool pass_over = false;
    for (const Slot s : running_) {
      TickJob& j = jobs_[s];
      const bool leaves = !pass_over && (j.ended != kNever || j.in_lease >= set_.lease);
      pass_over = leaves;
      if (!leaves) {
        running_[kept++] = s;
        continue;
      }
      leave_running(j);
      if (j.ended != kNever) {
        figures_.add(facts(j, j.ended, j.executed).rho(), to_seconds(j.ended - j.submit), to_seconds(j.work));
        at_.erase(j.id);
        --live_;
        if (!pass.state().ended(JobId(j.id))) pass.finish(j.id, j.ended);
        continue;
      }
      pass.preempt(j.id, 0);
      ++figures_.expiries;
      j.had_lease = true;
      j.waited = 0;
      tenants_[j.tenant].pending.push_back(s);
    }
    running_.resize(kept);
  }
  void note_early(const State& state) {
    for (Tenant& t : tenants_) t.early.clear();
    if (set_.quota != Quota::kFair || !may_cancel(set_.selection)) return;
    for (const Slot s : running_) {
      const TickJob& j = jobs_[s];
      if (is_early(set_, j.had_lease, j.in_lease) && !state.ended(JobId(j.id))) tenants_[j.tenant].early.push_back(s);
    }
  }
  [[nodiscard]] static bool is_new(const TickJob& j) { return j.executed == 0 && !j.cancelled; }
  void arrive(Time now) {
    for (const Slot s : arriving_) {
      TickJob& j = jobs_[s];
      if (j.ended != kNever) {  // withdrawn before it was seen
        at_.erase(j.id);
        continue;
      }
      j.waited = now - j.submit;
      tenants_[j.tenant].pending.push_back(s);
      ++live_;
    }
    arriving_.clear();
    for (Tenant& t : tenants_) {
      std::erase_if(t.pending, [&](Slot s) {
        if (jobs_[s].ended == kNever) return false;
        at_.erase(jobs_[s].id);
        --live_;
        return true;
      });
    }
  }

  [[nodiscard]] std::int64_t free() const {
    std::int64_t used = 0;
    for (const Tenant& t : tenants_) used += t.running;
    return capacity_ - used;
  }
  [[nodiscard]] bool any_could_start() const {
    if (free() > 0) return true;
    return std::any_of(tenants_.begin(), tenants_.end(), [&](const Tenant& t) {
      return !t.early.empty() &&
             std::any_of(t.pending.begin(), t.pending.end(), [&](Slot s) { return is_new(jobs_[s]); });
    });
  }

  struct Ranked {
    Rank rank;
    Time submit;
    Slot slot;
  };
  void order_all(Time now) {
    for (Tenant& t : tenants_) {
      starving_.clear();
      ranked_.clear();
      for (const Slot s : t.pending) {
        TickJob& j = jobs_[s];
        if (j.waited >= set_.starvation && j.deserved > 0) {  // who joins now is told apart a tick later
          starving_.push_back({{}, j.submit, s});
          continue;
        }
        Facts f = facts(j, now, j.executed);
        Rank rank = rank_of(set_.selection, f);
        if (set_.selection == Selection::kTwoDimensional) rank[0] = f.executed;
        if (set_.selection == Selection::kThemis) j.themis = rank[0];
        ranked_.push_back({rank, set_.selection == Selection::kThemis ? 0 : j.submit, s});
      }
      const auto before = [](const Ranked& a, const Ranked& b) {
        return a.rank != b.rank ? a.rank < b.rank : a.submit < b.submit;
      };
      std::stable_sort(starving_.begin(), starving_.end(), before);
      std::stable_sort(ranked_.begin(), ranked_.end(), before);
      t.order.clear();
      t.starving = starving_.size();
      for (const Ranked& r : starving_) t.order.push_back(r.slot);
      for (const Ranked& r : ranked_) t.order.push_back(r.slot);
    }
  }

  void plan() {
    pick_ = TenantPick(to_seconds(set_.lease));
    for (Tenant& t : tenants_) {
      t.tried = 0;
      pick_.add(t.quota, static_cast<double>(t.running), t.window.closed(), !t.order.empty());
    }
    std::int64_t left = set_.quota == Quota::kFair ? free() : 0;
    while (left > 0) {
      const std::size_t u = pick_.next();
      if (u == kNobody) break;
      Tenant& t = tenants_[u];
      while (t.tried < t.order.size()) {
        const std::int64_t gpus = jobs_[t.order[t.tried++]].gpus;
        if (gpus > left) continue;
        left -= gpus;
        pick_.grant(u, static_cast<double>(gpus));
        break;
      }
      if (t.tried == t.order.size()) pick_.drop(u);
    }
  }

  void place(Pass& pass, Slot u) {
    Tenant& t = tenants_[u];
    const double granted = set_.quota == Quota::kFair ? pick_.used(u) : t.quota;
    const auto covered = [&](const TickJob& j) { return static_cast<double>(t.running + j.gpus) <= granted; };
    bool early_ordered = false;
    std::size_t starving = t.starving;
    for (const Slot s : t.order) {
      TickJob& j = jobs_[s];
      while (is_new(j) && !covered(j) && !t.early.empty()) {
        if (!early_ordered) order_early(t, pass.now());
        early_ordered = true;
        const Slot victim = t.early.back();
        t.early.pop_back();
        cancel(pass, victim);
      }
      if (covered(j) && static_cast<std::int64_t>(j.gpus) <= free() && pass.start(j.id)) {
        launch(s);
        starving -= starving > 0 ? 1 : 0;
      } else if (starving > 0 || set_.block) {
        break;
      }
    }
  }
  // Whom to cancel first is last.
  void order_early(Tenant& t, Time now) {
    ranked_.clear();
    for (const Slot s : t.early) {
      const TickJob& j = jobs_[s];
      const Facts f = facts(j, now, j.executed - j.in_lease);
      const Rank rank = set_.selection == Selection::kThemis ? Rank{j.themis, 0} : rank_of(set_.selection, f);
      ranked_.push_back({{-rank[0], -rank[1]}, set_.selection == Selection::kThemis ? 0 : -j.submit, s});
    }
    std::stable_sort(ranked_.begin(), ranked_.end(), [](const Ranked& a, const Ranked& b) {
      return a.rank != b.rank ? a.rank < b.rank : a.submit < b.submit;
    });
    for (std::size_t i = 0; i < ranked_.size(); ++i) t.early[ranked_.size() - 1 - i] = ranked_[i].slot;
  }
  void cancel(Pass& pass, Slot s) {
    TickJob& j = jobs_[s];
    pass.requeue(j.id);
    std::erase(running_, s);
    leave_running(j);
    j.executed -= j.in_lease;
    j.in_lease = 0;
    j.ended = kNever;
    j.cancelled = true;
    ++figures_.cancels;
    tenants_[j.tenant].pending.push_back(s);
  }
  void launch(Slot s) {
    TickJob& j = jobs_[s];
    j.in_lease = 0;
    j.waited = 0;
    Tenant& t = tenants_[j.tenant];
    std::erase(t.pending, s);
    t.running += j.gpus;
    ++t.runs;
    running_.push_back(s);
  }

  const Settings& set_;
  Figures& figures_;
  std::vector<TickJob> jobs_;
  std::unordered_map<std::uint32_t, Slot> at_;
  std::vector<Tenant> tenants_;
  std::vector<Slot> arriving_;
  std::vector<Slot> running_;  // in the order of starting
  std::vector<Ranked> starving_;
  std::vector<Ranked> ranked_;
  TenantPick pick_{1};
  std::int64_t capacity_ = 0;
  std::size_t live_ = 0;
  Time next_ = kNever;  // tick
};

class AstraeaArtifact : public Policy {
 public:
  explicit AstraeaArtifact(const Settings& settings) : set_(settings) {}

  [[nodiscard]] bool follows_queues() const override { return true; }
  [[nodiscard]] std::vector<std::pair<std::string, double>> figures() const override { return figures_.list(); }
  [[nodiscard]] std::optional<Fairness> fairness() const override {
    Fairness f = figures_.fairness();
    std::vector<Usage> usage(tenants_.size());
    for (const auto& group : groups_) group->add_usage(usage);
    add_tenants(f, tenants_, usage);
    return f;
  }
  [[nodiscard]] std::string refuses(const State& state, const profile::JobRequest& request) override {
    return tenants_.wider_than_quota(state, request);
  }

  [[nodiscard]] bool keeps(JobId id, Time now) override {
    for (const auto& group : groups_) group->ended(id.value, now);
    return true;
  }
  void decide(Pass& pass, std::uint32_t group) override {
    const State& state = pass.state();
    while (groups_.size() < state.groups()) groups_.push_back(std::make_unique<TickGroup>(set_, figures_));
    if (group == 0) tenants_.declare(state);
    TickGroup& g = *groups_[group];
    for (const JobId id : state.left()) {
      if (state.ended(id)) g.ended(id.value, pass.now());
    }
    for (const JobId id : state.queue_changes()) {
      if (state.ended(id)) {
        g.ended(id.value, pass.now());
      } else if (state.shape(state.job(id).shape).where.group == group) {
        g.submit(state, id.value, tenants_.index(state, state.job(id)));
      }
    }
    const Time at = (pass.now() + set_.tick - 1) / set_.tick * set_.tick;
    if (at == pass.now()) {
      const double capacity = static_cast<double>(state.pool().up_gpus({.group = group, .type = Pool::kAnyType}));
      g.tick(pass, tenants_, capacity);
    }
    if (!g.idle()) pass.wake_at(at == pass.now() ? at + set_.tick : at);
  }

 private:
  Settings set_;
  Tenants tenants_;
  Figures figures_;
  std::vector<std::unique_ptr<TickGroup>> groups_;
};

Status check(const Params& params, const cluster::ClusterSpec& spec) {
  if (params.text("astraea.quota") == "dynamic")
    return fail_option("--set astraea.quota",
                       "the artifact's dynamic quotas are filled at random: there is no exact run",
                       "without --compat jobs are taken in the order of arrival");
  if (spec.tenants.empty())
    return fail_option("--cluster",
                       "--compat astraea needs [[tenants]] in a cluster file: the artifact's list of names",
                       "jobs of others are rejected, as there");
  return {};
}

}  // namespace

void add_astraea_compat(std::vector<PolicyInfo>& list) {
  list.push_back(
      {"astraea", "Long-term GPU-time fairness as its artifact's simulator runs it.", "Astraea, TPDS 2022; R8", true,
       true, parameters(),
       [](const Params& p) -> std::unique_ptr<Policy> { return std::make_unique<AstraeaArtifact>(settings_of(p)); },
       "astraea", check});
}

}  // namespace comity::sched
