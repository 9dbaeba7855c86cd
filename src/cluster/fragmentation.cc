// SPDX-License-Identifier: Apache-2.0
#include "cluster/fragmentation.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/check.h"

namespace comity::cluster {
namespace {

auto size_order(const ShareRequest& r) { return std::tuple(r.cpu_milli, r.gpu_milli, r.gpus, r.models, r.memory_mib); }

}  // namespace

TaskMix::TaskMix(std::span<const ShareRequest> requests, const MixOptions& options) : memory_(options.memory) {
  COMITY_CHECK(requests.size() <= (std::size_t{1} << 24));
  std::map<ShareRequest, std::int64_t> counts;
  for (ShareRequest request : requests) {
    if (!memory_) request.memory_mib = 0;
    ++counts[request];
  }
  for (const auto& [request, count] : counts) classes_.push_back({request, count});
  std::sort(classes_.begin(), classes_.end(), [](const TaskClass& a, const TaskClass& b) {
    return a.weight != b.weight ? a.weight > b.weight : size_order(a.request) > size_order(b.request);
  });
  const double wanted = options.popularity * static_cast<double>(requests.size());
  std::size_t kept = 0;
  while (kept < classes_.size() && static_cast<double>(weight_) < wanted) weight_ += classes_[kept++].weight;
  classes_.resize(kept);
}

std::int64_t TaskMix::fragmentation(const Residual& left) const {
  const std::int64_t total = left.total_gpu_milli();
  if (total == 0) return 0;
  std::int64_t sum = 0;
  for (const TaskClass& c : classes_) {
    const ShareRequest& r = c.request;
    std::int64_t lost = total;
    if (r.gpus > 0 && left.cpu_milli >= r.cpu_milli && left.memory_mib >= r.memory_mib &&
        (r.models >> left.model & 1) != 0) {
      std::uint32_t usable = 0;
      std::uint32_t small = 0;
      for (const std::uint16_t milli : left.gpu_milli) {
        const bool enough = milli >= r.gpu_milli;
        usable += enough ? 1 : 0;
        small += enough ? 0 : milli;
      }
      if (usable >= r.gpus) lost = small;
    }
    sum += c.weight * lost;
  }
  return sum;
}

FragmentationSum::FragmentationSum(const SharePool& pool, const TaskMix& mix)
    : pool_(&pool), mix_(&mix), of_node_(pool.size(), 0) {
  for (std::size_t i = 0; i < pool.size(); ++i) refresh(i);
}

void FragmentationSum::refresh(std::size_t node) {
  const std::int64_t now = mix_->fragmentation(pool_->left(node));
  sum_ += now - of_node_[node];
  of_node_[node] = now;
}

double FragmentationSum::gpu_milli() const {
  return mix_->weight() > 0 ? static_cast<double>(sum_) / static_cast<double>(mix_->weight()) : 0;
}

}  // namespace comity::cluster
