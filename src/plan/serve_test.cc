// SPDX-License-Identifier: Apache-2.0
#include "plan/serve.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/swarm.h"

namespace comity::plan {
namespace {

using Counts = std::vector<std::int64_t>;

TEST(LayerAllocation, WaterFillingOfTheSpecification) {
  const std::vector<double> powers = {3, 1};
  EXPECT_EQ(water_fill(powers, Counts{40, 40}, 32), (Counts{24, 8}));
  EXPECT_EQ(water_fill(powers, Counts{16, 40}, 32), (Counts{16, 16}));
  EXPECT_TRUE(water_fill(powers, Counts{16, 15}, 32).empty());
  EXPECT_EQ(water_fill(std::vector<double>{1000, 1}, Counts{40, 40}, 32), (Counts{31, 1}));
}

TEST(LayerAllocation, TwoPipelinesBeatOne) {
  const Counts four(4, 16);
  const Grouping g = best_grouping(four, 32, {});
  EXPECT_EQ(g.pipelines.size(), 2U);
  EXPECT_EQ(g.nodes(), 4);
  EXPECT_DOUBLE_EQ(g.value, 1);
  EXPECT_DOUBLE_EQ(PipelineValue{}.of(1, 2), 0.5);
  EXPECT_TRUE(best_grouping(four, 65, {}).pipelines.empty());
}

RC_GTEST_PROP(LayerAllocation, WaterFillingIsTheLeastLongest, ()) {
  const auto n = *rc::gen::inRange<std::size_t>(1, 4);
  std::vector<double> powers;
  Counts capacities;
  for (std::size_t i = 0; i < n; ++i) {
    powers.push_back(*rc::gen::inRange(1, 9));
    capacities.push_back(*rc::gen::inRange(1, 9));
  }
  const auto layers = *rc::gen::inRange<std::int64_t>(1, 20);
  const Counts ours = water_fill(powers, capacities, layers);
  double best = std::numeric_limits<double>::infinity();
  const auto longest = [&](const Counts& c) {
    double out = 0;
    for (std::size_t i = 0; i < n; ++i) out = std::max(out, static_cast<double>(c[i]) / powers[i]);
    return out;
  };
  Counts c(n, 1);
  const std::function<void(std::size_t, std::int64_t)> fill = [&](std::size_t i, std::int64_t left) {
    if (i == n) {
      if (left == 0) best = std::min(best, longest(c));
      return;
    }
    for (c[i] = 1; c[i] <= std::min(capacities[i], left); ++c[i]) fill(i + 1, left - c[i]);
  };
  fill(0, layers);
  RC_ASSERT(ours.empty() == std::isinf(best));
  if (ours.empty()) return;
  RC_ASSERT(std::accumulate(ours.begin(), ours.end(), std::int64_t{0}) == layers);
  for (std::size_t i = 0; i < n; ++i) RC_ASSERT(ours[i] >= 1 && ours[i] <= capacities[i]);
  RC_ASSERT(longest(ours) <= best + 1e-9);
}

// Every way to give each node a pipeline or none.
RC_GTEST_PROP(LayerAllocation, GroupingIsTheOptimum, ()) {
  const auto n = *rc::gen::inRange<std::size_t>(1, 8);
  const auto capacities = *rc::gen::container<Counts>(n, rc::gen::inRange<std::int64_t>(0, 12));
  const auto need = *rc::gen::inRange<std::int64_t>(1, 14);
  PipelineValue value;
  value.alpha = *rc::gen::element(1.0, 2.0);
  if (*rc::gen::arbitrary<bool>()) {
    value.compute_s = 0.1;
    value.rtt_s = 0.02;
  }
  double best = 0;
  std::vector<std::size_t> where(n, 0);
  const std::function<void(std::size_t)> assign = [&](std::size_t i) {
    if (i < n) {
      for (where[i] = 0; where[i] <= n; ++where[i]) {
        if (where[i] > i + 1) break;  // pipelines are alike
        assign(i + 1);
      }
      return;
    }
    Counts held(n + 1, 0);
    std::int64_t used = 0;
    for (std::size_t v = 0; v < n; ++v) {
      held[where[v]] += capacities[v];
      used += where[v] > 0 ? 1 : 0;
    }
    std::int64_t k = 0;
    for (std::size_t p = 1; p <= n; ++p) {
      const bool any = std::find(where.begin(), where.end(), p) != where.end();
      if (any && held[p] < need) return;
      k += any ? 1 : 0;
    }
    if (k > 0) best = std::max(best, value.of(k, used));
  };
  assign(0);
  const Grouping ours = best_grouping(capacities, need, value);
  RC_ASSERT(std::abs(ours.value - best) < 1e-12);
  RC_ASSERT(greedy_grouping(capacities, need, value).value <= ours.value + 1e-12);
  for (const auto& p : ours.pipelines) {
    std::int64_t sum = 0;
    for (const std::size_t v : p) sum += capacities[v];
    RC_ASSERT(sum >= need);
  }
}

RC_GTEST_PROP(ServeRoute, IsTheQuickest, ()) {
  const auto n = *rc::gen::inRange<std::size_t>(1, 5);
  const auto layers = *rc::gen::inRange<std::int64_t>(1, 6);
  const bool to_the_end = *rc::gen::arbitrary<bool>();
  std::vector<HostedSpan> nodes;
  std::vector<std::vector<double>> links(n, std::vector<double>(n, 0));
  for (std::size_t v = 0; v < n; ++v) {
    const auto from = *rc::gen::inRange<std::int64_t>(0, layers + 1);
    const auto to = *rc::gen::inRange<std::int64_t>(from, layers + 1);
    nodes.push_back({from, to, *rc::gen::inRange(1, 9) / 1.0, *rc::gen::inRange(0, 9) / 1.0,
                     *rc::gen::inRange(0, 9) / 1.0, *rc::gen::inRange(0, 3) / 1.0});
    for (std::size_t u = 0; u < n; ++u) links[v][u] = u == v ? 0 : *rc::gen::inRange(0, 9);
  }
  double best = std::numeric_limits<double>::infinity();
  const std::function<void(std::int64_t, std::size_t, double)> go = [&](std::int64_t l, std::size_t at, double t) {
    if (l == layers) {
      best = std::min(best, t + nodes[at].return_s);
      return;
    }
    for (std::size_t v = 0; v < n; ++v) {
      if ((l > 0 && v == at) || l < nodes[v].from || l >= nodes[v].to) continue;
      const double start = t + (l == 0 ? nodes[v].entry_s : links[at][v]) + nodes[v].penalty_s;
      for (std::int64_t to = to_the_end ? nodes[v].to : l + 1; to <= nodes[v].to; ++to)
        go(to, v, start + static_cast<double>(to - l) * nodes[v].layer_s);
    }
  };
  go(0, 0, 0);
  const Route route = quickest_route(nodes, links, layers, to_the_end);
  RC_ASSERT(route.hops.empty() == std::isinf(best));
  if (route.hops.empty()) return;
  RC_ASSERT(std::abs(route.seconds - best) < 1e-9);
  std::int64_t done = 0;
  for (const RouteHop& h : route.hops) {
    RC_ASSERT(h.from == done && h.from >= nodes[h.node].from && h.to <= nodes[h.node].to);
    done = h.to;
  }
  RC_ASSERT(done == layers);
}

TEST(Swarm, ChoosesTheWorstServedBlocks) {
  EXPECT_EQ(choose_start(std::vector<double>{3, 1, 1, 2}, 2), 1);
  EXPECT_EQ(choose_start(std::vector<double>{0, 0, 0}, 2), 0);
  EXPECT_DOUBLE_EQ(network_rps(1e8, 2e8, 4096), 1e8 / 65536);
  EXPECT_DOUBLE_EQ(server_throughput(900, 1e9, 8, false), 200);
  EXPECT_DOUBLE_EQ(server_throughput(900, 100, 8, true), 20);
}

TEST(Swarm, MovesOnlyWhereItHelpsAndLeavesNoGap) {
  // Two servers on blocks 0 and 1, nobody faster on 2: nobody may leave the only server of a block.
  const std::vector<SwarmServer> alone = {{0, 2, 10}, {2, 2, 1}};
  EXPECT_FALSE(should_move(alone, 1, 4, 0.75, 1));
  // Three on the front half, a slow one on the back half: one of them should go there.
  const std::vector<SwarmServer> crowded = {{0, 2, 10}, {0, 2, 10}, {0, 2, 10}, {2, 2, 1}};
  EXPECT_TRUE(should_move(crowded, 0, 4, 0.75, 1));
  EXPECT_FALSE(should_move(crowded, 0, 4, 0.01, 1));  // only a hundredfold gain would be worth it
}

RC_GTEST_PROP(Swarm, JoinsWithinTheModel, ()) {
  const auto blocks = *rc::gen::inRange<std::int64_t>(1, 20);
  const auto n = *rc::gen::inRange<std::size_t>(1, 8);
  std::vector<SwarmServer> joining;
  for (std::size_t i = 0; i < n; ++i) {
    joining.push_back({0, *rc::gen::inRange<std::int64_t>(1, 12), 1});  // equal throughputs
  }
  const auto swarm = grow_swarm(joining, blocks, 0.75, 10, 3);
  for (const SwarmServer& s : swarm) RC_ASSERT(s.from >= 0 && s.from + s.blocks <= blocks);
}

ServeQuestion question() {
  ServeQuestion q;
  q.layers = 32;
  q.nodes = {{"a", 16, 0.001, 0, 0.05, 1e8, 1e8, false},
             {"b", 16, 0.002, 0, 0.05, 1e8, 1e8, false},
             {"c", 16, 0.001, 0, 0.05, 1e8, 1e8, false},
             {"d", 20, 0.004, 0, 0.05, 1e8, 1e8, false},
             {"e", 8, 0.002, 0, 0.05, 1e8, 1e8, false}};
  q.requests = 60;
  q.output_tokens = 8;
  return q;
}

TEST(Serve, PlansAndSimulates) {
  const ServeQuestion q = question();
  const auto plan = plan_serve(q);
  ASSERT_TRUE(plan.has_value()) << plan.error().text();
  EXPECT_EQ(plan->pipelines, 2);
  std::vector<std::int64_t> served(32, 0);
  for (std::size_t v = 0; v < q.nodes.size(); ++v) {
    EXPECT_LE(plan->nodes[v].to - plan->nodes[v].from, q.nodes[v].capacity);
    for (std::int64_t l = plan->nodes[v].from; l < plan->nodes[v].to; ++l) ++served[static_cast<std::size_t>(l)];
    EXPECT_LE(plan->nodes[v].busy, 1);
  }
  EXPECT_GE(*std::min_element(served.begin(), served.end()), 2);
  EXPECT_EQ(plan->outcome.finished, 60);
  EXPECT_GE(plan->outcome.p50_s, plan->idle_route.seconds * 8);
  EXPECT_GE(plan->outcome.p95_s, plan->outcome.p50_s);
  EXPECT_EQ(fields(*plan).size(), 14U);
  EXPECT_EQ(node_rows(q, *plan).size(), 5U);
  EXPECT_NE(explain(q, *plan).find("pipeline 1"), std::string::npos);
  const auto again = plan_serve(q);
  EXPECT_EQ(again->outcome.mean_s, plan->outcome.mean_s);
  EXPECT_EQ(compare_serve(q).size(), 3U);
}

// One node, one request: prompt and tokens one after another.
TEST(Serve, OneRequestTakesWhatItAddsUpTo) {
  ServeQuestion q;
  q.layers = 10;
  q.nodes = {{"a", 12, 0.002, 0.0001, 0.1, 1e8, 1e8, false}};
  q.requests = 1;
  q.prompt_tokens = 100;
  q.output_tokens = 5;
  q.reserve_first = q.reserve_last = 1;
  const auto plan = plan_serve(q);
  ASSERT_TRUE(plan.has_value()) << plan.error().text();
  EXPECT_NEAR(plan->outcome.mean_s, 100 * 10 * 0.0001 + 5 * (10 * 0.002 + 0.1), 1e-9);
  EXPECT_NEAR(plan->outcome.first_token_s, 100 * 10 * 0.0001 + 10 * 0.002 + 0.1, 1e-9);
}

TEST(Serve, NamesWhatIsWrong) {
  ServeQuestion q = question();
  q.layers = 400;
  EXPECT_EQ(plan_serve(q).error().code, Code::kInput);
  q = question();
  q.nodes[1].layer_s = 0;
  EXPECT_EQ(plan_serve(q).error().field, "nodes[1].layer_s");
  q = question();
  q.rtt_s = {{0}};
  EXPECT_EQ(plan_serve(q).error().field, "rtt_s");
}

TEST(Serve, NodesOfTheLibrary) {
  const auto node = serve_node("x", *workload::load_model("llama2-70b"), *workload::load_system("dgx-a100"), 1);
  EXPECT_EQ(node.capacity, 40);  // 0.8 x 80 GiB over 1.71 GB
  EXPECT_NEAR(node.layer_s, 1.71e9 / (2039e9 * 0.9069), 2e-5);
}

}  // namespace
}  // namespace comity::plan
