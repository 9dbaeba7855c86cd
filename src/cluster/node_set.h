// SPDX-License-Identifier: Apache-2.0
// A set of dense node indices that answers "lowest member" and "next member" in O(1) per 4,096 nodes: one bit a node
// and one summary bit a word.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace comity::cluster {

class NodeSet {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffU;

  explicit NodeSet(std::size_t nodes) : words_((nodes + 63) / 64), summary_((words_.size() + 63) / 64) {}

  void insert(std::uint32_t i) {
    words_[i >> 6] |= bit(i);
    summary_[i >> 12] |= bit(i >> 6);
    ++size_;
  }
  void erase(std::uint32_t i) {
    words_[i >> 6] &= ~bit(i);
    if (words_[i >> 6] == 0) summary_[i >> 12] &= ~bit(i >> 6);
    --size_;
  }
  [[nodiscard]] bool contains(std::uint32_t i) const { return (words_[i >> 6] & bit(i)) != 0; }
  [[nodiscard]] std::uint32_t size() const { return size_; }

  // The lowest member >= from, or kNone.
  [[nodiscard]] std::uint32_t next(std::uint32_t from) const {
    std::size_t w = from >> 6;
    if (w >= words_.size()) return kNone;
    const std::uint64_t here = words_[w] & (~std::uint64_t{0} << (from & 63));
    if (here != 0) return static_cast<std::uint32_t>(w * 64 + static_cast<std::size_t>(std::countr_zero(here)));
    for (++w; w < words_.size();) {
      const std::uint64_t s = summary_[w >> 6] & (~std::uint64_t{0} << (w & 63));
      if (s == 0) {
        w = (w | 63) + 1;
        continue;
      }
      w = (w & ~std::size_t{63}) + static_cast<std::size_t>(std::countr_zero(s));
      return static_cast<std::uint32_t>(w * 64 + static_cast<std::size_t>(std::countr_zero(words_[w])));
    }
    return kNone;
  }
  [[nodiscard]] std::uint32_t lowest() const { return next(0); }

 private:
  [[nodiscard]] static constexpr std::uint64_t bit(std::uint32_t i) { return std::uint64_t{1} << (i & 63); }

  std::vector<std::uint64_t> words_;
  std::vector<std::uint64_t> summary_;
  std::uint32_t size_ = 0;
};

}  // namespace comity::cluster
