// SPDX-License-Identifier: Apache-2.0
#include "sim/queue_speed.h"

#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "base/log.h"
#include "base/rng.h"
#include "sim/event_queue.h"

namespace comity::sim {
namespace {

struct Payload {
  std::uint32_t kind;
  std::uint32_t id;
};

// Lengths uniform in [0, 2 us x pending), so that about one event falls on each microsecond.
class Lengths {
 public:
  explicit Lengths(std::size_t pending) : range_(2'000 * static_cast<std::uint64_t>(pending)) {}
  Time next() {  // the high half of a product: a division here would cost as much as the queue
    __extension__ using Wide = unsigned __int128;
    return static_cast<Time>(static_cast<Wide>(mix64(++counter_)) * range_ >> 64);
  }

 private:
  std::uint64_t range_;
  std::uint64_t counter_ = 0;
};

Time hold(EventQueue<Payload>& queue, Lengths& lengths, std::size_t operations, Time now) {
  for (std::size_t i = 0; i < operations; ++i) {
    const auto event = queue.pop();
    COMITY_CHECK(event.at >= now);
    now = event.at;
    queue.push(now + lengths.next(), event.payload);
  }
  return now;
}

}  // namespace

double measure_event_queue(std::size_t pending, std::size_t operations) {
  COMITY_CHECK(pending > 0 && operations > 0);
  EventQueue<Payload> queue;
  queue.reserve(pending);
  Lengths lengths(pending);
  for (std::size_t i = 0; i < pending; ++i) {
    queue.push(lengths.next(), Payload{0, static_cast<std::uint32_t>(i)});
  }
  Time now = hold(queue, lengths, std::min(pending, operations), 0);  // warm caches, settled times
  const std::int64_t begin = steady_ns();
  now = hold(queue, lengths, operations, now);
  const std::int64_t spent = std::max<std::int64_t>(steady_ns() - begin, 1);
  COMITY_CHECK(queue.size() == pending);
  while (!queue.empty()) {
    const Time at = queue.pop().at;
    COMITY_CHECK(at >= now);
    now = at;
  }
  return static_cast<double>(operations) / to_seconds(spent);
}

}  // namespace comity::sim
