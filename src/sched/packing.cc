// SPDX-License-Identifier: Apache-2.0
#include "sched/packing.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/rng.h"

namespace comity::sched {

std::size_t Packing::Hash::operator()(const Key& k) const noexcept {
  std::uint64_t h = mix64((std::uint64_t{k.model} << 32) | k.dataset);
  h = mix64(h ^ static_cast<std::uint64_t>(k.batch_size * 4 + k.mixed_precision + 1));
  h = mix64(h ^ std::bit_cast<std::uint64_t>(k.memory_mb));
  return mix64(h ^ std::bit_cast<std::uint64_t>(k.use));
}

int Packing::score_by_profile(double use, double memory_mb) {
  if (use >= 60 || memory_mb >= 11'000) return 2;
  return use >= 25 ? 1 : 0;
}

Packing::Facts Packing::look_up(const State& state, const World& world, const Key& key) {
  constexpr std::array<std::string_view, 4> kOutside = {"NeuMF", "ResNet50", "BERT", "Transformer"};
  Facts f;
  f.memory_mb = key.memory_mb;
  f.use = key.use;
  const auto name = [&](std::uint32_t n) { return n == profile::kNoName ? std::string() : state.names()[n]; };
  const std::string model = name(key.model);
  f.outside = std::find(kOutside.begin(), kOutside.end(), model) != kOutside.end();
  if (world.colocation != nullptr) {
    f.kind = world.colocation->find(model, name(key.dataset), key.batch_size, key.mixed_precision);
    if (f.kind != profile::Colocation::kNone) f.score = world.colocation->score(f.kind);
  }
  if (f.score < 0 && f.use >= 0) f.score = score_by_profile(f.use, f.memory_mb);
  return f;
}

Packing::Class Packing::class_of(const State& state, const World& world, JobId job) {
  const profile::Attributes* a = state.attributes(job);
  if (a == nullptr || a->memory_mb < 0 || a->share == 0) return kAlone;
  const Key key{a->model, a->dataset, a->batch_size, a->mixed_precision, a->memory_mb, a->gpu_utilization};
  const auto [it, made] = classes_.try_emplace(key, kAlone);
  if (!made) return it->second;
  const Facts f = look_up(state, world, key);
  if (f.score < 0) return kAlone;
  it->second = static_cast<Class>(facts_.size());
  facts_.push_back(f);
  return it->second;
}

profile::PairSpeeds Packing::speeds(const World& world, Class first, Class second, bool outside) const {
  const Facts& a = facts_[first];
  const Facts& b = facts_[second];
  if (outside && (a.outside || b.outside)) return {};
  profile::PairSpeeds speeds;
  if (world.colocation != nullptr && world.colocation->speeds(a.kind, b.kind, speeds)) return speeds;
  const double use = std::max(a.use, 0.0) + std::max(b.use, 0.0);
  return use <= 100 ? profile::PairSpeeds{} : profile::PairSpeeds{100 / use, 100 / use};
}

}  // namespace comity::sched
