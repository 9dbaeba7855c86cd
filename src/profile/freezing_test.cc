// SPDX-License-Identifier: Apache-2.0
#include "profile/freezing.h"

#include <cmath>
#include <map>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace comity::profile {
namespace {

// Published sizes, 10^6 parameters; GFLOP of a forward pass at 2 a multiply-add.
TEST(Layers, AddUpToThePublishedModels) {
  const std::map<std::string, std::pair<double, double>> published = {
      {"resnet50", {25.557, 8.18}},  {"resnet101", {44.549, 15.6}},  {"vgg16", {138.358, 30.94}},
      {"bert-base", {110.1, 121.2}}, {"bert-large", {336.2, 368.1}}, {"gpt2", {124.44, 291.6}},
      {"vit-b-16", {86.568, 35.1}}};
  ASSERT_EQ(layer_tables().size(), published.size());
  for (const LayerTable& table : layer_tables()) {
    ASSERT_TRUE(published.contains(table.name)) << table.name;
    double parameters = 0;
    double flop = 0;
    for (const double p : table.mparam) parameters += p;
    for (const double g : table.gflop) flop += g;
    EXPECT_NEAR(parameters, published.at(table.name).first, 2e-3 * parameters) << table.name;
    EXPECT_NEAR(flop, published.at(table.name).second, 2e-3 * flop) << table.name;
    EXPECT_FALSE(table.source.empty());
  }
  EXPECT_EQ(find_layers("ResNet-50"), find_layers("resnet50"));
  EXPECT_EQ(find_layers("resnet-7"), nullptr);
}

TEST(Layers, RefuseWhatIsNoTable) {
  const auto field = [](const std::string& body) {
    const auto got = parse_layers("schema = \"comity.layers/1\"\nname = \"x\"\n" + body, "x.toml");
    return got ? "" : got.error().field;
  };
  EXPECT_EQ(field("layers = [\"a\", \"b\"]\ngflop = [1, 2]\nmparam = [1, 2]\n"), "");
  EXPECT_EQ(field("layers = [\"a\", \"b\"]\ngflop = [1]\nmparam = [1, 2]\n"), "gflop");
  EXPECT_EQ(field("layers = [\"a\"]\ngflop = [1]\nmparam = [-1]\n"), "mparam");
  EXPECT_EQ(field("layers = [\"a\"]\ngflop = [0]\nmparam = [1]\n"), "gflop");
  EXPECT_EQ(field("layers = []\ngflop = []\nmparam = []\n"), "layers");
  EXPECT_EQ(field("layers = [\"a\"]\ngflop = [nan]\nmparam = [1]\n"), "gflop");
}

LayerTable two_layers() {  // forward .001 and .002 s a sample, backward .002 and .004; 1e9 and 2e9 bytes of gradients
  LayerTable t;
  t.batch = 10;
  t.tflops = 1;
  t.layers = {"a", "b"};
  t.gflop = {1, 2};
  t.mparam = {250, 500};
  return t;
}

TEST(Freezing, ByHand) {
  FreezingSettings set;
  set.bandwidth_gb_s = 10;
  set.latency_s = 0.001;
  set.most_penalty = 0.3;
  const Freezing f(two_layers(), set);
  EXPECT_NEAR(f.step_s(0, 1), 10 * (0.003 + 0.006), 1e-12);
  EXPECT_NEAR(f.step_s(0, 4), 0.09 + 2 * 0.75 * 0.3 + 0.003, 1e-12);
  EXPECT_NEAR(f.step_s(1, 4), 10 * (0.003 + 0.004) + 2 * 0.75 * 0.2 + 0.003, 1e-12);
  EXPECT_NEAR(f.rate(1, 4), 40 / f.step_s(1, 4), 1e-9);
  const double gradients[] = {1, 3};
  EXPECT_NEAR(f.penalty(1, gradients), 0.25, 1e-12);
  const Freezing::Choice best = f.best(4, gradients);
  EXPECT_EQ(best.depth, 1);  // .373 s against .543 s outweigh a quarter
  EXPECT_NEAR(best.rate, f.rate(1, 4) * 0.75, 1e-9);
  set.most_penalty = 0.2;
  EXPECT_EQ(Freezing(two_layers(), set).best(4, gradients).depth, 0);
  set.cached = true;
  EXPECT_NEAR(Freezing(two_layers(), set).step_s(1, 1), 10 * (0.002 + 0.004), 1e-12);
}

TEST(Freezing, PenaltyFallsAsTrainingGoesOn) {
  for (const LayerTable& table : layer_tables()) {
    const Freezing f(table, {});
    double before = 2;
    for (const double progress : {0.0, 0.25, 0.5, 0.75, 1.0}) {
      const double phi = f.penalty(f.layers() / 2, f.gradients_at(progress));
      EXPECT_LT(phi, before) << table.name;
      before = phi;
    }
    EXPECT_GT(f.best(8, f.gradients_at(0.9)).depth, f.best(8, f.gradients_at(0)).depth) << table.name;
  }
}

RC_GTEST_PROP(FreezingProperty, TheBestDepthIsTheBestOfAll, ()) {
  const LayerTable& table = layer_tables()[*rc::gen::inRange<std::size_t>(0, layer_tables().size())];
  FreezingSettings set;
  set.eta = *rc::gen::inRange(1, 30) / 10.0;
  set.most_penalty = *rc::gen::inRange(0, 60) / 100.0;
  set.cached = *rc::gen::arbitrary<bool>();
  const Freezing f(table, set);
  std::vector<double> gradients;
  for (int i = 0; i < f.layers(); ++i) gradients.push_back(*rc::gen::inRange(1, 1000));
  const std::int64_t gpus = *rc::gen::inRange(1, 64);
  const Freezing::Choice best = f.best(gpus, gradients);
  if (best.depth > 0) RC_ASSERT(f.penalty(best.depth, gradients) <= set.most_penalty + 1e-12);
  for (int k = 0; k < f.layers(); ++k) {
    if (k > 0) RC_ASSERT(f.step_s(k, gpus) <= f.step_s(k - 1, gpus));
    const double phi = f.penalty(k, gradients);
    if (k == 0 || phi <= set.most_penalty) RC_ASSERT(f.rate(k, gpus) * (1 - phi) <= best.rate * (1 + 1e-12));
  }
}

TEST(ThawRule, AfterThreePoorWindowsInARow) {
  ThawRule rule;
  EXPECT_FALSE(rule.observe(0.7, 1));
  EXPECT_FALSE(rule.observe(0.7, 1));
  EXPECT_FALSE(rule.observe(0.9, 1));
  EXPECT_FALSE(rule.observe(0.79, 1));
  EXPECT_FALSE(rule.observe(0.79, 1));
  EXPECT_TRUE(rule.observe(0.79, 1));
  EXPECT_FALSE(rule.observe(0.79, 1));
}

}  // namespace
}  // namespace comity::profile
