// SPDX-License-Identifier: Apache-2.0
// Gavel (Narayanan et al., OSDI 2020): which part of its time each job should spend on each type of GPU is the solution
// X of a linear program (gavel_program.h has the objectives and symbols); rounds of gavel.round (360 s, counted from
// the first submission) bring it about. At the start of a round:
//   plan    X anew if jobs came or went, or other GPUs are up
//   order   (job, type) by priority = X / fraction of its time that the job was on the type so far. X changes as jobs
//           come and go, so X x time is summed: priority = due / had, which is the same while X stands; X x 10^9 if it
//           has had nothing. Ties: larger X, greater speed, where it runs now, first submitted
//   choose  in that order, one type a job, as long as its GPUs suffice; X = 0 comes last and fills up
//   place   who runs where it is chosen for stays. The others are preempted (gavel.restart is added to their work) and
//           started; who does not fit together takes the place of who comes behind it in the order
// Between rounds nothing starts. Jobs run at the speed of their type. Cost of a round: O(jobs x types x log), a plan at
// most one program a class of equal jobs (gavel_group.h).
#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "sched/gavel_group.h"
#include "sched/param.h"
#include "sched/policies.h"
#include "sched/room.h"
#include "sched/ticks.h"

namespace comity::sched {
namespace {

class Gavel : public Policy {
 public:
  explicit Gavel(GavelOptions options) : options_(std::move(options)) {}

  void decide(Pass& pass, std::uint32_t group) override {
    while (groups_.size() <= group) groups_.push_back({GavelGroup(options_, counts_), 0});
    if (ticks_.next(pass.now(), options_.round) == pass.now()) play_round(pass, group);
    if (pass.state().live() == 0 || !may_change(pass, group)) return;
    const Time wake = ticks_.next(pass.now() + 1, options_.round);
    if (wake != groups_[group].asked) pass.wake_at(wake);
    groups_[group].asked = wake;
  }
  [[nodiscard]] std::vector<std::pair<std::string, double>> figures() const override {
    return {{"rounds", counts_.rounds},
            {"plans", counts_.plans},
            {"programs", counts_.programs},
            {"rows_most", counts_.most_rows},
            {"plans_merged", counts_.merged},
            {"plans_without_solution", counts_.unsolved},
            {"jobs_without_rates", static_cast<double>(counts_.without_rates.size())}};
  }

 private:
  static constexpr std::uint32_t kNoType = GavelGroup::kNoType;
  struct Group {
    GavelGroup jobs;
    Time asked = 0;
  };
  // A running job that stays, and its place in the order.
  struct Kept {
    std::size_t place = 0;
    std::uint32_t job = 0;
    std::uint32_t type = 0;
  };

  // Whether the next round might differ from this one though nothing happens until then.
  static bool may_change(const Pass& pass, std::uint32_t group) {
    if (!pass.state().active(group).empty()) return true;
    const std::vector<double> gpus = gpus_by_type(pass.state().pool(), group);
    if (std::count_if(gpus.begin(), gpus.end(), [](double n) { return n > 0; }) < 2) return false;
    return std::any_of(pass.state().running().begin(), pass.state().running().end(), [&](const cluster::Running& r) {
      return pass.state().shape(pass.state().job(r.job).shape).where.group == group;
    });
  }

  void play_round(Pass& pass, std::uint32_t group) {
    GavelGroup& jobs = groups_[group].jobs;
    jobs.begin_round(pass, group);
    if (jobs.members().empty()) return;
    jobs.order(order_);
    choose(jobs);
    give_up(pass, jobs);
    failed_.clear();
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const GavelGroup::Choice& c = order_[i];
      if (chosen_[c.member] == c.type && !c.here) start(pass, group, jobs.members()[c.member], c.type, i, true);
    }
    // What did not fit together, or lost its place to such a job, takes what is left; and so does everybody else.
    for (std::size_t i = 0; i < order_.size() && pass.state().pool().free_gpus() > 0; ++i)
      start(pass, group, jobs.members()[order_[i].member], order_[i].type, i, false);
  }

