// SPDX-License-Identifier: Apache-2.0
// Waiting jobs of one group in an order of the policy's own, where the order of State (eligible time, id) is not the
// policy's: (rank, tie), low first, in one list a shape. Told of changes by State::queue_changes(). O(128 + jobs/128) a
// change; about 120 bytes a waiting job.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "sched/quota.h"

namespace comity::sched {

class WaitingOrder {
 public:
  struct Key {
    std::int64_t rank = 0;
    std::int64_t tie = 0;
  };

  void insert(std::uint32_t job, ShapeId shape, Key key);  // not in yet (checked)
  bool erase(std::uint32_t job);                           // whether it was in
  [[nodiscard]] bool contains(std::uint32_t job) const { return at_.contains(job); }
  [[nodiscard]] Key key(std::uint32_t job) const;        // must be in (checked)
  [[nodiscard]] ShapeId shape(std::uint32_t job) const;  // that it was inserted with; must be in (checked)
  [[nodiscard]] std::size_t size() const { return at_.size(); }
  [[nodiscard]] std::vector<std::uint32_t> jobs() const;  // in order of (rank, tie); O(jobs log jobs)
  // Offers what the nodes that are up could hold.
  void offer(const State& state, Quota& quota) const;

 private:
  struct Place {
    Key key;
    std::uint32_t list = 0;
  };
  struct List {
    ShapeId shape = 0;
    cluster::OrderedQueue queue;
  };
  [[nodiscard]] static QueueEntry entry(std::uint32_t job, Key key) {
    return {.rank = key.rank, .eligible = key.tie, .job = job, .unused = 0, .estimate = 0};
  }

  std::vector<std::unique_ptr<List>> lists_;
  std::unordered_map<ShapeId, std::uint32_t> list_of_;
  std::unordered_map<std::uint32_t, Place> at_;
};

}  // namespace comity::sched
