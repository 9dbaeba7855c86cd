// SPDX-License-Identifier: Apache-2.0
#include "cluster/ordered_queue.h"

#include <algorithm>

#include "base/check.h"

namespace comity::cluster {

std::size_t OrderedQueue::block_of(const QueueEntry& entry) const {
  std::size_t low = first_;
  std::size_t high = blocks_.size();
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    const Block& b = *blocks_[middle];
    if (before(b.at[b.end - 1], entry)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

std::uint32_t OrderedQueue::position(const Block& b, const QueueEntry& entry) {
  const auto* first = b.at.data() + b.begin;
  const auto* last = b.at.data() + b.end;
  const auto* it =
      std::lower_bound(first, last, entry, [](const QueueEntry& x, const QueueEntry& y) { return before(x, y); });
  return static_cast<std::uint32_t>(it - b.at.data());
}

Time OrderedQueue::least(Block& b) {
  if (b.stale) {
    b.least = kNever;
    for (std::uint32_t i = b.begin; i < b.end; ++i) b.least = std::min(b.least, b.at[i].estimate);
    b.stale = false;
  }
  return b.least;
}

std::unique_ptr<OrderedQueue::Block> OrderedQueue::fresh() {
  if (!spare_) return std::make_unique<Block>();
  std::unique_ptr<Block> block = std::move(spare_);
  block->begin = block->end = 0;
  block->least = kNever;
  block->stale = false;
  return block;
}

void OrderedQueue::drop(std::size_t block) {
  if (block == first_) {
    spare_ = std::move(blocks_[first_]);
    ++first_;
    if (first_ * 2 > blocks_.size() + 16) {
      blocks_.erase(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
  } else {
    spare_ = std::move(blocks_[block]);
    blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(block));
  }
  if (size_ == 0) {
    blocks_.clear();
    first_ = 0;
  }
}

void OrderedQueue::split(std::size_t block) {
  auto right = fresh();
  Block& b = *blocks_[block];
  const std::uint32_t middle = (b.begin + b.end) / 2;
  std::copy(b.at.begin() + middle, b.at.begin() + b.end, right->at.begin());
  right->end = b.end - middle;
  right->stale = true;
  b.end = middle;
  b.stale = true;
  blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(block) + 1, std::move(right));
}

void OrderedQueue::insert(const QueueEntry& entry) {
  const bool last = size_ == 0 || before(blocks_.back()->at[blocks_.back()->end - 1], entry);
  std::size_t i = last ? blocks_.size() : block_of(entry);
  if (last) {
    if (i == first_ || blocks_[i - 1]->end == kBlock) {
      blocks_.push_back(fresh());
    } else {
      --i;
    }
  }
  if (blocks_[i]->end - blocks_[i]->begin == kBlock) {
    split(i);
    const Block& left = *blocks_[i];
    if (before(left.at[left.end - 1], entry)) ++i;
  }
  Block& b = *blocks_[i];
  std::uint32_t p = last ? b.end : position(b, entry);
  if (b.end < kBlock) {
    std::copy_backward(b.at.begin() + p, b.at.begin() + b.end, b.at.begin() + b.end + 1);
    ++b.end;
  } else {
    std::copy(b.at.begin() + b.begin, b.at.begin() + p, b.at.begin() + b.begin - 1);
    --b.begin;
    --p;
  }
  b.at[p] = entry;
  b.least = std::min(b.least, entry.estimate);
  ++size_;
}

void OrderedQueue::erase(const QueueEntry& entry) {
  const bool first = size_ != 0 && front().job == entry.job;
  const std::size_t i = first ? first_ : block_of(entry);
  COMITY_CHECK(i < blocks_.size());
  Block& b = *blocks_[i];
  const std::uint32_t p = first ? b.begin : position(b, entry);
  COMITY_CHECK(p < b.end && b.at[p].job == entry.job);
  if (b.at[p].estimate <= b.least) b.stale = true;
  if (p == b.begin) {
    ++b.begin;
  } else {
    std::copy(b.at.begin() + p + 1, b.at.begin() + b.end, b.at.begin() + p);
    --b.end;
  }
  --size_;
  if (b.begin == b.end) drop(i);
}

const QueueEntry* OrderedQueue::after(const QueueEntry& entry) const {
  std::size_t i = block_of(entry);
  if (i == blocks_.size()) return nullptr;
  std::uint32_t p = position(*blocks_[i], entry);
  if (p < blocks_[i]->end && blocks_[i]->at[p].job == entry.job && !before(entry, blocks_[i]->at[p])) ++p;
  if (p == blocks_[i]->end) {
    ++i;
    if (i == blocks_.size()) return nullptr;
    p = blocks_[i]->begin;
  }
  return &blocks_[i]->at[p];
}

const QueueEntry* OrderedQueue::first_within(const QueueEntry* from, Time limit) const {
  if (size_ == 0) return nullptr;
  std::size_t i = from == nullptr ? first_ : block_of(*from);
  std::uint32_t p = i == blocks_.size() ? 0 : (from == nullptr ? blocks_[i]->begin : position(*blocks_[i], *from));
  for (; i < blocks_.size(); ++i) {
    Block& b = *blocks_[i];
    if (least(b) <= limit) {
      for (; p < b.end; ++p) {
        if (b.at[p].estimate <= limit) return &b.at[p];
      }
    }
    if (i + 1 < blocks_.size()) p = blocks_[i + 1]->begin;
  }
  return nullptr;
}

}  // namespace comity::cluster
