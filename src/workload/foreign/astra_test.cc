// SPDX-License-Identifier: Apache-2.0
#include "workload/foreign/astra.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "workload/foreign/foreign.h"
#include "workload/foreign/shared_data.h"

namespace comity::workload {
namespace {

constexpr std::int64_t kMib = 1 << 20;

AstraNetwork network(AstraTopology topology, std::int64_t npus, double bandwidth, double latency) {
  return {{{topology, npus, bandwidth, latency}}};
}

AstraSystem system_of(AstraAlgorithm algorithm, std::int64_t splits, std::size_t dimensions = 1) {
  AstraSystem s;
  s.splits = splits;
  s.local_mem_gb_s = 1600;
  s.local_bw_aware = true;
  for (auto* list : {&s.all_reduce, &s.all_gather, &s.reduce_scatter, &s.all_to_all})
    list->assign(dimensions, {algorithm, 0});
  return s;
}

ChakraTrace one_collective(ChakraCollective type, std::int64_t bytes) {
  ChakraTrace t;
  t.version = "0.0.4";
  t.begin_node(0, NodeType::kCollective, "collective");
  t.add_boolean("is_cpu_op", false);
  t.add_integer("comm_type", static_cast<std::int64_t>(type));
  t.add_integer("comm_size", bytes);
  return t;
}

Result<AstraEstimate> run(const std::vector<ChakraTrace>& traces, const AstraSystem& s, const AstraNetwork& n,
                          const AstraGroups& groups = {}) {
  return astra_unaware(traces, s, n, groups, "memory");
}

// Nanoseconds of rank 0, or the error.
std::string ns(const AstraSystem& s, const AstraNetwork& n, ChakraCollective type, std::int64_t bytes) {
  const std::vector<ChakraTrace> traces(static_cast<std::size_t>(n.npus()), one_collective(type, bytes));
  const auto got = run(traces, s, n);
  return got ? std::to_string(got->ranks[0].finish_ns) : got.error().text();
}

std::string error_of(const std::vector<ChakraTrace>& traces, const AstraSystem& s, const AstraNetwork& n) {
  const auto got = run(traces, s, n);
  return got ? "ran" : got.error().text();
}

// What reference_small.txt says of the unaware backend: name of the run to cycles.
std::map<std::string, std::uint64_t> reference() {
  std::map<std::string, std::uint64_t> out;
  std::istringstream in(bytes_of(shared_workload() / "astra-sim/reference_small.txt"));
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string mark, name, bar, backend, bar2, sys, finished;
    std::uint64_t cycles = 0;
    words >> mark >> name >> bar >> backend >> bar2 >> sys >> finished >> cycles;
    if (backend == "Unaware") out[name] = cycles;
  }
  return out;
}

TEST(AstraTest, ReferenceRuns) {
  COMITY_NEED_WORKLOADS();
  const auto expected = reference();
  ASSERT_EQ(expected.size(), 13U);
  const std::string examples = (shared_workload() / "astra-sim/examples").string();
  for (const auto& [name, cycles] : expected) {
    const bool hgx = name == "HGX8_AR1MB";
    const int n = hgx ? 8 : std::stoi(name.substr(4));
    const std::string collective =
        hgx ? "all_reduce" : name.substr(name.find('_') + 1, name.rfind('_') - name.find('_') - 1);
    AstraRequest request;
    request.chakra = fmt::format("{0}/workload/microbenchmarks/{1}/{2}npus_1MB/{1}", examples, collective, n);
    request.system = examples + "/system/native_collectives/" + (hgx ? "HGX-H100-validated.json" : "Ring_4chunks.json");
    request.network =
        examples + "/network/analytical/" + (hgx ? "HGX-H100-validated.yml" : fmt::format("Ring_{}npus.yml", n));
    const auto got = evaluate(request);
    ASSERT_TRUE(got.has_value()) << got.error().text();
    ASSERT_EQ(got->details.ranks.size(), static_cast<std::size_t>(n));
    for (const AstraRank& rank : got->details.ranks) {
      EXPECT_EQ(rank.finish_ns, cycles) << name;
      EXPECT_EQ(rank.exposed_ns, cycles) << name;
    }
    EXPECT_FALSE(got->details.approximate);
    EXPECT_EQ(got->summary.iteration_s, static_cast<double>(cycles) / 1e9);
  }
}

TEST(AstraTest, LargerAndOtherAlgorithms) {
  // The H100 system of the examples at 1 GiB, and 64 MiB over a switch of 8 x 50 GB/s.
  AstraSystem hgx = system_of(AstraAlgorithm::kRing, 4);
  hgx.active_chunks = 2;
  hgx.local_mem_gb_s = 3350;
  EXPECT_EQ(ns(hgx, network(AstraTopology::kSwitch, 8, 400, 936.25), ChakraCollective::kAllReduce, 1024 * kMib),
            "2660888");
  const AstraNetwork wire = network(AstraTopology::kSwitch, 8, 50, 500);
  const auto reduce = [&](AstraAlgorithm a) {
    return ns(system_of(a, 1), wire, ChakraCollective::kAllReduce, 64 * kMib);
  };
  EXPECT_EQ(reduce(AstraAlgorithm::kRing), "2311732");
  EXPECT_EQ(reduce(AstraAlgorithm::kDirect), "330256");
  EXPECT_EQ(reduce(AstraAlgorithm::kHalvingDoubling), "2240751");
  EXPECT_EQ(reduce(AstraAlgorithm::kDoubleBinaryTree), "8135215");
  const AstraSystem direct = system_of(AstraAlgorithm::kDirect, 1);
  EXPECT_EQ(ns(direct, wire, ChakraCollective::kAllToAll, 64 * kMib), "157270");
  EXPECT_EQ(ns(direct, network(AstraTopology::kFullyConnected, 8, 50, 500), ChakraCollective::kAllToAll, 64 * kMib),
            "156770");
}

// The closed form for rings, written out on its own.
std::uint64_t ring_form(ChakraCollective type, std::uint64_t bytes, std::uint64_t n, std::uint64_t splits,
                        std::uint64_t active) {
  const std::uint64_t c = bytes / splits;
  const bool gather = type == ChakraCollective::kAllGather;
  const std::uint64_t m = gather ? c : c / n;
  const bool all = type == ChakraCollective::kAllReduce;
  const std::uint64_t steps = all ? 2 * (n - 1) : type == ChakraCollective::kAllToAll ? n * (n - 1) / 2 : n - 1;
  const bool reduces = all || type == ChakraCollective::kReduceScatter;
  const std::uint64_t red = reduces ? (n - 1) * 3 * (m / 1600) : 0;
  const auto t = static_cast<std::uint64_t>(500 + static_cast<double>(m) / (50 * 1.073741824));
  return (splits + active - 1) / active * (steps * t + (steps + 1) * 10 + red);
}

TEST(AstraTest, LargeRingsAtOnce) {
  const auto begin = std::chrono::steady_clock::now();
  const AstraSystem s = system_of(AstraAlgorithm::kRing, 4);
  for (const std::int64_t n : {64, 256, 1024})
    for (const auto type : {ChakraCollective::kAllReduce, ChakraCollective::kAllToAll})
      EXPECT_EQ(ns(s, network(AstraTopology::kRing, n, 50, 500), type, 64 * kMib),
                std::to_string(ring_form(type, 64 * kMib, static_cast<std::uint64_t>(n), 4, 1)));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

RC_GTEST_PROP(AstraProperty, RingsFollowTheClosedForm, ()) {
  const auto n = *rc::gen::inRange<std::uint64_t>(2, 40);
  const auto splits = *rc::gen::inRange<std::uint64_t>(1, 9);
  const auto active = *rc::gen::inRange<std::uint64_t>(1, 5);
  const std::uint64_t bytes = splits * *rc::gen::inRange<std::uint64_t>(n, 10'000'000);
  AstraSystem s = system_of(AstraAlgorithm::kRing, static_cast<std::int64_t>(splits));
  s.active_chunks = static_cast<std::int64_t>(active);
  for (const auto type : {ChakraCollective::kAllReduce, ChakraCollective::kAllGather, ChakraCollective::kReduceScatter,
                          ChakraCollective::kAllToAll})
    RC_ASSERT(ns(s, network(AstraTopology::kRing, static_cast<std::int64_t>(n), 50, 500), type,
                 static_cast<std::int64_t>(bytes)) == std::to_string(ring_form(type, bytes, n, splits, active)));
}

// Ranks that begin a little apart are followed one by one: no rank ends before what the last one's start allows, the
// last ends when a ring that began with it would, and a common start gives the closed form.
RC_GTEST_PROP(AstraProperty, LateRanks, ()) {
  const auto n = *rc::gen::inRange<std::int64_t>(2, 9);
  const auto algorithm = *rc::gen::element(AstraAlgorithm::kRing, AstraAlgorithm::kDirect);
  const AstraSystem s = system_of(algorithm, *rc::gen::inRange<std::int64_t>(1, 4));
  std::vector<ChakraTrace> traces;
  std::uint64_t last = 0;
  for (std::int64_t r = 0; r < n; ++r) {
    const auto us = *rc::gen::inRange<std::uint64_t>(1, 50);
    last = std::max(last, us * 1000);
    ChakraTrace t;
    t.begin_node(0, NodeType::kCompute, "work");
    t.duration_us.back() = us;
    t.begin_node(1, NodeType::kCollective, "reduce");
    t.add_data(0);
    t.add_integer("comm_type", 0);
    t.add_integer("comm_size", kMib);
    traces.push_back(std::move(t));
  }
  const AstraNetwork wire = network(AstraTopology::kRing, n, 50, 500);
  const auto got = run(traces, s, wire);
  RC_ASSERT(got.has_value());
  const auto even =
      run(std::vector<ChakraTrace>(static_cast<std::size_t>(n), one_collective(ChakraCollective::kAllReduce, kMib)), s,
          wire);
  RC_ASSERT(even.has_value());
  RC_ASSERT(got->iteration_ns <= last + even->iteration_ns);
  if (s.splits == 1) RC_ASSERT(got->iteration_ns == last + even->iteration_ns);
  for (const AstraRank& rank : got->ranks) RC_ASSERT(rank.finish_ns > last && rank.exposed_ns < rank.finish_ns);
}

TEST(AstraTest, SeveralDimensions) {
  AstraNetwork two = network(AstraTopology::kRing, 8, 50, 500);
  two.dimensions.push_back({AstraTopology::kSwitch, 8, 25, 1000});
  const AstraSystem aware = system_of(AstraAlgorithm::kRing, 1, 2);
  // One chunk: reduce-scatter inside, all-reduce of an eighth outside, all-gather inside, one behind the other.
  const auto link = [](double lat, double bytes, double gb) {
    return static_cast<std::uint64_t>(lat + bytes / (gb * 1.073741824));
  };
  const std::uint64_t m0 = 8 * kMib;
  const std::uint64_t m1 = kMib;
  const std::uint64_t rs = 7 * link(500, static_cast<double>(m0), 50) + 8 * 10 + 7 * 3 * (m0 / 1600);
  const std::uint64_t ar = 14 * link(2000, static_cast<double>(m1), 25) + 15 * 10 + 7 * 3 * (m1 / 1600);
  const std::uint64_t ag = 7 * link(500, static_cast<double>(m0), 50) + 8 * 10;
  EXPECT_EQ(ns(aware, two, ChakraCollective::kAllReduce, 64 * kMib), std::to_string(rs + ar + ag));
  // Four chunks share the inner queue: it is busy without a break but for the last chunk's way out and back.
  const AstraSystem four = system_of(AstraAlgorithm::kRing, 4, 2);
  const auto got = std::stoull(ns(four, two, ChakraCollective::kAllReduce, 64 * kMib));
  EXPECT_LT(got, rs + ar + ag);
  AstraSystem baseline = aware;
  baseline.local_bw_aware = false;
  const std::uint64_t whole0 = 14 * link(500, static_cast<double>(m0), 50) + 15 * 10 + 7 * 3 * (m0 / 1600);
  const std::uint64_t whole1 = 14 * link(2000, static_cast<double>(m0), 25) + 15 * 10 + 7 * 3 * (m0 / 1600);
  EXPECT_EQ(ns(baseline, two, ChakraCollective::kAllReduce, 64 * kMib), std::to_string(whole0 + whole1));
  EXPECT_NE(ns(system_of(AstraAlgorithm::kRing, 1), two, ChakraCollective::kAllReduce, kMib)
                .find("one algorithm a dimension"),
            std::string::npos);
  EXPECT_NE(ns(system_of(AstraAlgorithm::kDoubleBinaryTree, 1, 2), two, ChakraCollective::kAllReduce, kMib)
                .find("no closed form"),
            std::string::npos);
}

TEST(AstraTest, GroupsAndInvolvedDimensions) {
  const AstraSystem s = system_of(AstraAlgorithm::kRing, 1);
  const AstraNetwork wire = network(AstraTopology::kRing, 8, 50, 500);
  std::vector<ChakraTrace> traces;
  for (int r = 0; r < 8; ++r) {
    ChakraTrace t = one_collective(ChakraCollective::kAllGather, kMib);
    t.add_text(r % 2 == 0 ? "pg_name" : "comm_group", r < 4 ? "1" : "2");
    traces.push_back(std::move(t));
  }
  const auto got = run(traces, s, wire, {{1, {0, 1, 2, 3}}, {2, {4, 5, 6, 7}}});
  ASSERT_TRUE(got.has_value()) << got.error().text();
  // Three steps; the way from rank 3 back to 0 is three hops and comes into all of them.
  EXPECT_EQ(got->ranks[0].finish_ns, got->ranks[4].finish_ns);
  EXPECT_GT(got->iteration_ns, 3U * 20031);
  const auto unknown = run(traces, s, wire, {{1, {0, 1, 2, 3}}});
  ASSERT_FALSE(unknown.has_value());
  EXPECT_NE(unknown.error().text().find("memory.4.et"), std::string::npos) << unknown.error().text();
}

TEST(AstraTest, ComputeOverlapsAndMessages) {
  const AstraSystem s = system_of(AstraAlgorithm::kRing, 1);
  const AstraNetwork wire = network(AstraTopology::kSwitch, 2, 50, 500);
  ChakraTrace sender;
  sender.begin_node(0, NodeType::kCompute, "before");
  sender.duration_us.back() = 3;
  sender.begin_node(1, NodeType::kSend, "send");
  sender.add_data(0);
  sender.add_integer("comm_dst", 1);
  sender.add_integer("comm_size", kMib);
  ChakraTrace receiver;
  receiver.begin_node(0, NodeType::kReceive, "receive");
  receiver.add_integer("comm_src", 0);
  receiver.add_integer("comm_size", kMib);
  receiver.begin_node(1, NodeType::kCompute, "beside");
  receiver.duration_us.back() = 2;
  const auto got = run({sender, receiver}, s, wire);
  ASSERT_TRUE(got.has_value()) << got.error().text();
  EXPECT_EQ(got->ranks[0].finish_ns, 3000U + 20531);
  EXPECT_EQ(got->ranks[1].finish_ns, 3000U + 20531);
  EXPECT_EQ(got->ranks[1].compute_ns, 2000U);
  const auto stuck = run({receiver, receiver}, s, wire);
  ASSERT_FALSE(stuck.has_value());
}

TEST(AstraTest, Roofline) {
  AstraSystem s = system_of(AstraAlgorithm::kRing, 1);
  s.roofline = true;
  s.peak_tflops = 100;
  ChakraTrace t;
  t.begin_node(0, NodeType::kCompute, "gemm");
  t.add_integer("num_ops", 1'000'000'000);
  t.add_integer("tensor_size", 1000);
  const auto got = run({t}, s, network(AstraTopology::kRing, 1, 50, 500));
  ASSERT_TRUE(got.has_value()) << got.error().text();
  EXPECT_EQ(got->iteration_ns, 10'000U);
  EXPECT_EQ(got->ranks[0].exposed_ns, 0U);
}

TEST(AstraTest, Refusals) {
  const AstraSystem s = system_of(AstraAlgorithm::kRing, 1);
  const AstraNetwork two = network(AstraTopology::kRing, 2, 50, 500);
  const ChakraTrace reduce = one_collective(ChakraCollective::kAllReduce, kMib);
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(has(error_of({reduce}, s, two), "1 traces for 2 NPUs"));
  EXPECT_TRUE(has(error_of({reduce, ChakraTrace()}, s, two), "memory.1.et: the trace has no nodes"));
  EXPECT_TRUE(has(error_of({reduce, one_collective(ChakraCollective::kAllReduce, 1)}, s, two), "where other ranks"));
  EXPECT_TRUE(has(error_of({reduce, one_collective(ChakraCollective::kAllReduce, 0)}, s, two), "would take 0 s"));
  EXPECT_TRUE(has(error_of({reduce, one_collective(ChakraCollective::kReduce, 8)}, s, two), "reduce is not modelled"));
  ChakraTrace none;
  none.begin_node(0, NodeType::kMetadata, "groups");
  EXPECT_TRUE(has(error_of({none, none}, s, two), "take no time"));
  EXPECT_TRUE(has(error_of({reduce, none}, s, two), "rank 0 at node 0"));
  ChakraTrace cycle = reduce;
  cycle.add_data(0);
  EXPECT_TRUE(has(error_of({cycle, reduce}, s, two), "wait for each other"));
  AstraSystem custom = s;
  custom.custom_all_reduce = {"x"};
  EXPECT_TRUE(has(error_of({reduce, reduce}, custom, two), "custom collectives"));
  AstraSystem memory = s;
  memory.local_mem_gb_s.reset();
  EXPECT_TRUE(has(error_of({reduce, reduce}, memory, two), "local-mem-bw"));
  EXPECT_TRUE(has(ns(system_of(AstraAlgorithm::kHalvingDoubling, 1), network(AstraTopology::kRing, 6, 50, 500),
                     ChakraCollective::kAllReduce, kMib),
                  "power of two"));
}

TEST(AstraTest, PublicConfigurationsReadBack) {
  COMITY_NEED_WORKLOADS();
  for (const std::string& file : shared_files("astra-sim", ".json")) {
    if (file.find("/system/") == std::string::npos) continue;
    const auto got = load_astra_system(file);
    ASSERT_TRUE(got.has_value()) << got.error().text();
    EXPECT_TRUE(got->notes.empty()) << file << got->notes[0];
    const auto back = parse_astra_system(astra_system_json(*got), "back");
    ASSERT_TRUE(back.has_value()) << back.error().text();
    EXPECT_EQ(*back, *got);
  }
  int read = 0;
  for (const std::string& file : shared_files("astra-sim", ".yml")) {
    const auto got = load_astra_network(file);
    if (!got) {  // one has "tbd" for numbers
      EXPECT_NE(file.find("dgx_v100_8gpu"), std::string::npos) << got.error().text();
      EXPECT_NE(got.error().text().find("bandwidth"), std::string::npos) << got.error().text();
      continue;
    }
    ++read;
    const auto back = parse_astra_network(astra_network_yaml(*got), "back");
    ASSERT_TRUE(back.has_value()) << back.error().text();
    EXPECT_EQ(*back, *got);
  }
  EXPECT_EQ(read, 13);
}

TEST(AstraTest, CutPublicConfigurations) {
  COMITY_NEED_WORKLOADS();
  const auto fine = [](const auto& got) {
    return got || (!got.error().message.empty() && got.error().file == "cut" && got.error().line >= 1);
  };
  for (const std::string& file : shared_files("astra-sim", ".json"))
    cut_everywhere(bytes_of(file), 5, [&](const std::string& piece) {
      EXPECT_TRUE(fine(parse_astra_system(piece, "cut")));
      EXPECT_TRUE(fine(parse_astra_groups(piece, "cut")));
    });
  for (const std::string& file : shared_files("astra-sim", ".yml"))
    cut_everywhere(bytes_of(file), 6,
                   [&](const std::string& piece) { EXPECT_TRUE(fine(parse_astra_network(piece, "cut"))) << piece; });
}

TEST(AstraTest, ConfigurationErrors) {
  const auto text = [](const auto& got) { return got ? std::string("read") : got.error().text(); };
  EXPECT_NE(text(parse_astra_network("topology: [ Ring ]\nnpus_count: [ 4, 4 ]\nbandwidth: [1]\nlatency: [1]\n", "n"))
                .find("n:2: npus_count"),
            std::string::npos);
  EXPECT_NE(text(parse_astra_network("topology: [ Torus ]\nnpus_count: [ 4 ]\nbandwidth: [1]\nlatency: [1]\n", "n"))
                .find("no topology"),
            std::string::npos);
  EXPECT_NE(text(parse_astra_network("topology: [ Ring", "n")).find("n:"), std::string::npos);
  EXPECT_NE(text(parse_astra_network("a: &x [1]\na: *x", "n")).find("twice"), std::string::npos);
  EXPECT_NE(text(parse_astra_system("{\"all-reduce-implementation\": [\"rings\"]}", "s")).find("no algorithm"),
            std::string::npos);
  EXPECT_NE(text(parse_astra_system("{\"scheduling-policy\": \"BEST\"}", "s")).find("LIFO"), std::string::npos);
  const auto newer = parse_astra_system("{\"warp-drive\": 1}", "s");
  ASSERT_TRUE(newer.has_value());
  EXPECT_EQ(newer->notes.size(), 1U);
  EXPECT_NE(text(parse_astra_groups("{\"0\": [1]}", "g")).find("> 0"), std::string::npos);
  EXPECT_NE(text(parse_astra_groups("{\"1\": [1, 1]}", "g")).find("different"), std::string::npos);
}

RC_GTEST_PROP(AstraProperty, ConfigurationsReadBack, ()) {
  AstraNetwork n;
  AstraSystem s;
  for (auto d = *rc::gen::inRange(1, 4); d > 0; --d) {
    n.dimensions.push_back(
        {*rc::gen::element(AstraTopology::kRing, AstraTopology::kSwitch, AstraTopology::kFullyConnected),
         *rc::gen::inRange<std::int64_t>(1, 65), *rc::gen::inRange(1, 1000) / 7.0, *rc::gen::inRange(0, 1000) / 3.0});
    s.all_reduce.push_back({static_cast<AstraAlgorithm>(*rc::gen::inRange(0, 7)), 0});
    s.all_to_all.push_back({AstraAlgorithm::kDirect, *rc::gen::inRange<std::int64_t>(0, 9)});
  }
  s.splits = *rc::gen::inRange<std::int64_t>(1, 100);
  s.local_bw_aware = *rc::gen::arbitrary<bool>();
  s.roofline = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) s.local_mem_gb_s = *rc::gen::inRange(1, 1000) / 7.0;
  if (*rc::gen::arbitrary<bool>()) s.bus["G"] = 0.0038;
  AstraGroups g;
  for (std::int64_t id = *rc::gen::inRange<std::int64_t>(0, 4); id > 0; --id) g[id] = {id + 5, id, 0};
  RC_ASSERT(parse_astra_network(astra_network_yaml(n), "n").value() == n);
  RC_ASSERT(parse_astra_system(astra_system_json(s), "s").value() == s);
  RC_ASSERT(parse_astra_groups(astra_groups_json(g), "g").value() == g);
}

TEST(ForeignTest, Simai) {
  COMITY_NEED_WORKLOADS();
  SimaiRequest request;
  request.workload = (shared_workload() / "simai/workload_analytical.txt").string();
  request.machine.gpus = 9216;
  request.machine.nvlink_gb_s = 360;
  request.machine.nic_gb_s = 48.5;
  const auto got = evaluate(request);
  ASSERT_TRUE(got.has_value()) << got.error().text();
  EXPECT_NEAR(got->summary.iteration_s, 7.545619, 1e-6);
  double sum = 0;
  for (const ForeignPart& part : got->summary.breakdown) sum += part.seconds;
  EXPECT_NEAR(sum, got->summary.iteration_s, 1e-9);
  EXPECT_NE(foreign_json(got->summary).find("\"bubble_s\":"), std::string::npos);
}

TEST(ForeignTest, MissingTraces) {
  COMITY_NEED_WORKLOADS();
  const std::string examples = (shared_workload() / "astra-sim/examples").string();
  AstraRequest request;
  request.chakra = examples + "/workload/microbenchmarks/all_reduce/4npus_1MB/all_reduce";
  request.system = examples + "/system/native_collectives/Ring_4chunks.json";
  request.network = examples + "/network/analytical/Ring_8npus.yml";
  const auto few = evaluate(request);
  ASSERT_FALSE(few.has_value());
  EXPECT_NE(few.error().text().find("8 NPUs"), std::string::npos) << few.error().text();
  request.chakra = examples + "/workload/microbenchmarks/all_reduce/16npus_1MB/all_reduce";
  const auto many = evaluate(request);
  ASSERT_TRUE(many.has_value()) << many.error().text();
  EXPECT_EQ(many->details.notes.size(), 1U);
}

}  // namespace
}  // namespace comity::workload
