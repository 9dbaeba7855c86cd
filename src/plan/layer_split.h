// SPDX-License-Identifier: Apache-2.0
// Cuts L layers into p contiguous stages of unequal GPUs so that a pipeline of m micro-batches ends first:
// min (m - 1) max_i t_i + sum_i t_i, every stage at least one layer and no more than its memory holds.
//
// For a bound T on the longest stage, f[i][l] = min over k < l of f[i-1][k] + t_i(k, l), t_i <= T: O(p L^2). T goes up
// from the least possible through the values that stages can take, until (m - 1) T alone is worse than the best found:
// few rounds when m is large. The result is the optimum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace comity::plan {

// What layers cost on one kind of stage: prefix sums of L + 1 entries, [0] = 0.
struct LayerPrefix {
  std::vector<double> seconds;
  std::vector<double> weight_bytes;      // with gradients and optimizer
  std::vector<double> activation_bytes;  // of one micro-batch
};

struct SplitStage {
  std::size_t kind = 0;
  double extra_s = 0;    // embedding, head, transfers
  double in_flight = 1;  // micro-batches whose activations it holds
  double extra_bytes = 0;
  double capacity_bytes = 0;
};

struct LayerSplit {
  std::vector<std::int64_t> layers;  // a stage
  std::vector<double> seconds;       // a stage and micro-batch
  double longest_s = 0;
  double sum_s = 0;
  [[nodiscard]] double total_s(double microbatches) const { return (microbatches - 1) * longest_s + sum_s; }
};

// Seconds of one stage with layers [from, to); infinite where they do not fit.
[[nodiscard]] double stage_seconds(const std::vector<LayerPrefix>& kinds, const SplitStage& stage, std::int64_t from,
                                   std::int64_t to);
// Nothing where no split fits, or where none has a total below `below`.
[[nodiscard]] std::optional<LayerSplit> split_layers(const std::vector<LayerPrefix>& kinds,
                                                     const std::vector<SplitStage>& stages, std::int64_t layers,
                                                     double microbatches,
                                                     double below = std::numeric_limits<double>::infinity());
// The given counts, or as even as can be where `counts` is empty; nothing where they do not fit.
[[nodiscard]] std::optional<LayerSplit> fixed_split(const std::vector<LayerPrefix>& kinds,
                                                    const std::vector<SplitStage>& stages, std::int64_t layers,
                                                    std::vector<std::int64_t> counts);

}  // namespace comity::plan