  // The type of each member, by numbers of GPUs. Who has no choice, because nodes are down, stays where it is.
  void choose(const GavelGroup& jobs) {
    const std::vector<GavelGroup::Member>& members = jobs.members();
    std::vector<double> left = jobs.gpus();
    chosen_.assign(members.size(), kNoType);
    std::vector<bool> has_choice(members.size(), false);
    kept_.clear();
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const GavelGroup::Choice& c = order_[i];
      has_choice[c.member] = true;
      if (chosen_[c.member] != kNoType || left[c.type] < members[c.member].gpus) continue;
      chosen_[c.member] = c.type;
      left[c.type] -= members[c.member].gpus;
      if (c.here) kept_.push_back({i, members[c.member].job, c.type});
    }
    for (std::size_t m = 0; m < members.size(); ++m) chosen_[m] = has_choice[m] ? chosen_[m] : members[m].type;
  }
  void give_up(Pass& pass, const GavelGroup& jobs) {
    for (std::size_t m = 0; m < chosen_.size(); ++m) {
      const GavelGroup::Member& member = jobs.members()[m];
      if (member.type != kNoType && member.type != chosen_[m]) pass.preempt(member.job, options_.restart);
    }
  }

  // Starts a waiting job on a type; with `force` in the place of who comes behind it.
  void start(Pass& pass, std::uint32_t group, const GavelGroup::Member& m, std::uint32_t type, std::size_t place,
             bool force) {
    const State& state = pass.state();
    if (!state.eligible(JobId(m.job)) || failed_.contains({m.shape, type})) return;
    const ShapeClass& s = state.shape(m.shape);
    const Pool::Where where{group, type};
    if (!state.pool_of(s).place(s.shape, where, scratch_)) {
      if (!force || !make_room(pass, s, where, place) || !state.pool_of(s).place(s.shape, where, scratch_)) {
        failed_.insert({m.shape, type});
        return;
      }
    }
    pass.start_at(m.job, scratch_);
  }

  // Preempts jobs behind `place` in the order, the last ones first, until the shape fits; false, and nothing done,
  // where it doesn't.
  bool make_room(Pass& pass, const ShapeClass& s, const Pool::Where& where, std::size_t place) {
    const State& state = pass.state();
    const auto allocation = [&](const Kept& k) -> const Allocation& {
      return state.running()[state.job(JobId(k.job)).slot].allocation;
    };
    room_.assign(state.pool_of(s));
    std::vector<std::size_t> victims;
    bool fits = false;
    for (std::size_t k = kept_.size(); k-- > 0 && kept_[k].place > place && !fits;) {
      if (kept_[k].type != where.type) continue;
      victims.push_back(k);
      room_.release(allocation(kept_[k]));
      fits = room_.fits(s.shape, where);
    }
    if (!fits) return false;
    for (std::size_t v = victims.size(); v-- > 0 && victims.size() > 1;) {  // some need not go after all
      const Allocation& held = allocation(kept_[victims[v]]);
      room_.take_back(held);
      if (room_.fits(s.shape, where)) {
        victims.erase(victims.begin() + static_cast<std::ptrdiff_t>(v));
      } else {
        room_.release(held);
      }
    }
    for (const std::size_t k : victims) {  // falling
      pass.preempt(kept_[k].job, options_.restart);
      kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(k));
    }
    return true;
  }

  const GavelOptions options_;
  GavelCounts counts_;
  Ticks ticks_;
  std::vector<Group> groups_;
  std::vector<GavelGroup::Choice> order_;
  std::vector<std::uint32_t> chosen_;  // type by member
  std::vector<Kept> kept_;             // by place
  std::set<std::pair<ShapeId, std::uint32_t>> failed_;
  Room room_;
  Allocation scratch_;
};

