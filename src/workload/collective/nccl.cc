// SPDX-License-Identifier: Apache-2.0
#include "workload/collective/nccl.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "workload/collective/formulas.h"
#include "workload/collective/nccl_graph.h"
#include "workload/collective/reach.h"

namespace comity::workload {
namespace {

using Lanes = double[3];  // LL, LL128, Simple

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Microseconds. By algorithm (tree, ring); the others have latencies of their own below.
constexpr Lanes kBase[2] = {{6.8, 14, 8.4}, {6.6, 14, 8.4}};
constexpr Lanes kNvlink[2] = {{.6, 1.25, 4}, {.6, 1.9, 3.4}};
constexpr Lanes kPci[2] = {{1, 1.9, 4}, {1, 2.5, 5.7}};
constexpr Lanes kNet[2] = {{5, 8.5, 14}, {2.7, 4, 14}};
constexpr double kNetOverhead = 1;  // to post a message; 2 on AMD CPUs

// GB/s by architecture and by 1, 2, more nodes.
constexpr double kLlMax[4][3] = {{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}};
constexpr double kRingLl128[4] = {20, 20, 36.7, 40};
constexpr double kTreeLl128[4][3] = {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}};
constexpr double kTree[4][3] = {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}};
constexpr double kNvlsTree[4][3] = {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80}};
constexpr double kNvlsEfficiency[4] = {0, 0, .85, .74};

// Of a tree's bandwidth, by the power of two from 64 B on.
constexpr double kTreeCorrection[3][24] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, 1}};

struct Case {
  Reach reach;
  NcclGraphs graphs;
  Collective op = Collective::kAllReduce;
  double bytes = 0;
  double n = 1;
  double nodes = 1;
  double per_node = 1;  // ranks / nodes, as NCCL counts
  std::size_t arch = 0;
  std::size_t scale = 0;  // 1, 2, more nodes
  double node_gb_s = 0;   // what a node's ranks send to other nodes together
  double port_gb_s = 0;   // what a rank sends inside of its node
};

Case make_case(const System& system, Collective op, double bytes, const Group& group) {
  Case c;
  c.reach = reach_of(system, op, group);
  c.graphs = nccl_graphs(system, c.reach);
  c.op = op;
  c.bytes = bytes;
  c.n = static_cast<double>(c.reach.ranks);
  c.nodes = static_cast<double>(c.reach.nodes);
  c.per_node = c.n / c.nodes;
  c.arch = static_cast<std::size_t>(c.graphs.arch);
  c.scale = static_cast<std::size_t>(std::min<std::int64_t>(c.reach.nodes, 3) - 1);
  c.port_gb_s = c.reach.per_node > 1 ? c.reach.in / 1e9 : kInfinity;
  c.node_gb_s = c.reach.nodes > 1 ? c.reach.out / 1e9 * static_cast<double>(c.reach.per_node) : kInfinity;
  return c;
}

double log2_nodes(const Case& c) { return static_cast<double>(closed_form::floor_log2(c.reach.nodes)); }

const Lanes& inside(const Case& c, std::size_t algorithm) { return (c.graphs.nvlink ? kNvlink : kPci)[algorithm]; }

double channel_gb_s(const Case& c, const NcclChannels& channels) {
  return c.reach.nodes <= 2 ? channels.intra : channels.inter;
}

double ring_steps(const Case& c) {
  switch (c.op) {
    case Collective::kAllReduce: return 2 * (c.n - 1);
    case Collective::kAllGather:
    case Collective::kReduceScatter: return c.n - 1;
    default: return c.n;
  }
}

double ring_latency(const Case& c, std::size_t p) {
  const bool simple = p == 2;
  const double steps = ring_steps(c);
  if (c.op == Collective::kBroadcast || c.op == Collective::kReduce) {
    const auto& table = c.reach.nodes > 1 ? kNet : (c.graphs.nvlink ? kNvlink : kPci);
    return kBase[1][p] + steps * table[simple ? 0 : 1][p];
  }
  const double crossing = (c.op == Collective::kAllReduce ? 2 : 1) * (c.nodes - 1);
  const double overhead = c.reach.nodes > 1 ? kNetOverhead * (simple ? 3 : 1) : 0;
  const double across = kNet[c.per_node == 1 ? 0 : 1][p];
  double latency = kBase[1][p] + (steps - crossing) * std::max(inside(c, 1)[p], overhead) + crossing * across;
  // Long rings over a network stay on a plateau.
  if (simple && c.reach.nodes > 1 && c.op == Collective::kAllReduce && c.bytes >= 64 * c.graphs.ring.count * c.n) {
    latency *= c.graphs.arch == NcclArch::kVolta ? 1.9 : 1.4;
  }
  return latency;
}

