// SPDX-License-Identifier: Apache-2.0
// What NCCL would choose and how long its own tuning model says that it takes (NCCL 2.2x, graph/tuning.cc: constants
// and rules, restated), with two additions: no algorithm is faster than what the tiers carry (efficiency, NICs shared
// with other groups, oversubscription), and between the sizes that NCCL tabulates its correction for trees is
// interpolated, so that more bytes never take less time. The CPU is taken for an Intel one.
//
// Point to point and all-to-all are not in NCCL's table: sends and receives, eight peers at a time, over the ports.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "workload/collective_cost.h"

namespace comity::workload {

enum class NcclAlgorithm : std::uint8_t {
  kTree,
  kRing,
  kCollnetDirect,
  kCollnetChain,
  kNvls,
  kNvlsTree,
  kPat,
  kSendRecv
};
enum class NcclProtocol : std::uint8_t { kLl, kLl128, kSimple };

struct NcclRow {
  NcclAlgorithm algorithm = NcclAlgorithm::kRing;
  NcclProtocol protocol = NcclProtocol::kSimple;
  double latency_us = 0;
  double gb_s = 0;    // algbw of long messages
  double time_s = 0;  // latency + bytes / bandwidth
  bool chosen = false;
};

// Every row that may be used, in the order of the enumerations; one is chosen. Empty for one rank or no bytes.
[[nodiscard]] std::vector<NcclRow> nccl_table(const System& system, Collective op, double bytes, const Group& group);
// The chosen row's time, without the table.
[[nodiscard]] double nccl_s(const System& system, Collective op, double bytes, const Group& group);

[[nodiscard]] std::string_view nccl_algorithm_name(NcclAlgorithm algorithm);
[[nodiscard]] std::string_view nccl_protocol_name(NcclProtocol protocol);

}  // namespace comity::workload
