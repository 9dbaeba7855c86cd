// SPDX-License-Identifier: Apache-2.0
#include "cluster/ordered_queue.h"

#include <set>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace comity::cluster {
namespace {

struct Less {
  bool operator()(const QueueEntry& a, const QueueEntry& b) const { return before(a, b); }
};

void check_same(const OrderedQueue& queue, const std::set<QueueEntry, Less>& reference, Time limit) {
  ASSERT_EQ(queue.size(), reference.size());
  if (reference.empty()) return;
  const QueueEntry* at = &queue.front();
  const QueueEntry* within = nullptr;
  for (const QueueEntry& want : reference) {
    ASSERT_NE(at, nullptr);
    ASSERT_EQ(at->job, want.job);
    if (within == nullptr && at->estimate <= limit) within = at;
    at = queue.after(*at);
  }
  EXPECT_EQ(at, nullptr);
  EXPECT_EQ(queue.first_within(nullptr, limit), within);
}

TEST(OrderedQueue, AgreesWithASortedSet) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng(seed);
    OrderedQueue queue;
    std::set<QueueEntry, Less> reference;
    const bool fifo = seed % 2 == 0;
    std::uint32_t next = 0;
    for (int step = 0; step < 3000; ++step) {
      if (reference.empty() || rng.below(100) < 55) {
        const QueueEntry e{.rank = fifo ? 0 : static_cast<std::int64_t>(rng.below(50)),
                           .eligible = static_cast<Time>(next / 3),
                           .job = next,
                           .unused = 0,
                           .estimate = static_cast<Time>(rng.below(1000))};
        ++next;
        queue.insert(e);
        reference.insert(e);
      } else {
        auto it = reference.begin();
        if (rng.below(2) == 0) std::advance(it, static_cast<std::ptrdiff_t>(rng.below(reference.size())));
        queue.erase(*it);
        reference.erase(it);
      }
      if (step % 100 == 0) check_same(queue, reference, static_cast<Time>(rng.below(60)));
    }
    check_same(queue, reference, 3);
  }
}

}  // namespace
}  // namespace comity::cluster
