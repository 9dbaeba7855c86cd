// SPDX-License-Identifier: Apache-2.0
// The channels that NCCL finds in a machine: how many rings, trees and NVLS heads of what speed. A search over GPUs
// that all see each other at the same bandwidth and have a NIC each has a closed form; where the real topology is
// uneven (two NICs a GPU, no NVSwitch), NcclModel's channels, intra_gb_s and inter_gb_s say what
// `NCCL_DEBUG_SUBSYS=GRAPH` printed of the rings (pattern 4).
#pragma once

#include <cstdint>

#include "workload/collective/reach.h"
#include "workload/system.h"

namespace comity::workload {

enum class NcclArch : std::uint8_t { kVolta, kAmpere, kHopper, kBlackwell };

struct NcclChannels {
  double count = 0;
  double intra = 0;  // GB/s of a channel inside of a node
  double inter = 0;  // and between nodes
};

struct NcclGraphs {
  NcclArch arch = NcclArch::kAmpere;
  bool nvlink = true;  // false: the GPUs of a node meet over PCI
  NcclChannels ring;
  NcclChannels tree;
  NcclChannels nvls;  // count 0: none
};

[[nodiscard]] NcclArch nccl_arch(const System& system);  // of an unknown name: ampere
// GB/s that NCCL takes a GPU's tier-0 port for: 20 of 25 on an NVLink of Volta and Ampere, 20.6 of 25 on Hopper, 40.1
// of 50 on Blackwell; PCI (a tier whose name has "pci") 12 of 16.
[[nodiscard]] double nccl_port_gb_s(const System& system);
[[nodiscard]] NcclGraphs nccl_graphs(const System& system, const Reach& reach);

}  // namespace comity::workload
