// SPDX-License-Identifier: Apache-2.0
// "Would it fit if these left?" under any placement rule: by counts of free GPUs, which is what fits() asks, or under
// buddy, where it matters which GPUs are free, on a copy of the pool.
#pragma once

#include <optional>

#include "cluster/free_counts.h"
#include "cluster/pool.h"

namespace comity::sched {

class Room {
 public:
  // What is free in `pool` now. O(nodes). The pool must not change while this is used.
  void assign(const cluster::Pool& pool) {
    pool_ = &pool;
    if (pool.rule() == cluster::Placement::kBuddy) {
      copy_ = pool;
    } else {
      counts_.assign(pool);
    }
  }
  void release(const cluster::Allocation& a) {
    if (pool_->rule() == cluster::Placement::kBuddy) {
      copy_->release(a);
    } else {
      counts_.release(*pool_, a);
    }
  }
  // Undoes release().
  void take_back(const cluster::Allocation& a) {
    if (pool_->rule() == cluster::Placement::kBuddy) {
      copy_->allocate(a);
    } else {
      counts_.take_back(*pool_, a);
    }
  }
  [[nodiscard]] bool fits(const cluster::Shape& shape, cluster::Pool::Where where) const {
    return pool_->rule() == cluster::Placement::kBuddy ? copy_->fits(shape, where) : counts_.fits(*pool_, shape, where);
  }

 private:
  const cluster::Pool* pool_ = nullptr;
  std::optional<cluster::Pool> copy_;
  cluster::FreeCounts counts_;
};

}  // namespace comity::sched
