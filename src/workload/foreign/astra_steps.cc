// SPDX-License-Identifier: Apache-2.0
#include "workload/foreign/astra_steps.h"

#include <algorithm>
#include <deque>
#include <queue>
#include <tuple>

#include "base/check.h"

namespace comity::workload::astra {

std::vector<std::uint64_t> chunk_by_chunk(
    std::span<const std::uint64_t> starts, std::uint64_t chunks, std::uint64_t active,
    const std::function<std::vector<std::uint64_t>(const std::vector<std::uint64_t>&)>& run) {
  // free[r]: when each of r's slots is, as heaps with the earliest on top.
  const std::uint64_t slots = std::min(active, chunks);
  std::vector<std::vector<std::uint64_t>> free(starts.size());
  for (std::size_t r = 0; r < starts.size(); ++r) free[r].assign(slots, starts[r]);
  std::vector<std::uint64_t> begin(starts.size());
  std::vector<std::uint64_t> end(starts.begin(), starts.end());
  for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
    for (std::size_t r = 0; r < free.size(); ++r) {
      std::pop_heap(free[r].begin(), free[r].end(), std::greater<>());
      begin[r] = free[r].back();
    }
    const std::vector<std::uint64_t> done = run(begin);
    for (std::size_t r = 0; r < free.size(); ++r) {
      free[r].back() = done[r];
      std::push_heap(free[r].begin(), free[r].end(), std::greater<>());
      end[r] = std::max(end[r], done[r]);
    }
  }
  return end;
}

std::vector<std::uint64_t> ring_finish(const RingSteps& ring, const std::vector<std::uint64_t>& starts) {
  const std::size_t n = starts.size();
  std::vector<std::uint64_t> ready(n);  // when rank r sends its message of this step
  for (std::size_t r = 0; r < n; ++r) ready[r] = starts[r] + ring.delay;
  std::vector<std::uint64_t> next(n);
  for (std::uint64_t step = 0; step < ring.steps; ++step) {
    const std::uint64_t after = ring.delay + (step < ring.reduced ? ring.reduce_ns : 0);
    for (std::size_t r = 0; r < n; ++r) {
      const std::size_t before = r == 0 ? n - 1 : r - 1;
      next[r] = std::max(ready[r], ready[before] + ring.edge_ns[before]) + after;
    }
    ready.swap(next);
  }
  return ready;
}

namespace {

// The simulator's own order of things: a packet is made when the exchange begins or a message arrives, is handled
// `delay` later (and after its reduction), and being handled lets the oldest packet be sent.
class Direct {
 public:
  explicit Direct(const DirectSteps& d) : d_(d), left_(d.kind == DirectSteps::Kind::kAllReduce ? 2 * half() : half()) {}

  std::uint64_t run() {
    for (std::uint64_t i = 0; i < d_.window; ++i) insert(0);
    while (!events_.empty()) {
      const auto [time, number, arrival] = events_.top();
      events_.pop();
      if (arrival) {
        ++received_;
        insert(time);
      } else if (handled(time)) {
        return time;
      }
    }
    COMITY_CHECK(false);
  }

 private:
  [[nodiscard]] std::uint64_t half() const { return d_.n - 1; }

  void insert(std::uint64_t now) {
    if (plain_ == 0 && reducing_ == 0) {
      plain_ = d_.window;
      reducing_ = d_.window;
      first_round_ = !first_round_;
    }
    bool reduces = false;
    if (plain_ > 0) {
      --plain_;
    } else {
      --reducing_;
      reduces =
          d_.kind == DirectSteps::Kind::kReduceScatter || (d_.kind == DirectSteps::Kind::kAllReduce && first_round_);
    }
    packets_.push_back(offset_);
    offset_ = offset_ == half() ? 1 : offset_ + 1;
    events_.emplace(now + d_.delay + (reduces ? d_.reduce_ns : 0), count_++, false);
  }

  void send(std::uint64_t now) {
    if (packets_.empty() || left_ == 0 || free_ == 0) return;
    events_.emplace(now + d_.message_ns(packets_.front()), count_++, true);
    packets_.pop_front();
    --left_;
    --free_;
  }

  // True when this ends the exchange.
  bool handled(std::uint64_t now) {
    ++free_;
    if (d_.kind == DirectSteps::Kind::kAllReduce && left_ <= half()) {
      if (received_ < half()) return false;  // the second half needs all of the first
      for (std::uint64_t i = 0; i < d_.window; ++i) send(now);
    } else {
      send(now);
    }
    return left_ == 0 && free_ == d_.window;
  }

  const DirectSteps& d_;
  std::uint64_t left_;  // messages to send
  std::uint64_t free_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t plain_ = 0;
  std::uint64_t reducing_ = 0;
  bool first_round_ = false;
  std::uint64_t offset_ = 1;
  std::uint64_t count_ = 0;
  std::deque<std::uint64_t> packets_;  // how many ranks on
  using Event = std::tuple<std::uint64_t, std::uint64_t, bool>;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

}  // namespace

std::uint64_t direct_finish(const DirectSteps& direct) { return Direct(direct).run(); }

std::vector<std::uint64_t> tree_finish(const TreeSteps& tree, const std::vector<std::uint64_t>& starts) {
  const std::size_t n = starts.size();
  // Place p = 1 .. n-1 of the subtree in order; its lowest bit is its height above the leaves.
  const auto member = [&](std::size_t p) { return tree.root_first ? p : p - 1; };
  const std::size_t root = tree.root_first ? 0 : n - 1;
  const std::size_t top = n / 2;
  const std::uint64_t handle = tree.delay + tree.reduce_ns;
  std::vector<std::uint64_t> up(n);  // when p's message to its parent leaves
  for (std::size_t p = 1; p < n; p += 2) up[p] = starts[member(p)] + tree.delay;
  for (std::size_t bit = 2; bit <= top; bit *= 2)
    for (std::size_t p = bit; p < n; p += 2 * bit) {
      std::uint64_t last = starts[member(p)];
      for (const std::size_t child : {p - bit / 2, p + bit / 2})
        last = std::max(last, up[child] + tree.message_ns(member(child), member(p)));
      up[p] = last + handle;
    }
  std::vector<std::uint64_t> done(n);
  done[root] = std::max(starts[root], up[top] + tree.message_ns(member(top), root)) + handle;
  for (std::size_t bit = top; bit >= 1; bit /= 2)
    for (std::size_t p = bit; p < n; p += 2 * bit) {
      const std::size_t parent = p == top ? root : member((p & (2 * bit)) != 0 ? p - bit : p + bit);
      const std::uint64_t arrival = done[parent] + tree.message_ns(parent, member(p));
      done[member(p)] = arrival + (bit == 1 ? tree.delay : handle);
    }
  return done;
}

}  // namespace comity::workload::astra
