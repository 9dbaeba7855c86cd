// SPDX-License-Identifier: Apache-2.0
#include "sched/quota.h"

namespace comity::sched {
namespace {

bool is_after(const Ranked& a, const QueueEntry& b) {
  if (a.rank != b.rank) return a.rank > b.rank;
  return a.tie != b.eligible ? a.tie > b.eligible : a.job > b.job;
}

}  // namespace

void Quota::choose(const std::vector<Ranked>& running) {
  drop_too_wide();
  std::size_t best = least_front(fronts_);
  for (std::size_t i = 0; i < running.size();) {
    if (best < fronts_.size() && is_after(running[i], *fronts_[best].entry)) {
      take_waiting(best);
      best = least_front(fronts_);
      continue;
    }
    const auto gpus = static_cast<std::int64_t>(running[i].gpus);
    if (gpus <= left_) {
      chosen_.push_back(running[i]);
      left_ -= gpus;
      if (widest_ > left_ && drop_too_wide()) best = least_front(fronts_);
    } else {
      losers_.push_back(running[i]);
    }
    ++i;
  }
  for (; best < fronts_.size(); best = least_front(fronts_)) take_waiting(best);
}

bool Quota::drop_too_wide() {
  bool dropped = false;
  widest_ = 0;
  for (std::size_t i = 0; i < fronts_.size();) {
    if (fronts_[i].gpus <= left_) {
      widest_ = std::max(widest_, fronts_[i].gpus);
      ++i;
      continue;
    }
    drop_at(fronts_, i);
    dropped = true;
  }
  return dropped;
}

void Quota::take_waiting(std::size_t i) {
  Front& front = fronts_[i];
  chosen_.push_back({.rank = front.entry->rank,
                     .tie = front.entry->eligible,
                     .mark = 0,
                     .next = 0,
                     .job = front.entry->job,
                     .gpus = static_cast<std::uint32_t>(front.gpus),
                     .fresh = true});
  left_ -= front.gpus;
  front.entry = front.queue->after(*front.entry);
  if (front.entry == nullptr) drop_at(fronts_, i);
  drop_too_wide();
}

}  // namespace comity::sched
