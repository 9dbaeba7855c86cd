// SPDX-License-Identifier: Apache-2.0
#include "sched/chronus_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "sched/chronus_program.h"

namespace comity::sched::chronus {
namespace {

constexpr double kSwitchMinutes = 0.5;
constexpr double kSame = 1e-9;

// Free GPUs by lease, as far as anybody looks.
class Leases {
 public:
  Leases(std::vector<std::int64_t> free, std::int64_t later) : free_(std::move(free)), later_(later) {}

  [[nodiscard]] std::int64_t& at(int lease) {
    const auto i = static_cast<std::size_t>(lease);
    if (i >= free_.size()) free_.resize(i + 1, later_);
    return free_[i];
  }
  // The latest leases before `within` that the job may have; nothing changes when there are too few.
  bool place_late(LeaseJob& job, int choice) {
    const int within = job.choices[static_cast<std::size_t>(choice)].within;
    if (within < job.needs) return false;
    if (within > 0) (void)at(within - 1);
    std::vector<std::uint8_t> runs(static_cast<std::size_t>(std::max(within, 0)), 0);
    int left = job.needs;
    for (int t = within - 1; t >= 0 && left > 0; --t) {
      if (free_[static_cast<std::size_t>(t)] < job.gpus) continue;
      runs[static_cast<std::size_t>(t)] = 1;
      --left;
    }
    if (left > 0) return false;
    job.runs = std::move(runs);
    job.choice = choice;
    take(job);
    return true;
  }
  bool place_first_choice(LeaseJob& job, bool strict) {
    for (std::size_t k = 0; k < job.choices.size(); ++k) {
      if (place_late(job, static_cast<int>(k))) return true;
      if (strict) return false;
    }
    return false;
  }
  [[nodiscard]] bool overdrawn() const {
    return std::any_of(free_.begin(), free_.end(), [](std::int64_t f) { return f < 0; });
  }
  void take(const LeaseJob& job) { change(job, -static_cast<std::int64_t>(job.gpus)); }
  void give_back(const LeaseJob& job) { change(job, job.gpus); }
  void move(LeaseJob& job, int from, int to) {
    job.runs[static_cast<std::size_t>(from)] = 0;
    job.runs[static_cast<std::size_t>(to)] = 1;
    at(from) += job.gpus;
    at(to) -= job.gpus;
  }

 private:
  void change(const LeaseJob& job, std::int64_t by) {
    for (std::size_t t = 0; t < job.runs.size(); ++t) {
      if (job.runs[t] != 0) at(static_cast<int>(t)) += by;
    }
  }

  std::vector<std::int64_t> free_;
  std::int64_t later_;
};

bool before(const LeaseJob& a, const LeaseJob& b) {
  const auto key = [](const LeaseJob& j) {
    const int within = j.choices.empty() ? 0 : j.choices.front().within;
    return std::tuple(-static_cast<std::int64_t>(j.gpus), within - j.needs, -within);
  };
  return key(a) < key(b);
}

bool runs_now(const LeaseJob& job) { return !job.runs.empty() && job.runs[0] != 0; }
double value_of(const LeaseJob& job) {
  return job.choice == kNoChoice ? 0 : job.choices[static_cast<std::size_t>(job.choice)].value;
}

// One program: a feasible plan made better step by step.
class Planner {
 public:
  Planner(std::vector<LeaseJob>& jobs, const std::vector<std::int64_t>& capacity, Use use)
      : jobs_(jobs), capacity_(capacity), use_(use), leases_(capacity, capacity.back()) {}

  PlanReport run(const PlanLimits& limits) {
    start();
    report_.start = objective();
    raise_values();
    if (use_ == Use::kMost) fill_first();
    if (use_ == Use::kLeast) empty_first();
    measure();
    if (!report_.proved && report_.failed == 0) ask_solver(limits);
    return report_;
  }

 private:
  // Who holds leases keeps them; the others by pack(). If somebody can't be placed beside them, or nodes are gone, all
  // are placed anew, which is taken back where it leaves somebody out and what was held is still to be had.
  void start() {
    for (LeaseJob& job : jobs_) {
      if (job.choice != kNoChoice) leases_.take(job);
    }
    const bool gone = leases_.overdrawn();
    if (!gone && place_rest()) return;
    const std::vector<LeaseJob> kept = jobs_;
    const Leases before_anew = leases_;
    leases_ = Leases(capacity_, capacity_.back());
    for (LeaseJob& job : jobs_) job.choice = kNoChoice;
    if (place_rest() || gone) return;
    jobs_ = kept;
    leases_ = before_anew;
  }
  bool place_rest() {
    std::vector<LeaseJob*> rest;
    for (LeaseJob& job : jobs_) {
      if (job.choice == kNoChoice) rest.push_back(&job);
    }
    std::stable_sort(rest.begin(), rest.end(), [](const LeaseJob* a, const LeaseJob* b) { return before(*a, *b); });
    bool all = true;
    for (LeaseJob* job : rest) all &= leases_.place_first_choice(*job, false);
    return all;
  }

