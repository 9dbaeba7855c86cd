// SPDX-License-Identifier: Apache-2.0
#include "plan/layer_split.h"

#include <functional>
#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace comity::plan {
namespace {

LayerPrefix prefix(const std::vector<double>& seconds, double weight, double activation) {
  LayerPrefix out{{0}, {0}, {0}};
  for (const double s : seconds) {
    out.seconds.push_back(out.seconds.back() + s);
    out.weight_bytes.push_back(out.weight_bytes.back() + weight);
    out.activation_bytes.push_back(out.activation_bytes.back() + activation);
  }
  return out;
}

// Every composition of the layers.
std::optional<LayerSplit> brute(const std::vector<LayerPrefix>& kinds, const std::vector<SplitStage>& stages,
                                std::int64_t layers, double m) {
  std::optional<LayerSplit> best;
  std::vector<std::int64_t> counts(stages.size());
  const std::function<void(std::size_t, std::int64_t)> fill = [&](std::size_t i, std::int64_t left) {
    if (i + 1 == stages.size()) {
      counts[i] = left;
      const auto now = fixed_split(kinds, stages, layers, counts);
      if (now && (!best || now->total_s(m) < best->total_s(m))) best = now;
      return;
    }
    for (std::int64_t n = 1; n <= left - static_cast<std::int64_t>(stages.size() - 1 - i); ++n) {
      counts[i] = n;
      fill(i + 1, left - n);
    }
  };
  if (static_cast<std::int64_t>(stages.size()) <= layers) fill(0, layers);
  return best;
}

TEST(LayerSplit, FasterStagesGetMoreLayers) {
  const std::vector<double> slow(24, 3.0);
  const std::vector<double> fast(24, 1.0);
  const std::vector<LayerPrefix> kinds = {prefix(slow, 1, 0), prefix(fast, 1, 0)};
  const auto split = split_layers(kinds, {{0, 0, 1, 0, 99}, {1, 0, 1, 0, 99}}, 24, 1000);
  ASSERT_TRUE(split.has_value());
  EXPECT_EQ(split->layers, (std::vector<std::int64_t>{6, 18}));
  const auto small = split_layers(kinds, {{0, 0, 1, 0, 99}, {1, 0, 1, 0, 12}}, 24, 1000);
  EXPECT_EQ(small->layers, (std::vector<std::int64_t>{12, 12}));
  EXPECT_FALSE(split_layers(kinds, {{0, 0, 1, 0, 11}, {1, 0, 1, 0, 12}}, 24, 1000).has_value());
  EXPECT_FALSE(split_layers(kinds, std::vector<SplitStage>(25, SplitStage{0, 0, 1, 0, 99}), 24, 8).has_value());
}

TEST(LayerSplit, FewMicrobatchesPreferTheFastStages) {
  const std::vector<LayerPrefix> kinds = {prefix(std::vector<double>(8, 3.0), 1, 0),
                                          prefix(std::vector<double>(8, 1.0), 1, 0)};
  const std::vector<SplitStage> stages = {{0, 0, 1, 0, 99}, {1, 0, 1, 0, 99}};
  EXPECT_EQ(split_layers(kinds, stages, 8, 1)->layers, (std::vector<std::int64_t>{1, 7}));
  EXPECT_EQ(split_layers(kinds, stages, 8, 100)->layers, (std::vector<std::int64_t>{2, 6}));
}

RC_GTEST_PROP(LayerSplit, IsTheOptimum, ()) {
  const auto layers = *rc::gen::inRange<std::int64_t>(1, 11);
  const auto p = *rc::gen::inRange<std::size_t>(1, 5);
  const auto of = [&](int most) {
    return *rc::gen::container<std::vector<double>>(
        static_cast<std::size_t>(layers), rc::gen::map(rc::gen::inRange(1, most), [](int v) { return v / 7.0; }));
  };
  const std::vector<LayerPrefix> kinds = {prefix(of(10), 1, 0.5), prefix(of(30), 1, 0.25)};
  std::vector<SplitStage> stages;
  for (std::size_t i = 0; i < p; ++i)
    stages.push_back({*rc::gen::inRange<std::size_t>(0, 2), *rc::gen::inRange(0, 5) / 3.0, static_cast<double>(p - i),
                      0, static_cast<double>(*rc::gen::inRange(1, 40))});
  const double m = *rc::gen::element(1, 2, 3, 5, 8, 40);
  const auto ours = split_layers(kinds, stages, layers, m);
  const auto best = brute(kinds, stages, layers, m);
  RC_ASSERT(ours.has_value() == best.has_value());
  if (!ours) return;
  RC_ASSERT(std::abs(ours->total_s(m) - best->total_s(m)) < 1e-9);
  RC_ASSERT(std::accumulate(ours->layers.begin(), ours->layers.end(), std::int64_t{0}) == layers);
}

}  // namespace
}  // namespace comity::plan
