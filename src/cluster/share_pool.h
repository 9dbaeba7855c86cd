// SPDX-License-Identifier: Apache-2.0
// Nodes whose GPUs are shared in thousandths. A request asks for CPU (thousandths of a core), memory (MiB) and either
// no GPU, a share of one GPU (1 to 999 thousandths) or whole GPUs; it always takes one node. GPUs of different models
// may stand in one cluster, and a request may name the models it can use. This is the cluster of Weng et al., "Beware
// of Fragmentation" (USENIX ATC 2023), section 2, and of the public trace openb (Alibaba, cluster-trace-gpu-v2023).
//
// What always holds, and is checked: a GPU never gives more than 1000 thousandths, whole GPUs are taken from GPUs that
// are wholly free, no node gives more CPU or memory than it has, and what is released had been taken.
// Not thread-safe; every run has its own pool.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace comity::cluster {

inline constexpr std::uint32_t kGpuMilli = 1000;   // thousandths of a GPU
inline constexpr std::size_t kShareGpus = 16;      // GPUs a node, at most
inline constexpr std::size_t kShareModels = 64;    // GPU models a cluster, at most
inline constexpr std::uint64_t kAnyModel = ~0ULL;  // a request that takes any model
inline constexpr std::int64_t kShareAmount =
    1'000'000'000'000;  // thousandths of a core, or MiB, of one node or request

// Names of GPU models; the index of a name is its bit in ShareRequest::models.
class GpuModels {
 public:
  // kInput past kShareModels names.
  [[nodiscard]] Result<std::uint32_t> intern(std::string_view name);
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
};

struct ShareNodeSpec {
  std::string name;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::uint32_t gpus = 0;   // at most kShareGpus
  std::uint32_t model = 0;  // index into GpuModels; means nothing without GPUs
};

// gpus == 0: no GPU. gpus == 1: gpu_milli of one GPU. gpus > 1: that many whole GPUs, gpu_milli = 1000.
struct ShareRequest {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::uint32_t gpus = 0;
  std::uint32_t gpu_milli = 0;  // of each GPU
  std::uint64_t models = kAnyModel;

  [[nodiscard]] std::int64_t total_gpu_milli() const { return std::int64_t{gpus} * gpu_milli; }
  [[nodiscard]] bool shares() const { return gpus == 1 && gpu_milli < kGpuMilli; }
  friend constexpr auto operator<=>(const ShareRequest&, const ShareRequest&) = default;
};

// What a node has left.
struct Residual {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::uint32_t gpus = 0;  // of the node, free or not
  std::uint32_t model = 0;
  std::array<std::uint16_t, kShareGpus> gpu_milli{};  // of each GPU; zero past `gpus`

  [[nodiscard]] std::int64_t total_gpu_milli() const;
  // GPUs with at least `milli` left.
  [[nodiscard]] std::uint32_t gpus_with(std::uint32_t milli) const;
  [[nodiscard]] bool fits(const ShareRequest& request) const;
  // The GPUs of `mask` (bit i = GPU i) less the request's part of each; must fit (checked).
  void take(const ShareRequest& request, std::uint32_t mask);
};

struct ShareAllocation {
  NodeId node;
  std::uint32_t gpus = 0;  // bit i = GPU i
};

class SharePool {
 public:
  // Kinds of requests on a node: 0 = share of a GPU, k = k whole GPUs (as the clustering rule tells them apart).
  static constexpr std::size_t kKinds = kShareGpus + 1;

  explicit SharePool(std::vector<ShareNodeSpec> nodes);
  // kInput names the first node that has more than the bounds above allow.
  [[nodiscard]] static Status check(const std::vector<ShareNodeSpec>& nodes);

  void take(const ShareRequest& request, const ShareAllocation& allocation);
  void release(const ShareRequest& request, const ShareAllocation& allocation);

  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] const Residual& left(std::size_t node) const { return nodes_[node].left; }
  [[nodiscard]] const ShareNodeSpec& spec(std::size_t node) const { return specs_[node]; }
  // Changes with every take and release on the node; starts at 1.
  [[nodiscard]] std::uint32_t version(std::size_t node) const { return nodes_[node].version; }
  // Requests of this kind now on the node, and how many kinds there are. Requests without a GPU are no kind.
  [[nodiscard]] std::uint32_t of_kind(std::size_t node, std::size_t kind) const { return nodes_[node].kinds[kind]; }
  [[nodiscard]] std::uint32_t kinds(std::size_t node) const { return nodes_[node].present; }

  [[nodiscard]] std::int64_t gpu_milli() const { return gpu_milli_; }  // capacity
  [[nodiscard]] std::int64_t gpu_milli_free() const { return gpu_milli_free_; }
  [[nodiscard]] std::int64_t cpu_milli() const { return cpu_milli_; }
  [[nodiscard]] std::int64_t cpu_milli_free() const { return cpu_milli_free_; }
  [[nodiscard]] std::int64_t memory_mib() const { return memory_mib_; }
  [[nodiscard]] std::int64_t memory_mib_free() const { return memory_mib_free_; }
  [[nodiscard]] std::int64_t largest_cpu_milli() const { return largest_cpu_; }  // of any node
  [[nodiscard]] std::int64_t largest_gpu_milli() const { return largest_gpu_; }
  [[nodiscard]] std::size_t running(std::size_t node) const { return nodes_[node].running; }

 private:
  struct Node {
    Residual left;
    std::uint32_t version = 1;
    std::uint32_t running = 0;
    std::uint32_t present = 0;
    std::array<std::uint32_t, kKinds> kinds{};
  };
  void count(Node& node, const ShareRequest& request, bool more);

  std::vector<ShareNodeSpec> specs_;
  std::vector<Node> nodes_;
  std::int64_t gpu_milli_ = 0, gpu_milli_free_ = 0;
  std::int64_t cpu_milli_ = 0, cpu_milli_free_ = 0;
  std::int64_t memory_mib_ = 0, memory_mib_free_ = 0;
  std::int64_t largest_cpu_ = 0, largest_gpu_ = 0;
};

// 0 = a share of a GPU, k = k whole GPUs. The request must ask for GPUs (checked).
[[nodiscard]] std::size_t share_kind(const ShareRequest& request);

}  // namespace comity::cluster