void ring_row(const Case& c, std::size_t p, NcclRow& row) {
  const double channels = c.graphs.ring.count;
  double bus = channels * channel_gb_s(c, c.graphs.ring);
  // LL: several nodes are limited by their CPU, here Intel's row.
  if (p == 0) bus = std::min(kLlMax[c.reach.nodes > 1 ? 0 : c.arch][c.scale], bus * .5);
  if (p == 1) bus = std::min(bus * .92, channels * kRingLl128[c.arch]);
  bus = std::min({bus, c.port_gb_s, c.node_gb_s});
  row.gb_s = bus * c.n / ring_steps(c);
  row.latency_us = ring_latency(c, p);
}

double tree_correction(double bytes, std::size_t p) {
  const double size = bytes / 64;
  if (size < 1) return 1;
  int exponent = 0;
  const double mantissa = 2 * std::frexp(size, &exponent);  // size = mantissa 2^(exponent - 1)
  const auto i = static_cast<std::size_t>(exponent - 1);
  if (i >= 23) return 1;
  return kTreeCorrection[p][i] + (mantissa - 1) * (kTreeCorrection[p][i + 1] - kTreeCorrection[p][i]);
}

void tree_row(const Case& c, std::size_t p, NcclRow& row) {
  const double channels = c.graphs.tree.count;
  double bus = std::min(channels * channel_gb_s(c, c.graphs.tree) * .92, channels * kTree[c.arch][c.scale]);
  if (p == 0) bus = std::min(bus / 3.8, kLlMax[c.reach.nodes > 1 ? 0 : c.arch][c.scale]);
  if (p == 1) {
    bus = std::min(bus * (c.reach.nodes == 1 ? 7.0 / 9 : 120.0 / 128), channels * kTreeLl128[c.arch][c.scale]);
  }
  // What passes a port in one direction, up and down together: S of a chain's ends and of two nodes, else 2 S.
  const double node = c.reach.nodes > 2 ? c.node_gb_s / 2 : c.node_gb_s;
  const double port = c.per_node > 1 ? c.port_gb_s * c.per_node / (2 * (c.per_node - 1)) : kInfinity;
  row.gb_s = std::min({bus * .5 * tree_correction(c.bytes, p), port, node});
  const double across = kNet[0][p];
  row.latency_us = kBase[0][p] + 2 * (std::floor(c.per_node - 1) * inside(c, 0)[p] + log2_nodes(c) * across);
}

// In the switch: a port of an all-reduce carries S + S/n each way.
void nvls_row(const Case& c, bool tree, NcclRow& row) {
  const NcclChannels& heads = c.graphs.nvls;
  const bool all_reduce = c.op == Collective::kAllReduce;
  double intra = heads.intra * kNvlsEfficiency[c.arch] * (heads.count - 1) / heads.count;
  intra *= all_reduce ? 2 : (c.per_node - 1) / c.per_node;
  double speed = intra;
  if (c.reach.nodes > 1) speed = std::min(speed, heads.inter * (tree && c.reach.nodes == 2 ? 2 : 1));
  if (tree) speed = std::min(speed, kNvlsTree[c.arch][c.scale]);
  const double bus = heads.count * speed;
  const double node = tree && c.reach.nodes > 2 ? c.node_gb_s / 2 : c.node_gb_s;
  if (all_reduce) {
    row.gb_s = std::min({bus * c.n / ring_steps(c), c.port_gb_s / (1 + 1 / c.per_node), node});
  } else {
    row.gb_s = std::min({bus, c.port_gb_s * c.per_node / (c.per_node - 1), node});
  }
  const double across = tree ? 20.9 : 18;
  row.latency_us = 25 + (tree ? 2 * log2_nodes(c) * across : (c.reach.nodes > 1 ? across : 0));
}

// Switches between nodes add up (SHARP): a node sends S and gets S.
void collnet_row(const Case& c, bool direct, NcclRow& row) {
  const double channels = c.graphs.tree.count;
  double bus = channels * c.graphs.tree.intra;
  const double peers = std::floor(c.per_node - 1);
  if (direct) {
    const double gpus_a_nic = c.per_node / channels;
    bus /= gpus_a_nic - (gpus_a_nic - 1) / 2;
    if (c.graphs.arch >= NcclArch::kHopper) bus *= .85;
    row.latency_us = 2 * (std::min(1.0, peers) * 3.7 + peers * .4) + 31;
  } else {
    row.latency_us = 2 * peers * 2.8 + 30;
  }
  row.gb_s = std::min({bus * .5, c.port_gb_s, c.node_gb_s});
}

void pat_row(const Case& c, NcclRow& row) {
  const double bus = c.graphs.tree.count * channel_gb_s(c, c.graphs.tree) * .75;
  row.gb_s = std::min(bus, c.node_gb_s * c.n / (c.n - 1));
  row.latency_us = 8 + log2_nodes(c) * kNet[0][2] / 3.5 + 2.8 * c.n;
}

