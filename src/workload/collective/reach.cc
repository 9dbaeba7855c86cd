// SPDX-License-Identifier: Apache-2.0
#include "workload/collective/reach.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace comity::workload {
namespace {

double efficiency_of(const Network& network, Collective op) {
  double own = 0;
  if (op == Collective::kAllReduce) own = network.all_reduce;
  if (op == Collective::kAllToAll) own = network.all_to_all;
  if (op == Collective::kPointToPoint) own = network.point_to_point;
  return own > 0 ? own : network.efficiency;
}

double bytes_s(const Network& network, Collective op) { return network.gb_s * 1e9 * efficiency_of(network, op); }

// Adds the tiers between nodes, innermost first, until one joins all of the group.
void add_outer(const System& system, Collective op, std::int64_t node_gpus, Reach& reach) {
  const double ranks = static_cast<double>(reach.ranks);
  const double away = std::max(1.0, ranks - static_cast<double>(reach.per_node));  // ranks of other nodes
  double slowest = 0;       // of an all-to-all that moves one byte to each of them
  std::int64_t joined = 1;  // nodes below the tier
  reach.out = reach.out_message = std::numeric_limits<double>::infinity();
  const std::size_t last = system.networks.size() - 1;
  for (std::size_t t = std::min<std::size_t>(1, last); t <= last; ++t) {
    const Network& tier = system.networks[t];
    const double rate = bytes_s(tier, op);
    const double over = std::max(1.0, tier.oversubscription);
    reach.out = std::min(reach.out, rate * std::min(1.0, static_cast<double>(joined) / over));
    reach.out_message = std::min(reach.out_message, rate / over);
    const double below = std::min(ranks, static_cast<double>(joined * reach.per_node));
    slowest = std::max(slowest, (ranks - below) * over / rate);
    reach.alpha_out = std::max(reach.alpha_out, tier.latency_us * 1e-6);
    reach.in_network_out = tier.in_network_reduction;
    if (t == last || tier.domain <= 0) break;
    joined = std::clamp<std::int64_t>(tier.domain / node_gpus, joined, reach.nodes);
    if (joined == reach.nodes) break;
  }
  reach.out_all_to_all = slowest > 0 ? away / slowest : reach.out_message;
}

}  // namespace

Reach reach_of(const System& system, Collective op, const Group& group) {
  const Network& inner = system.networks.front();
  Reach reach;
  reach.ranks = group.ranks;
  reach.per_node = std::clamp<std::int64_t>(group.per_node, 1, group.ranks);
  reach.nodes = (reach.ranks + reach.per_node - 1) / reach.per_node;
  reach.alpha_in = inner.latency_us * 1e-6;
  reach.in = bytes_s(inner, op);
  reach.in_network_in = inner.in_network_reduction;
  if (reach.nodes == 1) return reach;
  const std::int64_t node_gpus = system.joined_gpus();
  add_outer(system, op, node_gpus, reach);
  // A NIC for each GPU of the node: groups share only where more ranks send than there are NICs.
  const auto senders = static_cast<double>(std::max<std::int64_t>(1, group.groups_on_nic) * reach.per_node);
  const double share = std::min(1.0, static_cast<double>(node_gpus) / senders);
  reach.out *= share;
  reach.out_message *= share;
  reach.out_all_to_all *= share;
  return reach;
}

}  // namespace comity::workload
