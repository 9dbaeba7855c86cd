// SPDX-License-Identifier: Apache-2.0
// Running jobs that others may join on their GPUs, in the order in which they started, for each kind: what a job must
// have in common with whom it joins (shape, place, reservations that bar). find() is O(partners of the kind).
#pragma once

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "sched/packing.h"

namespace comity::sched {

class Partners {
 public:
  using Kind = std::uint32_t;
  struct Partner {
    std::uint64_t start = 0;  // order
    std::uint64_t since = 0;  // when it became free to be joined: rises with each add()
    std::uint32_t job = 0;
    Packing::Class pack = Packing::kAlone;
    std::int64_t rank = 0;  // the policy's priority
  };

  // Shapes that differ in their owners only are of one kind. O(1) for a shape seen before.
  [[nodiscard]] Kind kind_of(const State& state, ShapeId shape) {
    if (shape >= kind_of_shape_.size()) kind_of_shape_.resize(shape + 1, kUnknown);
    Kind& kind = kind_of_shape_[shape];
    if (kind != kUnknown) return kind;
    const ShapeClass& s = state.shape(shape);
    const auto next = static_cast<Kind>(lists_.size());
    kind = kinds_.try_emplace({s.shape, s.where, s.barred}, next).first->second;
    if (kind == next) lists_.emplace_back();
    return kind;
  }
  void add(Kind kind, Partner partner) {
    partner.since = ++added_;
    std::vector<Partner>& list = lists_[kind];
    const auto at = std::upper_bound(list.begin(), list.end(), partner.start,
                                     [](std::uint64_t start, const Partner& p) { return start < p.start; });
    list.insert(at, partner);
  }
  void remove(Kind kind, std::uint64_t start) {
    std::erase_if(lists_[kind], [&](const Partner& p) { return p.start == start; });
  }
  // The first for which `suits` says so, among those added after `since`; nullptr if there is none. Valid until a
  // change.
  template <class Suits>
  [[nodiscard]] const Partner* find(Kind kind, std::uint64_t since, Suits suits) const {
    if (since == added_) return nullptr;
    for (const Partner& p : lists_[kind]) {
      if (p.since > since && suits(p)) return &p;
    }
    return nullptr;
  }
  // What to give find() as `since` later on, to see only those that are added from now on.
  [[nodiscard]] std::uint64_t added() const { return added_; }

 private:
  static constexpr Kind kUnknown = 0xffffffffU;
  std::vector<Kind> kind_of_shape_;
  std::map<std::tuple<cluster::Shape, Pool::Where, cluster::Reservations::Mask>, Kind> kinds_;
  std::vector<std::vector<Partner>> lists_;
  std::uint64_t added_ = 0;
};

}  // namespace comity::sched
