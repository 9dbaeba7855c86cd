// SPDX-License-Identifier: Apache-2.0
#include "sched/quota.h"

#include <algorithm>

namespace comity::sched {
namespace {

bool is_after(const Ranked& a, const QueueEntry& b) {
  if (a.rank != b.rank) return a.rank > b.rank;
  return a.tie != b.eligible ? a.tie > b.eligible : a.job > b.job;
}

}  // namespace

void Quota::begin(const State& state, std::uint32_t group) {
  chosen_.clear();
  losers_.clear();
  fronts_.clear();
  state_ = &state;
  const Pool& pool = state.pool();
  const Pool::Where all{.group = group, .type = Pool::kAnyType};
  left_.assign(pool.classes(), 0);
  std::size_t kinds = 0;
  for (std::uint32_t c = 0; c < left_.size(); ++c) {
    if (!pool.allows(all, c)) continue;
    left_[c] = pool.class_up_gpus(c);
    ++kinds;
  }
  kinds_ = kinds > 1;
  if (!kinds_) left_.assign(1, pool.up_gpus(all));
}

std::size_t Quota::room_for(Pool::Where where, std::int64_t gpus) const {
  if (!kinds_) return gpus <= left_[0] ? 0 : kNoRoom;
  std::size_t best = kNoRoom;
  for (std::uint32_t c = 0; c < left_.size(); ++c) {
    if (left_[c] < gpus || !state_->pool().allows(where, c)) continue;
    if (best == kNoRoom || left_[c] < left_[best]) best = c;
  }
  return best;
}

std::int64_t& Quota::left_of(std::uint32_t job) {
  return left_[kinds_ ? state_->running()[state_->job(JobId(job)).slot].allocation.node_class : 0];
}

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
    std::int64_t& left = left_of(running[i].job);
    if (gpus <= left) {
      left -= gpus;
      if ((kinds_ || widest_ > left) && drop_too_wide()) renew();
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
    if (room_for(fronts_[i].where, fronts_[i].gpus) != kNoRoom) {
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
  left_[room_for(front.where, front.gpus)] -= front.gpus;
  front.entry = front.queue->after(*front.entry);
  if (front.entry == nullptr) drop_at(fronts_, i);
  drop_too_wide();
}

}  // namespace comity::sched
