// SPDX-License-Identifier: Apache-2.0
// What one line of a trace file says, before it is checked and becomes a Row. Decoders fill it, Builder checks it.
// Views point into the line and live as long as it does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "profile/job_request.h"

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
  kClass,
  kStatus,
  kCommand,
  kDirectory,
  kDurationBasis,
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
  kDeadlines,  // "60:10:strict" or "60:10:soft|90:5:soft": seconds after submission, value, kind
  kGpuModels,  // "V100M16|V100M32"
  kGpuMilli,
  kCpuMilli,
  kMemoryUtilization,
  kHostMemory,
  kSpeed,
  kPriority,
  kMixedPrecision,
  kShare,
  kDeclaredGpus,  // of the cluster, not of the job
  kIgnored
};
inline constexpr std::size_t kNameFields = 12;
[[nodiscard]] constexpr bool is_name(Field f) { return static_cast<std::size_t>(f) < kNameFields; }
// Kept in profile::Attributes, not in the row itself.
[[nodiscard]] constexpr bool is_attribute(Field f) {
  return (f >= Field::kName && f <= Field::kDurationBasis) || (f >= Field::kBatchSize && f <= Field::kShare);
}

inline constexpr std::size_t kMostInList = 64;        // deadlines or GPU models of one job
inline constexpr std::int64_t kMostCpus = 1'000'000;  // of one job

// Words of Field::kDurationBasis. Empty = the log says how long the job ran.
inline constexpr std::string_view kNotKnown = "not known";              // neither submission nor run time: both are 0
inline constexpr std::string_view kNeverScheduled = "never scheduled";  // it waited this long and was deleted

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
  double memory_utilization = -1;  // percent
  double host_memory_mb = -1;
  double speed = -1;
  double priority = -1;
  std::int64_t cpu_milli = -1;
  std::int64_t gpu_milli = -1;
  std::int64_t mixed_precision = -1;
  std::int64_t share = -1;
  std::int64_t declared_gpus = -1;
  std::vector<profile::Deadline> deadlines;
  std::vector<std::string_view> gpu_models;
  Id id_kind = Id::kNone;
  bool may_have_attributes = true;  // false: no field that is_attribute() was ever set

  [[nodiscard]] std::string_view& name(Field f) { return names[static_cast<std::size_t>(f)]; }
  [[nodiscard]] std::string_view name(Field f) const { return names[static_cast<std::size_t>(f)]; }
};

// Why a line cannot be used.
struct Problem {
  std::string field;
  std::string message;
};

}  // namespace comity::trace