// "v100=2.48,k80=0.45": prices above 0 by type.
Result<std::map<std::string, double>> parse_prices(const std::string& text) {
  std::map<std::string, double> prices;
  if (text.empty()) return prices;
  for (const std::string_view entry : split(text, ',')) {
    const std::size_t eq = entry.find('=');
    const std::string_view number = eq == std::string_view::npos ? "" : entry.substr(eq + 1);
    double price = 0;
    const auto [end, code] = std::from_chars(number.data(), number.data() + number.size(), price);
    if (eq == 0 || code != std::errc() || end != number.data() + number.size() || !(price > 0) || price > 1e9)
      return fail_option("gavel.prices", fmt::format("'{}' is no TYPE=PRICE with a price above 0", printable(entry)),
                         "write --set gavel.prices=v100=2.48,k80=0.45");
    std::string type(entry.substr(0, eq));
    for (char& c : type) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    prices[type] = price;
  }
  return prices;
}

std::vector<Param> params() {
  using enum Param::Type;
  return {
      make_choice("gavel.objective", {"max_min", "finish_time", "makespan", "cost"}, "what the program optimises"),
      make_param("gavel.round", kTime, "s", "360", 1, 86'400, "how often GPUs change hands"),
      make_param("gavel.restart", kTime, "s", "0", 0, 86'400, "work added when a job loses its GPUs"),
      make_param("gavel.water_filling", kBool, "", "true", 0, 0,
                 "max_min: false: only the least share is as high as can be"),
      make_choice(
          "gavel.normaliser", {"share", "gavel"},
          "equal share: divided by what it sums up to where that is above 1, or always, as Gavel's program does"),
      make_param(
          "gavel.rows", kInt, "", "64", 1, 10'000,
          "finish_time, makespan: most rows of a program; beyond, jobs of nearly the same age and work are merged"),
      make_param("gavel.prices", kText, "", "v100=2.48,p100=1.46,k80=0.45", 0, 0,
                 "cost: price of a GPU an hour as TYPE=PRICE,...; other types cost 1"),
      make_param("gavel.by_time_received", kBool, "", "true", 0, 0, "false: priority = X, whatever was received"),
  };
}

GavelOptions options_of(const Params& p) {
  GavelOptions o;
  const std::string& objective = p.text("gavel.objective");
  o.program.objective = objective == "finish_time" ? GavelObjective::kFinishTime
                        : objective == "makespan"  ? GavelObjective::kMakespan
                        : objective == "cost"      ? GavelObjective::kCost
                                                   : GavelObjective::kMaxMin;
  o.program.water_filling = p.boolean("gavel.water_filling");
  o.program.artifact_normaliser = p.text("gavel.normaliser") == "gavel";
  o.round = p.time("gavel.round");
  o.restart = p.time("gavel.restart");
  o.rows = static_cast<std::size_t>(p.integer("gavel.rows"));
  o.by_time_received = p.boolean("gavel.by_time_received");
  if (auto prices = parse_prices(p.text("gavel.prices"))) o.prices = std::move(*prices);
  return o;
}

Status check(const Params& p, const cluster::ClusterSpec&) {
  if (const auto prices = parse_prices(p.text("gavel.prices")); !prices) return fail(prices.error());
  if (p.time("gavel.restart") < p.time("gavel.round")) return {};
  return fail_option("gavel.restart", "is not shorter than gavel.round",
                     "jobs would take turns without getting on: make the round longer");
}

}  // namespace

void add_gavel(std::vector<PolicyInfo>& list) {
  PolicyInfo info{"gavel",
                  "A linear program says which part of its time each job spends on each type of GPU.",
                  "Gavel, OSDI'20",
                  true,
                  true,
                  params(),
                  [](const Params& p) -> std::unique_ptr<Policy> { return std::make_unique<Gavel>(options_of(p)); }};
  info.check = check;
  list.push_back(std::move(info));
}

}  // namespace comity::sched
