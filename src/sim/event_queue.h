// SPDX-License-Identifier: Apache-2.0
// The pending events of a discrete simulation, earliest first; equal times leave in the order they were pushed.
//
// A binary heap of 16-byte entries (time, then sequence number and slot in one word), so that time and sequence
// compare as one 128-bit number. A pop sends the hole at the root down to a leaf along the lesser children, without a
// branch to mispredict, and lets the last entry rise from there; in a large heap the lines three levels further down
// are fetched meanwhile. (Measured against 4-ary and 8-ary heaps: the wider nodes lose more to their longer chains of
// comparisons than they save in depth.) Payloads lie in slots beside the heap, so that sifting moves 16 bytes whatever
// the payload. cancel() marks the slot and leaves its entry in the heap; the entry goes when it comes to the top, or
// when more than half of the heap is cancelled.
//
// push, pop: O(log n); cancel: O(log n) amortised; top_time, size: O(1). At most 2^26 events at once. Sequence numbers
// are given out anew, in O(n log n), once in 2^38 pushes. Not thread-safe; deterministic.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <vector>

#include "base/check.h"
#include "base/units.h"

namespace comity::sim {

// Names one pushed event for cancel(); stays harmless after that event has left (its generation no longer matches).
struct EventHandle {
  std::uint32_t slot = 0xffffffffU;
  std::uint32_t generation = 0;
  friend bool operator==(EventHandle, EventHandle) = default;
};

template <class Payload, unsigned kSequenceBits = 38>
class EventQueue {
  static_assert(std::is_trivially_copyable_v<Payload> && sizeof(Payload) <= 64);
  static_assert(kSequenceBits >= 4 && kSequenceBits <= 38);

 public:
  using Handle = EventHandle;
  struct Event {
    Time at;
    Payload payload;
  };

  void reserve(std::size_t events) {
    heap_.reserve(events);
    slots_.reserve(events);
  }

  // Any time is allowed, also one before the last popped.
  Handle push(Time at, Payload payload) {
    if (next_sequence_ >> kSequenceBits != 0) [[unlikely]] {
      renumber();
    }
    const std::uint32_t slot = take_slot();
    slots_[slot].payload = payload;
    const Entry entry = make_entry(at, next_sequence_++, slot);
    heap_.push_back(entry);
    sift_up(heap_.size() - 1, entry);
    ++live_;
    return {slot, slots_[slot].generation};
  }

  // Takes a waiting event out; false when it has already been popped or cancelled (or never existed).
  bool cancel(Handle handle) {
    if (handle.slot >= slots_.size()) {
      return false;
    }
    Slot& slot = slots_[handle.slot];
    if (slot.state != kLive || slot.generation != handle.generation) {
      return false;
    }
    slot.state = kCancelled;
    ++slot.generation;
    --live_;
    if (heap_.size() - live_ > live_ + 64) {
      compact();
    } else {
      drop_cancelled_top();
    }
    return true;
  }

  [[nodiscard]] bool empty() const { return live_ == 0; }
  [[nodiscard]] std::size_t size() const { return live_; }  // without the cancelled ones

  // The time of the event that pop() would return, or kNever when empty.
  [[nodiscard]] Time top_time() const { return live_ == 0 ? kNever : time_of(heap_.front()); }

  // The earliest event, which leaves the queue. The queue must not be empty.
  Event pop() {
    COMITY_CHECK(live_ > 0);
    const Entry top = heap_.front();
    const std::uint32_t slot = slot_of(top);
    const Event event{time_of(top), slots_[slot].payload};
    ++slots_[slot].generation;
    free_slot(slot);
    remove_top();
    --live_;
    drop_cancelled_top();
    return event;
  }

  void clear() {
    while (!empty()) {
      pop();
    }
  }

