// SPDX-License-Identifier: Apache-2.0
// Walks the eligible jobs of a group in the policy's order, one shape list at a time: the next job is the least of the
// fronts of the lists. A shape that does not fit is dropped for the rest of the pass (free GPUs only shrink while jobs
// start), so a pass costs O(jobs started x shapes), whatever the length of the queue.
#pragma once

#include <vector>

#include "sched/policy.h"

namespace comity::sched {

class Walk {
 public:
  void begin(const State& state, std::uint32_t group) {
    state_ = &state;
    shapes_ = state.active(group);
  }
  // The least front of the shapes that are left, or nullptr.
  const QueueEntry* next() {
    const QueueEntry* best = nullptr;
    for (std::size_t i = 0; i < shapes_.size();) {
      const cluster::OrderedQueue& queue = state_->shape(shapes_[i]).queue;
      if (queue.empty()) {
        drop(i);
        continue;
      }
      if (best == nullptr || before(queue.front(), *best)) {
        best = &queue.front();
        at_ = i;
      }
      ++i;
    }
    return best;
  }
  [[nodiscard]] ShapeId shape() const { return shapes_[at_]; }  // of what next() returned
  void skip_shape() { drop(at_); }
  // Keeps only the shapes for which `keep` says so.
  template <class Keep>
  void filter(Keep keep) {
    for (std::size_t i = 0; i < shapes_.size();) {
      if (keep(shapes_[i])) {
        ++i;
      } else {
        drop(i);
      }
    }
  }
  [[nodiscard]] const std::vector<ShapeId>& shapes() const { return shapes_; }

 private:
  void drop(std::size_t i) {
    shapes_[i] = shapes_.back();
    shapes_.pop_back();
  }

  const State* state_ = nullptr;
  std::vector<ShapeId> shapes_;
  std::size_t at_ = 0;
};

}  // namespace comity::sched
