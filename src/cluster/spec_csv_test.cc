// SPDX-License-Identifier: Apache-2.0
#include "cluster/spec_csv.h"

#include <cstdlib>
#include <filesystem>
#include <map>

#include <gtest/gtest.h>

#include "cluster/pool.h"

namespace comity::cluster {
namespace {

constexpr const char* kOpenb = "sn,cpu_milli,memory_mib,gpu,model\n";

TEST(NodeList, BothKinds) {
  const auto openb = parse_node_list(std::string(kOpenb) + "n0,64000,262144,2,P100\nn1,32500,1,0,\nn2,1,1,8,\n", "f");
  ASSERT_TRUE(openb) << openb.error().text();
  ASSERT_EQ(openb->nodes.size(), 2U);
  EXPECT_EQ(openb->nodes_without_gpus, 1U);
  EXPECT_EQ(openb->nodes[0].name, "n0");
  EXPECT_EQ(openb->nodes[0].gpu_type, "P100");
  EXPECT_EQ(openb->nodes[0].gpus, 2U);
  EXPECT_EQ(openb->nodes[0].cpus, 64U);
  EXPECT_EQ(openb->nodes[0].memory_mb, 262'144U);
  const auto spot = parse_node_list("gpu_model,gpu_capacity_num,cpu_num,node_name\r\nA10,1,128,7\r\n", "f");
  ASSERT_TRUE(spot) << spot.error().text();
  EXPECT_EQ(spot->nodes[0].name, "7");
  EXPECT_EQ(spot->nodes[0].gpu_type, "A10");
  EXPECT_EQ(spot->nodes[0].cpus, 128U);
}

TEST(NodeList, ErrorsNameLineAndColumn) {
  struct Bad {
    std::string text;
    std::int64_t line;
    std::string field;
  };
  for (const Bad& bad :
       {Bad{std::string(kOpenb) + "n0,64000,262144,two,P100\n", 2, "gpu"},
        Bad{std::string(kOpenb) + "n0,64000,262144,2,P100\n\nn0,64000,262144,2,P100\n", 4, "sn"},
        Bad{std::string(kOpenb) + "n0,64000,-1,2,P100\n", 2, "memory_mib"},
        Bad{std::string(kOpenb) + "n0,1.5,1,2,P100\n", 2, "cpu_milli"},
        Bad{std::string(kOpenb) + "n0,64000,262144,2\n", 2, ""}, Bad{std::string(kOpenb) + ",1,1,2,P100\n", 2, "sn"},
        Bad{std::string(kOpenb) + "n0,1,1,0,\n", 2, "gpu"}, Bad{kOpenb, 1, "gpu"},
        Bad{std::string(kOpenb) + "n0,1,1,1000001,\n", 2, "gpu"}, Bad{"a,b\n1,2\n", 1, ""}, Bad{"", 1, ""},
        Bad{"sn,cpu_milli,memory_mib,gpu,model,sn\n", 1, "sn"}}) {
    const auto spec = parse_node_list(bad.text, "nodes.csv");
    ASSERT_FALSE(spec) << bad.text;
    EXPECT_EQ(spec.error().code, Code::kInput);
    EXPECT_EQ(spec.error().file, "nodes.csv");
    EXPECT_EQ(spec.error().line, bad.line) << spec.error().text();
    EXPECT_EQ(spec.error().field, bad.field) << spec.error().text();
  }
}

TEST(NodeList, TomlIsNone) {
  EXPECT_FALSE(is_node_list("schema = \"comity.cluster/1\"\n"));
  EXPECT_TRUE(is_node_list("\xEF\xBB\xBFsn,cpu_milli,memory_mib,gpu,model"));
}

// The counts that come with the lists (cluster-trace-gpu-v2023: 1,213 GPU nodes, 6,212 GPUs; awk on the spot list).
TEST(NodeList, PublicOnesWhole) {
  struct Public {
    const char* name;
    std::size_t nodes;
    std::uint64_t without;
    std::uint64_t gpus;
  };
  const char* root = std::getenv("COMITY_SHARED");
  const std::filesystem::path traces = std::filesystem::path(root != nullptr ? root : "../shared") / "data" / "traces";
  for (const Public& p : {Public{"openb/openb_node_list_gpu_node.csv", 1213, 0, 6212},
                          Public{"openb/openb_node_list_all_node.csv", 1213, 310, 6212},
                          Public{"misc/alibaba_spot2026_node_info.csv", 4278, 0, 0}}) {
    const std::string path = traces / p.name;
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent (set COMITY_SHARED)";
    const auto spec = read_cluster(path);
    ASSERT_TRUE(spec) << spec.error().text();
    EXPECT_EQ(spec->nodes.size(), p.nodes);
    EXPECT_EQ(spec->nodes_without_gpus, p.without);
    if (p.gpus > 0) {
      EXPECT_EQ(spec->gpus(), p.gpus);
    } else {  // by model, as `awk -F, 'NR>1{g[$1]+=$2}'` adds them up
      std::map<std::string, std::uint64_t> by_model;
      for (const NodeSpec& node : spec->nodes) by_model[node.gpu_type] += node.gpus;
      const std::map<std::string, std::uint64_t> want = {{"A10", 2494},           {"A100-SXM4-80GB", 3456},
                                                         {"A800-SXM4-80GB", 176}, {"GPU-series-1", 1558},
                                                         {"GPU-series-2", 976},   {"H800", 1752}};
      EXPECT_EQ(by_model, want);
    }
  }
}

TEST(NodeList, CutAnywhere) {
  std::string text = kOpenb;
  for (int i = 0; i < 20; ++i) text += "node" + std::to_string(i) + ",64000,262144,2,P100\n";
  for (std::size_t size = 0; size < text.size(); ++size) {
    const auto spec = parse_node_list(std::string_view(text).substr(0, size), "f");
    if (!spec) {
      EXPECT_GE(spec.error().line, 1);
    }
  }
}

}  // namespace
}  // namespace comity::cluster
