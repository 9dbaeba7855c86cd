// SPDX-License-Identifier: Apache-2.0
#include "workload/collective_cost.h"

#include <algorithm>
#include <cmath>

#include "workload/nccl.h"

namespace comity::workload {
namespace {

constexpr double kGiga = 1e9;
constexpr double kMicro = 1e-6;
constexpr double kQueues = 8;  // sends to different peers that are under way at a time

// A tier as one rank sees it.
struct Tier {
  double rate = 1;     // B/s, one direction
  double latency = 0;  // s
};

Tier tier_of(const System& s, std::size_t index, Collective op, double share) {
  const Network& n = s.networks[std::min(index, s.networks.size() - 1)];
  double efficiency = n.efficiency;
  if (op == Collective::kAllReduce && n.all_reduce > 0) efficiency = n.all_reduce;
  if (op == Collective::kAllToAll && n.all_to_all > 0) efficiency = n.all_to_all;
  if (op == Collective::kPointToPoint && n.point_to_point > 0) efficiency = n.point_to_point;
  return {n.gb_s * kGiga * efficiency / (n.oversubscription * share), n.latency_us * kMicro};
}

// The tier that joins the group's nodes: the first beyond the node whose domain holds all ranks.
Tier between(const System& s, const Group& g, Collective op) {
  std::size_t index = 1;
  while (index + 1 < s.networks.size() && s.networks[index].domain > 0 && s.networks[index].domain < g.ranks) ++index;
  return tier_of(s, index, op, static_cast<double>(g.groups_on_nic));
}

bool in_network(const System& s) { return s.networks.front().in_network_reduction; }

// Bandwidth-optimal either way: a ring has n - 1 steps, halving and doubling log2 n.
double turns(double n) { return std::min(n - 1, std::ceil(std::log2(n))); }

double inside_node(const System& s, Collective op, double bytes, double n) {
  const Tier t = tier_of(s, 0, op, 1);
  switch (op) {
    case Collective::kAllReduce: {
      const double ring = 2 * turns(n) * t.latency + 2 * (n - 1) / n * bytes / t.rate;
      return in_network(s) ? std::min(ring, 2 * t.latency + (1 + 1 / n) * bytes / t.rate) : ring;
    }
    case Collective::kAllGather:
    case Collective::kReduceScatter: return turns(n) * t.latency + (n - 1) / n * bytes / t.rate;
    case Collective::kAllToAll: return std::ceil((n - 1) / kQueues) * t.latency + (n - 1) / n * bytes / t.rate;
    case Collective::kBroadcast:
    case Collective::kReduce: return std::ceil(std::log2(n)) * t.latency + bytes / t.rate;
    case Collective::kPointToPoint: return t.latency + bytes / t.rate;
  }
  return 0;
}

// Inside of the nodes and between them at the same time, chunk behind chunk: the slower of the two sets the pace.
double across_nodes(const System& s, Collective op, double bytes, const Group& group) {
  const double g = static_cast<double>(group.per_node);
  const double nodes = static_cast<double>(group.nodes());
  const double n = static_cast<double>(group.ranks);
  const Tier in = tier_of(s, 0, op, 1);
  const Tier out = between(s, group, op);
  const double latency = turns(nodes) * out.latency + (g > 1 ? turns(g) * in.latency : 0);
  const double local = g > 1 ? (g - 1) / g * bytes / in.rate : 0;
  const double remote = (nodes - 1) / nodes * bytes / g / out.rate;
  switch (op) {
    case Collective::kAllReduce: return 2 * (latency + std::max(local, remote));
    case Collective::kAllGather:
    case Collective::kReduceScatter: return latency + std::max(local, remote);
    case Collective::kAllToAll:
      return std::ceil((n - 1) / kQueues) * out.latency +
             std::max((g - 1) / n * bytes / in.rate, (n - g) / n * bytes / out.rate);
    case Collective::kBroadcast:
    case Collective::kReduce:
      return std::ceil(std::log2(n)) * out.latency + std::max(g > 1 ? bytes / in.rate : 0, bytes / (g * out.rate));
    case Collective::kPointToPoint: return out.latency + bytes / out.rate;
  }
  return 0;
}

double alpha_beta(const System& s, Collective op, double bytes, const Group& g) {
  return g.nodes() == 1 ? inside_node(s, op, bytes, static_cast<double>(g.ranks)) : across_nodes(s, op, bytes, g);
}

// What NVLS reaches of the bandwidth that NCCL ranks it by: 476 GB/s bus bandwidth on 8 H100 in public nccl-tests
// tables, 510 by the tuning model.
constexpr double kNvlsReached = 0.93;

double nccl(const System& s, Collective op, double bytes, const Group& g) {
  if (op == Collective::kAllToAll || op == Collective::kPointToPoint) return alpha_beta(s, op, bytes, g);
  const NcclChoice choice = nccl_choice(s, op, bytes, g);
  const std::size_t tier = g.nodes() == 1 ? 0 : std::min<std::size_t>(1, s.networks.size() - 1);
  const Network& n = s.networks[tier];
  const double efficiency = op == Collective::kAllReduce && n.all_reduce > 0 ? n.all_reduce : n.efficiency;
  const double reached = choice.algorithm == NcclAlgorithm::kNvls ? kNvlsReached : 1;
  return choice.latency_us * kMicro + bytes / (choice.gb_s * kGiga * efficiency * reached / n.oversubscription);
}

}  // namespace

double collective_s(CostModel model, const System& system, Collective op, double bytes, const Group& group) {
  if (group.ranks <= 1 || bytes <= 0 || system.networks.empty()) return 0;
  return model == CostModel::kNccl ? nccl(system, op, bytes, group) : alpha_beta(system, op, bytes, group);
}

}  // namespace comity::workload
