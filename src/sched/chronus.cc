// SPDX-License-Identifier: Apache-2.0
// Deadlines by leases (Chronus, SoCC'21), from its artifact; rules C0 to C12 and what was left out:
// docs/systems/chronus.md.
//
//   estimate  run time x (1 + (1 + log2 g) x 0.5 min / lease) x chronus.margin; a job needs estimate / lease leases
//   admission every chronus.slot: a job with a deadline is accepted if its leases fit in before it, beside those of the
//             jobs accepted so far (chronus_plan.h: pack). Else it runs as others do
//   lease     at multiples of chronus.lease a program chooses which accepted jobs run in the lease that begins, under a
//             guarantee; each gets all its leases before its deadline (plan). chronus.objective: with `least` of the
//             GPUs, so that jobs that were not accepted find some, or `most`; adaptive: least while there are such jobs
//   spot      the other GPUs: every chronus.slot those who wait, first the jobs that are not accepted and those without
//             a deadline by their least remaining GPU time, then accepted ones by their least slack, those at last
//             whose deadline has become impossible (in leases of more than 30 min accepted ones wait for theirs)
//   short     in leases up to 30 min a job that was not accepted and ends within this one is guaranteed the rest of it
//   switch    a run that is stopped costs 0.5 x (1 + log2 g) min
// A job that has run for longer than it was said to is accepted no longer, and goes before the others on spot GPUs.
// Cost: a tick O(1), a slot O(waiting log waiting), a lease O(accepted x leases) and CBC's bounded work.
#include "sched/chronus.h"

#include "sched/param.h"
#include "sched/policies.h"

namespace comity::sched {
namespace chronus {

Settings settings_of(const Params& p) {
  constexpr double kRowsAnHour = 1200;
  const auto index = [&](const char* name, std::initializer_list<const char*> names) {
    int i = 0;
    for (const char* n : names) {
      if (p.text(name) == n) return i;
      ++i;
    }
    return 0;
  };
  Settings s;
  s.lease = p.time("chronus.lease");
  s.slot = p.time("chronus.slot");
  s.tick = p.time("chronus.tick");
  s.objective = static_cast<Objective>(index("chronus.objective", {"adaptive", "minimize", "maximize", "random"}));
  s.margin = p.real("chronus.margin");
  s.tolerate = p.real("chronus.tolerate");
  s.stop = p.text("chronus.boundary") == "stop";
  s.fill = static_cast<Fill>(index("chronus.fill", {"urgent", "artifact", "off"}));
  s.split = static_cast<Split>(index("chronus.split", {"never", "slower", "free"}));
  s.strict = p.text("chronus.soft") == "tightest";
  s.shadows = p.boolean("chronus.shadows");
  s.guarantee = p.boolean("chronus.guarantee") && s.lease <= 30 * kMinute;
  const double rows = kRowsAnHour * static_cast<double>(s.lease) / static_cast<double>(kHour);
  s.rows = p.integer("chronus.rows") > 0 ? static_cast<std::size_t>(p.integer("chronus.rows"))
                                         : std::max<std::size_t>(1, static_cast<std::size_t>(rows));
  s.limits.nodes = p.integer("chronus.nodes");
  s.limits.variables = static_cast<std::size_t>(p.integer("chronus.variables"));
  return s;
}

std::vector<Param> parameters() {
  using enum Param::Type;
  return {
      make_param("chronus.lease", kTime, "s", "1200", 60, 1e7, "how long GPUs are guaranteed"),
      make_param("chronus.slot", kTime, "s", "300", 1, 1e7, "how often jobs are admitted and spot GPUs given out"),
      make_param("chronus.tick", kTime, "s", "60", 1, 1e7, "lease and slot are seen at its multiples"),
      make_choice("chronus.objective", {"adaptive", "minimize", "maximize", "random"},
                  "GPUs of the lease that begins, of the plans with the most value"),
      make_param("chronus.margin", kReal, "", "1.1", 1, 10, "leases are asked for so much longer than the estimate"),
      make_param("chronus.tolerate", kReal, "", "1", 1, 10,
                 "a job is accepted though it ends later, up to so much later than its deadline"),
      make_choice("chronus.boundary", {"keep", "stop"},
                  "what runs on spot GPUs when a lease begins: is kept where it can, or stopped and started again"),
      make_choice("chronus.fill", {"urgent", "artifact", "off"},
                  "between slots: who is most urgent; at odd minutes who is least urgent; nobody"),
      make_choice("chronus.split", {"never", "slower", "free"},
                  "jobs of up to 8 GPUs that no node has room for: wait, run slower on several, or as fast"),
      make_choice("chronus.soft", {"any", "tightest"}, "which of several deadlines admission looks at"),
      make_param("chronus.shadows", kBool, "", "false", 0, 0,
                 "jobs that were not accepted stand in the way of others of their slot"),
      make_param("chronus.guarantee", kBool, "", "true", 0, 0,
                 "jobs that end within a lease of up to 30 min are guaranteed the rest of it"),
      make_param("chronus.rows", kInt, "", "0", 0, 1e6, "most deadlines in a plan; 0: 1200 for an hour of lease"),
      make_param("chronus.nodes", kInt, "", "200", 1, 1e7, "most nodes of branch and bound for a plan"),
      make_param("chronus.variables", kInt, "", "3000", 0, 1e6, "programs up to this size are given to it"),
  };
}

}  // namespace chronus

namespace {

class Chronus : public Policy {
 public:
  explicit Chronus(const chronus::Settings& settings) : set_(settings) {}

