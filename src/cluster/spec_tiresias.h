// SPDX-License-Identifier: Apache-2.0
// Cluster files of the Tiresias simulator (SymbioticLab/Tiresias): a header and one line,
//   num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node       1,32,4,40,256   (memory in GB)
// All nodes are alike; switches are not modelled.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cluster/spec.h"

namespace comity::cluster {

[[nodiscard]] bool is_tiresias_cluster(std::string_view text);
// Errors (kInput) name file, line and column.
[[nodiscard]] Result<ClusterSpec> parse_tiresias_cluster(std::string_view text, const std::string& path);

}  // namespace comity::cluster
