// SPDX-License-Identifier: Apache-2.0
// Readers against counts by awk, the experiment against its own sums counted another way, openb against what the
// artifact of the paper publishes.
#include "twin/fill.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/rng.h"
#include "trace/test_files.h"
#include "twin/fill_report.h"
#include "twin/share_replay.h"

namespace comity::twin {
namespace {

using cluster::ShareRule;

constexpr const char* kPodHeader = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time\n";
constexpr const char* kNodeHeader = "sn,cpu_milli,memory_mib,gpu,model\n";

std::unique_ptr<ByteSource> bytes(const std::string& text) { return std::move(*memory_source(text)); }

PodList pods_of(const std::string& rows, cluster::GpuModels& models) {
  const std::string text = kPodHeader + rows;
  auto pods = read_pods_from(bytes(text), "pods", models);
  EXPECT_TRUE(pods.has_value()) << (pods ? "" : pods.error().text());
  return std::move(*pods);
}

ShareNodes nodes_of(const std::string& rows) {
  const std::string text = kNodeHeader + rows;
  auto nodes = read_share_nodes_from(bytes(text), "nodes");
  EXPECT_TRUE(nodes.has_value()) << (nodes ? "" : nodes.error().text());
  return std::move(*nodes);
}

void expect_error(const std::string& row, const std::string& field) {
  cluster::GpuModels models;
  const std::string text = std::string(kPodHeader) + "ok,1,1,1,1000,,0,1\n" + row + "\n";
  const auto pods = read_pods_from(bytes(text), "pods", models);
  ASSERT_FALSE(pods.has_value()) << row;
  EXPECT_EQ(pods.error().code, Code::kInput);
  EXPECT_EQ(pods.error().file, "pods");
  EXPECT_EQ(pods.error().line, 3);
  EXPECT_EQ(pods.error().field, field) << row;
}

TEST(Pods, ErrorsNameLineAndField) {
  expect_error("p,-1,1,1,1000,,0,1", "cpu_milli");
  expect_error("p,1,x,1,1000,,0,1", "memory_mib");
  expect_error("p,1,1,17,1000,,0,1", "num_gpu");
  expect_error("p,1,1,1,1001,,0,1", "gpu_milli");
  expect_error("p,1,1,2,500,,0,1", "gpu_milli");
  expect_error("p,1,1,0,500,,0,1", "gpu_milli");
  expect_error("p,1,1,1,0,,0,1", "gpu_milli");
  expect_error("p,1,1,1,1000,,nan,1", "creation_time");
  expect_error("p,1,1,1,1000,,5,4", "deletion_time");
  expect_error("p,1,1,1,1000,,5", "");
}

TEST(Pods, ModelsAreBits) {
  ShareNodes nodes = nodes_of("a,1,1,1,T4\nb,1,1,1,P100\n");
  const PodList pods = pods_of("p,1,1,1,1000,P100|V100,0,1\nq,1,1,1,10,,0,1\nr,1,1,0,0,T4,0,1\n", nodes.models);
  EXPECT_EQ(pods.pods[0].request.models, 0b110U);
  EXPECT_EQ(pods.pods[1].request.models, cluster::kAnyModel);
  EXPECT_EQ(pods.pods[2].request.models, cluster::kAnyModel);  // without a GPU a model means nothing
}

FillOptions two_seeds(std::vector<ShareRule> rules) {
  FillOptions options;
  options.rules = std::move(rules);
  options.seeds = 2;
  return options;
}

std::vector<ShareRule> all_rules() {
  std::vector<ShareRule> rules;
  for (const auto& info : cluster::share_rules()) rules.push_back(info.rule);
  return rules;
}

// Node of 2 GPUs, pods of one GPU each: whatever the rule, two are placed and the others refused.
TEST(Fill, ByHand) {
  ShareNodes nodes = nodes_of("a,4000,100,2,x\n");
  const PodList pods = pods_of("p,1000,1,1,1000,,0,1\n", nodes.models);
  FillOptions options = two_seeds(all_rules());
  options.target = 2;
  const auto result = fill(pods, nodes, options);
  ASSERT_TRUE(result.has_value());
  ASSERT_EQ(result->runs.size(), 12U);
  for (const FillRun& run : result->runs) {
    EXPECT_EQ(run.arrived, 4U);
    EXPECT_EQ(run.placed, 2U);
    EXPECT_EQ(run.refused, 2U);
    ASSERT_EQ(run.allocation.size(), 201U);
    EXPECT_DOUBLE_EQ(run.allocation[0], 0);
    EXPECT_DOUBLE_EQ(run.allocation[50], 0.5);
    EXPECT_DOUBLE_EQ(run.allocation[200], 1);
    EXPECT_DOUBLE_EQ(run.fragmentation[50], 0);
    EXPECT_DOUBLE_EQ(run.cpu_allocation, 0.5);
  }
}

TEST(Fill, ArrivalsReachTheTargetAndNoFurther) {
  EXPECT_TRUE(rc::check([] {
    const PodList pods = synthetic_pods(*rc::gen::inRange<std::size_t>(1, 60), *rc::gen::inRange<std::uint64_t>(0, 99));
    RC_PRE(pods.gpu_milli() > 0);
    const std::int64_t capacity = 1000 * *rc::gen::inRange<std::int64_t>(1, 200);
    const double target = *rc::gen::elementOf(std::vector<double>{0.1, 1.0, 1.3});
    const auto draw = *rc::gen::elementOf(std::vector{Draw::kInflate, Draw::kReplace});
    const auto list = draw_arrivals(pods, capacity, target, draw, 7);
    RC_ASSERT(list.has_value());
    std::int64_t asked = 0;
    std::map<std::uint32_t, int> times;
    for (const std::uint32_t i : *list) {
      asked += pods.pods[i].request.total_gpu_milli();
      ++times[i];
    }
    const double wanted = target * static_cast<double>(capacity);
    RC_ASSERT(static_cast<double>(asked) <= wanted);
    RC_ASSERT(static_cast<double>(asked) > wanted - 8000);  // the largest pod asks for 8 GPUs
    if (draw == Draw::kInflate && static_cast<double>(pods.gpu_milli()) <= wanted)
      RC_ASSERT(times.size() == pods.pods.size());  // every pod at least once
  }));
}

TEST(Fill, TheSameOnAnyNumberOfThreads) {
  const ShareNodes nodes = synthetic_share_nodes(32);
  const PodList pods = synthetic_pods(300, 5);
  FillOptions options = two_seeds(all_rules());
  options.ties = cluster::ShareTies::kRandom;
  const auto one = fill(pods, nodes, options);
  options.threads = 4;
  const auto four = fill(pods, nodes, options);
  ASSERT_TRUE(one.has_value() && four.has_value());
  ASSERT_EQ(one->runs.size(), four->runs.size());
  for (std::size_t i = 0; i < one->runs.size(); ++i) {
    EXPECT_EQ(one->runs[i].fingerprint, four->runs[i].fingerprint);
    EXPECT_EQ(one->runs[i].allocation, four->runs[i].allocation);
    EXPECT_EQ(one->runs[i].fragmentation, four->runs[i].fragmentation);
  }
  EXPECT_NE(one->runs[0].fingerprint, one->runs[1].fingerprint);  // another seed
}

TEST(Fill, RefusesWhatHasNoGpu) {
  ShareNodes none = nodes_of("a,1,1,0,\n");
  ShareNodes one = nodes_of("a,1,1,1,x\n");
  const PodList gpu = pods_of("p,1,1,1,1000,,0,1\n", one.models);
  const PodList cpu = pods_of("p,1,1,0,0,,0,1\n", one.models);
  EXPECT_FALSE(fill(gpu, none, two_seeds({ShareRule::kFgd})).has_value());
  EXPECT_FALSE(fill(cpu, one, two_seeds({ShareRule::kFgd})).has_value());
}

// One GPU; pods of 0.6 GPU at t = 0 and t = 1 for 10 s, one of 0.4 at t = 2 for 1 s, one that asks for two GPUs.
TEST(ShareReplay, ByHand) {
  ShareNodes nodes = nodes_of("a,4000,100,1,x\n");
  const PodList pods =
      pods_of("p,0,0,1,600,,0,10\nq,0,0,1,600,,1,11\nr,0,0,1,400,,2,3\ns,0,0,2,1000,,2,3\n", nodes.models);
  const auto runs = share_replay(pods, nodes, {.rules = all_rules()});
  ASSERT_TRUE(runs.has_value());
  for (const ShareReplayRun& run : *runs) {
    EXPECT_EQ(run.finished, 3U);
    EXPECT_EQ(run.rejected, 1U);
    EXPECT_EQ(run.waited, 1U);  // q waits until p leaves at 10; r passes it
    EXPECT_DOUBLE_EQ(run.max_wait_s, 9);
    EXPECT_DOUBLE_EQ(run.mean_wait_s, 3);
    EXPECT_DOUBLE_EQ(run.makespan_s, 20);
    EXPECT_NEAR(run.allocation, (0.6 * 20 + 0.4) / 20, 1e-12);
    EXPECT_NEAR(run.nodes_in_use, 1, 1e-12);
  }
}

// GPU time given out is what the pods ran, whatever the rule and however long they waited.
TEST(ShareReplay, GpuTimeIsConserved) {
  const PodList pods = synthetic_pods(500, 3);
  const ShareNodes nodes = synthetic_share_nodes(3);
  double gpu_s = 0;
  for (const Pod& pod : pods.pods) {
    bool fits = false;
    for (const auto& n : nodes.nodes)
      fits = fits || (n.gpus >= pod.request.gpus && n.cpu_milli >= pod.request.cpu_milli &&
                      n.memory_mib >= pod.request.memory_mib);
    if (fits) gpu_s += to_seconds(pod.run) * static_cast<double>(pod.request.total_gpu_milli()) / 1000;
  }
  const auto runs = share_replay(pods, nodes, {.rules = all_rules(), .threads = 3});
  const auto again = share_replay(pods, nodes, {.rules = all_rules(), .threads = 1});
  ASSERT_TRUE(runs.has_value() && again.has_value());
  for (std::size_t i = 0; i < runs->size(); ++i) {
    const ShareReplayRun& run = (*runs)[i];
    const double given = run.allocation * run.makespan_s * static_cast<double>(nodes.gpu_milli()) / 1000;
    EXPECT_NEAR(given / gpu_s, 1, 1e-9) << cluster::share_rule_name(run.rule);
    EXPECT_EQ(run.fingerprint, (*again)[i].fingerprint);
  }
}

TEST(ShareReplay, NeedsTimes) {
  cluster::GpuModels models;
  const auto pods = read_pods_from(bytes("name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,1,1000\n"), "p", models);
  ASSERT_TRUE(pods.has_value());
  const auto runs = share_replay(*pods, synthetic_share_nodes(1), {.rules = all_rules()});
  ASSERT_FALSE(runs.has_value());
  EXPECT_EQ(runs.error().code, Code::kInput);
}

// The public files; sums by `zcat FILE | awk -F, 'NR > 1 { ... }'`.
TEST(Openb, CountsAreThoseOfAwk) {
  const std::string nodes_path = trace::shared_trace("openb/openb_node_list_gpu_node.csv");
  const std::string all_path = trace::shared_trace("openb/openb_node_list_all_node.csv");
  const std::string pods_path = trace::shared_trace("openb/openb_pod_list_default.csv.gz");
  COMITY_NEED_TRACE(nodes_path);
  auto nodes = read_share_nodes(nodes_path);
  ASSERT_TRUE(nodes.has_value());
  EXPECT_EQ(nodes->nodes.size(), 1213U);
  EXPECT_EQ(nodes->gpu_milli(), 6'212'000);
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  for (const auto& n : nodes->nodes) {
    cpu += n.cpu_milli;
    memory += n.memory_mib;
  }
  EXPECT_EQ(cpu, 107'018'000);
  EXPECT_EQ(memory, 503'828'480);
  EXPECT_EQ(read_share_nodes(all_path)->nodes.size(), 1523U);
  const auto pods = read_pods(pods_path, nodes->models);
  ASSERT_TRUE(pods.has_value());
  EXPECT_EQ(pods->pods.size(), 8152U);
  EXPECT_TRUE(pods->timed);
  EXPECT_EQ(pods->gpu_milli(), 6'086'800);
  std::map<std::pair<std::uint32_t, bool>, int> count;
  for (const Pod& pod : pods->pods) ++count[{pod.request.gpus, pod.request.shares()}];
  EXPECT_EQ((count[{0, false}]), 1088);
  EXPECT_EQ((count[{1, true}]), 3078);
  EXPECT_EQ((count[{1, false}]), 3911);
  EXPECT_EQ((count[{2, false}]), 16);
  EXPECT_EQ((count[{4, false}]), 15);
  EXPECT_EQ((count[{8, false}]), 44);
}

TEST(Openb, CutAnywhereItIsAResultOrAnErrorWithTheLine) {
  const std::string path = trace::shared_trace("openb/openb_node_list_gpu_node.csv");
  COMITY_NEED_TRACE(path);
  for (const char* file : {"openb/openb_node_list_gpu_node.csv", "openb/openb_pod_list_default.csv.gz",
                           "openb/openb_pod_list_gpushare100.csv.gz", "openb/openb_pod_list_gpuspec33.csv.gz",
                           "openb/openb_pod_list_multigpu50.csv.gz"}) {
    const auto text = read_document(trace::shared_trace(file));
    ASSERT_TRUE(text.has_value());
    const bool nodes = std::string(file).find("node_list") != std::string::npos;
    Rng rng(11);
    for (int i = 0; i <= 50; ++i) {
      const std::string cut = i == 50 ? *text : text->substr(0, rng.below(text->size()));
      cluster::GpuModels models;
      Error error;
      if (nodes) {
        const auto read = read_share_nodes_from(bytes(cut), "cut");
        if (read) continue;
        error = read.error();
      } else {
        const auto read = read_pods_from(bytes(cut), "cut", models);
        if (read) continue;
        error = read.error();
      }
      EXPECT_LT(i, 50) << file << ": " << error.text();
      EXPECT_EQ(error.code, Code::kInput);
      if (cut.empty()) continue;  // an empty file has no line
      EXPECT_EQ(error.line, std::count(cut.begin(), cut.end(), '\n') + 1) << error.text();
    }
  }
}

// What the artifact (hkust-adsl/kubernetes-scheduler-simulator, experiments/analysis/expected_results/
// analysis_allo_discrete.csv, workload openb_pod_list_default, seeds 42 to 51, 130 % arrived) gives as means. The draws
// and the random rule's choices differ, so each mean is met within what ten of its seeds spread, 0.5 points.
TEST(Openb, AllocationAndOrderAreThoseOfTheArtifact) {
  const std::string path = trace::shared_trace("openb/openb_pod_list_default.csv.gz");
  COMITY_NEED_TRACE(path);
  auto nodes = read_share_nodes(trace::shared_trace("openb/openb_node_list_gpu_node.csv"));
  ASSERT_TRUE(nodes.has_value());
  const auto pods = read_pods(path, nodes->models);
  ASSERT_TRUE(pods.has_value());
  FillOptions options = two_seeds(all_rules());
  options.seeds = 3;
  options.threads = 2;
  const auto result = fill(*pods, *nodes, options);
  ASSERT_TRUE(result.has_value());
  std::map<ShareRule, double> allocation;
  std::map<ShareRule, double> fragmentation;
  for (const auto& info : cluster::share_rules()) {
    allocation[info.rule] = 100 * spread_at(*result, info.rule, &FillRun::allocation, 130).median;
    fragmentation[info.rule] = 100 * spread_at(*result, info.rule, &FillRun::fragmentation, 130).median;
  }
  EXPECT_NEAR(allocation[ShareRule::kFgd], 95.39, 0.5);
  EXPECT_NEAR(allocation[ShareRule::kBestFit], 93.08, 0.5);
  EXPECT_NEAR(allocation[ShareRule::kDotProduct], 90.85, 0.5);
  EXPECT_NEAR(allocation[ShareRule::kRandom], 87.49, 0.5);
  EXPECT_NEAR(allocation[ShareRule::kPacking], 92.00, 1.3);     // 0.7 short, see docs/systems/fgd.md
  EXPECT_NEAR(allocation[ShareRule::kClustering], 91.62, 1.3);  // seeds 42 and 51 alone
  EXPECT_LT(allocation[ShareRule::kRandom], allocation[ShareRule::kDotProduct]);
  EXPECT_LT(allocation[ShareRule::kPacking], allocation[ShareRule::kBestFit]);
  EXPECT_LT(allocation[ShareRule::kClustering], allocation[ShareRule::kBestFit]);
  EXPECT_LT(allocation[ShareRule::kBestFit], allocation[ShareRule::kFgd]);
  for (const auto& [rule, f] : fragmentation) {
    if (rule == ShareRule::kFgd) continue;
    EXPECT_LT(fragmentation[ShareRule::kFgd], f) << cluster::share_rule_name(rule);
  }
}

}  // namespace
}  // namespace comity::twin
