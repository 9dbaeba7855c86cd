// SPDX-License-Identifier: Apache-2.0
// What one line of a trace file says, before it is checked and becomes a Row. Decoders fill it, Builder checks it.
// Views point into the line and live as long as it does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.h"

namespace comity::trace {

// The fields a column of a file can hold. The names come first: they index Record::names.
enum class Field : std::uint8_t {
  kUser,
  kTenant,
  kGroup,
  kGpuType,
  kName,
  kModel,
  kDataset,
  kId,
  kSubmit,
  kDuration,
  kGpus,
  kNodes,
  kGpusPerNode,
  kEstimate,
  kWait,
  kBatchSize,
  kIterations,
  kGpuUtilization,
  kMemory,
  kIgnored
};
inline constexpr std::size_t kNameFields = 7;
[[nodiscard]] constexpr bool is_name(Field f) { return static_cast<std::size_t>(f) < kNameFields; }

struct Record {
  enum class Id : std::uint8_t { kNone, kNumber, kText };

  std::array<std::string_view, kNameFields> names;  // empty = not given
  std::string_view id_text;                         // where id_kind is kText
  std::int64_t id = 0;                              // where id_kind is kNumber
  Time submit = 0;
  Time duration = 0;
  Time estimate = -1;
  Time wait = -1;
  std::int64_t gpus = 0;  // in all; 0 = not given (when nodes are)
  std::int64_t nodes = 0;
  std::int64_t gpus_per_node = 0;
  std::int64_t batch_size = -1;
  std::int64_t iterations = -1;
  double gpu_utilization = -1;  // percent
  double memory_mb = -1;
  Id id_kind = Id::kNone;

  [[nodiscard]] std::string_view& name(Field f) { return names[static_cast<std::size_t>(f)]; }
  [[nodiscard]] std::string_view name(Field f) const { return names[static_cast<std::size_t>(f)]; }
};

// Why a line cannot be used.
struct Problem {
  std::string field;
  std::string message;
};

}  // namespace comity::trace
