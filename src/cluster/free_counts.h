// SPDX-License-Identifier: Apache-2.0
// What a pool would look like after some jobs have left: free GPUs by node and how many nodes have how many. Answers
// "does this shape fit then?" as Pool::fits does, without copying the pool. O(GPUs a node) to begin, O(parts) a
// release. Placement::kBuddy needs the GPUs themselves and is not supported (Pool is copied there).
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/pool.h"

namespace comity::cluster {

class FreeCounts {
 public:
  void assign(const Pool& pool);
  void release(const Pool& pool, const Allocation& a);
  void take_back(const Pool& pool, const Allocation& a);  // undoes release()
  [[nodiscard]] bool fits(const Pool& pool, const Shape& shape, Pool::Where where) const;

 private:
  static constexpr std::uint32_t kLevels = 65;
  void change(const Pool& pool, const Allocation& a, int sign);
  [[nodiscard]] bool class_fits(const Pool& pool, std::uint32_t c, const Shape& shape) const;

  struct Node {
    std::uint32_t round = 0;  // in which it was first touched
    std::uint32_t free = 0;
  };
  std::uint32_t round_ = 0;           // of assign()
  std::vector<Node> node_;            // free GPUs of nodes that gained some in this round
  std::vector<std::uint32_t> nodes_;  // [class x kLevels + free] -> nodes that are up
  std::vector<std::int64_t> free_;    // by class
};

}  // namespace comity::cluster
