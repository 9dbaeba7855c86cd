// SPDX-License-Identifier: Apache-2.0
// What a job asks for: its shape, whom it belongs to, how long it says it will run. SING (ASPLOS'25) section 2 is the
// source of the two-dimensional shape (nodes x GPUs a node); a trace row, a job file and a REST request all become one
// JobRequest. 10 million of them are held in memory at once, so it is small: names are indices into a NameTable, and
// the attributes that few jobs have live in a side table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/units.h"

namespace comity::profile {

// nodes == 0: `gpus` GPUs anywhere the placement rule allows (most public traces). nodes >= 1: `nodes` distinct nodes
// with `gpus` GPUs each.
struct Shape {
  std::uint32_t nodes = 0;
  std::uint32_t gpus = 0;  // in all when nodes == 0, else per node

  [[nodiscard]] constexpr std::uint64_t total() const { return nodes == 0 ? gpus : std::uint64_t{nodes} * gpus; }
  friend constexpr auto operator<=>(const Shape&, const Shape&) = default;
};

inline constexpr std::uint32_t kNoName = 0xffffffffU;
inline constexpr std::uint32_t kNoAttributes = 0xffffffffU;

struct JobRequest {
  Shape shape;
  std::uint32_t user = kNoName;              // NameTable index
  std::uint32_t tenant = kNoName;            // virtual cluster, account or group of users
  std::uint32_t group = kNoName;             // resource group (disjoint nodes); none = the default group
  std::uint32_t gpu_type = kNoName;          // none = any type
  Time estimate = -1;                        // what the user said it would run, ns; -1 = nothing said
  std::uint32_t attributes = kNoAttributes;  // index into an AttributeTable (model, dataset, ...)
};

// Interned strings: equal text, equal index. Not thread-safe.
class NameTable {
 public:
  NameTable() = default;
  NameTable(const NameTable&) = delete;  // names_ points into index_
  NameTable& operator=(const NameTable&) = delete;
  NameTable(NameTable&&) = default;
  NameTable& operator=(NameTable&&) = default;

  std::uint32_t intern(std::string_view text);
  [[nodiscard]] std::uint32_t find(std::string_view text) const;  // kNoName when absent
  [[nodiscard]] const std::string& operator[](std::uint32_t index) const { return *names_[index]; }
  [[nodiscard]] std::size_t size() const { return names_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const noexcept { return std::hash<std::string_view>{}(s); }
  };
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> index_;
  std::vector<const std::string*> names_;  // keys of index_, whose nodes do not move
};

// Attributes that only some traces and policies know. kNoName = not given.
struct Attributes {
  std::uint32_t name = kNoName;
  std::uint32_t model = kNoName;
  std::uint32_t dataset = kNoName;
  std::int64_t batch_size = -1;
  std::int64_t iterations = -1;
  double gpu_utilization = -1;  // percent
  double memory_mb = -1;
};

}  // namespace comity::profile
