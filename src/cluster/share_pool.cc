// SPDX-License-Identifier: Apache-2.0
#include "cluster/share_pool.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"

namespace comity::cluster {

Result<std::uint32_t> GpuModels::intern(std::string_view name) {
  const auto it = std::find(names_.begin(), names_.end(), name);
  if (it != names_.end()) return static_cast<std::uint32_t>(it - names_.begin());
  if (names_.size() == kShareModels)
    return fail(Code::kInput,
                fmt::format("GPU model {} is one too many: at most {} are told apart", printable(name), kShareModels));
  names_.emplace_back(name);
  return static_cast<std::uint32_t>(names_.size() - 1);
}

std::int64_t Residual::total_gpu_milli() const {
  std::int64_t sum = 0;
  for (const std::uint16_t milli : gpu_milli) sum += milli;
  return sum;
}

std::uint32_t Residual::gpus_with(std::uint32_t milli) const {
  std::uint32_t n = 0;
  for (std::size_t i = 0; i < gpus; ++i) n += gpu_milli[i] >= milli ? 1 : 0;
  return n;
}

bool Residual::fits(const ShareRequest& request) const {
  if (cpu_milli < request.cpu_milli || memory_mib < request.memory_mib) return false;
  if (request.gpus == 0) return true;
  return gpus >= request.gpus && (request.models >> model & 1) != 0 && gpus_with(request.gpu_milli) >= request.gpus;
}

void Residual::take(const ShareRequest& request, std::uint32_t mask) {
  COMITY_CHECK(cpu_milli >= request.cpu_milli && memory_mib >= request.memory_mib);
  COMITY_CHECK(static_cast<std::uint32_t>(std::popcount(mask)) == request.gpus);
  cpu_milli -= request.cpu_milli;
  memory_mib -= request.memory_mib;
  for (; mask != 0; mask &= mask - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(mask));
    COMITY_CHECK(i < gpus && gpu_milli[i] >= request.gpu_milli);
    gpu_milli[i] = static_cast<std::uint16_t>(gpu_milli[i] - request.gpu_milli);
  }
}

std::size_t share_kind(const ShareRequest& request) {
  COMITY_CHECK(request.gpus >= 1 && request.gpus <= kShareGpus);
  return request.shares() ? 0 : request.gpus;
}

Status SharePool::check(const std::vector<ShareNodeSpec>& nodes) {
  for (const ShareNodeSpec& node : nodes) {
    const bool amounts = node.cpu_milli >= 0 && node.cpu_milli <= kShareAmount && node.memory_mib >= 0 &&
                         node.memory_mib <= kShareAmount;
    if (!amounts || node.gpus > kShareGpus || node.model >= kShareModels)
      return fail(Code::kInput, fmt::format("node {}: CPU and memory must lie in 0 to {}, GPUs in 0 to {}",
                                            printable(node.name), kShareAmount, kShareGpus));
  }
  return {};
}

SharePool::SharePool(std::vector<ShareNodeSpec> nodes) : specs_(std::move(nodes)), nodes_(specs_.size()) {
  COMITY_CHECK(check(specs_).has_value());
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    const ShareNodeSpec& spec = specs_[i];
    Residual& left = nodes_[i].left;
    left.cpu_milli = spec.cpu_milli;
    left.memory_mib = spec.memory_mib;
    left.gpus = spec.gpus;
    left.model = spec.gpus > 0 ? spec.model : 0;
    std::fill_n(left.gpu_milli.begin(), spec.gpus, static_cast<std::uint16_t>(kGpuMilli));
    const std::int64_t gpu_milli = std::int64_t{spec.gpus} * kGpuMilli;
    gpu_milli_ += gpu_milli;
    cpu_milli_ += spec.cpu_milli;
    memory_mib_ += spec.memory_mib;
    largest_cpu_ = std::max(largest_cpu_, spec.cpu_milli);
    largest_gpu_ = std::max(largest_gpu_, gpu_milli);
  }
  gpu_milli_free_ = gpu_milli_;
  cpu_milli_free_ = cpu_milli_;
  memory_mib_free_ = memory_mib_;
}

void SharePool::count(Node& node, const ShareRequest& request, bool more) {
  ++node.version;
  node.running += more ? 1 : -1U;
  if (request.gpus == 0) return;
  std::uint32_t& n = node.kinds[share_kind(request)];
  COMITY_CHECK(more || n > 0);
  if (more ? n == 0 : n == 1) node.present += more ? 1 : -1U;
  n += more ? 1 : -1U;
}

void SharePool::take(const ShareRequest& request, const ShareAllocation& allocation) {
  Node& node = nodes_[allocation.node.index()];
  node.left.take(request, allocation.gpus);
  count(node, request, true);
  gpu_milli_free_ -= request.total_gpu_milli();
  cpu_milli_free_ -= request.cpu_milli;
  memory_mib_free_ -= request.memory_mib;
}

void SharePool::release(const ShareRequest& request, const ShareAllocation& allocation) {
  Node& node = nodes_[allocation.node.index()];
  const ShareNodeSpec& spec = specs_[allocation.node.index()];
  COMITY_CHECK(node.running > 0 && static_cast<std::uint32_t>(std::popcount(allocation.gpus)) == request.gpus);
  node.left.cpu_milli += request.cpu_milli;
  node.left.memory_mib += request.memory_mib;
  COMITY_CHECK(node.left.cpu_milli <= spec.cpu_milli && node.left.memory_mib <= spec.memory_mib);
  for (std::uint32_t mask = allocation.gpus; mask != 0; mask &= mask - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(mask));
    COMITY_CHECK(i < spec.gpus && node.left.gpu_milli[i] + request.gpu_milli <= kGpuMilli);
    node.left.gpu_milli[i] = static_cast<std::uint16_t>(node.left.gpu_milli[i] + request.gpu_milli);
  }
  count(node, request, false);
  gpu_milli_free_ += request.total_gpu_milli();
  cpu_milli_free_ += request.cpu_milli;
  memory_mib_free_ += request.memory_mib;
}

}  // namespace comity::cluster
