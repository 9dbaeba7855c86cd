// SPDX-License-Identifier: Apache-2.0
#include "sched/waiting_order.h"

#include "base/check.h"

namespace comity::sched {

void WaitingOrder::insert(std::uint32_t job, ShapeId shape, Key key) {
  const auto [it, made] = list_of_.try_emplace(shape, static_cast<std::uint32_t>(lists_.size()));
  if (made) {
    lists_.push_back(std::make_unique<List>());
    lists_.back()->shape = shape;
  }
  COMITY_CHECK(at_.try_emplace(job, Place{key, it->second}).second);
  lists_[it->second]->queue.insert(entry(job, key));
}

bool WaitingOrder::erase(std::uint32_t job) {
  const auto it = at_.find(job);
  if (it == at_.end()) return false;
  lists_[it->second.list]->queue.erase(entry(job, it->second.key));
  at_.erase(it);
  return true;
}

WaitingOrder::Key WaitingOrder::key(std::uint32_t job) const {
  const auto it = at_.find(job);
  COMITY_CHECK(it != at_.end());
  return it->second.key;
}

ShapeId WaitingOrder::shape(std::uint32_t job) const {
  const auto it = at_.find(job);
  COMITY_CHECK(it != at_.end());
  return lists_[it->second.list]->shape;
}

std::vector<std::uint32_t> WaitingOrder::jobs() const {
  std::vector<QueueEntry> all;
  all.reserve(at_.size());
  for (const auto& [job, place] : at_) all.push_back(entry(job, place.key));
  std::sort(all.begin(), all.end(), [](const QueueEntry& a, const QueueEntry& b) { return before(a, b); });
  std::vector<std::uint32_t> list;
  list.reserve(all.size());
  for (const QueueEntry& e : all) list.push_back(e.job);
  return list;
}

void WaitingOrder::offer(const State& state, Quota& quota) const {
  for (const auto& list : lists_) {
    const ShapeClass& s = state.shape(list->shape);
    if (s.eligible()) quota.offer(list->queue, s);
  }
}

}  // namespace comity::sched
