// SPDX-License-Identifier: Apache-2.0
#include "trace/repeated.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "base/rng.h"

namespace comity::trace {
namespace {

constexpr std::uint64_t kBitsPerJob = 64;
constexpr std::uint32_t kEmpty = 0xffffffffU;

// `hash(i)` and `same(i, j)` of elements by index.
template <class Hash, class Same>
std::vector<std::uint32_t> repeated_by_table(std::size_t count, const Hash& hash, const Same& same) {
  std::vector<std::uint32_t> table(std::bit_ceil(count + count / 3 + 1), kEmpty);
  const std::size_t mask = table.size() - 1;
  std::vector<std::uint32_t> repeated;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::size_t at = hash(i) & mask;
    while (table[at] != kEmpty && !same(table[at], i)) at = (at + 1) & mask;
    if (table[at] == kEmpty)
      table[at] = i;
    else
      repeated.push_back(i);
  }
  return repeated;
}

}  // namespace

std::vector<std::uint32_t> repeated_numbers(const std::vector<Row>& rows) {
  if (rows.empty()) return {};
  std::int64_t low = rows.front().id;
  std::int64_t high = low;
  for (const Row& row : rows) {
    low = std::min(low, row.id);
    high = std::max(high, row.id);
  }
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  if (range >= kBitsPerJob * rows.size()) {
    return repeated_by_table(
        rows.size(), [&](std::uint32_t i) { return mix64(static_cast<std::uint64_t>(rows[i].id)); },
        [&](std::uint32_t i, std::uint32_t j) { return rows[i].id == rows[j].id; });
  }
  std::vector<std::uint64_t> seen(range / 64 + 1, 0);
  std::vector<std::uint32_t> repeated;
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    const std::uint64_t at = static_cast<std::uint64_t>(rows[i].id - low);
    const std::uint64_t bit = std::uint64_t{1} << (at % 64);
    if ((seen[at / 64] & bit) != 0) repeated.push_back(i);
    seen[at / 64] |= bit;
  }
  return repeated;
}

std::vector<std::uint32_t> repeated_texts(const std::vector<std::string>& ids) {
  return repeated_by_table(
      ids.size(), [&](std::uint32_t i) { return mix64(std::hash<std::string>{}(ids[i])); },
      [&](std::uint32_t i, std::uint32_t j) { return ids[i] == ids[j]; });
}

}  // namespace comity::trace
