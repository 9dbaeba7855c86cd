// SPDX-License-Identifier: Apache-2.0
#include "cluster/consolidate.h"

#include <algorithm>
#include <array>

namespace comity::cluster {
namespace {

constexpr std::uint32_t kLevels = 65;  // free GPUs of a node: 0 to 64

// Picks k nodes that lack `lack` GPUs in all of the freest node's. What is left over is below the freest node's GPUs
// (else k - 1 nodes would do), so sums that matter fit 64 bits: bit d of a word = "can lack d in all".
class Picker {
 public:
  Picker(std::uint32_t most, std::uint32_t k) : most_(most), k_(k) {}
  void count(std::uint32_t level) { ++nodes_[level]; }

  // The most that k nodes can lack in all, up to `limit`; the k freest can always do.
  [[nodiscard]] std::uint32_t most_lack(std::uint32_t limit) {
    std::uint32_t d = std::min(limit, 63U);
    while ((sums() >> d & 1) == 0) --d;
    return d;
  }
  void aim(std::uint32_t lack) { lack_ = lack; }
  [[nodiscard]] bool done() const { return k_ == 0; }
  // The next node in order of index: whether to take it, so that the others can be found among those behind it.
  bool take(std::uint32_t level) {
    if (nodes_[level]-- <= k_) known_.fill(kUnknown);  // fewer than could be used are left
    const std::uint32_t lack = most_ - level;
    if (lack > lack_) return false;
    if (known_[level] == kUnknown) {
      --k_;
      known_[level] = (sums() >> (lack_ - lack) & 1) != 0 ? kYes : kNo;
      ++k_;
    }
    if (known_[level] == kNo) return false;
    --k_;
    lack_ -= lack;
    known_.fill(kUnknown);
    return true;
  }

 private:
  enum Known : std::uint8_t { kUnknown, kYes, kNo };

  // What k_ of the nodes counted can lack in all.
  std::uint64_t sums() {
    reach_.assign(k_ + 1, 0);
    reach_[0] = 1;
    for (std::uint32_t level = most_; level > 0; --level) {
      const std::uint32_t lack = most_ - level;
      for (std::uint32_t j = k_; j > 0; --j) {
        for (std::uint32_t m = 1; m <= std::min(nodes_[level], j) && m * lack < 64; ++m)
          reach_[j] |= reach_[j - m] << (m * lack);
      }
    }
    return reach_[k_];
  }

  std::uint32_t most_;
  std::uint32_t k_;         // still to be picked
  std::uint32_t lack_ = 0;  // that they must have in all
  std::array<std::uint32_t, kLevels> nodes_{};
  std::array<Known, kLevels> known_{};  // take() of a node of this level, as things are
  std::vector<std::uint64_t> reach_;
};

}  // namespace

std::vector<std::uint32_t> fewest_nodes(const std::vector<std::uint32_t>& free, std::uint32_t gpus) {
  std::array<std::uint32_t, kLevels> nodes{};
  for (const std::uint32_t f : free) ++nodes[f];
  std::uint32_t k = 0;
  std::uint32_t most = 0;
  std::uint64_t sum = 0;
  for (std::uint32_t level = kLevels; level-- > 1;) {
    if (nodes[level] != 0 && most == 0) most = level;
    for (std::uint32_t i = 0; i < nodes[level] && sum < gpus; ++i, ++k) sum += level;
  }
  if (sum < gpus || k == 0) return {};
  Picker picker(most, k);
  for (const std::uint32_t f : free) {
    if (f != 0) picker.count(f);
  }
  picker.aim(picker.most_lack(static_cast<std::uint32_t>(std::uint64_t{k} * most - gpus)));
  std::vector<std::uint32_t> chosen;
  for (std::uint32_t i = 0; i < free.size() && !picker.done(); ++i) {
    if (free[i] != 0 && picker.take(free[i])) chosen.push_back(i);
  }
  return chosen;
}

}  // namespace comity::cluster
