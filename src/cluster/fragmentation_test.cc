// SPDX-License-Identifier: Apache-2.0
// Fragmentation against the definition read literally, and numbers worked out by hand.
#include "cluster/fragmentation.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace comity::cluster {
namespace {

Residual node(std::int64_t cpu, std::initializer_list<int> gpus, std::uint32_t model = 0) {
  Residual left;
  left.cpu_milli = cpu;
  left.memory_mib = 1000;
  left.model = model;
  for (const int milli : gpus) left.gpu_milli[left.gpus++] = static_cast<std::uint16_t>(milli);
  return left;
}

// The definition of the header, case by case, GPU by GPU.
std::int64_t by_definition(const Residual& left, const std::vector<ShareRequest>& requests, bool memory) {
  std::int64_t sum = 0;
  for (const ShareRequest& m : requests) {
    std::int64_t all = 0;
    std::int64_t too_small = 0;
    std::uint32_t enough = 0;
    for (std::uint32_t g = 0; g < left.gpus; ++g) {
      all += left.gpu_milli[g];
      if (left.gpu_milli[g] < m.gpu_milli)
        too_small += left.gpu_milli[g];
      else
        ++enough;
    }
    const bool right_model = (m.models & (std::uint64_t{1} << left.model)) != 0;
    const bool runs = m.gpus > 0 && left.cpu_milli >= m.cpu_milli && right_model && enough >= m.gpus &&
                      (!memory || left.memory_mib >= m.memory_mib);
    sum += runs ? too_small : all;
  }
  return sum;
}

TEST(Fragmentation, ByHand) {
  // Half of the tasks ask for 0.6 GPU and 4 cores, half for no GPU.
  const std::vector<ShareRequest> requests = {{4000, 0, 1, 600, kAnyModel}, {1000, 0, 0, 0, kAnyModel}};
  const TaskMix mix(requests, {.popularity = 1, .memory = false});
  EXPECT_EQ(mix.weight(), 2);
  // Runs on the first GPU: the 500 of the second are lost to it; all 1500 to the task without a GPU.
  EXPECT_EQ(mix.fragmentation(node(8000, {1000, 500})), 500 + 1500);
  EXPECT_EQ(mix.fragmentation(node(3999, {1000, 500})), 1500 + 1500);  // too little CPU
  EXPECT_EQ(mix.fragmentation(node(8000, {500, 500})), 1000 + 1000);   // no GPU is enough
  EXPECT_EQ(mix.fragmentation(node(8000, {})), 0);
}

TEST(Fragmentation, ModelsCount) {
  const std::vector<ShareRequest> requests = {{0, 0, 2, 1000, 0b10}};
  const TaskMix mix(requests, {.popularity = 1, .memory = false});
  EXPECT_EQ(mix.fragmentation(node(0, {1000, 1000, 300}, 0)), 2300);
  EXPECT_EQ(mix.fragmentation(node(0, {1000, 1000, 300}, 1)), 300);
  EXPECT_EQ(mix.fragmentation(node(0, {1000, 999, 300}, 1)), 2299);
}

TEST(Fragmentation, RareClassesAreLeftOut) {
  std::vector<ShareRequest> requests(90, {1, 0, 1, 1000, kAnyModel});
  requests.insert(requests.end(), 6, {2, 0, 1, 500, kAnyModel});
  requests.insert(requests.end(), 4, {3, 0, 1, 200, kAnyModel});
  const TaskMix mix(requests, {.popularity = 0.95, .memory = false});
  ASSERT_EQ(mix.classes().size(), 2U);  // 90 + 6 >= 95
  EXPECT_EQ(mix.classes()[0].weight, 90);
  EXPECT_EQ(mix.weight(), 96);
}

TEST(Fragmentation, MemoryCountsWhenAsked) {
  const std::vector<ShareRequest> requests = {{0, 2000, 1, 1000, kAnyModel}};
  EXPECT_EQ(TaskMix(requests, {.popularity = 1, .memory = false}).fragmentation(node(0, {1000})), 0);
  EXPECT_EQ(TaskMix(requests, {.popularity = 1, .memory = true}).fragmentation(node(0, {1000})), 1000);
}

ShareRequest any_request() {
  ShareRequest r;
  r.cpu_milli = *rc::gen::inRange(0, 10);
  r.memory_mib = *rc::gen::inRange(0, 1500);
  r.gpus = *rc::gen::element<std::uint32_t>(0, 1, 1, 1, 2, 4);
  r.gpu_milli = r.gpus == 0 ? 0 : r.gpus > 1 ? 1000 : *rc::gen::element<std::uint32_t>(100, 300, 500, 1000);
  r.models = r.gpus == 0 ? kAnyModel : *rc::gen::elementOf(std::vector<std::uint64_t>{kAnyModel, 1, 2, 3});
  return r;
}

TEST(Fragmentation, IsTheDefinition) {
  EXPECT_TRUE(rc::check([] {
    std::vector<ShareRequest> requests;
    const int n = *rc::gen::inRange(1, 20);
    for (int i = 0; i < n; ++i) requests.push_back(any_request());
    const bool memory = *rc::gen::arbitrary<bool>();
    const TaskMix mix(requests, {.popularity = 1, .memory = memory});
    Residual left = node(*rc::gen::inRange(0, 10), {}, *rc::gen::element<std::uint32_t>(0, 1, 2));
    left.gpus = *rc::gen::inRange<std::uint32_t>(0, 9);
    for (std::uint32_t g = 0; g < left.gpus; ++g)
      left.gpu_milli[g] = *rc::gen::element<std::uint16_t>(0, 50, 100, 299, 300, 700, 1000);
    const std::int64_t f = mix.fragmentation(left);
    RC_ASSERT(mix.weight() == n);
    RC_ASSERT(f == by_definition(left, requests, memory));
    RC_ASSERT(f >= 0 && f <= n * left.total_gpu_milli());
  }));
}

TEST(Fragmentation, TheSumFollowsThePool) {
  EXPECT_TRUE(rc::check([] {
    std::vector<ShareNodeSpec> specs;
    const int nodes = *rc::gen::inRange(1, 6);
    for (int i = 0; i < nodes; ++i)
      specs.push_back({"n", 20, 4000, *rc::gen::inRange<std::uint32_t>(0, 5), *rc::gen::element<std::uint32_t>(0, 1)});
    std::vector<ShareRequest> requests;
    for (int i = 0; i < 6; ++i) requests.push_back(any_request());
    const TaskMix mix(requests, {.popularity = 1, .memory = true});
    SharePool pool(specs);
    FragmentationSum sum(pool, mix);
    for (int step = 0; step < 20; ++step) {
      const ShareRequest r = *rc::gen::elementOf(requests);
      const auto n = *rc::gen::inRange<std::uint32_t>(0, static_cast<std::uint32_t>(nodes));
      if (r.gpus != 1 || !pool.left(n).fits(r)) continue;
      std::uint32_t g = 0;
      while (pool.left(n).gpu_milli[g] < r.gpu_milli) ++g;
      pool.take(r, {NodeId(n), 1U << g});
      sum.refresh(n);
      std::int64_t afresh = 0;
      for (std::size_t i = 0; i < pool.size(); ++i) afresh += by_definition(pool.left(i), requests, true);
      RC_ASSERT(sum.exact() == afresh);
    }
  }));
}

}  // namespace
}  // namespace comity::cluster
