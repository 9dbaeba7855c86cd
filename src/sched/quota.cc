// SPDX-License-Identifier: Apache-2.0
#include "sched/quota.h"

namespace comity::sched {
namespace {

bool is_after(const Ranked& a, const QueueEntry& b) {
  if (a.rank != b.rank) return a.rank > b.rank;
  return a.tie != b.eligible ? a.tie > b.eligible : a.job > b.job;
}

}  // namespace

bool Quota::choose(const std::vector<Ranked>& running) {
  drop_too_wide();
  std::size_t copied = 0;  // of `running`: in chosen_ or losers_
  const auto copy_until = [&](std::size_t i) {
    chosen_.insert(chosen_.end(), running.begin() + static_cast<std::ptrdiff_t>(copied),
                   running.begin() + static_cast<std::ptrdiff_t>(i));
    copied = i;
  };
  std::size_t best = least_front(fronts_);
  const QueueEntry* front = best < fronts_.size() ? fronts_[best].entry : nullptr;
  const auto renew = [&] {
    best = least_front(fronts_);
    front = best < fronts_.size() ? fronts_[best].entry : nullptr;
  };
  for (std::size_t i = 0; i < running.size();) {
    if (front != nullptr && is_after(running[i], *front)) {
      copy_until(i);
      take_waiting(best);
      renew();
      continue;
    }
    const auto gpus = static_cast<std::int64_t>(running[i].gpus);
    if (gpus <= left_) {
      left_ -= gpus;
      if (widest_ > left_ && drop_too_wide()) renew();
    } else {
      copy_until(i);
      losers_.push_back(running[i]);
      ++copied;
    }
    ++i;
  }
  if (front == nullptr && copied == 0 && chosen_.empty()) return false;
  copy_until(running.size());
  for (; front != nullptr; renew()) take_waiting(best);
  return true;
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
                     .fresh = true,
                     .step = 0});
  left_ -= front.gpus;
  front.entry = front.queue->after(*front.entry);
  if (front.entry == nullptr) drop_at(fronts_, i);
  drop_too_wide();
}

}  // namespace comity::sched
