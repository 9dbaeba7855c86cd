// SPDX-License-Identifier: Apache-2.0
// srtf, tiresias and qssf exactly as the simulator of Lucid (ASPLOS'23) runs them, for --compat lucid: rules R6 and R7
// of the review. The simulator ticks once a second; here the instants at which a tick can change anything are computed.
//   srtf      passes at arrivals and ends; order (remaining time, waiting before running, place in the list)
//   tiresias  passes at multiples of 60 s from the first submission; a job that has had more than 18,000 GPU s is in
//             the low queue; order (queue, submit time, running before waiting, place in the list)
//   both      choose by GPU count and skip what does not fit; a job that is not chosen is preempted, which adds 40 s to
//             what remains of it (60 s with more than 8 GPUs); newcomers are placed in order, and one that can't be
//             placed keeps its share of the count. A job leaves a second after its work is done (end_lag).
//   qssf      never preempts; while only jobs of this very second wait, they are tried in order (GPUs, arrival), else
//             all in order (duration x GPUs, GPUs, arrival); the head blocks
// The ticks between those passes decide nothing new. Time, a start and a preemption only move running jobs in front of
// waiting ones and preempted ones back, which never changes who is chosen by count; and what could not be placed can't
// be placed before somebody leaves, whatever is tried first.
// The list of waiting jobs is in order of arrival; who is preempted joins its end. That of running jobs is in order of
// starting. The placement rule that goes with it is `lucid`.
#include "sched/policies.h"
#include "sched/quota_policy.h"
#include "sched/service.h"
#include "sched/ticks.h"

namespace comity::sched {
namespace {

constexpr Time kTick = kSecond;
constexpr std::uint32_t kSmallGpus = 8;
constexpr Time kSmallCost = 40 * kSecond;
constexpr Time kLargeCost = 60 * kSecond;
constexpr Time kInterval = 60 * kSecond;
constexpr Time kThreshold = 18'000 * kSecond;  // GPU s

class LucidPreemptive : public QuotaPolicy {
 public:
  [[nodiscard]] Time end_lag() const override { return kTick; }

 protected:
  Time preemption_cost(std::uint32_t gpus) const override { return gpus <= kSmallGpus ? kSmallCost : kLargeCost; }

  Ticks ticks_;
};

// Ranked::mark = the expected end.
class LucidSrtf : public LucidPreemptive {
  Time allowed(Time now) override { return ticks_.next(now, kTick); }

  // The rank is twice the remaining time, and one more for running jobs.
  bool rank_all(Pass& pass, Group& group) override {
    for (Ranked& r : group.running) r.rank = 2 * (r.mark - pass.now()) + 1;
    sort(group.running);
    return false;
  }
  Key place_arrival(const Job& job, std::uint32_t, Group& group) override {
    return {2 * (job.estimate - job.executed), ++group.last};
  }
  void settle(Pass& pass, Group& group, std::vector<Ranked>& chosen, std::vector<Ranked>& losers) override {
    for (Ranked& r : chosen) {
      if (!r.fresh) continue;
      r.mark = pass.state().running()[pass.job(r.job).slot].expected_end;
      r.tie = ++group.last;
    }
    for (const Ranked& r : losers) insert(pass, group, r.job, place_arrival(pass.job(r.job), r.job, group));
  }
  Time next_pass(Pass&, Group&) override { return kNever; }
};

// Ranked::mark = now - executed at any instant of a run.
class LucidTiresias : public LucidPreemptive {
  static constexpr std::int64_t kHigh = std::int64_t{1} << 62;  // more than twice the latest submission

  Time allowed(Time now) override { return ticks_.next(now, kInterval); }

  [[nodiscard]] static std::int64_t rank_of(Time submit, bool low) { return low ? submit : submit - kHigh; }
  [[nodiscard]] static bool is_low(Time executed, std::uint32_t gpus) { return executed > kThreshold / gpus; }

