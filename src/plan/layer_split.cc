// SPDX-License-Identifier: Apache-2.0
#include "plan/layer_split.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace comity::plan {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kEqual = 1 + 1e-12;  // sums of the same layers differ in their last digits

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

class Splitter {
 public:
  Splitter(const std::vector<LayerPrefix>& kinds, const std::vector<SplitStage>& stages, std::int64_t layers)
      : kinds_(kinds), stages_(stages), layers_(layers), stages_count_(static_cast<std::int64_t>(stages.size())) {}

  // The least longest stage; infinite: nothing fits.
  [[nodiscard]] double least_longest() const {
    std::vector<double> best(at(layers_) + 1, kInfinity);
    best[0] = 0;
    for (std::int64_t i = 0; i < stages_count_; ++i) {
      std::vector<double> next(best.size(), kInfinity);
      for (std::int64_t to = i + 1; to <= last_border(i); ++to) {
        for (std::int64_t from = to - 1; from >= i; --from) {
          const double t = seconds(i, from, to);
          if (t >= next[at(to)]) break;  // longer ranges only take longer
          next[at(to)] = std::min(next[at(to)], std::max(best[at(from)], t));
        }
      }
      best = std::move(next);
    }
    return best[at(layers_)];
  }

  // The least sum of stages none of which is longer than `bound`.
  [[nodiscard]] std::optional<LayerSplit> least_sum(double bound) const {
    std::vector<double> best(at(layers_) + 1, kInfinity);
    best[0] = 0;
    std::vector<std::vector<std::int64_t>> from_of(stages_.size(), std::vector<std::int64_t>(at(layers_) + 1, -1));
    for (std::int64_t i = 0; i < stages_count_; ++i) {
      std::vector<double> next(best.size(), kInfinity);
      for (std::int64_t to = i + 1; to <= last_border(i); ++to) {
        for (std::int64_t from = to - 1; from >= i; --from) {
          const double t = seconds(i, from, to);
          if (t > bound * kEqual) break;
          if (best[at(from)] + t >= next[at(to)]) continue;
          next[at(to)] = best[at(from)] + t;
          from_of[at(i)][at(to)] = from;
        }
      }
      best = std::move(next);
    }
    if (best[at(layers_)] == kInfinity) return std::nullopt;
    std::vector<std::int64_t> counts(stages_.size());
    for (std::int64_t i = stages_count_ - 1, to = layers_; i >= 0; --i) {
      counts[at(i)] = to - from_of[at(i)][at(to)];
      to = from_of[at(i)][at(to)];
    }
    return fixed_split(kinds_, stages_, layers_, std::move(counts));
  }

  // Every time in [least, most] that a stage can take, ascending.
  [[nodiscard]] std::vector<double> bounds(double least, double most) const {
    std::vector<double> out;
    std::vector<std::pair<std::size_t, double>> seen;
    for (std::int64_t i = 0; i < stages_count_; ++i) {
      const std::pair<std::size_t, double> what{stages_[at(i)].kind, stages_[at(i)].extra_s};
      if (std::find(seen.begin(), seen.end(), what) != seen.end()) continue;
      seen.push_back(what);
      const std::vector<double>& prefix = kinds_[what.first].seconds;
      for (std::int64_t from = 0; from < layers_; ++from)
        for (std::int64_t to = from + 1; to <= layers_; ++to) {
          const double t = prefix[at(to)] - prefix[at(from)] + what.second;
          if (t > most) break;
          if (t >= least) out.push_back(t);
        }
    }
    std::sort(out.begin(), out.end());
    std::vector<double> distinct;
    for (const double t : out)
      if (distinct.empty() || t > distinct.back() * kEqual) distinct.push_back(t);
    return distinct;
  }

 private:
  [[nodiscard]] double seconds(std::int64_t stage, std::int64_t from, std::int64_t to) const {
    return stage_seconds(kinds_, stages_[at(stage)], from, to);
  }
  // Each later stage needs a layer.
  [[nodiscard]] std::int64_t last_border(std::int64_t stage) const { return layers_ - (stages_count_ - 1 - stage); }

  const std::vector<LayerPrefix>& kinds_;
  const std::vector<SplitStage>& stages_;
  std::int64_t layers_;
  std::int64_t stages_count_;
};

}  // namespace

double stage_seconds(const std::vector<LayerPrefix>& kinds, const SplitStage& stage, std::int64_t from,
                     std::int64_t to) {
  const LayerPrefix& k = kinds[stage.kind];
  const double bytes = k.weight_bytes[at(to)] - k.weight_bytes[at(from)] + stage.extra_bytes +
                       stage.in_flight * (k.activation_bytes[at(to)] - k.activation_bytes[at(from)]);
  if (bytes > stage.capacity_bytes) return kInfinity;
  return k.seconds[at(to)] - k.seconds[at(from)] + stage.extra_s;
}

std::optional<LayerSplit> split_layers(const std::vector<LayerPrefix>& kinds, const std::vector<SplitStage>& stages,
                                       std::int64_t layers, double microbatches, double below) {
  if (stages.empty() || static_cast<std::int64_t>(stages.size()) > layers) return std::nullopt;
  const Splitter splitter(kinds, stages, layers);
  const double least = splitter.least_longest();
  if (least == kInfinity) return std::nullopt;
  // No split has a smaller sum than this one, and none a longest stage below `least`.
  const std::optional<LayerSplit> any = splitter.least_sum(kInfinity);
  const double rounds = microbatches - 1;
  if (rounds * least + any->sum_s >= below) return std::nullopt;
  std::optional<LayerSplit> best = splitter.least_sum(least);
  if (any->total_s(microbatches) < best->total_s(microbatches)) best = any;
  const double most = rounds > 0 ? (best->total_s(microbatches) - any->sum_s) / rounds : least;
  for (const double bound : splitter.bounds(least, most)) {
    if (rounds * bound + any->sum_s >= best->total_s(microbatches)) break;
    const std::optional<LayerSplit> now = splitter.least_sum(bound);
    if (now && now->total_s(microbatches) < best->total_s(microbatches)) best = now;
  }
  if (best->total_s(microbatches) >= below) return std::nullopt;
  return best;
}

std::optional<LayerSplit> fixed_split(const std::vector<LayerPrefix>& kinds, const std::vector<SplitStage>& stages,
                                      std::int64_t layers, std::vector<std::int64_t> counts) {
  const auto p = static_cast<std::int64_t>(stages.size());
  if (p == 0 || p > layers) return std::nullopt;
  if (counts.empty())
    for (std::int64_t i = 0; i < p; ++i) counts.push_back(layers / p + (i < layers % p ? 1 : 0));
  LayerSplit out;
  std::int64_t from = 0;
  for (std::int64_t i = 0; i < p; ++i) {
    const double t = stage_seconds(kinds, stages[at(i)], from, from + counts[at(i)]);
    if (t == kInfinity) return std::nullopt;
    out.seconds.push_back(t);
    out.longest_s = std::max(out.longest_s, t);
    out.sum_s += t;
    from += counts[at(i)];
  }
  out.layers = std::move(counts);
  return out;
}

}  // namespace comity::plan
