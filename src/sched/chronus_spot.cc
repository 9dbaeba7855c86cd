// SPDX-License-Identifier: Apache-2.0
// GPUs that no lease guarantees to anybody: section 1.5 of the rules in chronus.cc.
#include <algorithm>
#include <span>
#include <tuple>

#include "profile/split_speed.h"
#include "sched/chronus.h"

namespace comity::sched::chronus {

void Group::play_slot(Pass& pass) {
  if (set_.guarantee) guarantee_short_ones(pass);
  for (auto& [id, e] : present_) look_at_urgency(pass, *e);
  place_forced(pass);
  fill(pass, false);
}

// Of the jobs that were not accepted, those that end within this lease, the least work first.
void Group::guarantee_short_ones(const Pass& pass) {
  const Time left = (pass.now() / set_.lease + 1) * set_.lease - pass.now();
  std::int64_t room = capacity(pass);
  std::vector<std::pair<double, Entry*>> short_ones;
  for (auto& [id, e] : present_) {
    if (e->guaranteed()) room -= e->gpus;
    const Time remaining = e->duration - executed(pass, *e);
    if (e->rank != Class::kUnaccepted || e->running || e->forced || remaining > left) continue;
    short_ones.emplace_back(static_cast<double>(remaining) * e->gpus, e);
  }
  std::stable_sort(short_ones.begin(), short_ones.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [work, e] : short_ones) {
    if (e->gpus > room) continue;
    room -= e->gpus;
    e->forced = true;
    ++counts_.forced;
    if (e->submit >= pass.now() / set_.lease * set_.lease) e->rank = Class::kAccepted;
  }
}

// More is more urgent: the least slack times GPUs of jobs with a deadline to keep, the least work of the others.
void Group::look_at_urgency(const Pass& pass, Entry& e) const {
  const Time done = executed(pass, e);
  const Time end = e.submit + e.deadline;
  if (e.rank == Class::kAccepted || e.rank == Class::kUnaccepted) {
    if (end < pass.now() + e.duration - done && !e.occupies) e.rank = Class::kLowest;
  }
  const Time left = e.estimate - done;
  const bool work = e.rank == Class::kBestEffort || e.rank == Class::kUnaccepted;
  e.urgency = -to_seconds(work ? left : end - pass.now() - left) * e.gpus;
}

bool Group::more_urgent(const Entry& a, const Entry& b) {
  const auto key = [](const Entry& e) {
    const int rank = std::min(static_cast<int>(e.rank), static_cast<int>(Class::kUnaccepted));
    return std::tuple(e.exhausted || e.unplanned ? 1 : 0, rank, e.urgency, -e.submit, -static_cast<std::int64_t>(e.id));
  };
  return key(a) > key(b);
}

void Group::place_forced(Pass& pass) {
  for (auto& [id, e] : present_) {
    if (e->forced && !e->running) e->forced = start_by_force(pass, *e);
  }
}

void Group::fill(Pass& pass, bool artifact) {
  if (free_gpus(pass) <= 0) return;
  std::vector<std::uint32_t> order;
  for (const auto& [id, e] : present_) {
    if (e->waiting && !e->running) order.push_back(id);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Entry& x = entries_.at(a);
    const Entry& y = entries_.at(b);
    if (!artifact) return more_urgent(x, y);
    return std::tuple(x.rank, x.urgency) < std::tuple(y.rank, y.urgency);
  });
  constexpr Time kShort = 30 * kMinute;  // leases in which accepted jobs run before theirs
  if (!artifact && set_.lease > kShort)
    std::erase_if(order, [&](std::uint32_t id) {
      const Entry& e = entries_.at(id);
      return e.rank == Class::kAccepted && !e.unplanned;
    });
  fill_with(pass, order);
}
void Group::fill_with(Pass& pass, std::vector<std::uint32_t>& order) {
  std::int64_t free = free_gpus(pass);
  std::vector<ShapeId> full;
  for (const std::uint32_t id : order) {
    if (free <= 0) return;
    Entry& e = entries_.at(id);
    const ShapeId shape = pass.job(id).shape;
    if (e.gpus > free || std::find(full.begin(), full.end(), shape) != full.end()) continue;
    if (start(pass, e)) {
      free -= e.gpus;
    } else {
      full.push_back(shape);
    }
  }
}