// Sends and receives of all peers at once, eight in flight. LL moves half, and is used for short messages only.
void send_row(const Case& c, std::size_t p, NcclRow& row) {
  const auto per_node = static_cast<double>(c.reach.per_node);
  const bool all = c.op == Collective::kAllToAll;
  const bool away = c.reach.nodes > 1;
  const double near_peers = all ? per_node - 1 : (away ? 0 : 1);
  const double far_peers = all ? c.n - per_node : (away ? 1 : 0);
  const double share = all ? 1 / c.n : 1;  // of the bytes that a peer gets
  const double nic = (all ? c.reach.out_all_to_all : c.reach.out_message) / 1e9 * (12 / 12.5);
  const double near_s_gb = near_peers > 0 ? near_peers * share / (c.reach.in / 1e9) : 0;
  const double far_s_gb = far_peers > 0 ? far_peers * share / nic : 0;
  row.gb_s = 1 / std::max(near_s_gb, far_s_gb);
  const double line = c.graphs.nvlink ? c.graphs.ring.count * c.graphs.ring.intra : kInfinity;
  if (near_peers > 0) row.gb_s = std::min(row.gb_s, line / (near_peers * share));
  if (p == 0) row.gb_s *= .5;
  row.latency_us = kBase[1][p] + std::ceil(near_peers / 8) * inside(c, 1)[p] + std::ceil(far_peers / 8) * kNet[1][p];
}

// Calls visit(row) for every row that NCCL may use.
template <class Visit>
void visit_rows(const Case& c, const Visit& visit) {
  NcclRow row;
  const auto done = [&](NcclAlgorithm algorithm, std::size_t p) {
    row.algorithm = algorithm;
    row.protocol = static_cast<NcclProtocol>(p);
    row.time_s = row.latency_us * 1e-6 + c.bytes / (row.gb_s * 1e9);
    visit(row);
  };
  if (c.op == Collective::kAllToAll || c.op == Collective::kPointToPoint) {
    for (const std::size_t p : {0, 2}) send_row(c, p, row), done(NcclAlgorithm::kSendRecv, p);
    return;
  }
  const bool ll128 = c.graphs.nvlink || c.reach.per_node == 1;
  const bool all_reduce = c.op == Collective::kAllReduce;
  const bool scatter = c.op == Collective::kAllGather || c.op == Collective::kReduceScatter;
  for (std::size_t p = 0; all_reduce && p < 3; ++p) {
    if (p != 1 || ll128) tree_row(c, p, row), done(NcclAlgorithm::kTree, p);
  }
  for (std::size_t p = 0; p < 3; ++p) {
    if (p != 1 || ll128) ring_row(c, p, row), done(NcclAlgorithm::kRing, p);
  }
  const bool several = c.reach.nodes > 1;
  const bool sharp = several && c.reach.in_network_out;
  if (all_reduce && sharp && c.reach.per_node > 1) collnet_row(c, true, row), done(NcclAlgorithm::kCollnetDirect, 2);
  if (all_reduce && sharp) collnet_row(c, false, row), done(NcclAlgorithm::kCollnetChain, 2);
  const bool nvls = c.graphs.nvls.count >= 2;
  if (nvls && ((all_reduce && (sharp || !several)) || (scatter && !several))) {
    nvls_row(c, false, row), done(NcclAlgorithm::kNvls, 2);
  }
  if (nvls && all_reduce && several) nvls_row(c, true, row), done(NcclAlgorithm::kNvlsTree, 2);
  if (scatter && c.reach.per_node == 1) pat_row(c, row), done(NcclAlgorithm::kPat, 2);
}

}  // namespace

std::vector<NcclRow> nccl_table(const System& system, Collective op, double bytes, const Group& group) {
  std::vector<NcclRow> rows;
  if (group.ranks <= 1 || !(bytes > 0) || system.networks.empty()) return rows;
  visit_rows(make_case(system, op, bytes, group), [&](const NcclRow& row) { rows.push_back(row); });
  const auto faster = [](const NcclRow& a, const NcclRow& b) { return a.time_s < b.time_s; };
  std::min_element(rows.begin(), rows.end(), faster)->chosen = true;
  return rows;
}

double nccl_s(const System& system, Collective op, double bytes, const Group& group) {
  if (group.ranks <= 1 || !(bytes > 0) || system.networks.empty()) return 0;
  double best = kInfinity;
  visit_rows(make_case(system, op, bytes, group), [&](const NcclRow& row) { best = std::min(best, row.time_s); });
  return best;
}

std::string_view nccl_algorithm_name(NcclAlgorithm algorithm) {
  switch (algorithm) {
    case NcclAlgorithm::kTree: return "tree";
    case NcclAlgorithm::kRing: return "ring";
    case NcclAlgorithm::kCollnetDirect: return "collnet_direct";
    case NcclAlgorithm::kCollnetChain: return "collnet_chain";
    case NcclAlgorithm::kNvls: return "nvls";
    case NcclAlgorithm::kNvlsTree: return "nvls_tree";
    case NcclAlgorithm::kPat: return "pat";
    case NcclAlgorithm::kSendRecv: return "send_recv";
  }
  return "";
}

std::string_view nccl_protocol_name(NcclProtocol protocol) {
  switch (protocol) {
    case NcclProtocol::kLl: return "ll";
    case NcclProtocol::kLl128: return "ll128";
    case NcclProtocol::kSimple: return "simple";
  }
  return "";
}

}  // namespace comity::workload
