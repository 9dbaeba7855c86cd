// SPDX-License-Identifier: Apache-2.0
// The placer, which keeps scores from one choice to the next, against the rules read literally and counted afresh each
// time; the laws of the pool; and by hand the case that tells fgd from best fit.
#include "cluster/share_placement.h"

#include <bit>
#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace comity::cluster {
namespace {

struct Placed {
  ShareRequest request;
  ShareAllocation where;
};

// What each node runs, node by node, from which everything is counted again.
struct Plain {
  std::vector<ShareNodeSpec> nodes;
  std::vector<Placed> held;

  [[nodiscard]] Residual left(std::size_t n) const {
    Residual r;
    r.cpu_milli = nodes[n].cpu_milli;
    r.memory_mib = nodes[n].memory_mib;
    r.gpus = nodes[n].gpus;
    r.model = nodes[n].gpus > 0 ? nodes[n].model : 0;
    for (std::size_t g = 0; g < r.gpus; ++g) r.gpu_milli[g] = 1000;
    for (const Placed& p : held) {
      if (p.where.node.index() != n) continue;
      r.cpu_milli -= p.request.cpu_milli;
      r.memory_mib -= p.request.memory_mib;
      for (std::size_t g = 0; g < r.gpus; ++g) {
        if ((p.where.gpus >> g & 1) != 0)
          r.gpu_milli[g] = static_cast<std::uint16_t>(r.gpu_milli[g] - p.request.gpu_milli);
      }
    }
    return r;
  }
};

std::int64_t free_milli(const Residual& r) {
  std::int64_t sum = 0;
  for (std::size_t g = 0; g < r.gpus; ++g) sum += r.gpu_milli[g];
  return sum;
}

double largest(const Plain& plain, bool gpu) {
  double most = 0;
  for (const ShareNodeSpec& n : plain.nodes)
    most = std::max(most, gpu ? 1000.0 * n.gpus : static_cast<double>(n.cpu_milli));
  return most;
}

// The score of the rule for this node when the request goes to these GPUs, before it is cut to whole points.
double by_rule(const Plain& plain, const TaskMix& mix, std::size_t n, const ShareRequest& r, std::uint32_t gpus,
               const SharePlacerOptions& options) {
  const Residual left = plain.left(n);
  const double cpu_max = std::max(1.0, largest(plain, false));
  const double gpu_max = std::max(1.0, largest(plain, true));
  const auto cpu = static_cast<double>(left.cpu_milli);
  const auto gpu = static_cast<double>(free_milli(left));
  const auto asked = static_cast<double>(r.total_gpu_milli());
  switch (options.rule) {
    case ShareRule::kFgd: {
      Plain then = plain;
      then.held.push_back({r, {NodeId(static_cast<std::uint32_t>(n)), gpus}});
      const auto fall = static_cast<double>(mix.fragmentation(left) - mix.fragmentation(then.left(n)));
      if (options.scores == ShareScores::kExact) return fall;
      return 100 / (1 + std::exp(-(fall / static_cast<double>(mix.weight()) / 1000)));
    }
    case ShareRule::kBestFit:
      return 100 * (1 - ((cpu - static_cast<double>(r.cpu_milli)) / cpu_max + (gpu - asked) / gpu_max) / 2);
    case ShareRule::kDotProduct:
      return 100 *
             (1 - (cpu / cpu_max * static_cast<double>(r.cpu_milli) / cpu_max + gpu / gpu_max * asked / gpu_max) / 2);
    case ShareRule::kPacking: {
      if (r.gpus == 0) return 0;
      std::uint32_t idle = 0;
      for (std::size_t g = 0; g < left.gpus; ++g) idle += left.gpu_milli[g] == 1000 ? 1 : 0;
      if (idle == left.gpus) return 33.0 - idle;
      const int milli = left.gpu_milli[static_cast<std::size_t>(std::countr_zero(gpus))];
      if (milli == 1000) return 50.0 - r.gpus;
      return 100 - (options.scores == ShareScores::kExact ? milli / 100.0 : std::floor(milli / 100.0));
    }
    case ShareRule::kClustering: {
      if (r.gpus == 0) return 0;
      std::set<std::uint32_t> kinds;
      for (const Placed& p : plain.held) {
        if (p.where.node.index() == n && p.request.gpus > 0) kinds.insert(p.request.shares() ? 0 : p.request.gpus);
      }
      const bool same = kinds.contains(r.shares() ? 0 : r.gpus);
      const double band = same && kinds.size() == 1 ? 75 : same ? 50 : kinds.empty() ? 25 : 0;
      return band + 25 * ((gpu_max - gpu) / gpu_max);
    }
    case ShareRule::kRandom: return 0;
  }
  return 0;
}

// The node and GPUs that the rule gives with ties to the first, or nothing (node invalid).
ShareAllocation literal(const Plain& plain, const TaskMix& mix, const ShareRequest& r, const SharePlacerOptions& o) {
  ShareAllocation best;
  double highest = 0;
  for (std::size_t n = 0; n < plain.nodes.size(); ++n) {
    const Residual left = plain.left(n);
    std::vector<std::uint32_t> enough;
    for (std::uint32_t g = 0; g < left.gpus; ++g) {
      if (left.gpu_milli[g] >= r.gpu_milli) enough.push_back(g);
    }
    if (left.cpu_milli < r.cpu_milli || left.memory_mib < r.memory_mib) continue;
    if (r.gpus > 0 && (enough.size() < r.gpus || (r.models >> left.model & 1) == 0)) continue;
    std::vector<std::uint32_t> choices;  // GPU masks to try
    if (r.gpus == 0) choices = {0};
    if (r.gpus > 0 && !r.shares()) {
      std::uint32_t mask = 0;
      for (std::uint32_t i = 0; i < r.gpus; ++i) mask |= 1U << enough[i];
      choices = {mask};
    }
    if (r.shares() && o.rule == ShareRule::kFgd) {
      for (const std::uint32_t g : enough) choices.push_back(1U << g);
    } else if (r.shares()) {
      std::uint32_t tight = enough.front();
      for (const std::uint32_t g : enough) tight = left.gpu_milli[g] < left.gpu_milli[tight] ? g : tight;
      choices = {1U << tight};
    }
    for (const std::uint32_t mask : choices) {
      double score = by_rule(plain, mix, n, r, mask, o);
      if (o.scores == ShareScores::kWhole) score = std::floor(score);
      if (best.node.valid() && score <= highest) continue;
      best = {NodeId(static_cast<std::uint32_t>(n)), mask};
      highest = score;
    }
  }
  return best;
}

ShareRequest any_request() {
  ShareRequest r;
  r.cpu_milli = *rc::gen::inRange(0, 5) * 1000;
  r.memory_mib = *rc::gen::inRange(0, 300);
  r.gpus = *rc::gen::elementOf(std::vector<std::uint32_t>{0, 1, 1, 1, 1, 2, 4});
  r.gpu_milli = r.gpus == 0  ? 0
                : r.gpus > 1 ? 1000
                             : *rc::gen::elementOf(std::vector<std::uint32_t>{100, 250, 500, 1000});
  r.models = r.gpus == 0 ? kAnyModel : *rc::gen::elementOf(std::vector<std::uint64_t>{kAnyModel, kAnyModel, 1, 2});
  return r;
}

std::vector<ShareNodeSpec> any_nodes() {
  std::vector<ShareNodeSpec> nodes(*rc::gen::inRange<std::size_t>(1, 6));
  for (ShareNodeSpec& n : nodes) {
    n.cpu_milli = *rc::gen::elementOf(std::vector<std::int64_t>{4000, 8000, 16000});
    n.memory_mib = 1000;
    n.gpus = *rc::gen::elementOf(std::vector<std::uint32_t>{0, 1, 2, 4});
    n.model = *rc::gen::elementOf(std::vector<std::uint32_t>{0, 1});
  }
  return nodes;
}

void same_as_literal(ShareRule rule) {
  Plain plain{any_nodes(), {}};
  std::vector<ShareRequest> shapes;
  for (int i = 0; i < 5; ++i) shapes.push_back(any_request());
  const TaskMix mix(shapes, {.popularity = 1, .memory = false});
  SharePool pool(plain.nodes);
  const SharePlacerOptions options{.rule = rule,
                                   .scores = *rc::gen::elementOf(std::vector{ShareScores::kExact, ShareScores::kWhole}),
                                   .ties = ShareTies::kIndex};
  SharePlacer placer(pool, mix, shapes, options);
  for (int step = 0; step < 30; ++step) {
    if (!plain.held.empty() && *rc::gen::inRange(0, 4) == 0) {
      const auto i = *rc::gen::inRange<std::size_t>(0, plain.held.size());
      pool.release(plain.held[i].request, plain.held[i].where);
      plain.held.erase(plain.held.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    const auto shape = *rc::gen::inRange<std::size_t>(0, shapes.size());
    const ShareAllocation want = literal(plain, mix, shapes[shape], options);
    ShareAllocation got;
    const bool placed = placer.place(shape, got);
    RC_ASSERT(placed == want.node.valid());
    if (!placed) continue;
    RC_ASSERT(got.node == want.node);
    RC_ASSERT(got.gpus == want.gpus);
    pool.take(shapes[shape], got);
    plain.held.push_back({shapes[shape], got});
  }
}

TEST(SharePlacer, FgdIsItsRule) {
  EXPECT_TRUE(rc::check([] { same_as_literal(ShareRule::kFgd); }));
}
TEST(SharePlacer, BestFitIsItsRule) {
  EXPECT_TRUE(rc::check([] { same_as_literal(ShareRule::kBestFit); }));
}
TEST(SharePlacer, DotProductIsItsRule) {
  EXPECT_TRUE(rc::check([] { same_as_literal(ShareRule::kDotProduct); }));
}
TEST(SharePlacer, PackingIsItsRule) {
  EXPECT_TRUE(rc::check([] { same_as_literal(ShareRule::kPacking); }));
}
TEST(SharePlacer, ClusteringIsItsRule) {
  EXPECT_TRUE(rc::check([] { same_as_literal(ShareRule::kClustering); }));
}

// Whatever the rule and however ties are broken: models, whole GPUs and capacities are kept, a request that fits is
// placed, and when all have left everything is free again.
TEST(SharePlacer, Laws) {
  EXPECT_TRUE(rc::check([] {
    Plain plain{any_nodes(), {}};
    std::vector<ShareRequest> shapes;
    for (int i = 0; i < 5; ++i) shapes.push_back(any_request());
    const TaskMix mix(shapes, {.popularity = 1, .memory = false});
    SharePool pool(plain.nodes);
    const auto& info = *rc::gen::elementOf(share_rules());
    SharePlacer placer(pool, mix, shapes,
                       {.rule = info.rule, .ties = ShareTies::kRandom, .seed = *rc::gen::arbitrary<std::uint64_t>()});
    for (int step = 0; step < 40; ++step) {
      const auto shape = *rc::gen::inRange<std::size_t>(0, shapes.size());
      const ShareRequest& r = shapes[shape];
      bool fits = false;
      for (std::size_t n = 0; n < pool.size(); ++n) fits = fits || plain.left(n).fits(r);
      ShareAllocation where;
      RC_ASSERT(placer.place(shape, where) == fits);
      if (!fits) continue;
      const ShareNodeSpec& node = plain.nodes[where.node.index()];
      const Residual before = plain.left(where.node.index());
      RC_ASSERT(static_cast<std::uint32_t>(std::popcount(where.gpus)) == r.gpus);
      RC_ASSERT(r.gpus == 0 || (r.models >> node.model & 1) != 0);
      for (std::uint32_t g = 0; g < 32; ++g) {
        if ((where.gpus >> g & 1) == 0) continue;
        RC_ASSERT(g < node.gpus && before.gpu_milli[g] >= r.gpu_milli);
        RC_ASSERT(r.shares() || before.gpu_milli[g] == 1000);
      }
      pool.take(r, where);
      plain.held.push_back({r, where});
      const Residual after = plain.left(where.node.index());
      RC_ASSERT(after.cpu_milli >= 0 && after.memory_mib >= 0);
      RC_ASSERT(after.gpu_milli == pool.left(where.node.index()).gpu_milli);
    }
    for (const Placed& p : plain.held) pool.release(p.request, p.where);
    RC_ASSERT(pool.gpu_milli_free() == pool.gpu_milli() && pool.cpu_milli_free() == pool.cpu_milli());
    RC_ASSERT(pool.memory_mib_free() == pool.memory_mib());
    for (std::size_t n = 0; n < pool.size(); ++n) RC_ASSERT(pool.running(n) == 0 && pool.kinds(n) == 0);
  }));
}

// Tasks of 0.3 and 0.7 GPU, equally popular. On the GPU with 0.7 left a share of 0.3 spoils the place of a task of 0.7
// (400 thousandths become useless to it); on the node whose GPUs have 0.6 left each no such task fits anyway. Best fit
// sees only that less stays behind on the first.
TEST(SharePlacer, FgdFillsTheGapThatNobodyElseCanUse) {
  const ShareRequest small{0, 0, 1, 300, kAnyModel};
  const ShareRequest big{0, 0, 1, 700, kAnyModel};
  const std::vector<ShareRequest> shapes = {small, big};
  const TaskMix mix(shapes, {.popularity = 1, .memory = false});
  SharePool pool({{"a", 1000, 0, 1, 0}, {"b", 1000, 0, 2, 0}});
  pool.take(small, {NodeId(0), 1});
  const ShareRequest other{0, 0, 1, 400, kAnyModel};
  pool.take(other, {NodeId(1), 1});
  pool.take(other, {NodeId(1), 2});
  ShareAllocation where;
  SharePlacer bestfit(pool, mix, shapes, {.rule = ShareRule::kBestFit, .scores = ShareScores::kExact});
  ASSERT_TRUE(bestfit.place(0, where));
  EXPECT_EQ(where.node, NodeId(0));
  SharePlacer fgd(pool, mix, shapes, {.rule = ShareRule::kFgd, .scores = ShareScores::kExact});
  ASSERT_TRUE(fgd.place(0, where));
  EXPECT_EQ(where.node, NodeId(1));
}

TEST(SharePlacer, RandomReachesEveryNodeAndGpu) {
  const std::vector<ShareRequest> shapes = {{0, 0, 1, 500, kAnyModel}};
  const TaskMix mix(shapes, {});
  const SharePool pool({{"a", 0, 0, 2, 0}, {"b", 0, 0, 1, 0}, {"c", 0, 0, 0, 0}});
  SharePlacer placer(pool, mix, shapes, {.rule = ShareRule::kRandom});
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> seen;
  for (int i = 0; i < 4000; ++i) {
    ShareAllocation where;
    ASSERT_TRUE(placer.place(0, where));
    ++seen[{where.node.value, where.gpus}];
  }
  ASSERT_EQ(seen.size(), 3U);  // half on the one GPU of b, a quarter on each GPU of a; 5 standard deviations
  EXPECT_NEAR((seen[{1, 1}]), 2000, 160);
  EXPECT_NEAR((seen[{0, 1}]), 1000, 140);
  EXPECT_NEAR((seen[{0, 2}]), 1000, 140);
}

TEST(ShareRules, NamesAndMisspellings) {
  for (const ShareRuleInfo& info : share_rules()) {
    const auto rule = parse_share_rule(info.name);
    ASSERT_TRUE(rule.has_value());
    EXPECT_EQ(*rule, info.rule);
    EXPECT_EQ(share_rule_name(info.rule), info.name);
  }
  const auto wrong = parse_share_rule("bestfitt");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().code, Code::kUsage);
  EXPECT_NE(wrong.error().hint.find("bestfit"), std::string::npos);
}

TEST(GpuModels, AreBounded) {
  GpuModels models;
  for (std::size_t i = 0; i < kShareModels; ++i) ASSERT_TRUE(models.intern("m" + std::to_string(i)).has_value());
  EXPECT_EQ(models.intern("m3").value(), 3U);
  EXPECT_FALSE(models.intern("one too many").has_value());
}

}  // namespace
}  // namespace comity::cluster
