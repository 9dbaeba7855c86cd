// SPDX-License-Identifier: Apache-2.0
#include "cluster/free_counts.h"

#include <bit>

namespace comity::cluster {

void FreeCounts::assign(const Pool& pool) {
  const bool count = pool.rule() == Placement::kCount;
  free_.resize(pool.classes());
  for (std::uint32_t c = 0; c < free_.size(); ++c) free_[c] = pool.class_free(c);
  if (count) return;
  node_.resize(pool.nodes());
  if (++round_ == 0) {
    node_.assign(pool.nodes(), Node{});
    round_ = 1;
  }
  nodes_.resize(pool.classes() * kLevels);
  for (std::uint32_t c = 0; c < free_.size(); ++c) {
    for (std::uint32_t f = 0; f <= pool.class_gpus(c); ++f) nodes_[c * kLevels + f] = pool.nodes_with(c, f);
  }
}

void FreeCounts::release(const Pool& pool, const Allocation& a) { change(pool, a, 1); }

void FreeCounts::take_back(const Pool& pool, const Allocation& a) { change(pool, a, -1); }

void FreeCounts::change(const Pool& pool, const Allocation& a, int sign) {
  if (a.parts.empty()) free_[a.node_class] += sign * static_cast<std::int64_t>(a.gpus);
  for (const Part& part : a.parts) {
    Node& node = node_[part.node.index()];
    if (node.round != round_) node = {round_, pool.free_count(part.node)};
    const int more = sign * std::popcount(part.gpus);
    const auto free = static_cast<std::uint32_t>(static_cast<int>(node.free) + more);
    if (pool.is_up(part.node)) {
      free_[a.node_class] += more;
      --nodes_[a.node_class * kLevels + node.free];
      ++nodes_[a.node_class * kLevels + free];
    }
    node.free = free;
  }
}

bool FreeCounts::class_fits(const Pool& pool, std::uint32_t c, const Shape& shape) const {
  if (static_cast<std::int64_t>(shape.total()) > free_[c]) return false;
  if (pool.rule() == Placement::kCount) return true;
  const std::uint32_t n = pool.class_gpus(c);
  const std::uint32_t* at = nodes_.data() + std::size_t{c} * kLevels;
  const auto nodes_with = [&](std::uint32_t g) {
    std::uint64_t sum = 0;
    for (std::uint32_t f = g; f <= n; ++f) sum += at[f];
    return sum;
  };
  const std::uint32_t g = shape.gpus;
  if (shape.nodes >= 1) return g <= n && nodes_with(g) >= shape.nodes;
  if (g <= n) return nodes_with(g) >= 1;
  if (pool.rule() == Placement::kConsolidated) return true;
  const std::uint32_t whole = g / n;
  const std::uint32_t rest = g % n;
  return at[n] >= whole && (rest == 0 || nodes_with(rest) > whole);
}

bool FreeCounts::fits(const Pool& pool, const Shape& shape, Pool::Where where) const {
  for (std::uint32_t c = 0; c < free_.size(); ++c) {
    if (!pool.allows(where, c)) continue;
    if (pool.class_is_small(c) && (shape.nodes > 1 || shape.gpus > pool.class_gpus(c))) continue;
    if (class_fits(pool, c, shape)) return true;
  }
  return false;
}

}  // namespace comity::cluster
