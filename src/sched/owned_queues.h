// SPDX-License-Identifier: Apache-2.0
// Waiting jobs of each (shape, owner) in the order (rank, eligible time, id), where the owner is what a policy shares
// between: a tenant, a user, a class. Fed from State::queue_changes(), so a pass never scans the queue; a job that left
// the state's own list meanwhile (cancelled, held, over a limit) is dropped when it is met. The order within a list
// must not change while a job waits. O(1) amortised a job that comes or goes in order, O(lists) to find the fronts.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sched/policy.h"

namespace comity::sched {

class OwnedQueues {
 public:
  struct List {
    ShapeId shape = 0;
    std::uint32_t owner = 0;
    std::uint32_t position = 0;  // in its group's active lists
    cluster::OrderedQueue queue;
  };

  // Begins a pass: what entered is to be taken from the first again.
  void begin_pass() { taken_ = 0; }
  // Takes in the jobs that entered since the last call of this pass. `owner(id, job)` says whose each is,
  // `rank(id, job)` where it stands in its list.
  template <class OwnerOf, class RankOf>
  void refresh(const State& state, OwnerOf owner, RankOf rank) {
    const std::vector<JobId>& changed = state.queue_changes();
    for (; taken_ < changed.size(); ++taken_) {
      const JobId id = changed[taken_];
      if (state.ended(id) || !queued(state, id)) continue;
      const Job& job = state.job(id);
      add(state, job, owner(id, job), entry_of(id, job, rank(id, job)));
    }
  }
  // Takes in one job that waits, for policies that follow State::queue_changes() themselves.
  void enter(const State& state, JobId id, std::uint32_t owner, std::int64_t rank) {
    const Job& job = state.job(id);
    add(state, job, owner, entry_of(id, job, rank));
  }
  // Lists with jobs in them of one group; order is not meaningful. Call front() before use: it may turn out empty.
  [[nodiscard]] const std::vector<std::uint32_t>& active(std::uint32_t group) {
    if (group >= active_.size()) active_.resize(group + 1);
    return active_[group];
  }
  [[nodiscard]] const List& list(std::uint32_t index) const { return *lists_[index]; }
  // The first job that really waits, or nullptr. Drops what it meets in front of it, and the list when it is empty.
  const QueueEntry* front(const State& state, std::uint32_t index) {
    List& list = *lists_[index];
    while (!list.queue.empty()) {
      const QueueEntry& entry = list.queue.front();
      if (valid(state, list, entry)) return &entry;
      erase(state, index, entry);
    }
    return nullptr;
  }
  // The next one behind `entry` that really waits, or nullptr. Drops what it meets on the way.
  const QueueEntry* after(const State& state, std::uint32_t index, const QueueEntry& entry) {
    const QueueEntry from = entry;
    for (;;) {
      const QueueEntry* next = lists_[index]->queue.after(from);
      if (next == nullptr || valid(state, *lists_[index], *next)) return next;
      erase(state, index, *next);
    }
  }
  // The next one that really waits at or behind `at`, or nullptr; `at` comes to stand on it. No list may change
  // meanwhile.
  const QueueEntry* next_at(const State& state, std::uint32_t index, cluster::OrderedQueue::Cursor& at) const {
    const List& list = *lists_[index];
    for (; !list.queue.at_end(at); list.queue.advance(at)) {
      if (valid(state, list, list.queue.at(at))) return &list.queue.at(at);
    }
    return nullptr;
  }
  // Takes out a job that was started.
  void erase(const State& state, std::uint32_t index, QueueEntry entry) {
    List& list = *lists_[index];
    list.queue.erase(entry);
    if (!list.queue.empty()) return;
    std::vector<std::uint32_t>& active = active_[state.shape(list.shape).where.group];
    lists_[active.back()]->position = list.position;
    active[list.position] = active.back();
    active.pop_back();
  }

 private:
  static bool queued(const State& state, JobId id) { return state.in_line(id); }
  // An entry stands for a job that waits since that instant, and was not entered again since with more progress.
  static bool valid(const State& state, const List& list, const QueueEntry& entry) {
    const JobId id(entry.job);
    if (state.ended(id) || !queued(state, id)) return false;
    const Job& job = state.job(id);
    return job.shape == list.shape && job.eligible == entry.eligible && job.estimate - job.executed == entry.estimate;
  }
  static QueueEntry entry_of(JobId id, const Job& job, std::int64_t rank) {
    return {
        .rank = rank, .eligible = job.eligible, .job = id.value, .unused = 0, .estimate = job.estimate - job.executed};
  }
  void add(const State& state, const Job& job, std::uint32_t owner, const QueueEntry& entry) {
    const auto key = (std::uint64_t{job.shape} << 32) | owner;
    const auto [it, made] = index_.try_emplace(key, static_cast<std::uint32_t>(lists_.size()));
    if (made) {
      lists_.push_back(std::make_unique<List>());
      lists_.back()->shape = job.shape;
      lists_.back()->owner = owner;
    }
    List& list = *lists_[it->second];
    if (const QueueEntry* old = same(list.queue, entry)) list.queue.erase(QueueEntry(*old));
    if (list.queue.empty()) {
      const std::uint32_t group = state.shape(job.shape).where.group;
      if (group >= active_.size()) active_.resize(group + 1);
      // An erased last entry left the list among the active ones.
      if (list.position >= active_[group].size() || active_[group][list.position] != it->second) {
        list.position = static_cast<std::uint32_t>(active_[group].size());
        active_[group].push_back(it->second);
      }
    }
    list.queue.insert(entry);
  }
  // The entry in the same place of the order, or nullptr: a job that was limited or held and came back unchanged.
  static const QueueEntry* same(const cluster::OrderedQueue& queue, const QueueEntry& entry) {
    if (queue.empty()) return nullptr;
    QueueEntry just_before = entry;
    if (entry.job == 0) {
      const QueueEntry& first = queue.front();
      return !before(first, entry) && !before(entry, first) ? &first : nullptr;
    }
    --just_before.job;
    const QueueEntry* next = queue.after(just_before);
    return next != nullptr && !before(*next, entry) && !before(entry, *next) ? next : nullptr;
  }

  std::size_t taken_ = 0;
  std::vector<std::unique_ptr<List>> lists_;
  std::unordered_map<std::uint64_t, std::uint32_t> index_;  // (shape, owner) -> list
  std::vector<std::vector<std::uint32_t>> active_;          // by group
};

}  // namespace comity::sched
