// SPDX-License-Identifier: Apache-2.0
// Waiting jobs of one shape in a total order, with the least estimate of each stretch kept beside it, so that
// backfilling asks "the first job, in order, that ends within x" without looking at every job. A list of sorted
// blocks of at most 128 entries: append and pop-front O(1), insert and erase O(128 + jobs/128), search by estimate
// O(128 + jobs/128), about 40 bytes a waiting job.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/units.h"

namespace comity::cluster {

struct QueueEntry {
  std::int64_t rank = 0;  // the policy's order, low first
  Time eligible = 0;      // then who became eligible first
  std::uint32_t job = 0;  // then the lower id
  std::uint32_t unused = 0;
  Time estimate = 0;  // not part of the order

  [[nodiscard]] friend bool before(const QueueEntry& a, const QueueEntry& b) {
    if (a.rank != b.rank) return a.rank < b.rank;
    if (a.eligible != b.eligible) return a.eligible < b.eligible;
    return a.job < b.job;
  }
};

class OrderedQueue {
 public:
  void insert(const QueueEntry& entry);
  void erase(const QueueEntry& entry);  // must be in the queue (checked)
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const QueueEntry& front() const { return blocks_[first_]->at[blocks_[first_]->begin]; }
  // The first entry after `entry` in order (which need not be in the queue itself), or nullptr.
  [[nodiscard]] const QueueEntry* after(const QueueEntry& entry) const;
  // A place in the queue for going through it in order; valid until the queue changes.
  struct Cursor {
    std::size_t block = 0;
    std::uint32_t at = 0;
  };
  [[nodiscard]] Cursor begin() const { return {first_, empty() ? 0 : blocks_[first_]->begin}; }
  [[nodiscard]] bool at_end(const Cursor& c) const { return c.block >= blocks_.size(); }
  [[nodiscard]] const QueueEntry& at(const Cursor& c) const { return blocks_[c.block]->at[c.at]; }
  void advance(Cursor& c) const {
    if (++c.at < blocks_[c.block]->end) return;
    if (++c.block < blocks_.size()) c.at = blocks_[c.block]->begin;
  }
  // The first entry at or after `from` (nullptr: from the front) with estimate <= limit, or nullptr.
  [[nodiscard]] const QueueEntry* first_within(const QueueEntry* from, Time limit) const;

 private:
  static constexpr std::uint32_t kBlock = 128;
  struct Block {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    Time least = kNever;  // least estimate; exact unless `stale`
    bool stale = false;
    std::array<QueueEntry, kBlock> at;
  };
  [[nodiscard]] std::size_t block_of(const QueueEntry& entry) const;  // first block whose last entry is not before it
  [[nodiscard]] static std::uint32_t position(const Block& b, const QueueEntry& entry);  // lower bound
  static Time least(Block& b);
  [[nodiscard]] std::unique_ptr<Block> fresh();
  void drop(std::size_t block);
  void split(std::size_t block);

  std::vector<std::unique_ptr<Block>> blocks_;  // [first_, end) are in use, each with at least one entry
  std::size_t first_ = 0;
  std::size_t size_ = 0;
  std::unique_ptr<Block> spare_;
};

}  // namespace comity::cluster
