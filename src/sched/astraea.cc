// SPDX-License-Identifier: Apache-2.0
// Long-term GPU-time fairness (Astraea, TPDS 2022), as its artifact has it where the text was not to be had: see
// docs/systems/astraea.md. Symbols and the fairness of jobs (rho) and tenants (LTGF): astraea_ltgf.h.
//
// GPUs are given under a lease. At multiples of astraea.tick at which something has changed and somebody waits, the
// free GPUs and those of runs whose lease is over are handed out anew:
//   tenants  who has less than a fifth of its quota in use comes first, then who has had least of it in the last 24
//            hours (TenantPick)
//   jobs     of a tenant: those that have waited for astraea.starvation, by submission; then by astraea.selection,
//            least rho first by default. A run whose lease is over competes with them; if it is chosen it goes on at
//            no cost, else it pays for saving and loading. While nobody waits leases are renewed
//   hold     a starving job whose turn it is and that does not fit keeps what is free until it does
//   quota    fair: weights alone, so that a job wider than the quota runs on what others leave. static: no tenant gets
//            more. dynamic: first no tenant gets more, and who lacks GPUs within its quota takes them from the newest
//            runs of those beyond theirs; then idle GPUs go to tenants up to 1.2 quotas. Under both a job wider than
//            its tenant's quota runs alone of its tenant, on what others leave idle
//   early    with astraea.delay: for a job that has never run and that gets nothing, early runs of its tenant are
//            cancelled, if that is enough; they lose what they did in this lease
//
// What a job or tenant deserves is integrated exactly between events. Cost of a pass at which something can start:
// O(waiting + tenants x jobs started); others O(tenants).
#include <algorithm>
#include <memory>
#include <unordered_map>

#include "sched/astraea_group.h"
#include "sched/policies.h"

namespace comity::sched {
namespace {

using namespace astraea;

class Astraea : public Policy {
 public:
  explicit Astraea(const Settings& settings) : set_(settings) {}

  [[nodiscard]] bool follows_queues() const override { return true; }
  [[nodiscard]] std::vector<std::pair<std::string, double>> figures() const override { return figures_.list(); }
  [[nodiscard]] std::optional<Fairness> fairness() const override {
    Fairness f = figures_.fairness();
    std::vector<Usage> usage(tenants_.size());
    for (const auto& group : groups_) group->add_usage(usage);
    add_tenants(f, tenants_, usage);
    return f;
  }
  void decide(Pass& pass, std::uint32_t group) override {
    const State& state = pass.state();
    while (groups_.size() < state.groups())
      groups_.push_back(std::make_unique<Group>(set_, figures_, static_cast<std::uint32_t>(groups_.size())));
    tenants_.declare(state);
    groups_[group]->pass(pass, tenants_);
  }

 private:
  Settings set_;
  Tenants tenants_;
  Figures figures_;
  std::vector<std::unique_ptr<Group>> groups_;
};

Status check(const Params& p, const cluster::ClusterSpec&) {
  if (p.time("astraea.checkpoint") + p.time("astraea.resume") < p.time("astraea.lease")) return {};
  return fail_option("--set astraea.lease", "is no longer than saving and loading a job",
                     "jobs would take turns without getting on: make the lease longer");
}

}  // namespace

void add_astraea(std::vector<PolicyInfo>& list) {
  list.push_back({"astraea",
                  "Long-term GPU-time fairness between tenants and between a tenant's jobs, under leases.",
                  "Ye et al., TPDS 2022, and its artifact",
                  true,
                  true,
                  parameters(),
                  [](const Params& p) -> std::unique_ptr<Policy> { return std::make_unique<Astraea>(settings_of(p)); },
                  {},
                  check});
}

}  // namespace comity::sched
