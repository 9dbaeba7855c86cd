// SPDX-License-Identifier: Apache-2.0
#include "cluster/pool.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "base/check.h"
#include "cluster/consolidate.h"

namespace comity::cluster {
namespace {

constexpr std::uint32_t kNoLevel = 0xffffffffU;
constexpr std::uint32_t kMaskGpus = 64;

std::uint32_t index_of(std::vector<std::string>& names, const std::string& name) {
  const auto it = std::find(names.begin(), names.end(), name);
  if (it != names.end()) return static_cast<std::uint32_t>(it - names.begin());
  names.push_back(name);
  return static_cast<std::uint32_t>(names.size() - 1);
}

std::uint64_t all_gpus(std::uint32_t n) { return n >= kMaskGpus ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1; }

// The lowest `g` set bits of `free`.
std::uint64_t lowest_gpus(std::uint64_t free, std::uint32_t g) {
  std::uint64_t taken = 0;
  for (; g > 0; --g) {
    const std::uint64_t low = free & (~free + 1);
    taken |= low;
    free &= ~low;
  }
  return taken;
}

// g GPUs that start at a multiple of bit_ceil(g), the whole aligned block being free; 0 when there is none.
std::uint64_t aligned_gpus(std::uint64_t free, std::uint32_t g, std::uint32_t gpus) {
  const std::uint32_t block = std::bit_ceil(g);
  const std::uint64_t want = all_gpus(block);
  for (std::uint32_t at = 0; at + g <= gpus; at += block) {
    const std::uint64_t there = all_gpus(gpus) & (want << at);
    if ((free & there) == there) return all_gpus(g) << at;
  }
  return 0;
}

}  // namespace

Status Pool::check_spec(const ClusterSpec& spec, Placement rule) {
  if (spec.nodes.empty()) return fail(Code::kInput, "a cluster without nodes", "give --nodes 56x8 or --cluster FILE");
  if (rule == Placement::kCount) return {};
  for (const NodeSpec& node : spec.nodes) {
    if (node.gpus <= kMaskGpus) continue;
    return fail(Code::kInput,
                fmt::format("node {} has {} GPUs; at most 64 can be placed one by one", node.name, node.gpus),
                "use --placement count, or describe smaller nodes");
  }
  return {};
}

Pool::Pool(const ClusterSpec& spec, Placement rule) : rule_(rule) {
  std::map<std::tuple<std::uint32_t, std::string, std::uint32_t, bool>, std::vector<std::uint32_t>> by_class;
  node_.resize(spec.nodes.size());
  for (std::uint32_t i = 0; i < spec.nodes.size(); ++i) {
    const NodeSpec& from = spec.nodes[i];
    node_[i].gpus = from.gpus;
    node_[i].free = all_gpus(from.gpus);
    node_[i].free_count = static_cast<std::uint8_t>(std::min(from.gpus, kMaskGpus));
    capacity_ += from.gpus;
    const bool by_size = rule_ != Placement::kCount || from.small;
    by_class[{index_of(groups_, from.group), from.gpu_type, by_size ? from.gpus : 0, from.small}].push_back(i);
  }
  for (auto& [key, nodes] : by_class) {  // in the order of group, type name, GPUs: what ties fall back to
    Class c;
    c.where = {std::get<0>(key), index_of(types_, std::get<1>(key))};
    for (const std::uint32_t i : nodes) {
      c.gpus = std::max(c.gpus, node_[i].gpus);
      c.up_gpus += node_[i].gpus;
    }
    c.small = std::get<3>(key);
    has_small_ = has_small_ || c.small;
    c.free = c.up_gpus;
    c.up_nodes = static_cast<std::uint32_t>(nodes.size());
    if (rule_ != Placement::kCount) {
      c.by_free.assign(c.gpus + 1, NodeSet(nodes.size()));
      if (c.gpus < kMaskGpus) c.levels = std::uint64_t{1} << c.gpus;
    }
    for (std::uint32_t k = 0; k < nodes.size(); ++k) {
      node_[nodes[k]].node_class = static_cast<std::uint32_t>(classes_.size());
      node_[nodes[k]].index = k;
      if (rule_ != Placement::kCount) c.by_free[c.gpus].insert(k);
    }
    c.nodes = std::move(nodes);
    classes_.push_back(std::move(c));
  }
}

std::uint32_t Pool::next_level(const Class& c, std::uint32_t from) const {
  if (from < kMaskGpus) {
    const std::uint64_t m = c.levels & (~std::uint64_t{0} << from);
    if (m != 0) return static_cast<std::uint32_t>(std::countr_zero(m));
  }
  return c.gpus == kMaskGpus && from <= kMaskGpus && c.by_free[kMaskGpus].size() > 0 ? kMaskGpus : kNoLevel;
}

bool Pool::usable(const Class& c, const Shape& shape, Where where, Pools pools, const Where* avoid) const {
  if (!allows(where, c) || (avoid != nullptr && allows(*avoid, c))) return false;
  if (c.small) return pools != Pools::kMain && shape.nodes <= 1 && shape.gpus <= c.gpus;
  return pools != Pools::kSmall;
}

bool Pool::class_fits(const Class& c, const Shape& shape) const {
  if (static_cast<std::int64_t>(shape.total()) > c.free) return false;
  if (rule_ == Placement::kCount) return true;
  if (shape.nodes > 1) {
    if (shape.gpus > c.gpus) return false;
    if (rule_ == Placement::kBuddy) {  // free GPUs alone don't say whether an aligned block is among them
      Allocation scratch;
      return place_nodes(c, shape, scratch);
    }
    std::uint64_t nodes = 0;
    for (std::uint32_t f = next_level(c, shape.gpus); f != kNoLevel; f = next_level(c, f + 1)) {
      nodes += c.by_free[f].size();
      if (nodes >= shape.nodes) return true;
    }
    return false;
  }
  const std::uint32_t g = shape.gpus;
  if (shape.nodes == 1 && g > c.gpus) return false;
  if (rule_ == Placement::kBuddy) {
    Allocation scratch;
    return g <= c.gpus ? place_buddy(c, g, NodeSet::kNone, scratch) : place_gang(c, g, scratch);
  }
  if (g <= c.gpus) return next_level(c, g) != kNoLevel;
  if (rule_ == Placement::kConsolidated) return true;  // free GPUs of partly free nodes may be gathered
  const std::uint32_t whole = g / c.gpus;
  const std::uint32_t rest = g % c.gpus;
  const std::uint32_t empty = c.by_free[c.gpus].size();
  if (empty < whole) return false;
  return rest == 0 || empty > whole || next_level(c, rest) < c.gpus;
}

bool Pool::fits(const Shape& shape, Where where, Pools pools, const Where* avoid) const {
  for (const Class& c : classes_) {
    if (usable(c, shape, where, pools, avoid) && class_fits(c, shape)) return true;
  }
  return false;
}

void Pool::take(const Class& c, std::uint32_t index, std::uint32_t g, Allocation& out) const {
  const Node& node = node_[c.nodes[index]];
  const std::uint64_t gpus = c.small ? node.free : lowest_gpus(node.free, g);
  out.gpus += c.small ? node.free_count : g;
  out.parts.push_back({NodeId(c.nodes[index]), gpus});
}

// One node of the class with >= g free; `above` = skip wholly free nodes up to and including this index.
bool Pool::place_one(const Class& c, std::uint32_t g, std::uint32_t above, Allocation& out) const {
  if (rule_ == Placement::kBuddy) return place_buddy(c, g, above, out);
  std::uint32_t best = NodeSet::kNone;
  for (std::uint32_t f = next_level(c, g); f != kNoLevel; f = next_level(c, f + 1)) {
    const bool skip = f == c.gpus && above != NodeSet::kNone;
    const std::uint32_t at = skip ? c.by_free[f].next(above + 1) : c.by_free[f].lowest();
    if (at == NodeSet::kNone) continue;
    best = std::min(best, at);
    if (rule_ != Placement::kFirstFit) break;  // least free first; first fit looks at every level
  }
  if (best == NodeSet::kNone) return false;
  take(c, best, g, out);
  return true;
}

bool Pool::place_buddy(const Class& c, std::uint32_t g, std::uint32_t above, Allocation& out) const {
  for (std::uint32_t f = next_level(c, g); f != kNoLevel; f = next_level(c, f + 1)) {
    const NodeSet& set = c.by_free[f];
    const bool skip = f == c.gpus && above != NodeSet::kNone;
    for (std::uint32_t i = skip ? set.next(above + 1) : set.lowest(); i != NodeSet::kNone; i = set.next(i + 1)) {
      const Node& node = node_[c.nodes[i]];
      const std::uint64_t gpus = c.small ? node.free : aligned_gpus(node.free, g, c.gpus);
      if (gpus == 0) continue;
      out.gpus += static_cast<std::uint32_t>(std::popcount(gpus));
      out.parts.push_back({NodeId(c.nodes[i]), gpus});
      return true;
    }
  }
  return false;
}

// The node of the class with most free, ties lowest index; `above` as in place_one.
bool Pool::place_freest(const Class& c, std::uint32_t g, std::uint32_t above, Allocation& out) const {
  std::uint32_t best = NodeSet::kNone;
  for (std::uint32_t f = next_level(c, g); f != kNoLevel; f = next_level(c, f + 1)) {
    const std::uint32_t at = f == c.gpus ? c.by_free[f].next(above + 1) : c.by_free[f].lowest();
    if (at != NodeSet::kNone) best = at;
  }
  if (best == NodeSet::kNone) return false;
  take(c, best, g, out);
  return true;
}

bool Pool::place_gang(const Class& c, std::uint32_t g, Allocation& out) const {
  const std::uint32_t whole = g / c.gpus;
  const std::uint32_t rest = g % c.gpus;
  const NodeSet& empty = c.by_free[c.gpus];
  if (empty.size() < whole) return false;
  std::uint32_t at = NodeSet::kNone;
  for (std::uint32_t k = 0; k < whole; ++k) {
    at = k == 0 ? empty.lowest() : empty.next(at + 1);
    take(c, at, c.gpus, out);
  }
  if (rest == 0) return true;
  return rule_ == Placement::kLucid ? place_freest(c, rest, at, out) : place_one(c, rest, at, out);
}

// The freest of the chosen nodes give all they have, the last one what is left to give.
bool Pool::place_consolidated(const Class& c, std::uint32_t g, Allocation& out) const {
  std::vector<std::uint32_t> free(c.nodes.size(), 0);
  for (std::uint32_t i = 0; i < free.size(); ++i) {
    const Node& node = node_[c.nodes[i]];
    if (node.up) free[i] = node.free_count;
  }
  std::vector<std::uint32_t> chosen = fewest_nodes(free, g);
  if (chosen.empty()) return false;
  std::stable_sort(chosen.begin(), chosen.end(), [&](std::uint32_t a, std::uint32_t b) { return free[a] > free[b]; });
  std::uint32_t left = g;
  for (const std::uint32_t i : chosen) {
    const std::uint32_t here = std::min(left, free[i]);
    take(c, i, here, out);
    left -= here;
  }
  COMITY_CHECK(left == 0);
  return true;
}

bool Pool::place_nodes(const Class& c, const Shape& shape, Allocation& out) const {
  std::uint32_t left = shape.nodes;
  for (std::uint32_t f = next_level(c, shape.gpus); f != kNoLevel && left > 0; f = next_level(c, f + 1)) {
    const NodeSet& set = c.by_free[f];
    for (std::uint32_t i = set.lowest(); i != NodeSet::kNone && left > 0; i = set.next(i + 1)) {
      if (rule_ == Placement::kBuddy) {
        const std::uint64_t gpus = aligned_gpus(node_[c.nodes[i]].free, shape.gpus, c.gpus);
        if (gpus == 0) continue;
        out.gpus += shape.gpus;
        out.parts.push_back({NodeId(c.nodes[i]), gpus});
      } else {
        take(c, i, shape.gpus, out);
      }
      --left;
    }
  }
  return left == 0;
}

bool Pool::class_place(std::uint32_t index, const Shape& shape, Allocation& out) const {
  const Class& c = classes_[index];
  out.node_class = index;
  out.gpus = 0;
  out.parts.clear();
  if (static_cast<std::int64_t>(shape.total()) > c.free) return false;
  if (rule_ == Placement::kCount) {
    out.gpus = static_cast<std::uint32_t>(shape.total());
    return true;
  }
  if (shape.nodes > 1) return shape.gpus <= c.gpus && place_nodes(c, shape, out);
  if (shape.gpus <= c.gpus) return place_one(c, shape.gpus, NodeSet::kNone, out);
  if (shape.nodes == 1) return false;
  return rule_ == Placement::kConsolidated ? place_consolidated(c, shape.gpus, out) : place_gang(c, shape.gpus, out);
}

bool Pool::place(const Shape& shape, Where where, Allocation& out, Pools pools, const Where* avoid) const {
  if (has_small_ && pools == Pools::kAny) {
    if (place(shape, where, out, Pools::kSmall, avoid)) return true;
    pools = Pools::kMain;
  }
  std::uint32_t best = kNoLevel;
  std::int64_t best_left = 0;
  for (std::uint32_t i = 0; i < classes_.size(); ++i) {
    const Class& c = classes_[i];
    if (!usable(c, shape, where, pools, avoid) || !class_fits(c, shape)) continue;
    // Slots of a small pool: the smallest that holds the job. Else the class that keeps fewest free GPUs.
    const std::int64_t left = c.small ? c.gpus : c.free - static_cast<std::int64_t>(shape.total());
    if (best != kNoLevel && left >= best_left) continue;
    best = i;
    best_left = left;
  }
  return best != kNoLevel && class_place(best, shape, out);
}

bool Pool::could_fit(const Shape& shape, Where where) const {
  for (const Class& c : classes_) {
    if (!usable(c, shape, where, Pools::kAny)) continue;
    if (static_cast<std::int64_t>(shape.total()) > c.up_gpus) continue;
    if (rule_ == Placement::kCount || shape.nodes == 0) return true;
    if (shape.nodes <= c.up_nodes && shape.gpus <= c.gpus) return true;
  }
  return false;
}

void Pool::move(Class& c, const Node& node, std::uint32_t from, std::uint32_t to) {
  c.by_free[from].erase(node.index);
  if (from < kMaskGpus && c.by_free[from].size() == 0) c.levels &= ~(std::uint64_t{1} << from);
  c.by_free[to].insert(node.index);
  if (to < kMaskGpus) c.levels |= std::uint64_t{1} << to;
}

void Pool::allocate(const Allocation& a) {
  Class& c = classes_[a.node_class];
  COMITY_CHECK(c.free >= a.gpus || hides_);
  if (a.parts.empty()) c.free -= a.gpus;
  for (const Part& part : a.parts) {
    Node& node = node_[part.node.index()];
    COMITY_CHECK((node.free & part.gpus) == part.gpus && (node.up || node.hidden));
    const std::uint32_t from = node.free_count;
    node.free &= ~part.gpus;
    node.free_count = static_cast<std::uint8_t>(std::popcount(node.free));
    if (!node.up) continue;
    c.free -= from - node.free_count;
    move(c, node, from, node.free_count);
  }
}

void Pool::release(const Allocation& a) {
  Class& c = classes_[a.node_class];
  if (a.parts.empty()) c.free += a.gpus;
  for (const Part& part : a.parts) {
    Node& node = node_[part.node.index()];
    COMITY_CHECK((node.free & part.gpus) == 0);
    const std::uint32_t from = node.free_count;
    node.free |= part.gpus;
    node.free_count = static_cast<std::uint8_t>(std::popcount(node.free));
    const std::uint32_t to = node.free_count;
    if (!node.up) continue;
    c.free += to - from;
    move(c, node, from, to);
  }
}

void Pool::hide(const std::vector<NodeId>& nodes) {
  for (const NodeId id : nodes) {
    set_up(id, false);
    node_[id.index()].hidden = true;
  }
  hides_ = true;
}

void Pool::set_up(NodeId id, bool up) {
  Node& node = node_[id.index()];
  if (node.up == up || node.hidden) return;
  node.up = up;
  Class& c = classes_[node.node_class];
  c.up_nodes = up ? c.up_nodes + 1 : c.up_nodes - 1;
  c.up_gpus += up ? std::int64_t{node.gpus} : -std::int64_t{node.gpus};
  if (rule_ == Placement::kCount) {
    c.free += up ? static_cast<std::int64_t>(node.gpus) : -static_cast<std::int64_t>(node.gpus);
    return;
  }
  const std::uint32_t f = node.free_count;
  c.free += up ? static_cast<std::int64_t>(f) : -static_cast<std::int64_t>(f);
  if (up) {
    c.by_free[f].insert(node.index);
    if (f < kMaskGpus) c.levels |= std::uint64_t{1} << f;
  } else {
    c.by_free[f].erase(node.index);
    if (f < kMaskGpus && c.by_free[f].size() == 0) c.levels &= ~(std::uint64_t{1} << f);
  }
}

std::int64_t Pool::free_gpus() const {
  std::int64_t sum = 0;
  for (const Class& c : classes_) sum += c.free;
  return sum;
}

std::int64_t Pool::free_gpus(Where where) const {
  std::int64_t sum = 0;
  for (std::uint32_t i = 0; i < classes_.size(); ++i) sum += allows(where, i) ? classes_[i].free : 0;
  return sum;
}

std::int64_t Pool::up_gpus(Where where) const {
  std::int64_t sum = 0;
  for (std::uint32_t i = 0; i < classes_.size(); ++i) {
    if (allows(where, i)) sum += classes_[i].up_gpus;
  }
  return sum;
}

}  // namespace comity::cluster
