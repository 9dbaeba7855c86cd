// SPDX-License-Identifier: Apache-2.0
// Walks the eligible jobs of a group in the policy's order, one shape list at a time: the next job is the least of the
// fronts of the lists. A shape that does not fit is dropped for the rest of the pass (free GPUs only shrink while jobs
// start), so a pass costs O(shapes + jobs started x log shapes), whatever the length of the queue.
#pragma once

#include <algorithm>
#include <vector>

#include "sched/policy.h"

namespace comity::sched {

// Fronts of lists with the first in order on top. A front has a QueueEntry `entry`: a copy, since a start may take
// other jobs out of their lists.
template <class Front>
class FrontHeap {
 public:
  void clear() { heap_.clear(); }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  void push(const Front& front) {
    heap_.push_back(front);
    std::push_heap(heap_.begin(), heap_.end(), after);
  }
  Front pop() {
    std::pop_heap(heap_.begin(), heap_.end(), after);
    const Front front = heap_.back();
    heap_.pop_back();
    return front;
  }

 private:
  static bool after(const Front& a, const Front& b) { return before(b.entry, a.entry); }
  std::vector<Front> heap_;
};

// The index of the front that comes first in order; no fronts: 0. A front has an `entry` that is not null.
template <class Front>
[[nodiscard]] std::size_t least_front(const std::vector<Front>& fronts) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < fronts.size(); ++i) {
    if (before(*fronts[i].entry, *fronts[best].entry)) best = i;
  }
  return best;
}
// Takes one out; the order of the others is not kept.
template <class T>
void drop_at(std::vector<T>& list, std::size_t i) {
  list[i] = list.back();
  list.pop_back();
}

// The eligible job of a group that comes first in order, or nullptr; `shape` becomes its shape. O(shapes), without the
// heap of a Walk: for policies that look at one job only. Valid until a job of that shape starts.
[[nodiscard]] inline const QueueEntry* first_in_line(const State& state, std::uint32_t group, ShapeId& shape) {
  const QueueEntry* best = nullptr;
  for (const ShapeId id : state.active(group)) {
    const QueueEntry& front = state.front(id);
    if (best != nullptr && !before(front, *best)) continue;
    best = &front;
    shape = id;
  }
  return best;
}

class Walk {
 public:
  void begin(const State& state, std::uint32_t group) {
    begin(state, group, [](ShapeId) { return true; });
  }
  // Only the shapes for which `keep` says so.
  template <class Keep>
  void begin(const State& state, std::uint32_t group, Keep keep) {
    state_ = &state;
    heap_.clear();
    for (const ShapeId id : state.active(group)) {
      if (keep(id)) heap_.push_back(item(id));
    }
    std::make_heap(heap_.begin(), heap_.end(), after);
  }
  // The least front of the shapes that are left, or nullptr. Valid until a job of that shape starts.
  const QueueEntry* next() {
    while (!heap_.empty()) {
      const ShapeId id = heap_.front().shape;
      const QueueEntry& front = state_->front(id);
      if (front.job == heap_.front().job && state_->shape(id).eligible()) return &front;
      skip_shape();  // its first job started, or a start brought its owner to a limit
      if (front.job == JobId::kInvalid || !state_->shape(id).eligible()) continue;
      heap_.push_back(item(id));
      std::push_heap(heap_.begin(), heap_.end(), after);
    }
    return nullptr;
  }
  [[nodiscard]] ShapeId shape() const { return heap_.front().shape; }  // of what next() returned
  void skip_shape() {
    std::pop_heap(heap_.begin(), heap_.end(), after);
    heap_.pop_back();
  }

 private:
  struct Item {
    std::int64_t rank;
    Time eligible;
    std::uint32_t job;
    ShapeId shape;
  };
  [[nodiscard]] Item item(ShapeId id) const {
    const QueueEntry& front = state_->front(id);
    return {front.rank, front.eligible, front.job, id};
  }
  static bool after(const Item& a, const Item& b) {
    if (a.rank != b.rank) return a.rank > b.rank;
    return a.eligible != b.eligible ? a.eligible > b.eligible : a.job > b.job;
  }

  const State* state_ = nullptr;
  std::vector<Item> heap_;  // the first in order on top
};

}  // namespace comity::sched
