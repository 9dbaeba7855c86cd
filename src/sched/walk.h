// SPDX-License-Identifier: Apache-2.0
// Walks the eligible jobs of a group in the policy's order, one shape list at a time: the next job is the least of the
// fronts of the lists. A shape that does not fit is dropped for the rest of the pass (free GPUs only shrink while jobs
// start), so a pass costs O(jobs started x shapes), whatever the length of the queue.
#pragma once

#include <vector>

#include "sched/policy.h"

namespace comity::sched {

// The index of the front that comes first in order; fronts.size() is 0: 0. A front has an `entry` that is not null.
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

class Walk {
 public:
  void begin(const State& state, std::uint32_t group) {
    state_ = &state;
    shapes_.assign(state.active(group).begin(), state.active(group).end());
  }
  // The least front of the shapes that are left, or nullptr.
  const QueueEntry* next() {
    const QueueEntry* best = nullptr;
    for (std::size_t i = 0; i < shapes_.size();) {
      const QueueEntry& front = state_->front(shapes_[i]);
      if (front.job == JobId::kInvalid) {
        drop_at(shapes_, i);
        continue;
      }
      if (best == nullptr || before(front, *best)) {
        best = &front;
        at_ = i;
      }
      ++i;
    }
    return best;
  }
  [[nodiscard]] ShapeId shape() const { return shapes_[at_]; }  // of what next() returned
  void skip_shape() { drop_at(shapes_, at_); }
  // Keeps only the shapes for which `keep` says so.
  template <class Keep>
  void filter(Keep keep) {
    for (std::size_t i = 0; i < shapes_.size();) {
      if (keep(shapes_[i])) {
        ++i;
      } else {
        drop_at(shapes_, i);
      }
    }
  }
  [[nodiscard]] const std::vector<ShapeId>& shapes() const { return shapes_; }

 private:
  const State* state_ = nullptr;
  std::vector<ShapeId> shapes_;
  std::size_t at_ = 0;
};

}  // namespace comity::sched
