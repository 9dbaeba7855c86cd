// SPDX-License-Identifier: Apache-2.0
#include "sched/type_speeds.h"

#include <algorithm>

namespace comity::sched {
namespace {

using profile::Rates;

// Nodes that a job needs at least on a type; 0 = it does not fit there.
std::uint32_t nodes_needed(const Pool& pool, const ShapeClass& s, std::uint32_t type) {
  if (s.where.type != Pool::kAnyType && s.where.type != type) return 0;
  if (!pool.could_fit(s.shape, {s.where.group, type})) return 0;
  if (s.shape.nodes > 0) return s.shape.nodes;
  if (pool.rule() == cluster::Placement::kCount) return 1;
  std::uint32_t widest = 1;
  for (std::uint32_t c = 0; c < pool.classes(); ++c) {
    if (pool.allows({s.where.group, type}, c)) widest = std::max(widest, pool.class_gpus(c));
  }
  return (s.gpus + widest - 1) / widest;
}

}  // namespace

std::uint32_t TypeSpeeds::kind_of(const Pass& pass, JobId id) {
  const Rates* rates = pass.world().rates;
  const profile::Attributes* a = rates == nullptr ? nullptr : pass.state().attributes(id);
  if (a == nullptr || a->model == profile::kNoName) return Rates::kNone;
  return rates->kind(pass.state().names()[a->model], a->batch_size);
}

const std::vector<double>& TypeSpeeds::of(const Pass& pass, ShapeId shape, std::uint32_t kind) {
  const auto [it, added] = known_.try_emplace({shape, kind});
  std::vector<double>& speeds = it->second;
  if (!added) return speeds;
  const Pool& pool = pass.state().pool();
  const Rates* rates = pass.world().rates;
  const ShapeClass& s = pass.state().shape(shape);
  for (const bool in_any_case : {false, true}) {
    speeds.assign(pool.types().size(), 0);
    for (std::uint32_t type = 0; type < speeds.size(); ++type) {
      const std::uint32_t nodes = nodes_needed(pool, s, type);
      if (nodes == 0) continue;
      const std::uint32_t named = rates == nullptr ? Rates::kNone : rates->type(pool.types()[type]);
      if (rates == nullptr || kind == Rates::kNone) {
        speeds[type] = 1;
      } else if (in_any_case) {
        speeds[type] = rates->speed_in_any_case(kind, named, s.gpus, s.gpus, nodes);
      } else {
        speeds[type] = rates->speed(kind, named, s.gpus, s.gpus, nodes);
      }
    }
    if (std::any_of(speeds.begin(), speeds.end(), [](double speed) { return speed > 0; })) break;
  }
  return speeds;
}

bool TypeSpeeds::measured(const Pass& pass, ShapeId shape, std::uint32_t kind) {
  const Rates* rates = pass.world().rates;
  if (rates == nullptr || kind == Rates::kNone) return false;
  const Pool& pool = pass.state().pool();
  const ShapeClass& s = pass.state().shape(shape);
  for (std::uint32_t type = 0; type < pool.types().size(); ++type) {
    if (pool.up_gpus({s.where.group, type}) == 0 || (s.where.type != Pool::kAnyType && s.where.type != type)) continue;
    if (!rates->known(kind, rates->type(pool.types()[type]), s.gpus)) return false;
  }
  return true;
}

std::vector<double> gpus_by_type(const Pool& pool, std::uint32_t group) {
  std::vector<double> gpus;
  for (std::uint32_t type = 0; type < pool.types().size(); ++type)
    gpus.push_back(static_cast<double>(pool.up_gpus({group, type})));
  return gpus;
}

}  // namespace comity::sched
