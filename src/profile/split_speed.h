// SPDX-License-Identifier: Apache-2.0
// What a job loses when its GPUs are spread over nodes (Chronus, SoCC'21, section 3.4; data/splits/chronus.toml), and
// the ways in which a job of up to 8 GPUs may be spread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace comity::profile {

struct SplitTable {
  struct Model {
    std::string name;
    std::vector<std::string> aliases;
    std::vector<double> speeds;  // by column
  };
  std::vector<std::int64_t> gpus, nodes;  // by column
  std::vector<Model> models;

  // Of a job of this model with so many GPUs on so many nodes, of its speed on one node: the column with the fewest
  // GPUs that are enough, then with the most nodes up to `nodes` (the fewest where all are more). A model without a row
  // counts as the slowest of the table. 1 for one node or one GPU.
  [[nodiscard]] double speed(std::string_view model, std::uint32_t gpus_of_job, std::uint32_t nodes_of_job) const;
};

// Errors (kInput) name file, line and key: lists of different lengths, speeds outside (0, 2].
[[nodiscard]] Result<SplitTable> parse_splits(std::string_view text, const std::string& file);
[[nodiscard]] double split_speed(std::string_view model, std::uint32_t gpus,
                                 std::uint32_t nodes);  // by the program's table

// The pieces that a job may be split into, fewest first; empty for more than 8 GPUs.
[[nodiscard]] std::span<const std::vector<std::uint32_t>> splits(std::uint32_t gpus);

}  // namespace comity::profile
