// SPDX-License-Identifier: Apache-2.0
// Machines for tests of collectives: line rates as published, efficiency 1 where nothing else is said.
#pragma once

#include "workload/system.h"

namespace comity::workload {

// Eight H100 on NVSwitch (18 links of 25 GB/s a direction), a 400 Gb/s NIC each.
inline System dgx_h100() {
  System system;
  system.name = "dgx_h100";
  system.gpus_per_node = 8;
  Network nvlink;
  nvlink.name = "nvlink";
  nvlink.domain = 8;
  nvlink.gb_s = 450;
  nvlink.latency_us = 1;
  nvlink.in_network_reduction = true;
  Network ib;
  ib.name = "infiniband";
  ib.gb_s = 50;
  ib.latency_us = 5;
  system.networks = {nvlink, ib};
  system.nccl.arch = "hopper";
  system.nccl.nvls = true;
  return system;
}

// Eight A100 on NVSwitch (12 links), a 200 Gb/s NIC each.
inline System dgx_a100() {
  System system = dgx_h100();
  system.name = "dgx_a100";
  system.networks[0].gb_s = 300;
  system.networks[0].in_network_reduction = false;
  system.networks[1].gb_s = 25;
  system.nccl.arch = "ampere";
  system.nccl.nvls = false;
  return system;
}

}  // namespace comity::workload
