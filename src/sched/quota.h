// SPDX-License-Identifier: Apache-2.0
// Who should run, by GPU count alone (rules F8 and R6 of the review): running and waiting jobs are walked together in
// order, each that still fits the GPUs of the group is chosen, the others are skipped. Where the group has nodes of
// several kinds, GPUs are counted by kind (class of the pool): a running job takes from its own, a waiting one from the
// kind that it may use and that is left with fewest. Running jobs that are not chosen
// are to be preempted. Waiting jobs of one size stand in ordered lists, of which only the front is looked at: once a
// size does not fit, it does not fit for the rest of the walk. O(running + chosen x lists).
#pragma once

#include <algorithm>
#include <vector>

#include "sched/policy.h"
#include "sched/walk.h"

namespace comity::sched {

// A running job, or one chosen to start.
struct Ranked {
  std::int64_t rank = 0;  // low first
  std::int64_t tie = 0;   // then this, then the lower id
  Time mark = 0;          // the policy's own, as is `next`
  Time next = 0;
  std::uint32_t job = 0;
  std::uint32_t gpus = 0;
  bool fresh = false;      // chosen to start
  std::uint32_t step = 0;  // the policy's own

  [[nodiscard]] friend bool before(const Ranked& a, const Ranked& b) {
    if (a.rank != b.rank) return a.rank < b.rank;
    return a.tie != b.tie ? a.tie < b.tie : a.job < b.job;
  }
};

class Quota {
 public:
  void begin(const State& state, std::uint32_t group);
  // Waiting jobs that ask for `gpus` each. The list must not change until choose() returns.
  void offer(const cluster::OrderedQueue& queue, const ShapeClass& shape) {
    if (!queue.empty() && room_for(shape.where, shape.gpus) != kNoRoom)
      fronts_.push_back({&queue.front(), &queue, shape.gpus, shape.where});
  }
  // `running` in order. False when all of them go on and nobody else starts: chosen() is left empty then.
  [[nodiscard]] bool choose(const std::vector<Ranked>& running);

  // In order: running jobs that go on, and newcomers (fresh).
  [[nodiscard]] std::vector<Ranked>& chosen() { return chosen_; }
  // Running jobs that lose their GPUs, in order.
  [[nodiscard]] std::vector<Ranked>& losers() { return losers_; }

 private:
  struct Front {
    const QueueEntry* entry;
    const cluster::OrderedQueue* queue;
    std::int64_t gpus;
    Pool::Where where;
  };
  static constexpr std::size_t kNoRoom = ~std::size_t{0};
  // The index in left_ that a job of this size would take from, or kNoRoom.
  [[nodiscard]] std::size_t room_for(Pool::Where where, std::int64_t gpus) const;
  [[nodiscard]] std::int64_t& left_of(std::uint32_t job);
  bool drop_too_wide();
  void take_waiting(std::size_t i);

  const State* state_ = nullptr;
  std::vector<std::int64_t> left_;  // by class of the pool; one for all where the group has one kind
  bool kinds_ = false;
  std::int64_t widest_ = 0;  // GPUs of the widest of fronts_
  std::vector<Front> fronts_;
  std::vector<Ranked> chosen_;
  std::vector<Ranked> losers_;
};

}  // namespace comity::sched
