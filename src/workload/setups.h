// SPDX-License-Identifier: Apache-2.0
// The set-ups behind published figures whose tables do not state them: data/measured/setups.toml, embedded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "workload/measured.h"

namespace comity::workload {

struct Setup {
  std::string id;      // of the row
  std::string reason;  // why nothing is predicted; empty: it is
  std::string gpu;
  std::string source;
  Metric metric = Metric::kStepSeconds;
  bool one_moe_block = false;  // forward and backward times of a mixture-of-experts block instead
  Model model;
  Execution base;
  std::vector<std::int64_t> microbatches = {1, 2, 4, 8};
  std::vector<std::int64_t> virtual_stages = {1, 2, 3, 4};
};

// The set-up of a row; '*' in an id of the table stands for any text, the first that fits counts. Null: unknown.
[[nodiscard]] const Setup* find_setup(std::string_view id);

}  // namespace comity::workload
