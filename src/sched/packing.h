// SPDX-License-Identifier: Apache-2.0
// Which jobs may share GPUs and how fast they then run, for policies that pack two jobs: lucid and gandiva. What is
// known of a job (kind of work, memory, use of the GPU) makes its class; jobs of one class are interchangeable here.
//   score   of the table of the world (profile/colocation.h); without it from the job's own profile: 2 where it uses
//           60 % of the GPU or 11,000 MB, 1 where it uses 25 %, else 0. Of the 66 kinds that Lucid's authors labelled
//           this rule gives 54 their label, and asks for more than the label in 10 of the 12 others.
//   speeds  of the table; without it both 1 where the two use 100 % together, else both 100 / (sum of their use)
// A job without a score, without a known use of memory or that is not willing (share = 0) shares with nobody.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "profile/colocation.h"
#include "sched/policy.h"

namespace comity::sched {

class Packing {
 public:
  using Class = std::uint32_t;
  static constexpr Class kAlone = 0;  // shares with nobody

  struct Facts {
    std::uint32_t kind = profile::Colocation::kNone;
    double memory_mb = -1;  // of a GPU
    double use = -1;        // of a GPU, percent
    int score = -1;
    bool outside = false;  // of a model that Lucid's simulator takes to be harmless and harmed by nobody
  };

  // The class of a job. O(1).
  [[nodiscard]] Class class_of(const State& state, const World& world, JobId job);
  [[nodiscard]] const Facts& facts(Class c) const { return facts_[c]; }
  [[nodiscard]] static int score_by_profile(double use, double memory_mb);
  // The speeds of two classes that share. `outside`: 1 for both where either is of one of those models.
  [[nodiscard]] profile::PairSpeeds speeds(const World& world, Class first, Class second, bool outside) const;

 private:
  struct Key {
    std::uint32_t model, dataset;
    std::int64_t batch_size;
    int mixed_precision;
    double memory_mb, use;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept;
  };
  [[nodiscard]] static Facts look_up(const State& state, const World& world, const Key& key);

  std::vector<Facts> facts_ = {Facts{}};
  std::unordered_map<Key, Class, Hash> classes_;
};

}  // namespace comity::sched
