// SPDX-License-Identifier: Apache-2.0
// What a cluster is made of: nodes in resource groups, tenants and limits. Read from "56x8", from a node list
// (cluster/spec_csv.h) or from a TOML file with schema = "comity.cluster/1":
//
//   schema = "comity.cluster/1"
//   [[nodes]]
//   name = "gpu"          # gpu0, gpu1, ... ("gpu" alone when count = 1)
//   count = 16
//   gpus = 8              # a node
//   gpu_type = "rtx3090"
//   group = "main"        # resource group; jobs of one group never run on another's nodes
//   cpus = 40             # a node; kept, used by no policy yet
//   memory_gb = 256       # the same
//   slots = [4, 2, 1, 1]  # optional: the nodes are split into a small pool of single-job slots (SING section 4.3);
//                         # all GPUs of the node, and each slot counts as a node
//   [[tenants]]
//   name = "lab-a"
//   share = 2
//   max_gpus = 64         # quota; absent = none
//   parent = "physics"    # the tenant above it in the tree of shares; absent = the root
//   priority = 2          # of its jobs, for policies that have classes
//   cells = ["4x8", "2x1:a100"]  # what it owns under hived: COUNTxGPUS of cells, each on one node, of a type if said
//   [[users]]
//   name = "ann"          # of a tenant; users that are not listed have share 1
//   tenant = "lab-a"
//   share = 3
//   [[reservations]]      # nodes set aside for some, or for maintenance
//   name = "course"
//   nodes = ["gpu0", "gpu[4-7]"]
//   start = "2d"          # on the trace's clock: seconds, or with a unit
//   end = "2d12h"
//   tenants = ["lab-a"]   # who may use them meanwhile; with users = [...]; neither = nobody
//   [limits]
//   user_max_gpus = 32    # for every user; absent = none
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace comity::cluster {

// How GPUs are found for a job. Rules R3 and R4 of the scheduler review, spelled out in cluster/pool.h.
enum class Placement { kCount, kFirstFit, kBestFit, kConsolidated, kBuddy, kLucid };

[[nodiscard]] const std::vector<std::string>& placement_names();
[[nodiscard]] Result<Placement> parse_placement(const std::string& name);
[[nodiscard]] const std::string& placement_name(Placement placement);

struct NodeSpec {
  std::string name;
  std::string group;     // "" = the default group
  std::string gpu_type;  // "" = unnamed
  std::uint32_t gpus = 0;
  std::uint32_t cpus = 0;
  std::uint64_t memory_mb = 0;
  std::int64_t line = 0;  // of the file that describes it, 0 = none
  bool small = false;     // one slot of a small pool: runs one small job at a time
};

struct CellSpec {
  std::uint32_t count = 0;
  std::uint32_t gpus = 0;  // of one cell
  std::string gpu_type;    // "" = the first type of the default group
};

struct TenantSpec {
  std::string name;
  double share = 1;
  std::int64_t max_gpus = -1;  // -1 = no quota
  std::string parent;          // "" = the root; never itself or one below it
  std::int64_t priority = 0;
  std::vector<CellSpec> cells;
};

struct UserSpec {
  std::string name;
  std::string tenant;  // "" = jobs without a tenant
  double share = 1;
};

struct ReservationSpec {
  std::string name;
  std::vector<std::uint32_t> nodes;  // indices, rising
  Time start = 0;
  Time end = 0;
  std::vector<std::string> tenants;
  std::vector<std::string> users;
};

struct ClusterSpec {
  std::vector<NodeSpec> nodes;
  std::vector<TenantSpec> tenants;
  std::vector<UserSpec> users;
  std::vector<ReservationSpec> reservations;
  std::int64_t user_max_gpus = -1;
  std::uint64_t nodes_without_gpus = 0;  // of a node list, left out of `nodes`

  [[nodiscard]] std::uint64_t gpus() const;
};

// "NODESxGPUS". Errors (kUsage) say what was expected.
[[nodiscard]] Result<ClusterSpec> parse_nodes(const std::string& text);
[[nodiscard]] Result<ClusterSpec> read_cluster(const std::string& path);
[[nodiscard]] Result<ClusterSpec> parse_cluster(const std::string& text, const std::string& path);

}  // namespace comity::cluster
