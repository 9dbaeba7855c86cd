// SPDX-License-Identifier: Apache-2.0
// The order of operations of each rank.
#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "workload/dualpipe.h"
#include "workload/pipeline.h"

namespace comity::workload {
namespace {

// Operations of one step, all ranks: what a simulation may hold in memory.
constexpr std::int64_t kOperations = std::int64_t{1} << 24;
constexpr std::int64_t kSide = 1 << 20;

Op op(OpKind kind, std::int64_t stage, std::int64_t microbatch) {
  return Op{.kind = kind,
            .overlapped = false,
            .stage = static_cast<std::int32_t>(stage),
            .microbatch = static_cast<std::int32_t>(microbatch)};
}

std::vector<Op> gpipe(std::int64_t m, std::int64_t rank) {
  std::vector<Op> order;
  order.reserve(2 * m);
  for (std::int64_t i = 0; i < m; ++i) order.push_back(op(OpKind::kForward, rank, i));
  for (std::int64_t i = m; i-- > 0;) order.push_back(op(OpKind::kBackward, rank, i));
  return order;
}

// The i-th forward pass and the i-th backward pass, `warm` forward passes first.
template <class Forward, class Backward>
std::vector<Op> alternate(std::int64_t n, std::int64_t warm, const Forward& forward, const Backward& backward) {
  warm = std::min(n, warm);
  std::vector<Op> order;
  order.reserve(2 * n);
  for (std::int64_t i = 0; i < warm; ++i) order.push_back(forward(i));
  for (std::int64_t i = 0; i < n; ++i) {
    if (warm + i < n) order.push_back(forward(warm + i));
    order.push_back(backward(i));
  }
  return order;
}

std::vector<Op> one_f_one_b(const PipelineShape& shape, std::int64_t rank) {
  return alternate(
      shape.microbatches, shape.ranks - 1 - rank, [rank](std::int64_t i) { return op(OpKind::kForward, rank, i); },
      [rank](std::int64_t i) { return op(OpKind::kBackward, rank, i); });
}

std::vector<Op> interleaved(const PipelineShape& shape, std::int64_t rank) {
  const std::int64_t m = shape.microbatches;
  const std::int64_t group = interleaved_group(shape);
  std::vector<std::pair<std::int64_t, std::int64_t>> table;  // chunk, micro-batch
  table.reserve(m * shape.chunks);
  for (std::int64_t first = 0; first < m; first += group) {
    for (std::int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
      for (std::int64_t i = first; i < std::min(m, first + group); ++i) table.emplace_back(chunk, i);
    }
  }
  return alternate(
      m * shape.chunks, 2 * (shape.ranks - 1 - rank) + (shape.chunks - 1) * group,
      [&](std::int64_t i) { return op(OpKind::kForward, table[i].first * shape.ranks + rank, table[i].second); },
      [&](std::int64_t i) {
        return op(OpKind::kBackward, (shape.chunks - 1 - table[i].first) * shape.ranks + rank, table[i].second);
      });
}

std::vector<Op> zero_bubble(const PipelineShape& shape, std::int64_t rank) {
  const std::int64_t factor = shape.schedule == Schedule::kZbH2 ? 2 : 1;
  const std::int64_t m = shape.microbatches;
  const std::int64_t warm = std::min(m, factor * (shape.ranks - 1 - rank));
  const std::int64_t late = std::min(m, factor * rank);
  std::vector<Op> order;
  order.reserve(3 * m);
  for (std::int64_t i = 0; i < warm; ++i) order.push_back(op(OpKind::kForward, rank, i));
  for (std::int64_t i = 0; i < m; ++i) {
    if (warm + i < m) order.push_back(op(OpKind::kForward, rank, warm + i));
    order.push_back(op(OpKind::kInput, rank, i));
    if (i >= late) order.push_back(op(OpKind::kWeight, rank, i - late));
  }
  for (std::int64_t i = m - late; i < m; ++i) order.push_back(op(OpKind::kWeight, rank, i));
  return order;
}

Error wrong(std::string field, std::string message, std::string hint) {
  return Error{.code = Code::kInput,
               .message = std::move(message),
               .file = {},
               .line = 0,
               .field = std::move(field),
               .hint = std::move(hint),
               .cause = {}};
}

Status check_schedule(const PipelineShape& shape) {
  const std::int64_t p = shape.ranks;
  const std::int64_t m = shape.microbatches;
  if (shape.chunks > 1 && shape.schedule != Schedule::kInterleaved) {
    return fail(wrong("virtual_stages", "only the interleaved schedule has more than one chunk a rank",
                      "virtual_stages = 1 or schedule = \"interleaved\""));
  }
  if (shape.schedule == Schedule::kZbH2 && m < 2 * p - 1) {
    return fail(wrong("schedule",
                      "zb_h2 needs " + std::to_string(2 * p - 1) + " micro-batches, there are " + std::to_string(m),
                      "zb_h1 takes any number"));
  }
  if (shape.schedule == Schedule::kDualPipe && (p % 2 != 0 || m % 2 != 0 || m < 2 * p)) {
    return fail(wrong("schedule",
                      "dualpipe needs an even number of stages p and an even number of micro-batches of at "
                      "least 2p; there are p = " +
                          std::to_string(p) + ", m = " + std::to_string(m),
                      "raise the batch or take another schedule"));
  }
  if (shape.schedule != Schedule::kInterleaved || shape.group == 0) return {};
  const std::int64_t rest = shape.group > 0 ? m % shape.group : 0;
  if (shape.group < p || shape.group > m || (rest > 0 && rest < p)) {
    return fail(wrong("group",
                      "groups of the interleaved schedule have between p and m micro-batches, the last one at "
                      "least p as well",
                      "0 chooses"));
  }
  return {};
}

}  // namespace

std::string_view op_name(OpKind kind) {
  switch (kind) {
    case OpKind::kForward: return "F";
    case OpKind::kBackward: return "B";
    case OpKind::kInput: return "I";
    case OpKind::kWeight: return "W";
  }
  return "";
}

PipelineShape pipeline_shape(const Execution& execution) {
  Schedule schedule = execution.schedule;
  if (schedule == Schedule::k1f1b || schedule == Schedule::kInterleaved) {
    schedule = execution.virtual_stages > 1 ? Schedule::kInterleaved : Schedule::k1f1b;
  }
  return PipelineShape{.schedule = schedule,
                       .ranks = execution.pp,
                       .chunks = execution.virtual_stages,
                       .microbatches = execution.microbatches(),
                       .group = 0};
}

Status check_pipeline(const PipelineShape& shape) {
  if (shape.ranks < 1 || shape.chunks < 1 || shape.microbatches < 1 || shape.ranks > kSide || shape.chunks > kSide ||
      shape.microbatches > kSide) {
    return fail(wrong("pp", "stages, chunks and micro-batches are at least 1 and at most " + std::to_string(kSide),
                      "batch = microbatch * dp * the number of micro-batches"));
  }
  if (shape.stages() > kOperations / 3 / shape.microbatches) {
    return fail(
        wrong("batch", "a step has more than " + std::to_string(kOperations) + " operations", "a smaller batch"));
  }
  return check_schedule(shape);
}

std::int64_t interleaved_group(const PipelineShape& shape) {
  if (shape.group > 0) return shape.group;
  const std::int64_t m = shape.microbatches;
  if (m < shape.ranks) return m;
  std::int64_t group = shape.ranks;
  while (m % group > 0 && m % group < shape.ranks) ++group;
  return group;
}

std::int64_t rank_of_stage(const PipelineShape& shape, std::int64_t stage, std::int64_t microbatch) {
  const bool backwards = shape.schedule == Schedule::kDualPipe && microbatch >= shape.microbatches / 2;
  return backwards ? shape.ranks - 1 - stage : stage % shape.ranks;
}

std::vector<Op> rank_order(const PipelineShape& shape, std::int64_t rank) {
  COMITY_CHECK(rank >= 0 && rank < shape.ranks);
  switch (shape.schedule) {
    case Schedule::kGpipe: return gpipe(shape.microbatches, rank);
    case Schedule::k1f1b: return one_f_one_b(shape, rank);
    // With one chunk Megatron-LM takes the plain schedule, which holds fewer micro-batches.
    case Schedule::kInterleaved: return shape.chunks == 1 ? one_f_one_b(shape, rank) : interleaved(shape, rank);
    case Schedule::kZbH1:
    case Schedule::kZbH2: return zero_bubble(shape, rank);
    case Schedule::kDualPipe: return dualpipe_order(shape, rank);
  }
  return {};
}

}  // namespace comity::workload
