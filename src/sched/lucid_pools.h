// SPDX-License-Identifier: Apache-2.0
// A cluster of which some nodes are set aside for short runs that measure new jobs: two views of one pool, each of
// which hides the nodes of the other. The last nodes of each resource group are set aside, as many as asked for; a
// group that has no more than that many keeps them all. Small pools are left alone.
//   kMeasure  the nodes set aside
//   kMain     the others. A shape that they could not hold even if they were empty may use all nodes, and so may jobs
//             that a reservation bars from some nodes, since the views know nothing of reservations.
// Both views are told what is taken and given back; under Placement::kCount, which has no nodes, each view is told only
// of its own jobs. Memory and cost of the set-up: as the pool, twice.
#pragma once

#include <optional>
#include <vector>

#include "sched/policy.h"

namespace comity::sched {

class LucidPools {
 public:
  enum class View : std::uint8_t { kMain, kMeasure };
  // GPUs that are taken, and in which views.
  struct Held {
    Allocation where;
    bool main = false;
    bool measure = false;
  };

  LucidPools(const State& state, std::uint32_t nodes_a_group);

  // Takes over which nodes are up; cheap where nothing but ends and this policy's own decisions happened since the last
  // call of end_pass(). O(nodes) else.
  void begin_pass(const State& state);
  void end_pass(const State& state) { changes_ = state.changes(); }

  [[nodiscard]] bool has_measure(std::uint32_t group) const { return measured_[group]; }
  // Whether a shape could be held by nodes of the view that are up, were they empty.
  [[nodiscard]] bool could_fit(const ShapeClass& shape, View view) const;
  [[nodiscard]] bool fits(const State& state, const ShapeClass& shape) const;  // in kMain, as it is
  // Where the placement rule puts it, or false. Nothing is taken.
  [[nodiscard]] bool place(const State& state, const ShapeClass& shape, View view, Allocation& out) const;
  // `ghost`: known to no state and of one view only.
  [[nodiscard]] Held take(const Allocation& where, View view, bool ghost);
  void give_back(const Held& held);

 private:
  [[nodiscard]] const Pool& main_for(const State& state, const ShapeClass& shape) const;

  Pool main_;
  Pool measure_;
  std::vector<bool> measured_;  // by group
  std::uint64_t changes_ = 0;
};

}  // namespace comity::sched