  void raise_values() {
    for (LeaseJob& job : jobs_) {
      if (job.choice == kNoChoice) continue;
      for (int k = 0; k < static_cast<int>(job.choices.size()); ++k) {
        if (job.choices[static_cast<std::size_t>(k)].value <= value_of(job)) continue;
        const LeaseJob kept = job;
        leases_.give_back(job);
        if (leases_.place_late(job, k)) continue;
        job = kept;
        leases_.take(job);
      }
    }
  }

  // Runs of later leases are moved to lease 0, those of the least slack first.
  void fill_first() {
    std::vector<LeaseJob*> order = candidates(false);
    std::stable_sort(order.begin(), order.end(), [](const LeaseJob* a, const LeaseJob* b) {
      const auto slack = [](const LeaseJob& j) { return static_cast<int>(j.runs.size()) - j.needs; };
      return slack(*a) < slack(*b);
    });
    for (LeaseJob* job : order) {
      if (job->gpus > leases_.at(0)) continue;
      const auto first = std::find(job->runs.begin() + 1, job->runs.end(), 1);
      leases_.move(*job, static_cast<int>(first - job->runs.begin()), 0);
    }
  }
  // Runs of lease 0 are moved to the latest lease that has room, the widest first.
  void empty_first() {
    std::vector<LeaseJob*> order = candidates(true);
    std::stable_sort(order.begin(), order.end(),
                     [](const LeaseJob* a, const LeaseJob* b) { return a->gpus > b->gpus; });
    for (LeaseJob* job : order) {
      for (int t = static_cast<int>(job->runs.size()) - 1; t > 0; --t) {
        if (job->runs[static_cast<std::size_t>(t)] != 0 || leases_.at(t) < job->gpus) continue;
        leases_.move(*job, 0, t);
        break;
      }
    }
  }
  // Placed jobs that do (not) run in lease 0 and could do otherwise.
  std::vector<LeaseJob*> candidates(bool now) {
    std::vector<LeaseJob*> list;
    for (LeaseJob& job : jobs_) {
      if (job.choice != kNoChoice && !job.runs.empty() && job.needs > 0 && runs_now(job) == now) list.push_back(&job);
    }
    return list;
  }

  [[nodiscard]] double scale() const {
    const std::int64_t most = *std::max_element(capacity_.begin(), capacity_.end());
    const double sign = use_ == Use::kMost ? 1 : use_ == Use::kLeast ? -1 : 0;
    return most == 0 ? 0 : sign / static_cast<double>(most);
  }
  double objective() {
    report_.value = 0;
    report_.used = 0;
    report_.failed = 0;
    for (const LeaseJob& job : jobs_) {
      report_.value += value_of(job);
      report_.used += runs_now(job) ? job.gpus : 0;
      report_.failed += job.choice == kNoChoice ? 1 : 0;
    }
    return report_.value + scale() * static_cast<double>(report_.used);
  }
  void measure() {
    report_.objective = objective();
    report_.bound = bound();
    report_.proved = report_.failed == 0 && report_.objective >= report_.bound - kSame;
  }

