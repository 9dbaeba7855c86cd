// SPDX-License-Identifier: Apache-2.0
// tiresias.variant = gittins: jobs in the order of their Gittins index (sched/gittins.h), high first; the running set
// is chosen by GPU count. Rule R2 of the review: indices are taken anew when a job arrives or leaves and at the
// instants u' = u + now, u = the quantum at first; equal indices keep the order of the last pass, newcomers last.
// tiresias.gittins_order = artifact is the authors' simulator: the LOWEST index first, and the seconds that a waiting
// job has run in the place of its GPU seconds.
// Without a file of samples the index is taken from 250 quantiles of the GPU times of the last 10,000 jobs that
// ended, made anew whenever their number has grown by a tenth; before the first eight all indices are equal.
// Cost of a pass: O(running + newcomers x shapes); O(jobs log jobs) when the samples are taken anew.
#include "sched/gittins.h"

#include <cmath>
#include <limits>

#include "sched/quota_policy.h"
#include "sched/tiresias.h"

namespace comity::sched {
namespace {

double rounded(double value, double scale) { return std::nearbyint(value * scale) / scale; }

}  // namespace

GittinsTable::GittinsTable(std::vector<double> samples, double quantum) : samples_(std::move(samples)) {
  std::sort(samples_.begin(), samples_.end());
  const std::size_t n = samples_.size();
  std::vector<double> sum(n + 1, 0);  // of the first i samples
  for (std::size_t i = 0; i < n; ++i) sum[i + 1] = sum[i] + samples_[i];
  index_.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto below = [&](double v) {
      return static_cast<std::size_t>(std::lower_bound(samples_.begin(), samples_.end(), v) - samples_.begin());
    };
    const std::size_t from = below(samples_[i]);
    const std::size_t to = samples_[i] + quantum > samples_.back() ? n - 1 : below(samples_[i] + quantum);
    const auto left = static_cast<double>(n - from);
    const double p = rounded(static_cast<double>(to - from) / left, 1e5);
    const double e = rounded((sum[to] - sum[from] + quantum * static_cast<double>(n - to)) / left, 1e5);
    index_[i] = e > 0 ? rounded(p * 1e6 / e, 1e4) : 0;
  }
  std::vector<double> distinct = index_;
  distinct.push_back(0);
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  level_.reserve(n);
  for (const double v : index_)
    level_.push_back(
        static_cast<std::uint32_t>(std::lower_bound(distinct.begin(), distinct.end(), v) - distinct.begin()));
  until_ = samples_;
  for (std::size_t i = n - 1; i-- > 0;) {
    if (level_[i] == level_[i + 1]) until_[i] = until_[i + 1];
  }
}

GittinsTable::Step GittinsTable::at(double attained, std::uint32_t from) const {
  constexpr std::size_t kNear = 4;
  std::size_t i = from;
  while (i < samples_.size() && i < from + kNear && samples_[i] <= attained) ++i;
  if (i == from + kNear) {
    const auto begin = samples_.begin() + static_cast<std::ptrdiff_t>(std::min(i, samples_.size()));
    i = static_cast<std::size_t>(std::upper_bound(begin, samples_.end(), attained) - samples_.begin());
  }
  const auto next = static_cast<std::uint32_t>(i);
  if (i >= samples_.size())
    return {.index = 0, .level = 0, .until = std::numeric_limits<double>::infinity(), .next = next};
  return {.index = index_[i], .level = level_[i], .until = until_[i], .next = next};
}

namespace {

constexpr std::size_t kLearnFrom = 8;
constexpr std::size_t kKeptSamples = 10'000;
constexpr std::size_t kQuantiles = 250;

class Gittins : public QuotaPolicy {
 public:
  Gittins(const std::vector<double>& samples, Time quantum, bool artifact, Time cost)
      : quantum_(quantum), artifact_(artifact), learns_(samples.empty()), cost_(cost) {
    if (!learns_) table_ = GittinsTable(samples, to_seconds(quantum));
  }

 private:
  // Ranked::mark = now - executed at any instant of a run; Ranked::next = the instant from which its index may differ;
  // Ranked::step = GittinsTable::Step::next.

  // What is known of one group beside QuotaPolicy's: the next instant u, jobs preempted at the last pass.
  struct Extra {
    Time u = 0;
    std::vector<std::uint32_t> preempted;
    std::size_t table = 0;  // which table the ranks are of
  };
  struct Move {
    std::int64_t rank;
    std::int64_t tie;
    std::int64_t to;
    std::uint32_t job;
    std::uint32_t running;  // its index among the running jobs, or kWaits
  };
  static constexpr std::uint32_t kWaits = 0xffffffffU;

  [[nodiscard]] std::int64_t rank_of(const GittinsTable::Step& step) const {
    return artifact_ ? std::int64_t{step.level} : -std::int64_t{step.level};
  }
  [[nodiscard]] GittinsTable::Step step(Time executed, std::uint32_t gpus, std::uint32_t from = 0) const {
    return table_.at(to_seconds(executed) * gpus, from);
  }
  [[nodiscard]] GittinsTable::Step waiting_step(const Job& job) const {
    return step(job.executed, artifact_ ? 1 : job.gpus);
  }
  Extra& extra(const Group& group) {
    for (auto& [of, data] : extra_) {
      if (of == &group) return data;
    }
    return extra_.emplace_back(&group, Extra{.u = quantum_, .preempted = {}, .table = 0}).second;
  }

