// SPDX-License-Identifier: Apache-2.0
#include "sim/event_queue.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "sim/queue_speed.h"

namespace comity::sim {
namespace {

struct Dice {
  std::uint64_t state;
  std::uint64_t below(std::uint64_t n) { return mix64(++state) % n; }
};

// The plain reference: a multimap keeps equal keys in the order of insertion.
class Reference {
 public:
  void push(Time at, int id) { where_[id] = waiting_.emplace(at, id); }
  bool cancel(int id) {
    const auto found = where_.find(id);
    if (found == where_.end()) {
      return false;
    }
    waiting_.erase(found->second);
    where_.erase(found);
    return true;
  }
  std::pair<Time, int> pop() {
    const std::pair<Time, int> first = *waiting_.begin();
    waiting_.erase(waiting_.begin());
    where_.erase(first.second);
    return first;
  }
  [[nodiscard]] std::size_t size() const { return waiting_.size(); }
  [[nodiscard]] Time top_time() const { return waiting_.empty() ? kNever : waiting_.begin()->first; }

 private:
  std::multimap<Time, int> waiting_;
  std::map<int, std::multimap<Time, int>::iterator> where_;
};

// Random pushes, pops and cancels; `weights` of the three, times below `range` (small = many ties).
template <class Queue>
void compare(std::uint64_t seed, std::vector<std::uint64_t> weights, std::uint64_t range, int steps) {
  Queue queue;
  Reference reference;
  std::vector<EventHandle> handles;
  Dice dice{seed << 32};
  const std::uint64_t sum = weights[0] + weights[1] + weights[2];
  for (int step = 0; step < steps; ++step) {
    const std::uint64_t roll = dice.below(sum);
    if (roll < weights[0]) {
      const Time at = static_cast<Time>(dice.below(range)) - static_cast<Time>(range / 3);
      reference.push(at, static_cast<int>(handles.size()));
      handles.push_back(queue.push(at, static_cast<int>(handles.size())));
    } else if (roll < weights[0] + weights[1]) {
      if (!queue.empty()) {
        const auto event = queue.pop();
        ASSERT_EQ(std::make_pair(event.at, event.payload), reference.pop());
      }
    } else if (!handles.empty()) {
      const std::size_t id = dice.below(handles.size());
      ASSERT_EQ(queue.cancel(handles[id]), reference.cancel(static_cast<int>(id)));
    }
    ASSERT_EQ(queue.size(), reference.size());
    ASSERT_EQ(queue.top_time(), reference.top_time());
  }
  while (!queue.empty()) {
    const auto event = queue.pop();
    ASSERT_EQ(std::make_pair(event.at, event.payload), reference.pop());
  }
  ASSERT_EQ(reference.size(), 0U);
}

TEST(EventQueue, IsEmptyAtFirst) {
  EventQueue<int> queue;
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.size(), 0U);
  EXPECT_EQ(queue.top_time(), kNever);
  EXPECT_FALSE(queue.cancel({}));
  EXPECT_FALSE(queue.cancel({0, 0}));
}

TEST(EventQueue, EqualTimesLeaveInPushOrder) {
  EventQueue<int> queue;
  for (int i = 0; i < 1000; ++i) {
    queue.push(i % 3, i);
  }
  int previous = -1;
  Time now = 0;
  while (!queue.empty()) {
    const auto event = queue.pop();
    ASSERT_TRUE(event.at > now || event.payload > previous);
    ASSERT_EQ(event.payload % 3, event.at);
    now = event.at;
    previous = event.payload;
  }
}

TEST(EventQueue, TakesTheWholeRangeOfTimes) {
  EventQueue<int> queue;
  queue.push(kNever, 3);
  queue.push(0, 2);
  queue.push(std::numeric_limits<Time>::min(), 0);
  queue.push(-1, 1);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(queue.pop().payload, i);
  }
}

TEST(EventQueue, AHandleEndsWithItsEvent) {
  EventQueue<int> queue;
  const EventHandle first = queue.push(1, 1);
  queue.pop();
  EXPECT_FALSE(queue.cancel(first));
  const EventHandle second = queue.push(2, 2);  // takes the same slot
  EXPECT_FALSE(queue.cancel(first));
  EXPECT_EQ(queue.size(), 1U);
  EXPECT_TRUE(queue.cancel(second));
  EXPECT_FALSE(queue.cancel(second));
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.top_time(), kNever);
}

TEST(EventQueue, AgreesWithASortedReference) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    compare<EventQueue<int>>(seed, {5, 4, 1}, 50, 3000);
    compare<EventQueue<int>>(seed, {4, 1, 3}, 1'000'000, 3000);
    compare<EventQueue<int>>(seed, {3, 0, 4}, 10, 3000);  // cancels alone empty it
  }
}

TEST(EventQueue, SequenceNumbersBeginAnewWithoutChangingTheOrder) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    compare<EventQueue<int, 12>>(seed, {6, 5, 1}, 5, 20'000);
  }
}

TEST(EventQueue, CancelledEventsDoNotPileUp) {
  EventQueue<int> queue;
  queue.push(0, 0);
  for (int i = 1; i < 100'000; ++i) {
    ASSERT_TRUE(queue.cancel(queue.push(i, i)));
  }
  EXPECT_EQ(queue.size(), 1U);
  EXPECT_LT(queue.push(1, 1).slot, 200U);
  queue.clear();
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueue, StaysInOrderWhenLarge) { EXPECT_GT(measure_event_queue(200'000, 200'000), 0); }

TEST(EventQueue, SpeedIsMeasuredForASingleEventToo) { EXPECT_GT(measure_event_queue(1, 1000), 0); }

}  // namespace
}  // namespace comity::sim
