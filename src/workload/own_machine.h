// SPDX-License-Identifier: Apache-2.0
// This machine's processor as a System: products and copies measured by one thread, the model's constants fitted to
// them. Collectives are not measured.
#pragma once

#include <vector>

#include "workload/system.h"

namespace comity::workload {

struct MeasuredGemm {
  double m = 0, n = 0, k = 0;
  double measured_gflop_s = 0;
  double modelled_gflop_s = 0;  // by the fitted constants
};
struct OwnMachine {
  System system;
  std::vector<MeasuredGemm> products;
  double copy_gb_s = 0;
};

// Takes about `seconds`. The rest of the machine (GPUs a node, networks, memory) comes from `start`.
[[nodiscard]] OwnMachine measure_machine(const System& start, double seconds);

}  // namespace comity::workload