  // Each job at its best choice, and the best use of lease 0 that capacities alone allow. The windows are the widest:
  // whatever choices are made, no more can be moved out of lease 0.
  double bound() {
    double value = 0;
    for (const LeaseJob& job : jobs_) {
      double best = 0;
      for (const Choice& c : job.choices) best = c.within >= job.needs ? std::max(best, c.value) : best;
      value += best;
    }
    if (use_ == Use::kAny) return value;
    const std::int64_t used = use_ == Use::kMost ? most_now() : least_now(value);
    return value + scale() * static_cast<double>(used);
  }
  [[nodiscard]] std::int64_t most_now() const {
    std::int64_t all = 0;
    for (const LeaseJob& job : jobs_) all += job.needs > 0 ? job.gpus : 0;
    return std::min(all, reachable(capacity_.front()));
  }
  // The most GPUs up to `limit` that some set of the jobs fills exactly.
  [[nodiscard]] std::int64_t reachable(std::int64_t limit) const {
    std::vector<std::uint8_t> can(static_cast<std::size_t>(std::max<std::int64_t>(limit, 0)) + 1, 0);
    can[0] = 1;
    for (const LeaseJob& job : jobs_) {
      if (can.back() != 0) break;
      if (job.needs == 0 || job.gpus >= can.size()) continue;
      for (std::size_t g = can.size() - 1; g >= job.gpus; --g) can[g] |= can[g - job.gpus];
    }
    for (std::size_t g = can.size(); g-- > 0;) {
      if (can[g] != 0) return static_cast<std::int64_t>(g);
    }
    return 0;
  }
  // What must run in lease 0 because the other leases can't hold it: over every k, the leases 1 to k hold no more than
  // their capacity of the runs that can't lie behind k.
  [[nodiscard]] std::int64_t least_now(double best_value) const {
    // Windows are those of the best choices where these are what the plan made, else the widest.
    const bool chosen = report_.value >= best_value - kSame;
    int last = 0;
    const auto window = [&](const LeaseJob& job) {
      if (chosen && job.choice != kNoChoice) return job.choices[static_cast<std::size_t>(job.choice)].within;
      return job.choices.empty() ? 0 : job.choices.back().within;
    };
    for (const LeaseJob& job : jobs_) last = std::max(last, window(job));
    std::vector<std::int64_t> must(static_cast<std::size_t>(last) + 2, 0);  // second differences of the demand by k
    const auto at = [&](int k) -> std::int64_t& { return must[static_cast<std::size_t>(std::clamp(k, 0, last + 1))]; };
    for (const LeaseJob& job : jobs_) {
      if (job.needs == 0) continue;
      // Leases in 0..k that it needs at least: needs - (window - 1 - k), from k = window - 1 - needs on, up to needs.
      const int from = window(job) - job.needs;
      at(from) += job.gpus;
      at(window(job)) -= job.gpus;
    }
    std::int64_t slope = 0, demand = 0, room = 0, least = 0;
    for (int k = 0; k < last; ++k) {
      slope += must[static_cast<std::size_t>(k)];
      demand += slope;
      least = std::max(least, demand - room);
      const auto next = static_cast<std::size_t>(k) + 1;
      room += capacity_[std::min(next, capacity_.size() - 1)];
    }
    return least;
  }

  void ask_solver(const PlanLimits& limits) {
    const ProgramResult r = solve_program(jobs_, capacity_, scale(), limits);
    if (!r.asked) return;
    report_.solved = true;
    report_.nodes = r.nodes;
    report_.limited = !r.proved;
    report_.objective = objective();
    report_.bound = std::min(report_.bound, r.bound);
    report_.proved = r.proved;
  }

  std::vector<LeaseJob>& jobs_;
  const std::vector<std::int64_t>& capacity_;
  Use use_;
  Leases leases_;
  PlanReport report_;
};

}  // namespace

std::uint32_t lease_gpus(std::uint32_t gpus) {
  if (gpus == 3) return 4;
  return gpus > 4 && gpus < 8 ? 8 : gpus;
}
Time switch_cost(std::uint32_t gpus) {
  return static_cast<Time>(kSwitchMinutes * (1 + std::log2(gpus)) * static_cast<double>(kMinute));
}
double coefficient(std::uint32_t gpus, Time lease) {
  const double minutes = static_cast<double>(lease) / static_cast<double>(kMinute);
  return 1 + (1 + std::log2(gpus)) * kSwitchMinutes / minutes;
}
Time estimate(Time duration, std::uint32_t gpus, Time lease, double margin) {
  const double minutes = static_cast<double>(duration) / static_cast<double>(kMinute);
  return std::max<Time>(1, static_cast<Time>(minutes * coefficient(gpus, lease) * margin)) * kMinute;
}
int leases_for(Time work, Time lease) { return static_cast<int>(std::max<Time>(0, (work + lease - 1) / lease)); }
int leases_before(Time deadline, Time lease, std::int64_t index) {
  constexpr std::int64_t kMost = 1'000'000;
  return static_cast<int>(std::clamp<std::int64_t>(deadline / lease - index, -kMost, kMost));
}

bool pack(std::span<LeaseJob*> jobs, std::vector<std::int64_t> free, std::int64_t capacity, bool strict) {
  std::stable_sort(jobs.begin(), jobs.end(), [](const LeaseJob* a, const LeaseJob* b) { return before(*a, *b); });
  Leases leases(std::move(free), capacity);
  return std::all_of(jobs.begin(), jobs.end(), [&](LeaseJob* job) { return leases.place_first_choice(*job, strict); });
}

PlanReport plan(std::vector<LeaseJob>& jobs, const std::vector<std::int64_t>& capacity, Use use,
                const PlanLimits& limits) {
  return Planner(jobs, capacity, use).run(limits);
}

}  // namespace comity::sched::chronus
