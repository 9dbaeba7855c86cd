// SPDX-License-Identifier: Apache-2.0
// A scheduling policy: given the state of the cluster and the time it decides what starts, stops and moves. The same
// object runs in the twin and in the live server. A policy sees no socket, thread, file or clock, and draws no random
// number: the same state and time give the same decisions.
//
// A pass is one call of decide(). Each decision is applied to the working state as it is made, so the next question
// the policy asks already sees it; the list of decisions is what the world then carries out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/params.h"
#include "cluster/state.h"
#include "profile/colocation.h"
#include "profile/rates.h"

namespace comity::sched {

using cluster::Allocation;
using cluster::Job;
using cluster::Pool;
using cluster::QueueEntry;
using cluster::ShapeClass;
using cluster::ShapeId;
using cluster::State;

enum class Action : std::uint8_t {
  kStart,
  kStop,
  kFinish,
  kPreempt,
  kRequeue,
  kResize,
  kMigrate,
  kCoLocate,
  kSpeed,
  kWakeAt
};

struct Decision {
  Action action = Action::kStart;
  JobId job;
  JobId other;             // kStart: the head that it passed; kCoLocate: whose GPUs it shares
  Time value = 0;          // kPreempt, kMigrate: overhead (ns); kStop: how long it ran in all, time at less than full
                           // speed before this run counted by its progress; kFinish: when its work was done;
                           // kWakeAt: the instant
  Time wall = 0;           // kPreempt, kRequeue: how long the run that ends lasted; kFinish: as value of kStop
  Time progress = 0;       // and what it achieved
  std::uint32_t gpus = 0;  // kStart, kResize: how many it holds from now on; 0 = as many as it asked for
};

// What the world that runs the pass can carry out and knows.
struct World {
  bool estimates_exact = false;  // every job ends exactly at its expected end
  bool resize = false;
  bool migrate = false;
  bool co_locate = false;
  const profile::Colocation* colocation = nullptr;  // what is known of models that share GPUs
  // How fast models run on GPUs of each type; nullptr: all types are alike. A job that Pass starts or moves with the
  // GPUs that it asked for runs at the speed that this gives it, whether or not the policy looks at types;
  // start_sized(), resize() and set_speed() say the speed themselves.
  const profile::Rates* rates = nullptr;
};

class Pass {
 public:
  Pass(State& state, Time now, const World& world, std::vector<Decision>& decisions)
      : state_(state), now_(now), world_(world), decisions_(decisions) {}

  [[nodiscard]] const State& state() const { return state_; }
  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] const World& world() const { return world_; }
  [[nodiscard]] const Job& job(std::uint32_t id) const { return state_.job(JobId(id)); }
  [[nodiscard]] bool fits(ShapeId shape, Pool::Pools pools = Pool::Pools::kAny,
                          const Pool::Where* avoid = nullptr) const {
    const ShapeClass& s = state_.shape(shape);
    return state_.pool_of(s).fits(s.shape, s.where, pools, avoid);
  }

  // Starts a waiting job where the placement rule puts it; false (and nothing changed) when it does not fit or is not
  // eligible: a start may bring others of its owner to their limit. `overtook` is the head that it passes, whose
  // account is charged if the head could have used those nodes. `avoid`: see Pool.
  bool start(std::uint32_t job, JobId overtook = JobId(), Pool::Pools pools = Pool::Pools::kAny,
             const Pool::Where* avoid = nullptr);
  // Starts a waiting job on exactly these GPUs, which must be free (checked): for policies that place. False when it is
  // not eligible, or a node is down or reserved for others.
  bool start_at(std::uint32_t job, const Allocation& where);
  // Back to waiting with its progress; `overhead` is added to what it must still run.
  void preempt(std::uint32_t job, Time overhead);
  // Back to waiting with nothing of this run kept: a run for measuring, a failed node.
  void requeue(std::uint32_t job);
  // Ends a job before its work is done.
  void stop(std::uint32_t job);
  // Ends a job that Policy::keeps() kept: its work was done at `done`.
  void finish(std::uint32_t job, Time done);
  // Starts a waiting eligible job on the GPUs of a running one that has as many and shares them with nobody. Each
  // makes progress at its speed (times its speed alone there) until the other leaves; who is left runs as it does alone
  // again. False, and nothing changed, where the world can't share GPUs.
  bool co_locate(std::uint32_t job, std::uint32_t partner, double speed, double partner_speed);
  // The speed of a running job from now on.
  void set_speed(std::uint32_t job, double speed);
  // Moves a running job that shares with nobody; `where` may use the GPUs that it holds. False, and nothing changed,
  // where the world can't.
  bool migrate(std::uint32_t job, const Allocation& where, Time overhead);
  // Starts a waiting job with `size` GPUs instead of those that it asked for, or on other nodes than it would get:
  // where the placement rule puts that size within `where`. It makes progress at `speed`; 1 = as it does with what it
  // asked for. False, and nothing changed: it does not fit, is not eligible, its owner may not hold so many, or the
  // world can't resize.
  bool start_sized(std::uint32_t job, const profile::Shape& size, const Pool::Where& where, double speed);
  // The same for a running job that shares with nobody; it may keep GPUs that it holds. `overhead` is added to what it
  // must still run, in time at speed 1.
  bool resize(std::uint32_t job, const profile::Shape& size, const Pool::Where& where, double speed, Time overhead);
  // What World::rates says of a job on these GPUs; 1 without.
  [[nodiscard]] double speed_on(std::uint32_t job, const Allocation& where) const;
  // Asks for a pass at `at` (> now) even if nothing happens until then.
  void wake_at(Time at);