bool Group::start(Pass& pass, Entry& e) {
  if (!pass.start(e.id) && !start_split(pass, e)) return false;
  e.running = true;
  e.waiting = false;
  return true;
}

// Each piece on the node with the fewest free GPUs that are enough, all of one class; false where there is none.
static bool place_pieces(const Pool& pool, const Pool::Where& where, std::span<const std::uint32_t> pieces,
                         Allocation& out) {
  std::vector<std::uint8_t> used(pool.nodes(), 0);
  out.parts.clear();
  for (const std::uint32_t piece : pieces) {
    NodeId best;
    for (std::uint32_t n = 0; n < pool.nodes(); ++n) {
      const NodeId node(n);
      const std::uint32_t c = pool.class_of(node);
      if (used[n] != 0 || !pool.is_up(node) || pool.free_count(node) < piece || pool.class_is_small(c)) continue;
      if (!pool.allows(where, c) || (!out.parts.empty() && c != out.node_class)) continue;
      if (!best.valid() || pool.free_count(node) < pool.free_count(best)) best = node;
    }
    if (!best.valid()) return false;
    used[best.index()] = 1;
    out.node_class = pool.class_of(best);
    std::uint64_t mask = 0;
    std::uint64_t free = pool.free_mask(best);
    for (std::uint32_t i = 0; i < piece; ++i, free &= free - 1) mask |= free & (~free + 1);
    out.parts.push_back({best, mask});
  }
  return true;
}

// On more nodes than it needs, in the pieces that jobs may be split into: the fewest that are to be had.
bool Group::start_split(Pass& pass, Entry& e) {
  const Pool& pool = pass.state().pool();
  if (set_.split == Split::kNever || e.gpus < 2 || pool.rule() == cluster::Placement::kCount) return false;
  Allocation where;
  where.gpus = e.gpus;
  for (const auto& pieces : profile::splits(e.gpus)) {
    if (pieces.size() < 2 || !place_pieces(pool, pass.state().shape(pass.job(e.id).shape).where, pieces, where))
      continue;
    if (!pass.start_at(e.id, where)) continue;
    ++counts_.split;
    if (set_.split == Split::kFree) return true;
    const profile::Attributes* a = pass.state().attributes(JobId(e.id));
    const bool known = a != nullptr && a->model != profile::kNoName;
    const std::string model = known ? pass.state().names()[a->model] : std::string();
    pass.set_speed(e.id, profile::split_speed(model, e.gpus, static_cast<std::uint32_t>(pieces.size())));
    return true;
  }
  return false;
}

// At the cost of the least urgent runs without a guarantee.
bool Group::start_by_force(Pass& pass, Entry& e) {
  if (!e.waiting) return false;
  if (start(pass, e)) return true;
  std::vector<Entry*> victims;
  std::int64_t gpus = free_gpus(pass);
  for (auto& [id, other] : present_) {
    if (!other->running || other->guaranteed()) continue;
    look_at_urgency(pass, *other);
    victims.push_back(other);
    gpus += other->gpus;
  }
  if (gpus < e.gpus) return false;
  std::stable_sort(victims.begin(), victims.end(), [](const Entry* a, const Entry* b) { return more_urgent(*b, *a); });
  for (Entry* victim : victims) {
    stop(pass, *victim);
    if (start(pass, e)) return true;
  }
  return false;
}

void Group::stop(Pass& pass, Entry& e) {
  // Never more than half of what the run has brought, or short leases would take wide jobs back.
  const Time ran = pass.state().running()[pass.job(e.id).slot].progress(pass.now());
  pass.preempt(e.id, std::min(switch_cost(e.gpus), ran / 2));
  e.running = e.forced = false;
  e.waiting = true;
}

}  // namespace comity::sched::chronus