 private:
  __extension__ using Entry = unsigned __int128;  // time (sign flipped) << 64 | sequence << 26 | slot
  static constexpr unsigned kSlotBits = 26;
  static constexpr std::size_t kFetchAhead = 65'536;  // entries: 1 MiB, about a core's second-level cache
  static constexpr std::uint32_t kLive = 0xffffffffU;
  static constexpr std::uint32_t kCancelled = 0xfffffffeU;
  static constexpr std::uint32_t kNone = 0xfffffffdU;
  struct Slot {
    Payload payload;
    std::uint32_t generation;
    std::uint32_t state;  // kLive, kCancelled, or the next free slot (kNone at the end)
  };

  static Entry make_entry(Time at, std::uint64_t sequence, std::uint32_t slot) {
    const std::uint64_t high = static_cast<std::uint64_t>(at) ^ (std::uint64_t{1} << 63);
    return (static_cast<Entry>(high) << 64) | (sequence << kSlotBits | slot);
  }
  static Time time_of(Entry e) {
    return static_cast<Time>(static_cast<std::uint64_t>(e >> 64) ^ (std::uint64_t{1} << 63));
  }
  static std::uint32_t slot_of(Entry e) {
    return static_cast<std::uint32_t>(e) & ((std::uint32_t{1} << kSlotBits) - 1);
  }

  std::uint32_t take_slot() {
    if (free_ == kNone) {
      COMITY_CHECK(slots_.size() >> kSlotBits == 0);
      slots_.push_back(Slot{Payload{}, 0, kLive});
      return static_cast<std::uint32_t>(slots_.size() - 1);
    }
    const std::uint32_t slot = free_;
    free_ = slots_[slot].state;
    slots_[slot].state = kLive;
    return slot;
  }
  void free_slot(std::uint32_t slot) {
    slots_[slot].state = free_;
    free_ = slot;
  }

  void sift_up(std::size_t hole, Entry entry) {
    Entry* const h = heap_.data();
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / 2;
      if (h[parent] <= entry) {
        break;
      }
      h[hole] = h[parent];
      hole = parent;
    }
    h[hole] = entry;
  }
  void sift_down_from_root(Entry entry) {
    Entry* const h = heap_.data();
    const std::size_t n = heap_.size();
    const bool large = n > kFetchAhead;
    std::size_t hole = 0;
    std::size_t child = 1;
    while (child + 1 < n) {
      if (large) {
        fetch(h, 8 * child + 7);  // the sixteen that lie three levels below this pair
      }
      const std::size_t least = child + static_cast<std::size_t>(h[child + 1] < h[child]);
      h[hole] = h[least];
      hole = least;
      child = 2 * hole + 1;
    }
    if (child < n) {
      h[hole] = h[child];
      hole = child;
    }
    sift_up(hole, entry);
  }
  static void fetch(const Entry* h, std::size_t first) {  // may lie past the end: a hint, never read
    const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(h) + first * sizeof(Entry);
    for (std::uintptr_t line = 0; line < 4; ++line) {
      __builtin_prefetch(reinterpret_cast<const void*>(address + 64 * line));
    }
  }
  void remove_top() {
    const Entry last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) {
      sift_down_from_root(last);
    }
  }
  void drop_cancelled_top() {
    while (heap_.size() != live_ && slots_[slot_of(heap_.front())].state == kCancelled) {
      free_slot(slot_of(heap_.front()));
      remove_top();
    }
  }
  void compact() {
    std::erase_if(heap_, [this](Entry e) {
      const bool gone = slots_[slot_of(e)].state == kCancelled;
      if (gone) {
        free_slot(slot_of(e));
      }
      return gone;
    });
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  void renumber() {
    compact();
    std::sort(heap_.begin(), heap_.end());
    COMITY_CHECK(heap_.size() >> (kSequenceBits - 1) == 0);
    next_sequence_ = 0;
    for (Entry& e : heap_) {
      e = make_entry(time_of(e), next_sequence_++, slot_of(e));
    }
  }

  std::vector<Entry> heap_;
  std::vector<Slot> slots_;
  std::size_t live_ = 0;
  std::uint64_t next_sequence_ = 0;
  std::uint32_t free_ = kNone;
};

}  // namespace comity::sim
