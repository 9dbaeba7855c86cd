// SPDX-License-Identifier: Apache-2.0
// Traces of our own steps: they read back, can be run to their end, and carry the bytes that volumes.h counts.
#include "workload/foreign/chakra_step.h"

#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "workload/traffic.h"

namespace comity::workload {
namespace {

Execution some(std::int64_t tp, std::int64_t pp, std::int64_t dp) {
  Execution e;
  e.tp = tp;
  e.pp = pp;
  e.dp = dp;
  e.microbatch = 1;
  e.batch = dp * pp * 4;
  return e;
}

struct Case {
  const char* model;
  Execution execution;
};
std::vector<Case> cases() {
  std::vector<Case> all = {{"gpt3-175b", some(8, 4, 2)},
                           {"llama2-7b", some(2, 2, 2)},
                           {"mixtral-8x7b", some(2, 2, 4)},
                           {"llama2-7b", some(1, 1, 4)},
                           {"gpt2-xl", some(1, 4, 1)}};
  all[0].execution.sequence_parallel = true;
  all[0].execution.virtual_stages = 2;
  all[0].execution.schedule = Schedule::kInterleaved;
  all[1].execution.zero = 3;
  all[1].execution.cp = 2;
  all[1].execution.recompute = Recompute::kFull;
  all[2].execution.ep = 4;
  all[4].execution.schedule = Schedule::kZbH1;
  return all;
}

// Bytes that a rank sends by the nodes of its trace, as ASTRA-sim reads them.
double bytes_of(const ChakraTrace& t, const AstraGroups& groups) {
  double sum = 0;
  for (std::size_t i = 0; i < t.nodes(); ++i) {
    const auto size = static_cast<double>(t.integer(i, "comm_size").value_or(0));
    if (t.type[i] == NodeType::kSend) sum += size;
    if (t.type[i] != NodeType::kCollective) continue;
    const auto n = static_cast<double>(groups.at(*t.integer(i, "pg_name")).size());
    sum += (*t.integer(i, "comm_type") == 0 ? 2 : 1) * (n - 1) / n * size;
  }
  return sum;
}

TEST(StepTraces, CarryWhatTheVolumesCount) {
  for (const Case& c : cases()) {
    const Model m = *load_model(c.model);
    const auto step = StepTraces::make(m, c.execution, *load_system("dgx-a100"), CostModel::kNccl);
    ASSERT_TRUE(step.has_value()) << step.error().text();
    const RankGrid grid(c.execution);
    for (std::int64_t rank = 0; rank < step->ranks(); ++rank) {
      const double counted = rank_bytes(m, c.execution, grid.coordinates(rank).pp).total();
      EXPECT_NEAR(bytes_of(step->trace(rank), step->groups()) / counted, 1, 1e-3) << c.model << " rank " << rank;
    }
  }
}

TEST(StepTraces, ReadBackAndRunToTheirEnd) {
  for (const Case& c : cases()) {
    const Model m = *load_model(c.model);
    const auto step = StepTraces::make(m, c.execution, *load_system("dgx-a100"), CostModel::kNccl);
    ASSERT_TRUE(step.has_value());
    std::vector<ChakraTrace> traces;
    for (std::int64_t rank = 0; rank < step->ranks(); ++rank) {
      traces.push_back(step->trace(rank));
      const auto graph = chakra_graph(traces.back(), "x");
      ASSERT_TRUE(graph.has_value());
      EXPECT_TRUE(graph->cycle.empty());
      EXPECT_EQ(graph->dangling, 0U);
    }
    const auto network = parse_astra_network(
        fmt::format("topology: [ Switch ]\nnpus_count: [ {} ]\nbandwidth: [ 100.0 ]\nlatency: [ 1000.0 ]\n",
                    step->ranks()),
        "n.yml");
    ASSERT_TRUE(network.has_value()) << network.error().text();
    const auto system = parse_astra_system(
        R"({"scheduling-policy": "LIFO", "endpoint-delay": 10, "local-mem-bw": 2000, "active-chunks-per-dimension": 1,
            "preferred-dataset-splits": 1, "all-reduce-implementation": ["ring"], "all-gather-implementation": ["ring"],
            "reduce-scatter-implementation": ["ring"], "all-to-all-implementation": ["direct"],
            "collective-optimization": "localBWAware"})",
        "s.json");
    ASSERT_TRUE(system.has_value()) << system.error().text();
    const auto run = astra_unaware(traces, *system, *network, step->groups(), "x");
    ASSERT_TRUE(run.has_value()) << c.model << ": " << run.error().text();
    EXPECT_GT(run->iteration_ns, 0U);
  }
}

TEST(StepTraces, AreWrittenAndReadAlike) {
  const Case c = cases().front();
  const auto step = StepTraces::make(*load_model(c.model), c.execution, *load_system("dgx-a100"), CostModel::kNccl);
  ASSERT_TRUE(step.has_value());
  const ChakraTrace t = step->trace(17);
  const std::string bytes = write_chakra(t);
  auto source = memory_source(bytes);
  const auto back = read_chakra_from(**source, "t");
  ASSERT_TRUE(back.has_value()) << back.error().text();
  EXPECT_TRUE(*back == t);
}

TEST(StepTraces, AreBounded) {
  Execution e = some(8, 64, 16);
  e.batch = 16 * 64 * 8;
  EXPECT_FALSE(StepTraces::make(*load_model("gpt3-175b"), e, *load_system("dgx-a100"), CostModel::kNccl).has_value());
}

}  // namespace
}  // namespace comity::workload
