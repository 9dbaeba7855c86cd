// SPDX-License-Identifier: Apache-2.0
#include "sched/free_profile.h"

#include <algorithm>

#include "base/check.h"

namespace comity::sched {

void FreeProfile::Block::measure() {
  const auto [least, most] = std::minmax_element(free.begin(), free.end());
  low = *least;
  high = *most;
}

void FreeProfile::Block::settle() {
  if (pending == 0) return;
  for (std::int64_t& f : free) f += pending;
  low += pending;
  high += pending;
  pending = 0;
}

void FreeProfile::reset(Time now, std::int64_t free) {
  blocks_.resize(1);
  blocks_[0].at.assign(1, now);
  blocks_[0].free.assign(1, free);
  blocks_[0].pending = 0;
  blocks_[0].measure();
}

void FreeProfile::assign(const std::vector<std::pair<Time, std::int64_t>>& steps) {
  constexpr std::size_t kFill = kBlock / 2;
  blocks_.resize((steps.size() + kFill - 1) / kFill);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    Block& b = blocks_[i];
    b.at.clear();
    b.free.clear();
    b.pending = 0;
    for (std::size_t k = i * kFill; k < std::min(steps.size(), (i + 1) * kFill); ++k) {
      b.at.push_back(steps[k].first);
      b.free.push_back(steps[k].second);
    }
    b.measure();
  }
}

std::size_t FreeProfile::block_of(Time t) const {
  const auto it =
      std::upper_bound(blocks_.begin(), blocks_.end(), t, [](Time x, const Block& b) { return x < b.at.front(); });
  return it == blocks_.begin() ? 0 : static_cast<std::size_t>(it - blocks_.begin()) - 1;
}

std::size_t FreeProfile::step_of(const Block& b, Time t) {
  const auto it = std::upper_bound(b.at.begin(), b.at.end(), t);
  return it == b.at.begin() ? 0 : static_cast<std::size_t>(it - b.at.begin()) - 1;
}

void FreeProfile::advance(Time now) {
  const std::size_t block = block_of(now);
  blocks_.erase(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(block));
  Block& b = blocks_.front();
  const std::size_t step = step_of(b, now);
  if (step > 0) {
    b.at.erase(b.at.begin(), b.at.begin() + static_cast<std::ptrdiff_t>(step));
    b.free.erase(b.free.begin(), b.free.begin() + static_cast<std::ptrdiff_t>(step));
  }
  if (b.at.front() < now) b.at.front() = now;
  if (step > 0) {
    b.settle();
    b.measure();
  }
}

void FreeProfile::cut(Time t) {
  std::size_t i = block_of(t);
  std::size_t step = step_of(blocks_[i], t);
  if (blocks_[i].at[step] == t) return;
  COMITY_CHECK(blocks_[i].at[step] < t);
  if (blocks_[i].at.size() == kBlock) {
    Block right;
    Block& left = blocks_[i];
    left.settle();
    right.at.assign(left.at.begin() + kBlock / 2, left.at.end());
    right.free.assign(left.free.begin() + kBlock / 2, left.free.end());
    left.at.resize(kBlock / 2);
    left.free.resize(kBlock / 2);
    left.measure();
    right.measure();
    blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(i) + 1, std::move(right));
    i = block_of(t);
    step = step_of(blocks_[i], t);
  }
  Block& b = blocks_[i];
  const std::int64_t value = b.free[step];
  b.at.insert(b.at.begin() + static_cast<std::ptrdiff_t>(step) + 1, t);
  b.free.insert(b.free.begin() + static_cast<std::ptrdiff_t>(step) + 1, value);
}

void FreeProfile::add(Time from, Time to, std::int64_t gpus) {
  if (from >= to) return;
  cut(from);
  if (to != kNever) cut(to);
  std::size_t i = block_of(from);
  for (; i < blocks_.size() && (to == kNever || blocks_[i].at.front() < to); ++i) {
    Block& b = blocks_[i];
    const bool whole =
        b.at.front() >= from && (to == kNever || (i + 1 < blocks_.size() && blocks_[i + 1].at.front() <= to));
    if (whole) {
      b.pending += gpus;
      continue;
    }
    b.settle();
    for (std::size_t k = 0; k < b.at.size(); ++k) {
      if (b.at[k] >= from && (to == kNever || b.at[k] < to)) b.free[k] += gpus;
    }
    b.measure();
  }
}

Time FreeProfile::earliest(Time from, std::int64_t gpus, Time length) const {
  std::size_t i = block_of(from);
  Time start = kNever;  // begin of the stretch that is free enough up to here
  for (bool first = true; i < blocks_.size(); ++i, first = false) {
    const Block& b = blocks_[i];
    const std::int64_t need = gpus - b.pending;
    if (start != kNever && b.at.front() - start >= length) return start;
    if (b.high < need) {
      start = kNever;
      continue;
    }
    if (b.low >= need) {
      if (start == kNever) start = std::max(b.at.front(), from);
      continue;
    }
    for (std::size_t k = first ? step_of(b, from) : 0; k < b.at.size(); ++k) {
      if (start != kNever && b.at[k] - start >= length) return start;
      if (b.free[k] < need) {
        start = kNever;
      } else if (start == kNever) {
        start = std::max(b.at[k], from);
      }
    }
  }
  return start;
}

bool FreeProfile::holds(Time from, std::int64_t gpus, Time length) const {
  std::size_t i = block_of(from);
  for (bool first = true; i < blocks_.size(); ++i, first = false) {
    const Block& b = blocks_[i];
    const std::int64_t need = gpus - b.pending;
    if (!first && b.at.front() - from >= length) return true;
    if (b.high < need) return false;
    if (b.low >= need) continue;
    for (std::size_t k = first ? step_of(b, from) : 0; k < b.at.size(); ++k) {
      if (b.at[k] - from >= length) return true;
      if (b.free[k] < need) return false;
    }
  }
  return true;
}

std::int64_t FreeProfile::free_at(Time t) const {
  const Block& b = blocks_[block_of(t)];
  return b.free[step_of(b, t)] + b.pending;
}

Time FreeProfile::next_step(Time t) const {
  const std::size_t i = block_of(t);
  const std::size_t step = step_of(blocks_[i], t);
  if (blocks_[i].at[step] > t) return blocks_[i].at[step];
  if (step + 1 < blocks_[i].at.size()) return blocks_[i].at[step + 1];
  return i + 1 < blocks_.size() ? blocks_[i + 1].at.front() : kNever;
}

std::size_t FreeProfile::steps() const {
  std::size_t n = 0;
  for (const Block& b : blocks_) n += b.at.size();
  return n;
}

}  // namespace comity::sched
