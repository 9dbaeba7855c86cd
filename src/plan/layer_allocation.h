// SPDX-License-Identifier: Apache-2.0
// Layers of a model over unequal nodes as pipelines, after Parallax (arXiv 2509.26182, its scheduler's first phase).
// A node v holds at most c_v layers and computes with power p_v (layers a second).
//
// Pipelines: choose how many, k, and which nodes. For k pipelines s*(k) is the least number of nodes, all pipelines
// together; k maximises Z(k) = k^2 / s*(k), or k^alpha / (T_comp + (s*/k) RTT). Some s nodes that do can be exchanged
// for the s largest, so s*(k) is found by trying the s largest for growing s, each by a dynamic programme over what the
// k pipelines still lack: exact, exponential in k at worst, cut short at `most_states`. Inside of a pipeline: layers_v
// = min(c_v, lambda p_v) with bisection on lambda, then whole layers: O(n log).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace comity::plan {

// Whole layers of each node, at least 1, at most its capacity, `layers` together; empty where that cannot be.
[[nodiscard]] std::vector<std::int64_t> water_fill(std::span<const double> powers,
                                                   std::span<const std::int64_t> capacities, std::int64_t layers);

struct PipelineValue {
  double alpha = 2;
  double compute_s = 0;  // T_comp; 0: Z = k^alpha / s, the older form
  double rtt_s = 0;
  [[nodiscard]] double of(std::int64_t pipelines, std::int64_t nodes) const;
};

struct Grouping {
  std::vector<std::vector<std::size_t>> pipelines;  // nodes of each, largest capacity first
  double value = 0;                                 // Z
  bool exact = true;                                // false: some k was given up
  [[nodiscard]] std::int64_t nodes() const;
};
// Each pipeline's capacities add up to `need` or more. No pipeline: the nodes together hold too little.
[[nodiscard]] Grouping best_grouping(std::span<const std::int64_t> capacities, std::int64_t need,
                                     const PipelineValue& value, std::uint64_t most_states = 20'000);
// Parallax's quick way: by capacity, largest first; a pipeline that one more node can complete takes the smallest that
// does.
[[nodiscard]] Grouping greedy_grouping(std::span<const std::int64_t> capacities, std::int64_t need,
                                       const PipelineValue& value);
// The least number of nodes for `pipelines`, and which; nothing where that cannot be. `states` counts down.
[[nodiscard]] std::optional<Grouping> fewest_nodes(std::span<const std::int64_t> capacities, std::int64_t need,
                                                   std::int64_t pipelines, std::uint64_t& states);

}  // namespace comity::plan
