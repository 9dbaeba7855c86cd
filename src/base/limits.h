// SPDX-License-Identifier: Apache-2.0
// Bounds on everything that is read from outside. Nothing allocates more than these allow.
#pragma once

#include <cstddef>
#include <cstdint>

namespace comity::limits {

inline constexpr std::size_t kLineBytes = 1 << 20;        // one line of a text file
inline constexpr std::size_t kFields = 1024;              // fields of one CSV line
inline constexpr std::size_t kDocumentBytes = 64U << 20;  // a TOML or JSON document
inline constexpr int kDocumentDepth = 64;                 // nesting of a TOML or JSON document
inline constexpr std::int64_t kGpusPerJob = 1'000'000;
inline constexpr std::int64_t kNodes = 1'000'000;
inline constexpr std::int64_t kGpusPerNode = 1'000'000;  // 64 where single GPUs are placed, see cluster/pool.h
inline constexpr std::int64_t kJobs = 1'000'000'000;
inline constexpr std::size_t kNameBytes = 4096;  // a user, tenant or job name

}  // namespace comity::limits
