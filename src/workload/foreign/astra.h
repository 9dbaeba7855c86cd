// SPDX-License-Identifier: Apache-2.0
// ASTRA-sim 2's inputs (system JSON, network YAML, communicator groups) in and out, and what its analytical,
// congestion-unaware backend says a workload of Chakra traces takes, nanosecond for nanosecond. GB there is 2^30 B.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workload/foreign/chakra.h"

namespace comity::workload {

enum class AstraTopology : std::uint8_t { kRing, kSwitch, kFullyConnected };

struct AstraDimension {
  AstraTopology topology = AstraTopology::kRing;
  std::int64_t npus = 1;
  double bandwidth_gib_s = 0;  // of a link, one direction
  double latency_ns = 0;       // of a hop: one between neighbours of a ring, two through a switch
  bool operator==(const AstraDimension&) const = default;
};

struct AstraNetwork {
  std::vector<AstraDimension> dimensions;  // innermost first
  bool operator==(const AstraNetwork&) const = default;
  [[nodiscard]] std::int64_t npus() const;
};

enum class AstraAlgorithm : std::uint8_t {
  kRing,
  kDirect,
  kHalvingDoubling,
  kDoubleBinaryTree,
  kOneRing,  // over all dimensions at once
  kOneDirect,
  kOneHalvingDoubling
};

struct AstraImplementation {
  AstraAlgorithm algorithm = AstraAlgorithm::kRing;
  std::int64_t window = 0;  // "direct4": messages in flight; 0: all
  bool operator==(const AstraImplementation&) const = default;
};

// Keys that are absent have the simulator's defaults.
struct AstraSystem {
  std::string scheduling = "LIFO";  // LIFO, FIFO, EXPLICIT
  std::int64_t endpoint_delay_ns = 10;
  std::int64_t active_chunks = 1;               // of a dimension
  std::int64_t splits = 1;                      // preferred-dataset-splits
  std::vector<AstraImplementation> all_reduce;  // an entry a dimension
  std::vector<AstraImplementation> all_gather;
  std::vector<AstraImplementation> reduce_scatter;
  std::vector<AstraImplementation> all_to_all;
  std::vector<std::string> custom_all_reduce;  // ...-implementation-custom: prefixes of Chakra traces
  std::vector<std::string> custom_all_gather;
  std::vector<std::string> custom_reduce_scatter;
  std::vector<std::string> custom_all_to_all;
  std::string per_node_custom;
  bool local_bw_aware = false;           // collective-optimization; false: baseline
  std::optional<double> local_mem_gb_s;  // 10^9 B
  bool boost = false;
  bool roofline = false;
  std::optional<double> peak_tflops;
  bool trace = false;
  bool replay_only = false;
  bool track_local_mem = false;
  std::string local_mem_trace;
  bool shared_bus = false;                          // model-shared-bus
  std::map<std::string, double> bus;                // L, o, g, G where given
  std::vector<std::string> notes;                   // keys that are not known; not written
  bool operator==(const AstraSystem& other) const;  // without notes
};

using AstraGroups = std::map<std::int64_t, std::vector<std::int64_t>>;  // id (> 0) to ranks, in the order of the ring

[[nodiscard]] Result<AstraSystem> parse_astra_system(std::string_view json, const std::string& file);
[[nodiscard]] Result<AstraNetwork> parse_astra_network(std::string_view yaml, const std::string& file);
[[nodiscard]] Result<AstraGroups> parse_astra_groups(std::string_view json, const std::string& file);
[[nodiscard]] Result<AstraSystem> load_astra_system(const std::string& path);
[[nodiscard]] Result<AstraNetwork> load_astra_network(const std::string& path);
[[nodiscard]] Result<AstraGroups> load_astra_groups(const std::string& path);
[[nodiscard]] std::string astra_system_json(const AstraSystem& system);  // these three read back equal
[[nodiscard]] std::string astra_network_yaml(const AstraNetwork& network);
[[nodiscard]] std::string astra_groups_json(const AstraGroups& groups);

// Nanoseconds of a message, cut to whole ones. Ranks that differ in more than one dimension have no direct way.
[[nodiscard]] Result<std::uint64_t> astra_send_ns(const AstraNetwork& network, std::int64_t from, std::int64_t to,
                                                  std::uint64_t bytes);

struct AstraRank {
  std::uint64_t finish_ns = 0;
  std::uint64_t compute_ns = 0;  // of the GPU
  std::uint64_t exposed_ns = 0;  // finish - compute, as the simulator reports it
  std::uint64_t collectives = 0;
};

struct AstraEstimate {
  std::uint64_t iteration_ns = 0;  // of the rank that ends last
  std::vector<AstraRank> ranks;
  // Some collective of several dimensions began at different times on its ranks: it is taken to begin with the last.
  bool approximate = false;
  std::vector<std::string> notes;  // what was dropped or assumed
};

// `traces` has one of each rank, `prefix` names them in errors (PREFIX.rank.et). Errors: no work at all, ranks that
// disagree or wait for each other for ever (which, at what), forms of collectives that have no closed form here.
[[nodiscard]] Result<AstraEstimate> astra_unaware(std::span<const ChakraTrace> traces, const AstraSystem& system,
                                                  const AstraNetwork& network, const AstraGroups& groups,
                                                  const std::string& prefix);

}  // namespace comity::workload
