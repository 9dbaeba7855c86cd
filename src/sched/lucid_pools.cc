// SPDX-License-Identifier: Apache-2.0
#include "sched/lucid_pools.h"

#include <algorithm>

namespace comity::sched {

LucidPools::LucidPools(const State& state, std::uint32_t nodes_a_group)
    : main_(state.pool()), measure_(state.pool()), measured_(state.groups(), false) {
  const Pool& pool = state.pool();
  std::vector<NodeId> aside;
  std::vector<NodeId> others;
  std::vector<std::uint32_t> nodes(state.groups(), 0);
  std::vector<std::uint32_t> group_of(pool.nodes(), 0);
  const auto ordinary = [&](std::uint32_t n) { return !pool.class_is_small(pool.class_of(NodeId(n))); };
  for (std::uint32_t n = 0; n < pool.nodes(); ++n) {
    const std::uint32_t c = pool.class_of(NodeId(n));
    while (!pool.allows({.group = group_of[n], .type = Pool::kAnyType}, c)) ++group_of[n];
    if (ordinary(n)) ++nodes[group_of[n]];
  }
  std::vector<std::uint32_t> left(state.groups(), 0);
  for (std::uint32_t g = 0; g < state.groups(); ++g) {
    measured_[g] = nodes_a_group > 0 && nodes[g] > nodes_a_group;
    left[g] = measured_[g] ? nodes_a_group : 0;
  }
  for (auto n = static_cast<std::uint32_t>(pool.nodes()); n-- > 0;) {
    const bool taken = ordinary(n) && left[group_of[n]] > 0;
    if (taken) --left[group_of[n]];
    (taken ? aside : others).emplace_back(n);
  }
  main_.hide(aside);
  measure_.hide(others);
  changes_ = state.changes();
}

void LucidPools::begin_pass(const State& state) {
  // Each run that ended is one change.
  if (state.changes() == changes_ + state.left().size()) return;
  for (std::uint32_t n = 0; n < state.pool().nodes(); ++n) {
    const bool up = state.pool().is_up(NodeId(n));
    main_.set_up(NodeId(n), up);
    measure_.set_up(NodeId(n), up);
  }
}

const Pool& LucidPools::main_for(const State& state, const ShapeClass& shape) const {
  if (shape.pool != 0) return state.pool_of(shape);
  return main_.could_fit(shape.shape, shape.where) ? main_ : state.pool();
}

bool LucidPools::could_fit(const ShapeClass& shape, View view) const {
  return (view == View::kMain ? main_ : measure_).could_fit(shape.shape, shape.where);
}

bool LucidPools::fits(const State& state, const ShapeClass& shape) const {
  return main_for(state, shape).fits(shape.shape, shape.where);
}

bool LucidPools::place(const State& state, const ShapeClass& shape, View view, Allocation& out) const {
  const Pool& pool = view == View::kMeasure ? measure_ : main_for(state, shape);
  if (!pool.place(shape.shape, shape.where, out)) return false;
  // The state may have less by count, a view less where a ghost runs.
  if (state.pool().rule() == cluster::Placement::kCount)
    return state.pool_of(shape).class_free(out.node_class) >= static_cast<std::int64_t>(out.gpus);
  return view == View::kMeasure || &pool == &main_ ||
         std::all_of(out.parts.begin(), out.parts.end(), [&](const cluster::Part& part) {
           return (measure_.free_mask(part.node) & part.gpus) == part.gpus;
         });
}

LucidPools::Held LucidPools::take(const Allocation& where, View view, bool ghost) {
  const bool nodes = !where.parts.empty() && !ghost;
  Held held{where, nodes || view == View::kMain, nodes || view == View::kMeasure};
  if (held.main) main_.allocate(held.where);
  if (held.measure) measure_.allocate(held.where);
  return held;
}

void LucidPools::give_back(const Held& held) {
  if (held.main) main_.release(held.where);
  if (held.measure) measure_.release(held.where);
}

}  // namespace comity::sched
