// SPDX-License-Identifier: Apache-2.0
// Which nodes a gang gets under Placement::kConsolidated (rule R4 of the scheduler review): the fewest nodes that have
// its GPUs free, of those sets the one with least left over, of those the one with the lowest indices.
#pragma once

#include <cstdint>
#include <vector>

namespace comity::cluster {

// `free`: free GPUs by node, each at most 64; 0 = don't use. The indices of the chosen nodes, rising; empty when the
// nodes together have less than `gpus`. O(nodes + k^2 x levels x changes of level), k = nodes chosen.
[[nodiscard]] std::vector<std::uint32_t> fewest_nodes(const std::vector<std::uint32_t>& free, std::uint32_t gpus);

}  // namespace comity::cluster
