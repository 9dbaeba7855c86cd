// SPDX-License-Identifier: Apache-2.0
// The arithmetic of SPPO (Chen et al., "SPPO: Efficient Long-sequence LLM Training via Adaptive Sequence Pipeline
// Parallel Offloading", arXiv 2503.10377): a sequence is cut into N sub-sequences that go through a pipeline of p
// stages one after another, as micro-batches do, while what they leave behind goes to host memory.
//
// Symbols: S tokens of the sequence, N sub-sequences, p stages, A_i bytes that sub-sequence i leaves and that may go to
// the host, alpha_i the share of them that does. All functions are pure; O(N) each, multiplexed_partition O(p N).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace comity::plan {

// Cost of a causal transformer over tokens [x, y) of a sequence: linear (y - x) + quadratic (y^2 - x^2) / 2. In FLOPs
// of one layer's forward pass linear = 24 h^2 and quadratic = 4 h; in seconds what the kernels take. No negative value,
// one of them positive.
struct TokenCost {
  double linear = 1;
  double quadratic = 0;
  [[nodiscard]] double of(double from, double to) const {
    return linear * (to - from) + quadratic * (to - from) * (to + from) / 2;
  }
};

// The N + 1 borders 0 = y_0 < .. < y_N = S of pieces of equal cost, in closed form: y_i is the positive root of
// linear y + quadratic y^2 / 2 = i/N of the whole. Early pieces are long and late ones short.
[[nodiscard]] std::vector<double> equal_cost_borders(const TokenCost& cost, double tokens, std::int64_t pieces);
// The same, rounded to whole tokens; at least one token each (needs tokens >= pieces >= 1).
[[nodiscard]] std::vector<std::int64_t> token_borders(const TokenCost& cost, std::int64_t tokens, std::int64_t pieces);

// alpha_i = min(1, budget_i / A_i), where budget_i is what the link to the host carries while the next sub-sequence is
// computed. keep_last: the last one is needed at once, so it stays (alpha = 0).
[[nodiscard]] std::vector<double> offload_ratios(std::span<const double> bytes, std::span<const double> budgets,
                                                 bool keep_last);
// M_i = M_{i-1} + A_i - alpha_{i-1} A_{i-1}: what lies on the GPU after each sub-sequence's forward pass.
[[nodiscard]] std::vector<double> resident_bytes(std::span<const double> bytes, std::span<const double> ratios);

// (p - 1) / N, idle over useful time of a pipeline of N equal sub-sequences.
[[nodiscard]] double sequence_bubble(std::int64_t stages, std::int64_t pieces);

// Which sub-sequences (ids, [from, to) ranges) each stage shares with its neighbours while the pipeline fills (left)
// and drains (right), and which it computes alone. Left pieces of stage i are computed by stages left_from ..
// left_to - 1 together, right pieces by right_from .. right_to - 1.
struct MultiplexedStage {
  std::int64_t left_pieces = 0;  // ids 0 .. left_pieces - 1
  std::int64_t steady_from = 0;  // ids steady_from .. steady_to - 1
  std::int64_t steady_to = 0;    //
  std::int64_t right_from = 0;   // ids right_from .. N - 1
  std::int64_t pieces = 0;       // N
  std::int64_t left_stages_from = 0;
  std::int64_t left_stages_to = 0;
  std::int64_t right_stages_from = 0;
  std::int64_t right_stages_to = 0;
};
// Multiplexed sequence partition; needs N >= p. Empty where that does not hold.
[[nodiscard]] std::vector<MultiplexedStage> multiplexed_partition(std::int64_t stages, std::int64_t pieces);

// Start and end of each piece on each stage (row = stage): piece k starts on stage i once it has left stage i - 1 and
// piece k - 1 has left stage i. seconds[i][k] there; hop_s between stages. `reversed`: the backward pass, last piece
// and last stage first.
struct Span {
  double start_s = 0;
  double end_s = 0;
};
[[nodiscard]] std::vector<std::vector<Span>> sequence_pipeline(const std::vector<std::vector<double>>& seconds,
                                                               double hop_s, bool reversed);

}  // namespace comity::plan
