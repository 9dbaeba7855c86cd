// SPDX-License-Identifier: Apache-2.0
// Dominant resource fairness (Ghodsi et al., NSDI 2011): the bookkeeping, apart from the policy so that it can be used
// with any resources. With
//   C_r     capacity of resource r (any unit; 0: unknown, never dominant)
//   U_i,r   what owner i holds of it
//   w_i     weight of the owner
// the dominant share of i is s_i = max_r U_i,r / C_r / w_i, and who has the least s_i is served next.
#pragma once

#include <cstdint>
#include <vector>

namespace comity::sched {

class DominantShares {
 public:
  explicit DominantShares(std::vector<double> capacity) : capacity_(std::move(capacity)) {}

  // Owners are dense indices; a new one holds nothing. O(resources).
  void add_owner(double weight) { owners_.push_back({weight, std::vector<double>(capacity_.size(), 0)}); }
  [[nodiscard]] std::size_t owners() const { return owners_.size(); }
  // demand: one number a resource; sign -1 gives it back.
  void use(std::uint32_t owner, const std::vector<double>& demand, double sign = 1) {
    for (std::size_t r = 0; r < capacity_.size(); ++r) owners_[owner].used[r] += sign * demand[r];
  }
  [[nodiscard]] double share(std::uint32_t owner) const {
    double most = 0;
    for (std::size_t r = 0; r < capacity_.size(); ++r) {
      if (capacity_[r] > 0 && owners_[owner].used[r] / capacity_[r] > most)
        most = owners_[owner].used[r] / capacity_[r];
    }
    return most / owners_[owner].weight;
  }
  [[nodiscard]] std::size_t resources() const { return capacity_.size(); }

 private:
  struct Owner {
    double weight;
    std::vector<double> used;
  };
  std::vector<double> capacity_;
  std::vector<Owner> owners_;
};

}  // namespace comity::sched
