// SPDX-License-Identifier: Apache-2.0
// Free GPUs over future time as a step function: where does a job of g GPUs and length d fit first? Steps are kept in
// blocks of at most 128 with the least and most of each block and a pending change for the whole block, so a search
// skips blocks that are all too full, runs through blocks that are all free enough, and a reservation touches only the
// blocks at its two ends step by step. O(steps/128 + 128) for a search that does not meet ragged blocks.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/units.h"

namespace comity::sched {

class FreeProfile {
 public:
  // `free` GPUs from `now` on for ever.
  void reset(Time now, std::int64_t free);
  // The given steps (begin, free GPUs), ascending, at least one; the last holds for ever. O(steps).
  void assign(const std::vector<std::pair<Time, std::int64_t>>& steps);
  // Drops everything before `now`.
  void advance(Time now);
  // Adds `gpus` (negative: takes) during [from, to); from >= the beginning, to may be kNever.
  void add(Time from, Time to, std::int64_t gpus);
  // The earliest t >= from such that free >= gpus during [t, t + length). kNever when there is none.
  [[nodiscard]] Time earliest(Time from, std::int64_t gpus, Time length) const;
  // Whether free >= gpus during [from, from + length): earliest() would give `from`.
  [[nodiscard]] bool holds(Time from, std::int64_t gpus, Time length) const;
  // Free GPUs at an instant, and the first step after it (kNever when there is none).
  [[nodiscard]] std::int64_t free_at(Time t) const;
  [[nodiscard]] Time next_step(Time t) const;
  [[nodiscard]] std::size_t steps() const;

 private:
  static constexpr std::size_t kBlock = 128;
  struct Block {
    std::vector<Time> at;            // begins of steps, ascending
    std::vector<std::int64_t> free;  // without `pending`
    std::int64_t pending = 0;        // to be added to every step of the block
    std::int64_t low = 0;            // least and most of `free`
    std::int64_t high = 0;
    void measure();
    void settle();
  };
  [[nodiscard]] std::size_t block_of(Time t) const;  // the block with the step that holds at t
  static std::size_t step_of(const Block& b, Time t);
  void cut(Time t);  // makes t the begin of a step

  std::vector<Block> blocks_;
};

}  // namespace comity::sched