  bool rank_all(Pass& pass, Group& group) override {
    learn();
    Extra& more = extra(group);
    const bool anew = more.table != tables_;
    more.table = tables_;
    moves_.clear();
    const Time now = pass.now();
    const auto running = static_cast<std::uint32_t>(anew || now >= group.rank_due ? group.running.size() : 0);
    for (std::uint32_t i = 0; i < running; ++i) {
      Ranked& r = group.running[i];
      if (!anew && now < r.next) continue;
      const GittinsTable::Step s = step(now - r.mark, r.gpus, anew ? 0 : r.step);
      r.step = s.next;
      const double until = s.until * 1e9 / r.gpus;  // cut off: looked at a nanosecond early rather than late
      r.next = until < static_cast<double>(kMaxTime) ? r.mark + static_cast<Time>(until) : kNever;
      if (rank_of(s) != r.rank) moves_.push_back({r.rank, r.tie, rank_of(s), r.job, i});
    }
    const auto look_at = [&](std::uint32_t job) {
      if (!group.waiting.contains(job)) return;
      const Key key = group.waiting.key(job);
      const std::int64_t to = rank_of(waiting_step(pass.job(job)));
      if (to != key.rank) moves_.push_back({key.rank, key.tie, to, job, kWaits});
    };
    if (anew) {
      for (const std::uint32_t job : group.waiting.jobs()) look_at(job);
    } else if (artifact_) {
      for (const std::uint32_t job : more.preempted) look_at(job);
    }
    more.preempted.clear();
    if (!moves_.empty()) move_all(pass, group);
    return false;
  }

  // A stable sort of the order of the last pass by the new ranks, done for those alone whose rank is another: who comes
  // from in front of its new rank stands first in it, who comes from behind stands last.
  void move_all(Pass& pass, Group& group) {
    if (moves_.back().running == kWaits) {  // else they are in order already, as the running jobs were
      std::sort(moves_.begin(), moves_.end(), [](const Move& a, const Move& b) {
        return a.rank != b.rank ? a.rank < b.rank : a.tie != b.tie ? a.tie < b.tie : a.job < b.job;
      });
    }
    for (auto m = moves_.rbegin(); m != moves_.rend(); ++m) {
      if (m->to > m->rank) put(pass, group, *m, --group.first);
    }
    for (const Move& m : moves_) {
      if (m.to < m.rank) put(pass, group, m, ++group.last);
    }
    sort(group.running);
  }
  void put(Pass& pass, Group& group, const Move& m, std::int64_t tie) {
    if (m.running == kWaits) {
      group.waiting.erase(m.job);
      return insert(pass, group, m.job, {m.to, tie});
    }
    Ranked& r = group.running[m.running];
    r.rank = m.to;
    r.tie = tie;
  }

  Key place_arrival(const Job& job, std::uint32_t, Group& group) override {
    return {rank_of(waiting_step(job)), ++group.last};
  }

  Time preemption_cost(std::uint32_t) const override { return cost_; }

  void settle(Pass& pass, Group& group, std::vector<Ranked>& chosen, std::vector<Ranked>& losers) override {
    for (Ranked& r : chosen) {
      if (!r.fresh) continue;
      r.mark = pass.now() - pass.job(r.job).executed;
      r.next = pass.now();
    }
    Extra& more = extra(group);
    for (const Ranked& r : losers) {
      insert(pass, group, r.job, {r.rank, r.tie});
      more.preempted.push_back(r.job);
    }
  }

  Time next_pass(Pass& pass, Group& group) override {
    group.rank_due = kNever;
    for (const Ranked& r : group.running) group.rank_due = std::min(group.rank_due, r.next);
    Extra& more = extra(group);
    more.u = more.u > kMaxTime ? kNever : more.u + std::max<Time>(pass.now(), 0);
    return more.u > pass.now() && (!group.running.empty() || group.waiting.size() > 0) ? more.u : kNever;
  }

  void job_ended(Pass& pass, Group&, const Ranked& r) override {
    if (!learns_) return;
    const double gpu_s = to_seconds(pass.now() - r.mark) * r.gpus;
    if (ended_.size() < kKeptSamples) {
      ended_.push_back(gpu_s);
    } else {
      ended_[count_ % kKeptSamples] = gpu_s;
    }
    ++count_;
  }
  void learn() {
    if (!learns_ || count_ < kLearnFrom || count_ * 10 < learnt_ * 11) return;
    learnt_ = count_;
    ++tables_;
    std::vector<double> samples = ended_;
    if (samples.size() > kQuantiles) {
      std::sort(samples.begin(), samples.end());
      for (std::size_t i = 0; i < kQuantiles; ++i) samples[i] = samples[(i + 1) * samples.size() / kQuantiles - 1];
      samples.resize(kQuantiles);
    }
    table_ = GittinsTable(std::move(samples), to_seconds(quantum_));
  }

  GittinsTable table_;
  std::size_t tables_ = 0;  // how many were learnt
  Time quantum_;
  bool artifact_;
  bool learns_;
  Time cost_;
  std::vector<std::pair<const Group*, Extra>> extra_;
  std::vector<Move> moves_;
  std::vector<double> ended_;  // GPU s of the last jobs that ended
  std::size_t count_ = 0;      // ended in all
  std::size_t learnt_ = 0;     // `count_` when the table was made
};

}  // namespace

std::unique_ptr<Policy> make_gittins(const Params& p) {
  return std::make_unique<Gittins>(p.reals("tiresias.samples"), p.time("tiresias.quantum"),
                                   p.text("tiresias.gittins_order") == "artifact", p.time("tiresias.preemption_cost"));
}

}  // namespace comity::sched
