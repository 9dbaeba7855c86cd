// SPDX-License-Identifier: Apache-2.0
// The legal executions of a question, one after another in a fixed order.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "plan/parallelism.h"

namespace comity::plan {

// Calls leaf(execution, layer costs) for each; false from it ends the walk. Returns whether the walk came to its end.
using Leaf = std::function<bool(const workload::Execution&, const workload::LayerCosts&)>;
bool for_each_execution(const ParallelismQuestion& question, const Leaf& leaf);

// (tp, pp) in the order in which Megatron's rule tries them: less tp x pp first, then more tp.
[[nodiscard]] std::vector<std::pair<std::int64_t, std::int64_t>> model_parallel_degrees(
    const ParallelismQuestion& question);
// Experts spread as wide as replicas and their number allow, inside of a node where that is enough.
[[nodiscard]] std::int64_t expert_degree(const ParallelismQuestion& question, const workload::Execution& execution);

[[nodiscard]] std::vector<std::int64_t> divisors(std::int64_t n);  // ascending

// `samples` different numbers below `below` (all of them when there are fewer), ascending.
[[nodiscard]] std::vector<std::uint64_t> draw_indices(std::uint64_t below, std::size_t samples, std::uint64_t seed);

}  // namespace comity::plan