  [[nodiscard]] bool follows_queues() const override { return true; }
  void decide(Pass& pass, std::uint32_t group) override {
    while (groups_.size() < pass.state().groups())
      groups_.push_back(std::make_unique<chronus::Group>(set_, counts_, static_cast<std::uint32_t>(groups_.size())));
    groups_[group]->pass(pass);
  }
  [[nodiscard]] std::vector<std::pair<std::string, double>> figures() const override {
    const chronus::Counts& c = counts_;
    return {{"accepted", c.accepted},
            {"not_accepted", c.unaccepted},
            {"accepted_and_late", c.late},
            {"plans", c.plans},
            {"plans_unchanged", c.unchanged},
            {"plans_proved", c.proved},
            {"plans_solved", c.solved},
            {"plans_too_large", c.variables_limit},
            {"solver_limits", c.limited},
            {"solver_nodes", c.nodes},
            {"unplanned", c.unplanned},
            {"unplaced", c.unplaced},
            {"forced", c.forced},
            {"split_starts", c.split}};
  }

 private:
  chronus::Settings set_;
  chronus::Counts counts_;
  std::vector<std::unique_ptr<chronus::Group>> groups_;
};

std::unique_ptr<Policy> make(const Params& p) { return std::make_unique<Chronus>(chronus::settings_of(p)); }

Status check(const Params& p, const cluster::ClusterSpec&) {
  const Time tick = p.time("chronus.tick");
  for (const char* name : {"chronus.lease", "chronus.slot"}) {
    if (p.time(name) % tick != 0)
      return fail_option(std::string("--set ") + name, "is no multiple of chronus.tick", "ticks are what it can see");
  }
  return {};
}

}  // namespace

void add_chronus(std::vector<PolicyInfo>& list) {
  list.push_back({"chronus",
                  "Deadlines kept by leases, the GPUs between them for the others.",
                  "Chronus, SoCC'21",
                  true,
                  true,
                  chronus::parameters(),
                  make,
                  {},
                  check});
}

// With all of the artifact's ways (rules C3, C4, C8, C11); each alone is a parameter of the policy.
void add_chronus_compat(std::vector<PolicyInfo>& list) {
  list.push_back({"chronus", "Deadlines by leases, with the ways of its artifact.", "Chronus, SoCC'21; C1-C12", true,
                  true, chronus::parameters(),
                  [](const Params& p) -> std::unique_ptr<Policy> {
                    chronus::Settings s = chronus::settings_of(p);
                    s.stop = s.strict = s.shadows = true;
                    s.fill = chronus::Fill::kArtifact;
                    s.split = chronus::Split::kFree;
                    return std::make_unique<Chronus>(s);
                  },
                  "chronus", check});
}

}  // namespace comity::sched