  bool rank_all(Pass& pass, Group& group) override {
    bool sunk = false;
    for (Ranked& r : group.running) {
      if (r.rank >= 0 || !is_low(pass.now() - r.mark, r.gpus)) continue;
      r.rank += kHigh;
      sunk = true;
    }
    if (sunk) sort(group.running);
    return false;
  }
  // Ties of waiting jobs are above zero, those of running jobs below.
  Key place_arrival(const Job& job, std::uint32_t, Group& group) override {
    return {rank_of(job.submit, is_low(job.executed, job.gpus)), ++group.last};
  }
  void settle(Pass& pass, Group& group, std::vector<Ranked>& chosen, std::vector<Ranked>& losers) override {
    for (Ranked& r : chosen) {
      if (!r.fresh) continue;
      r.mark = pass.now() - pass.job(r.job).executed;
      r.tie = ++started_ - kHigh;
    }
    std::sort(chosen.begin(), chosen.end(), [](const Ranked& a, const Ranked& b) { return before(a, b); });
    for (const Ranked& r : losers) insert(pass, group, r.job, place_arrival(pass.job(r.job), r.job, group));
  }
  Time next_pass(Pass& pass, Group& group) override {
    Time first = kNever;
    for (const Ranked& r : group.running) {
      if (r.rank < 0) first = std::min(first, r.mark + kThreshold / r.gpus + 1);
    }
    return first == kNever ? kNever : ticks_.next(std::max(first, pass.now() + 1), kInterval);
  }

  std::int64_t started_ = 0;
};

class LucidQssf : public Policy {
 public:
  [[nodiscard]] bool follows_queues() const override { return true; }
  void decide(Pass& pass, std::uint32_t group) override {
    const State& state = pass.state();
    if (group >= by_group_.size()) by_group_.resize(group + 1);
    std::vector<std::uint32_t>& news = by_group_[group];
    for (const JobId id : state.queue_changes()) {
      if (!state.ended(id) && state.in_line(id) && state.shape(state.job(id).shape).where.group == group)
        news.push_back(id.value);
    }
    const Time tick = ticks_.next(pass.now(), kTick);
    if (tick != pass.now()) return pass.wake_at(tick);
    std::erase_if(news, [&](std::uint32_t job) { return state.ended(JobId(job)) || !state.in_line(JobId(job)); });
    std::uint64_t waiting = 0;
    for (const ShapeId shape : state.active(group)) waiting += state.shape(shape).queue.size();
    if (waiting > 0) waiting == news.size() ? start_new(pass, news) : start_all(pass, group);
    news.clear();
  }
  [[nodiscard]] cluster::RankFn rank() const override { return rank_by_service; }

 private:
  // None of those who wait has been tried before.
  static void start_new(Pass& pass, std::vector<std::uint32_t>& news) {
    std::stable_sort(news.begin(), news.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return pass.job(a).gpus < pass.job(b).gpus; });
    for (const std::uint32_t job : news) {
      if (!pass.start(job)) return;
    }
  }
  static void start_all(Pass& pass, std::uint32_t group) {
    for (;;) {
      const QueueEntry* best = nullptr;
      std::uint32_t gpus = 0;
      for (const ShapeId shape : pass.state().active(group)) {
        const ShapeClass& s = pass.state().shape(shape);
        const QueueEntry& e = s.queue.front();
        const bool first = best == nullptr || e.rank < best->rank ||
                           (e.rank == best->rank && (s.gpus < gpus || (s.gpus == gpus && before(e, *best))));
        if (!first) continue;
        best = &e;
        gpus = s.gpus;
      }
      if (best == nullptr || !pass.start(best->job)) return;
    }
  }

  Ticks ticks_;
  std::vector<std::vector<std::uint32_t>> by_group_;  // joined since the last tick, in order of arrival
};

template <class P>
void add(std::vector<PolicyInfo>& list, const char* name, const char* summary, const char* source, bool preemptive) {
  list.push_back({name,
                  summary,
                  source,
                  preemptive,
                  true,
                  {},
                  [](const Params&) -> std::unique_ptr<Policy> { return std::make_unique<P>(); },
                  "lucid"});
}

}  // namespace

void add_lucid_compat(std::vector<PolicyInfo>& list) {
  add<LucidSrtf>(list, "srtf", "Shortest remaining time first as Lucid's simulator runs it.", "Lucid, ASPLOS'23; R6",
                 true);
  add<LucidTiresias>(list, "tiresias", "Two queues by attained service as Lucid's simulator runs them.",
                     "Lucid, ASPLOS'23; R6", true);
  add<LucidQssf>(list, "qssf", "Least GPU time first as Lucid's simulator runs it.", "Lucid, ASPLOS'23; R7", false);
}

}  // namespace comity::sched
