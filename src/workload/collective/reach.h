// SPDX-License-Identifier: Apache-2.0
// What a group has of a system's networks. Tier 0 joins the ranks of a node; the others join the nodes, each up to its
// domain, the last one all of them. Efficiency and the share of NICs are in the numbers; bandwidths are those of one
// GPU in one direction, bytes a second.
#pragma once

#include <cstdint>

#include "workload/collective_cost.h"

namespace comity::workload {

struct Reach {
  std::int64_t ranks = 1;
  std::int64_t per_node = 1;
  std::int64_t nodes = 1;
  double alpha_in = 0;   // s a message, inside of a node
  double alpha_out = 0;  // between the nodes that are farthest apart
  double in = 0;
  // Between nodes where neighbours talk: a ring enters and leaves a domain once, so of k nodes in it one crosses
  // upwards and has k times its share of an oversubscribed tier, at most a whole port.
  double out = 0;
  double out_message = 0;      // where every rank crosses all tiers at once
  double out_all_to_all = 0;   // bytes to all ranks of other nodes over the time of the tier that takes longest
  bool in_network_in = false;  // the tier adds up by itself
  bool in_network_out = false;
};

// The networks must not be empty; where the group needs more tiers than there are, the last one stands for the rest.
[[nodiscard]] Reach reach_of(const System& system, Collective op, const Group& group);

}  // namespace comity::workload
