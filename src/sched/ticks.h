// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/units.h"

namespace comity::sched {

// Ticks of a simulator with a clock, counted from the first pass, which is that of the first submission.
class Ticks {
 public:
  // The first tick at or after `now` that is a multiple of `step` from the first.
  [[nodiscard]] Time next(Time now, Time step) {
    if (first_ == kNever) first_ = now;
    return now + (step - (now - first_) % step) % step;
  }

 private:
  Time first_ = kNever;
};

}  // namespace comity::sched
