// SPDX-License-Identifier: Apache-2.0
// Requests for shared GPUs and the nodes they run on, as the public trace openb has them (Alibaba,
// cluster-trace-gpu-v2023): two CSV files with a header; columns in any order, others are ignored.
//
//   pods   name, cpu_milli, memory_mib, num_gpu, gpu_milli; gpu_spec (models, separated by |) may be absent, and so may
//          creation_time, deletion_time and scheduled_time (seconds)
//   nodes  sn, cpu_milli, memory_mib, gpu, model
//
// num_gpu = 1 with gpu_milli < 1000 is a share of one GPU; of several GPUs only whole ones can be asked for. A pod that
// was never scheduled has no scheduled_time; its run time is then taken from its creation. Errors (kInput) name file,
// line and field. Bounds: kPods pods, limits::kNodes nodes, cluster/share_pool.h for the amounts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/input.h"
#include "base/result.h"
#include "base/units.h"
#include "cluster/share_pool.h"

namespace comity::twin {

inline constexpr std::size_t kPods = std::size_t{1} << 24;

struct Pod {
  cluster::ShareRequest request;
  Time arrival = 0;
  Time run = 0;
};

struct PodList {
  std::string path;
  bool timed = false;  // arrival and run are known
  std::vector<Pod> pods;
  std::vector<std::string> names;

  [[nodiscard]] std::int64_t gpu_milli() const;  // the sum over all pods
};

struct ShareNodes {
  std::string path;
  std::vector<cluster::ShareNodeSpec> nodes;
  cluster::GpuModels models;

  [[nodiscard]] std::int64_t gpu_milli() const;
};

[[nodiscard]] Result<ShareNodes> read_share_nodes(const std::string& path);
[[nodiscard]] Result<ShareNodes> read_share_nodes_from(std::unique_ptr<ByteSource> source, const std::string& name);
// Models that pods name are added to `models`, at most cluster::kShareModels in all.
[[nodiscard]] Result<PodList> read_pods(const std::string& path, cluster::GpuModels& models);
[[nodiscard]] Result<PodList> read_pods_from(std::unique_ptr<ByteSource> source, const std::string& name,
                                             cluster::GpuModels& models);

// A made-up cluster and workload for trying things out: nodes of 2, 4 and 8 GPUs of three models in about openb's
// proportions, and pods in the proportions that openb's description gives (one in eight without a GPU, of the others
// 44 % a share of a GPU, 55 % one GPU, the rest 2, 4 or 8). Not openb.
[[nodiscard]] ShareNodes synthetic_share_nodes(std::size_t nodes);
[[nodiscard]] PodList synthetic_pods(std::size_t pods, std::uint64_t seed);

}  // namespace comity::twin
