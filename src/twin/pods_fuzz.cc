// SPDX-License-Identifier: Apache-2.0
// The bytes as a list of pods and as a list of nodes; what is read keeps the bounds that the rest builds on.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "twin/fill.h"
#include "twin/pods.h"

namespace comity::twin {
namespace {

void check_pods(const PodList& list, const cluster::GpuModels& models) {
  COMITY_CHECK(!list.pods.empty() && list.names.size() == list.pods.size());
  COMITY_CHECK(models.names().size() <= cluster::kShareModels);
  for (const Pod& pod : list.pods) {
    const cluster::ShareRequest& r = pod.request;
    COMITY_CHECK(r.cpu_milli >= 0 && r.cpu_milli <= cluster::kShareAmount);
    COMITY_CHECK(r.memory_mib >= 0 && r.memory_mib <= cluster::kShareAmount);
    COMITY_CHECK(r.gpus <= cluster::kShareGpus && r.gpu_milli <= cluster::kGpuMilli);
    COMITY_CHECK((r.gpus == 0) == (r.gpu_milli == 0) && (r.gpus <= 1 || r.gpu_milli == cluster::kGpuMilli));
    COMITY_CHECK(pod.arrival >= 0 && pod.run >= 0 && pod.arrival <= kMaxTime && pod.run <= kMaxTime);
  }
  const PodShapes shapes = pod_shapes(list);
  for (std::size_t i = 0; i < list.pods.size(); ++i)
    COMITY_CHECK(shapes.shapes[shapes.of_pod[i]] == list.pods[i].request);
}

}  // namespace
}  // namespace comity::twin

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  comity::cluster::GpuModels models;
  if (auto source = comity::memory_source(bytes)) {
    const auto pods = comity::twin::read_pods_from(std::move(*source), "fuzz", models);
    if (pods)
      comity::twin::check_pods(*pods, models);
    else
      COMITY_CHECK(!pods.error().message.empty());
  }
  if (auto source = comity::memory_source(bytes)) {
    const auto nodes = comity::twin::read_share_nodes_from(std::move(*source), "fuzz");
    if (nodes)
      COMITY_CHECK(!nodes->nodes.empty() && comity::cluster::SharePool::check(nodes->nodes).has_value());
    else
      COMITY_CHECK(!nodes.error().message.empty());
  }
  return 0;
}
