// SPDX-License-Identifier: Apache-2.0
// Clusters from the node lists that public traces bring along: one line a node, recognised from the header.
//
//   sn,cpu_milli,memory_mib,gpu,model                    Alibaba GPU v2023 (openb_node_list_*.csv)
//   gpu_model,gpu_capacity_num,cpu_num,node_name         Alibaba spot GPU v2026 (node_info), columns in any order
//
// Nodes without a GPU run no GPU job: they are left out and counted. No node is in a resource group.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cluster/spec.h"

namespace comity::cluster {

// Whether the first line is the header of such a list.
[[nodiscard]] bool is_node_list(std::string_view text);
// Errors (kInput) name file, line and column: a missing or repeated column, a number that is none or out of bounds, a
// node named twice, no node with a GPU. O(bytes).
[[nodiscard]] Result<ClusterSpec> parse_node_list(std::string_view text, const std::string& path);

}  // namespace comity::cluster