 private:
  void apply(cluster::Event event, const Decision& decision);
  [[nodiscard]] Decision end_run(Action action, std::uint32_t job);

  State& state_;
  Time now_;
  const World& world_;
  std::vector<Decision>& decisions_;
  Allocation scratch_;
};

// How fairly jobs and tenants were served in the long run, by a policy that keeps account of it: rho of a job and LTGF
// of a tenant are GPU time had over GPU time deserved.
struct Fairness {
  struct Tenant {
    std::string name;
    double ltgf = 1;  // of the whole run
    double gpu_hours = 0;
  };
  double rho_in_band = 0;      // share of the jobs that have ended with 0.95 <= rho <= 1 / 0.95
  double sharing_loss = 0;     // rho < 0.95
  double sharing_benefit = 0;  // rho > 1.05
  std::uint64_t lease_cancels = 0;
  std::uint64_t lease_expiries = 0;
  std::vector<Tenant> tenants;
};

class Policy {
 public:
  virtual ~Policy() = default;
  // One pass over one resource group; called for each group at each instant at which something changed.
  virtual void decide(Pass& pass, std::uint32_t group) = 0;
  // The order in which eligible jobs of a shape wait.
  [[nodiscard]] virtual cluster::RankFn rank() const { return cluster::rank_by_arrival; }
  // Whether it looks at State::queue_changes().
  [[nodiscard]] virtual bool follows_queues() const { return false; }
  // How long a job holds its GPUs beyond its work: simulators that tick see an end one tick late.
  [[nodiscard]] virtual Time end_lag() const { return 0; }
  // Told when the work of a job is done: true = it holds its GPUs until the policy calls Pass::finish(), as in
  // simulators that look at their jobs at ticks only.
  [[nodiscard]] virtual bool keeps(JobId, Time) { return false; }
  // Why it would never start such a job, beyond what the cluster says; empty = it may. Asked before each submission:
  // the job is then rejected for that reason.
  [[nodiscard]] virtual std::string refuses(const State&, const profile::JobRequest&) { return {}; }
  // What the policy counted of its own work so far (leases that expired, programs solved), by name, always the same
  // names in the same order.
  [[nodiscard]] virtual std::vector<std::pair<std::string, double>> figures() const { return {}; }
  [[nodiscard]] virtual std::optional<Fairness> fairness() const { return {}; }
};

// One pass over every group. The decisions have been applied to `state` when it returns; the world carries them out.
void run_pass(Policy& policy, State& state, Time now, const World& world, std::vector<Decision>& decisions);

// One line of the registry: how a policy is called, what it does, its parameters, how to make one.
struct PolicyInfo {
  std::string name;
  std::string summary;  // one sentence
  std::string source;   // paper or rule
  bool preemptive = false;
  bool uses_estimates = false;
  std::vector<Param> params;  // named "<name>.<parameter>"
  std::unique_ptr<Policy> (*make)(const Params& params);
  std::string compat = {};  // the simulator whose semantics it has, where it replaces the policy of the registry
  // What the policy demands of a cluster, if anything: an Error before a run begins.
  Status (*check)(const Params& params, const cluster::ClusterSpec& spec) = nullptr;
};

// All policies in the order in which tables show them.
[[nodiscard]] const std::vector<PolicyInfo>& registry();
// The parameters of every policy at their defaults, so that --set is checked whatever is run.
[[nodiscard]] Params all_params();
// What --compat offers.
[[nodiscard]] const std::vector<std::string>& compat_names();
// kUsage with the nearest name when there is none. `compat`: the policy as that simulator runs it where it does so in a
// way of its own, else that of the registry; empty: the registry's.
[[nodiscard]] Result<const PolicyInfo*> find_policy(const std::string& name, const std::string& compat = {});

}  // namespace comity::sched
