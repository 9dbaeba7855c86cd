// SPDX-License-Identifier: Apache-2.0
// NCCL's own estimate of a collective, by which it chooses algorithm and protocol (graph/tuning.cc of NCCL 2.2x):
//   time = latency + bytes / bandwidth,
// bandwidth from channels x speed of a channel, latency from tables by algorithm, protocol and kind of link. It ranks
// algorithms well and is optimistic about bandwidth: the tiers' `efficiency` scales it to what is achieved.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "workload/collective_cost.h"

namespace comity::workload {

enum class NcclAlgorithm : std::uint8_t { kTree, kRing, kNvls, kNvlsTree, kPat };
enum class NcclProtocol : std::uint8_t { kLl, kLl128, kSimple };
[[nodiscard]] std::string_view nccl_algorithm_name(NcclAlgorithm algorithm);
[[nodiscard]] std::string_view nccl_protocol_name(NcclProtocol protocol);

struct NcclChoice {
  NcclAlgorithm algorithm = NcclAlgorithm::kRing;
  NcclProtocol protocol = NcclProtocol::kSimple;
  double latency_us = 0;
  double gb_s = 0;  // algorithm bandwidth; 0: cannot be used
  double time_us = 0;
};

// Every pair of algorithm and protocol for an all-reduce, all-gather, reduce-scatter, broadcast or reduce, in a fixed
// order; time_us is infinite where one cannot be used. Group with at least two ranks.
using NcclTable = std::array<NcclChoice, 15>;
[[nodiscard]] NcclTable nccl_table(const System& system, Collective op, double bytes, const Group& group);
// The fastest of them: what NCCL would run.
[[nodiscard]] NcclChoice nccl_choice(const System& system, Collective op, double bytes, const Group& group);

// Channels and the speed of each (GB/s) that NCCL's search finds for a ring: inside of a node on NVLink, between nodes
// one NIC a GPU.
struct NcclChannels {
  double count = 1;
  double gb_s = 0;
};
[[nodiscard]] NcclChannels nccl_channels(const System& system, const Group& group);

}  // namespace comity::workload
