// SPDX-License-Identifier: Apache-2.0
// Run times predicted from the jobs that have finished so far, as clusters without user estimates do (the idea of Lucid
// and QSSF, Hu et al. SC'21, in its plainest form): the mean of the same user's jobs of the same name, else of the same
// user's, else of all. Nothing of a job itself is used before it ends. O(1) a job; memory O(users x names).
#pragma once

#include <cstdint>
#include <unordered_map>

#include "base/units.h"
#include "profile/job_request.h"

namespace comity::twin {

class History {
 public:
  // `user` and `name` are NameTable indices, kNoName where there is none.
  void add(std::uint32_t user, std::uint32_t name, Time ran);
  // The prediction, or `unknown` while nothing has finished.
  [[nodiscard]] Time predict(std::uint32_t user, std::uint32_t name, Time unknown) const;

 private:
  struct Mean {
    double sum = 0;  // s: exact for whole seconds up to 2^53
    double count = 0;
    [[nodiscard]] Time value() const { return from_seconds(sum / count); }
  };
  static std::uint64_t key(std::uint32_t user, std::uint32_t name) { return (std::uint64_t{user} << 32) | name; }

  std::unordered_map<std::uint64_t, Mean> by_name_;  // (user, name)
  std::unordered_map<std::uint32_t, Mean> by_user_;
  Mean all_;
};

}  // namespace comity::twin
