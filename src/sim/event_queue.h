// SPDX-License-Identifier: Apache-2.0
// The pending events of a discrete simulation, earliest first; equal times leave in the order they were pushed.
//
// A ladder queue (Tang, Goh and Thng, "Ladder queue: an O(1) priority queue structure for large-scale discrete event
// simulation", ACM TOMACS 15(3), 2005) whose last step is a small binary heap instead of a sorted list, so that no
// order of times makes it slower than O(log n). What lies beyond the latest time that has been spread out waits
// unsorted in `far_`. When all else is used up, far_ is spread over the buckets of a rung; a bucket whose turn comes
// goes into the heap if it is small, else over a finer rung. The last bucket of a rung takes whatever comes before the
// rung above goes on. Entries have 16 bytes (time, then sequence number and slot in one word), so that time and
// sequence compare as one 128-bit number; the passes over them are sequential and most events are moved two or three
// times in all. Payloads lie in slots beside, fetched when their entry enters the run. cancel() marks the slot and
// leaves its entry where it is; the entry goes when it is next moved, or when more than half of all entries are
// cancelled.
//
// push, pop: O(1) amortised where times spread, at worst O(log n); cancel: O(1) amortised; top_time, size: O(1). At
// most 2^26 events at once. Sequence numbers are given out anew, in O(n log n), once in 2^38 pushes. Not thread-safe;
// deterministic.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
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
    far_.reserve(events);
    slots_.reserve(events);
  }

  // Any time is allowed, also one before the last popped.
  Handle push(Time at, Payload payload) {
    if (next_sequence_ >> kSequenceBits != 0) [[unlikely]] {
      renumber();
    }
    const std::uint32_t slot = take_slot();
    slots_[slot].payload = payload;
    ++live_;
    place(make_entry(at, next_sequence_++, slot));
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
    ++cancelled_;
    if (cancelled_ > live_ + 64) {
      take_all();
      spread_all();
    } else {
      settle_top();
    }
    return true;
  }

  [[nodiscard]] bool empty() const { return live_ == 0; }
  [[nodiscard]] std::size_t size() const { return live_; }  // without the cancelled ones

  // The time of the event that pop() would return, or kNever when empty.
  [[nodiscard]] Time top_time() const { return live_ == 0 ? kNever : time_of(top()); }

  // The earliest event, which leaves the queue. The queue must not be empty.
  Event pop() {
    COMITY_CHECK(live_ > 0);
    const Entry first = top();
    const std::uint32_t slot = slot_of(first);
    const Event event{time_of(first), slots_[slot].payload};
    ++slots_[slot].generation;
    free_slot(slot);
    remove_top();
    --live_;
    settle_top();
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
  static constexpr std::size_t kSmall = 24;  // entries that become a run without another rung
  static constexpr std::size_t kPerBucket = 8;
  static constexpr std::size_t kBuckets = 1024;  // of a rung, at most: their tails fit into a second-level cache
  static constexpr std::size_t kRungs = 8;
  static constexpr std::size_t kSpill = 256;  // entries in the heap that are worth a rung
  static constexpr std::size_t kChunk = 16;   // entries: four cache lines
  static constexpr std::uint32_t kLive = 0xffffffffU;
  static constexpr std::uint32_t kCancelled = 0xfffffffeU;
  static constexpr std::uint32_t kNone = 0xfffffffdU;
  struct Slot {
    Payload payload;
    std::uint32_t generation;
    std::uint32_t state;  // kLive, kCancelled, or the next free slot (kNone at the end)
  };

  struct Bucket {
    std::uint32_t chunk = 0;  // the newest of its chunks
    std::uint32_t count = 0;
  };
  struct Rung {
    std::uint64_t base = 0;  // key of the first bucket's begin
    std::uint64_t next = 0;  // key from which on entries still go into this rung
    unsigned shift = 0;      // a bucket spans 2^shift keys
    std::size_t buckets = 0;
    std::size_t turn = 0;  // the bucket at `next`
    std::array<std::uint64_t, kBuckets / 64> occupied{};
    std::vector<Bucket> bucket;
  };

  // Times as unsigned keys of the same order.
  static std::uint64_t key_of(Time at) { return static_cast<std::uint64_t>(at) ^ (std::uint64_t{1} << 63); }
  static std::uint64_t key_of(Entry e) { return static_cast<std::uint64_t>(e >> 64); }
  static Entry make_entry(Time at, std::uint64_t sequence, std::uint32_t slot) {
    return (static_cast<Entry>(key_of(at)) << 64) | (sequence << kSlotBits | slot);
  }
  static Time time_of(Entry e) { return static_cast<Time>(key_of(e) ^ (std::uint64_t{1} << 63)); }
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

  // --- where an entry waits ------------------------------------------------------------------------

  void place(Entry entry) {
    if (live_ == 1) {  // alone
      if (cancelled_ > 0 || depth_ > 0) {
        take_all();
      }
      far_after_ = key_of(entry);
      push_heap(entry);
    } else if (key_of(entry) > far_after_) {
      far_.push_back(entry);
    } else if (!place_on_rung(entry)) {
      push_heap(entry);
      if (heap_.size() >= spill_at_) {
        spill();
      }
    }
  }
  bool place_on_rung(Entry entry) {
    for (std::size_t i = 0; i < depth_; ++i) {
      if (key_of(entry) >= rungs_[i].next) {
        append(rungs_[i], entry);
        return true;
      }
    }
    return false;
  }
  void append(Rung& rung, Entry entry) {
    const std::uint64_t index = std::min((key_of(entry) - rung.base) >> rung.shift, rung.buckets - 1);
    Bucket& bucket = rung.bucket[index];
    const std::size_t used = bucket.count % kChunk;
    if (used == 0) {
      bucket.chunk = take_chunk(bucket.chunk);
      rung.occupied[index / 64] |= std::uint64_t{1} << (index % 64);
    }
    chunks_[bucket.chunk * kChunk + used] = entry;
    ++bucket.count;
  }
  std::uint32_t take_chunk(std::uint32_t below) {
    if (free_chunks_.empty()) {
      free_chunks_.push_back(static_cast<std::uint32_t>(below_.size()));
      below_.push_back(0);
      chunks_.resize(chunks_.size() + kChunk);
    }
    const std::uint32_t chunk = free_chunks_.back();
    free_chunks_.pop_back();
    below_[chunk] = below;
    return chunk;
  }

  // --- moving entries towards the run ---------------------------------------------------------------

  // Makes the top of the heap an event that waits, wherever the next one lies.
  void settle_top() {
    while (live_ > 0) {
      if (run_at_ == run_end_ && heap_.empty()) {
        refill();
      } else if (cancelled_ > 0 && is_cancelled(top())) {
        drop(top());
        remove_top();
      } else {
        return;
      }
    }
  }
  void refill() {
    if (depth_ == 0) {
      scratch_.swap(far_);
      spread(true);
      return;
    }
    Rung& rung = rungs_[depth_ - 1];
    const std::size_t index = next_occupied(rung);
    if (index == rung.buckets) {
      --depth_;
      return;
    }
    collect(rung, index);
    rung.turn = index + 1;
    rung.next = rung.base + (static_cast<std::uint64_t>(rung.turn) << rung.shift);
    if (rung.turn == rung.buckets) {
      --depth_;
    }
    spread(false);
  }
  static std::size_t next_occupied(const Rung& rung) {
    std::size_t word = rung.turn / 64;
    if (word >= rung.occupied.size()) {
      return rung.buckets;
    }
    std::uint64_t bits = rung.occupied[word] & (~std::uint64_t{0} << (rung.turn % 64));
    const std::size_t words = (rung.buckets + 63) / 64;
    while (bits == 0 && ++word < words) {
      bits = rung.occupied[word];
    }
    return bits == 0 ? rung.buckets : word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
  }
  // Adds the entries of a bucket to scratch_.
  void collect(Rung& rung, std::size_t index) {
    Bucket& bucket = rung.bucket[index];
    rung.occupied[index / 64] &= ~(std::uint64_t{1} << (index % 64));
    std::size_t at = scratch_.size();
    scratch_.resize(at + bucket.count);
    std::size_t used = (bucket.count - 1) % kChunk + 1;
    for (std::uint32_t chunk = bucket.chunk; at < scratch_.size(); chunk = below_[chunk], used = kChunk) {
      std::copy_n(&chunks_[chunk * kChunk], used, &scratch_[at]);
      at += used;
      free_chunks_.push_back(chunk);
    }
    bucket = {};
  }
  // Makes scratch_ the run, or the heap, or spreads it over a new rung; `all`: nothing waits beyond, so far_ begins
  // after the last of it.
  void spread(bool all) {
    drop_cancelled();
    const bool small = scratch_.size() <= kSmall;
    std::uint64_t least = ~std::uint64_t{0};
    std::uint64_t most = 0;
    if (all || !small) {
      for (const Entry e : scratch_) {
        least = std::min(least, key_of(e));
        most = std::max(most, key_of(e));
      }
    }
    if (all) {
      far_after_ = most;
    }
    if (small) {
      make_run();
    } else if (least == most || depth_ == kRungs) {
      heap_.swap(scratch_);
      std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
      spill_at_ = std::max(kSpill, 2 * heap_.size());
    } else {
      add_rung(least, most);
    }
    scratch_.clear();
  }
  // Sorts scratch_ by counting for each entry those before it: no branch depends on the order.
  void make_run() {
    run_at_ = 0;
    run_end_ = scratch_.size();
    for (std::size_t i = 0; i < run_end_; ++i) {
      const Entry e = scratch_[i];
      __builtin_prefetch(&slots_[slot_of(e)]);
      std::size_t before = 0;
      for (std::size_t k = 0; k < run_end_; ++k) {
        before += static_cast<std::size_t>(scratch_[k] < e);
      }
      run_[before] = e;
    }
  }
  void add_rung(std::uint64_t least, std::uint64_t most) {
    Rung& rung = rungs_[depth_++];
    const std::size_t wanted = std::min(kBuckets, std::bit_ceil(scratch_.size() / kPerBucket + 1));
    const int bits = static_cast<int>(std::bit_width(most - least)) - std::countr_zero(wanted);
    rung.base = rung.next = least;
    rung.shift = static_cast<unsigned>(std::max(0, bits));
    rung.buckets = static_cast<std::size_t>((most - least) >> rung.shift) + 1;
    rung.turn = 0;
    rung.occupied.fill(0);
    if (rung.bucket.size() < rung.buckets) {
      rung.bucket.resize(rung.buckets);
    }
    for (const Entry e : scratch_) {
      append(rung, e);
    }
  }
  // The heap has grown by pushes before everything on the rungs: it becomes a rung itself where its times differ.
  void spill() {
    spill_at_ = 2 * heap_.size();
    if (depth_ < kRungs) {
      scratch_.swap(heap_);
      scratch_.insert(scratch_.end(), &run_[run_at_], &run_[run_end_]);
      run_at_ = run_end_ = 0;
      spread(false);
      settle_top();
    }
  }

  // --- cancelled entries ------------------------------------------------------------------------------

  bool is_cancelled(Entry e) const { return slots_[slot_of(e)].state == kCancelled; }
  void drop(Entry e) {
    free_slot(slot_of(e));
    --cancelled_;
  }
  void drop_cancelled() {  // from scratch_
    if (cancelled_ == 0) {
      return;
    }
    std::erase_if(scratch_, [this](Entry e) {
      const bool gone = is_cancelled(e);
      if (gone) {
        drop(e);
      }
      return gone;
    });
  }
  // Moves every waiting entry into scratch_, in no order, and drops the cancelled ones.
  void take_all() {
    scratch_.swap(far_);
    scratch_.insert(scratch_.end(), heap_.begin(), heap_.end());
    heap_.clear();
    scratch_.insert(scratch_.end(), &run_[run_at_], &run_[run_end_]);
    run_at_ = run_end_ = 0;
    for (; depth_ > 0; --depth_) {
      Rung& rung = rungs_[depth_ - 1];
      for (std::size_t i = next_occupied(rung); i < rung.buckets; i = next_occupied(rung)) {
        collect(rung, i);
      }
    }
    drop_cancelled();
  }
  void renumber() {
    take_all();
    std::sort(scratch_.begin(), scratch_.end());
    COMITY_CHECK(scratch_.size() >> (kSequenceBits - 1) == 0);
    next_sequence_ = 0;
    for (Entry& e : scratch_) {
      e = make_entry(time_of(e), next_sequence_++, slot_of(e));
    }
    spread_all();
  }
  void spread_all() {  // after take_all()
    spread(true);
    settle_top();
  }

  // --- the run and the heap ------------------------------------------------------------------------------

  void push_heap(Entry entry) {
    heap_.push_back(entry);
    sift_up(heap_.size() - 1, entry);
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
    std::size_t hole = 0;
    std::size_t child = 1;
    while (child + 1 < n) {
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
  [[nodiscard]] bool run_is_first() const {
    return run_at_ != run_end_ && (heap_.empty() || run_[run_at_] < heap_.front());
  }
  [[nodiscard]] Entry top() const { return run_is_first() ? run_[run_at_] : heap_.front(); }
  void remove_top() {
    if (run_is_first()) {
      ++run_at_;
      return;
    }
    const Entry last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) {
      sift_down_from_root(last);
    }
  }

  // Everything before the rungs: a sorted run, and what was pushed since.
  std::array<Entry, kSmall> run_{};
  std::size_t run_at_ = 0;
  std::size_t run_end_ = 0;
  std::vector<Entry> heap_;
  std::size_t spill_at_ = kSpill;
  std::array<Rung, kRungs> rungs_;  // [0, depth_): each lies before the next turn of the one above
  std::size_t depth_ = 0;
  std::vector<Entry> far_;            // everything after far_after_
  std::uint64_t far_after_ = 0;       // key
  std::vector<Entry> scratch_;        // on its way from one place to the next, else empty
  std::vector<Entry> chunks_;         // kChunk entries each
  std::vector<std::uint32_t> below_;  // by chunk: the chunk of the same bucket that was filled before it
  std::vector<std::uint32_t> free_chunks_;
  std::vector<Slot> slots_;
  std::size_t live_ = 0;
  std::size_t cancelled_ = 0;  // entries whose event has been cancelled
  std::uint64_t next_sequence_ = 0;
  std::uint32_t free_ = kNone;
};

}  // namespace comity::sim
