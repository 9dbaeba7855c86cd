// SPDX-License-Identifier: Apache-2.0
// Closed forms. Each is the longest of the few paths that can be the longest one when all stages are alike; the test
// compares them with the simulator over random shapes and times.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "workload/pipeline.h"

namespace comity::workload {
namespace {

struct Parts {
  double p, v, m, f, b, w, i;
};

Parts parts(const PipelineShape& shape, const StageTimes& stage) {
  return Parts{.p = static_cast<double>(shape.ranks),
               .v = static_cast<double>(shape.chunks),
               .m = static_cast<double>(shape.microbatches),
               .f = stage.forward_s,
               .b = stage.backward_s,
               .w = stage.weight_s,
               .i = stage.backward_s - stage.weight_s};
}

double pair_s(const StageTimes& stage, double factor) {
  return std::max({stage.forward_s, stage.backward_s, factor * (stage.forward_s + stage.backward_s)});
}

// Fewer micro-batches than ranks leave ranks without work between two chunks.
double interleaved_s(const Parts& x) {
  return (x.v * x.m + x.p - 1 + std::max(0.0, x.p - x.m) * (x.v - 1)) * (x.f + x.b);
}

double zb_h1_s(const Parts& x) {
  const double q = std::min(x.m, x.p);
  const double there_and_back = (x.m + x.p - 1) * (x.f + x.i) + (x.m - q + 1) * x.w;
  const double back = (x.m + x.p - q) * x.f + (x.m + x.p - 1) * x.i + x.m * x.w;
  const double there = (x.m + x.p - 1) * x.f + (x.m + x.p - q) * x.i + x.m * x.w;
  return std::max({there_and_back, back, there});
}

double dualpipe_s(const Parts& x, double pair) {
  const double k = x.p / 2 - 1;
  return x.p * x.f + (x.p / 2 + 2) * x.i + 3 * x.w + k * std::max(x.i, x.w) + std::max(x.p / 2 * x.f, k * x.i) +
         (x.m - x.p / 2 - 2) * pair;
}

}  // namespace

double makespan_s(const PipelineShape& shape, const StageTimes& stage, double pair_factor) {
  const Parts x = parts(shape, stage);
  switch (shape.schedule) {
    case Schedule::kGpipe:
    case Schedule::k1f1b: return (x.m + x.p - 1) * (x.f + x.b);
    case Schedule::kInterleaved: return interleaved_s(x);
    case Schedule::kZbH1: return zb_h1_s(x);
    case Schedule::kZbH2: return x.m * (x.f + x.b) + (x.p - 1) * std::max({x.f, x.f + x.i - 2 * x.w, x.i - x.f});
    case Schedule::kDualPipe: return dualpipe_s(x, pair_s(stage, pair_factor));
  }
  return 0;
}

double period_s(const PipelineShape& shape, const StageTimes& stage, double pair_factor) {
  const Parts x = parts(shape, stage);
  if (shape.schedule == Schedule::kZbH1) {
    const double q = std::min(x.m, x.p);
    return std::max((x.m + x.p - 1) * (x.f + x.i) + (x.m - q + 1) * x.w,
                    (x.m + x.p - q) * x.f + (x.m + x.p - 1) * x.i + x.m * x.w);
  }
  if (shape.schedule == Schedule::kZbH2) {
    return x.m * (x.f + x.b) + (x.p - 1) * std::max({0.0, x.f + x.i - 2 * x.w, x.i - x.f});
  }
  return makespan_s(shape, stage, pair_factor);
}

double bubble_s(const PipelineShape& shape, const StageTimes& stage, double pair_factor) {
  const Parts x = parts(shape, stage);
  double busy = x.m * x.v * (x.f + x.b);
  if (shape.schedule == Schedule::kDualPipe) {
    // The ranks at the ends overlap the fewest pairs.
    const double pairs = shape.ranks == 2 ? x.m - 3 : x.m - 1.5 * x.p + 1;
    busy -= pairs * (x.f + x.b - pair_s(stage, pair_factor));
  }
  return makespan_s(shape, stage, pair_factor) - busy;
}

double published_bubble_s(const PipelineShape& shape, const StageTimes& stage, double pair_factor) {
  const Parts x = parts(shape, stage);
  switch (shape.schedule) {
    case Schedule::kGpipe:
    case Schedule::k1f1b:
    case Schedule::kInterleaved: return (x.p - 1) * (x.f + x.b);
    case Schedule::kZbH1: return (x.p - 1) * (x.f + x.b - 2 * x.w);
    case Schedule::kZbH2: return (x.p - 1) * (x.f + x.b - 3 * x.w);
    case Schedule::kDualPipe: return (x.p / 2 - 1) * (pair_s(stage, pair_factor) + x.b - 3 * x.w);
  }
  return 0;
}

double transfer_wait_s(const PipelineShape& shape, double transfer_s) {
  const std::int64_t hops = shape.ranks - 1;
  const std::int64_t later = shape.microbatches - 1;
  const bool plain =
      shape.schedule == Schedule::k1f1b || (shape.schedule == Schedule::kInterleaved && shape.chunks == 1);
  // 1F1B: rank r has p - r micro-batches under way, so that every p-th F of rank 0 waits for a way down and up again.
  const std::int64_t waits = plain ? later - (later + hops) / shape.ranks : 0;
  return 2 * static_cast<double>(hops + waits) * transfer_s;
}

double least_makespan_s(const PipelineShape& shape, const PipelineTimes& times) {
  std::vector<StageTimes> stages(shape.stages(), times.stages.front());
  if (times.stages.size() > 1) stages = times.stages;
  for (const auto& [at, extra] :
       {std::pair{std::size_t{0}, times.first_extra}, std::pair{stages.size() - 1, times.last_extra}}) {
    stages[at].forward_s += extra.forward_s;
    stages[at].backward_s += extra.backward_s;
    stages[at].weight_s += extra.weight_s;
  }
  const bool dual = shape.schedule == Schedule::kDualPipe;
  const bool split = dual || shape.schedule == Schedule::kZbH1 || shape.schedule == Schedule::kZbH2;
  const double factor = dual ? times.pair_factor : 1;
  const double hop = shape.ranks > 1 ? times.transfer_s : 0;
  const double share = static_cast<double>(shape.microbatches) / (dual ? 2 : 1);
  double in = 0;  // until the first F, and from the last B of the rank to the end
  double out = 0;
  double least = 0;
  for (std::int64_t rank = 0; rank < (dual ? shape.ranks / 2 : shape.ranks); ++rank) {
    double waited_for = 0;
    double weights = 0;
    const std::int64_t step = dual ? std::max<std::int64_t>(1, shape.ranks - 1 - 2 * rank) : shape.ranks;
    for (std::int64_t stage = rank; stage < shape.stages() - (dual ? rank : 0); stage += step) {
      const StageTimes& t = stages[stage];
      waited_for += share * (t.forward_s + t.backward_s - (split ? t.weight_s : 0));
      weights += share * (split ? t.weight_s : 0);
    }
    least = std::max({least, in + factor * waited_for + out, in + factor * (waited_for + weights)});
    in += stages[rank].forward_s + hop;
    out += stages[rank].backward_s - (split ? stages[rank].weight_s : 0) + hop;
  }
  return least;
}

double peak_in_flight(const PipelineShape& shape, std::int64_t rank, double weight_share) {
  COMITY_CHECK(rank >= 0 && rank < shape.ranks);
  const std::int64_t p = shape.ranks;
  const std::int64_t m = shape.microbatches;
  const std::int64_t v = shape.chunks;
  switch (shape.schedule) {
    case Schedule::kGpipe: return static_cast<double>(m);
    case Schedule::kInterleaved:
      if (v > 1) {
        const std::int64_t warm = 2 * (p - 1 - rank) + (v - 1) * interleaved_group(shape);
        return static_cast<double>(std::min(m * v, warm + 1)) / static_cast<double>(v);
      }
      return static_cast<double>(std::min(m, p - rank));
    case Schedule::k1f1b: return static_cast<double>(std::min(m, p - rank));
    case Schedule::kZbH1:
    case Schedule::kZbH2: {
      const std::int64_t factor = shape.schedule == Schedule::kZbH2 ? 2 : 1;
      const std::int64_t held = std::min(m, factor * (p - 1 - rank) + 1);
      return static_cast<double>(held) + weight_share * static_cast<double>(std::min(factor * rank, m - held));
    }
    case Schedule::kDualPipe: return static_cast<double>(p + 1);
  }
  return 0;
}

}  // namespace comity::workload
