// SPDX-License-Identifier: Apache-2.0
// What a job asks for: its shape, whom it belongs to, how long it says it will run. SING (ASPLOS'25) section 2 is the
// source of the two-dimensional shape (nodes x GPUs a node); a trace row, a job file and a REST request all become one
// JobRequest. 10 million of them are held in memory at once, so it is small: names are indices into a NameTable, and
// the attributes that few jobs have live in a side table.
#pragma once

#include <array>
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

// When a job should be done, and what that is worth. A strict deadline that is missed makes the job worthless; soft
// ones come in rising order with falling values (Chronus, SoCC'21, section 3).
struct Deadline {
  Time after = 0;    // submission, ns
  double value = 0;  // in the trace's own unit
  bool strict = true;
  friend bool operator==(const Deadline&, const Deadline&) = default;
};

// Consecutive entries of a vector that many jobs share.
struct List {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  friend bool operator==(const List&, const List&) = default;
};

// Attributes that only some traces and policies know. kNoName, -1 and an empty list = not given. What is counted (CPUs,
// memory) is of the whole job.
struct Attributes {
  std::uint32_t name = kNoName;
  std::uint32_t model = kNoName;
  std::uint32_t dataset = kNoName;
  std::uint32_t job_class = kNoName;  // "slo", "best_effort", "guaranteed", "opportunistic" or the trace's own word
  std::uint32_t status = kNoName;     // how it ended, as the log words it
  std::uint32_t command = kNoName;    // command line
  std::uint32_t directory = kNoName;  // where the command runs
  std::uint32_t duration_basis = kNoName;  // how the run time is known where the log has none, see trace/record.h
  List deadlines;                          // in Trace::deadlines
  List gpu_models;                         // in Trace::gpu_models; the GPU types it may run on (or ran on)
  std::int64_t batch_size = -1;
  std::int64_t iterations = -1;      // steps in all
  std::int64_t cpu_milli = -1;       // thousandths of a CPU
  double gpu_utilization = -1;       // percent
  double memory_mb = -1;             // of a GPU, 2^20 bytes
  double memory_utilization = -1;    // of the GPU's memory bandwidth, percent
  double host_memory_mb = -1;        // main memory, 2^20 bytes
  double speed = -1;                 // samples a second, alone on its GPUs
  double priority = -1;              // weight
  std::int16_t gpu_milli = -1;       // share of each of its GPUs in thousandths, 1 to 1000
  std::int8_t mixed_precision = -1;  // 0 or 1
  std::int8_t share = -1;            // 1: willing to share its GPUs with another job, 0: not
  friend bool operator==(const Attributes&, const Attributes&) = default;
};

// Every member of Attributes that is an index into the NameTable.
inline constexpr std::array<std::uint32_t Attributes::*, 8> kAttributeNames = {
    &Attributes::name,   &Attributes::model,   &Attributes::dataset,   &Attributes::job_class,
    &Attributes::status, &Attributes::command, &Attributes::directory, &Attributes::duration_basis};

}  // namespace comity::profile
