// SPDX-License-Identifier: Apache-2.0
#include "workload/nccl.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace comity::workload {
namespace {

enum Arch : std::size_t { kVolta, kAmpere, kHopper, kBlackwell };
enum Link : std::size_t { kNvlink, kPci, kNet };

// Indexed [algorithm][protocol]; -1: no such pair.
using PairTable = double[5][3];
constexpr PairTable kBaseUs = {{6.8, 14, 8.4}, {6.6, 14, 8.4}, {0, 0, 0}, {0, 0, 0}, {8, 8, 8}};
constexpr PairTable kLinkUs[3] = {{{0.6, 1.25, 4}, {0.6, 1.9, 3.4}, {0, 0, 25}, {0, 0, 25}, {0, 0, 4}},
                                  {{1, 1.9, 4}, {1, 2.5, 5.7}, {0, 0, 25}, {0, 0, 25}, {0, 0, 4}},
                                  {{5, 8.5, 14}, {2.7, 4, 14}, {0, 0, 18}, {0, 0, 20.9}, {0, 0, 14}}};
// By architecture and 1, 2, 4 or more nodes.
constexpr double kLlMax[4][3] = {{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}};
constexpr double kRingLl128[4][3] = {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {40, 40, 40}};
constexpr double kTreeLl128[4][3] = {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}};
constexpr double kTree[4][3] = {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}};
constexpr double kNvlsTree[4][3] = {{0, 0, 0}, {0, 0, 0}, {0, 57.7, 45.5}, {0, 96, 80}};
constexpr double kNvlsEfficiency[4] = {0, 0, 0.85, 0.74};
// By log2(bytes / 64).
constexpr double kTreeCorrection[3][23] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}};
// GB/s of one channel that the search tries, inside of a node on NVLink (slower ones are for PCI).
constexpr double kSpeedsAmpere[] = {40, 30, 20, 18, 15};
constexpr double kSpeedsHopper[] = {60, 50, 40, 30, 24, 20, 15};
constexpr double kSpeedsBlackwell[] = {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};

constexpr double kNvlinkRaw[4] = {0.8, 0.8, 0.824, 0.802};  // of the line rate that a link is counted with
constexpr double kNicRaw = 0.96;                            // 12 GB/s for each 100 Gb/s
constexpr double kMostChannels = 64;

Arch arch_of(const System& s) {
  if (s.nccl.arch == "volta") return kVolta;
  if (s.nccl.arch == "hopper") return kHopper;
  if (s.nccl.arch == "blackwell") return kBlackwell;
  return kAmpere;
}

const Network& inner(const System& s) { return s.networks.front(); }
const Network& outer(const System& s) { return s.networks.size() > 1 ? s.networks[1] : s.networks.front(); }
Link inner_link(const System& s) { return inner(s).gb_s >= 80 ? kNvlink : kPci; }

// The whole of a node's bandwidth for one GPU cut into channels: the speed that wastes least, the fastest of equals.
NcclChannels cut(const double* speeds, std::size_t count, double total) {
  NcclChannels best{1, total};
  double most = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double channels = std::min(kMostChannels, std::floor(total / speeds[i] + 1e-9));
    if (channels * speeds[i] <= most) continue;
    most = channels * speeds[i];
    best = {channels, speeds[i]};
  }
  return best;
}

struct Shape {
  Arch arch;
  double ranks, nodes, per_node;
  std::size_t scale;  // column of the tables by nodes
  NcclChannels channels;
  double bus_gb_s;
};

Shape shape_of(const System& s, const Group& g) {
  Shape out{};
  out.arch = arch_of(s);
  out.ranks = static_cast<double>(g.ranks);
  out.nodes = static_cast<double>(g.nodes());
  out.per_node = static_cast<double>(g.per_node);
  out.scale = g.nodes() == 1 ? 0 : g.nodes() == 2 ? 1 : 2;
  out.channels = nccl_channels(s, g);
  out.bus_gb_s = out.channels.count * out.channels.gb_s;
  return out;
}

double steps(Collective op, double n) {
  switch (op) {
    case Collective::kAllReduce: return 2 * (n - 1);
    case Collective::kAllGather:
    case Collective::kReduceScatter: return n - 1;
    default: return n;
  }
}

// GB/s of the buffer as the caller counts it; 0: the pair cannot run this.
double bandwidth(const System& s, const Shape& x, Collective op, NcclAlgorithm a, NcclProtocol p) {
  const bool reduce_all = op == Collective::kAllReduce;
  const bool scatter = op == Collective::kAllGather || op == Collective::kReduceScatter;
  const double ring_ratio = x.ranks / steps(op, x.ranks);
  const double ll =
      kLlMax[x.nodes > 1 ? (x.arch == kBlackwell || x.arch == kHopper ? x.arch : kVolta) : x.arch][x.scale];
  const double bus = x.bus_gb_s;
  switch (a) {
    case NcclAlgorithm::kRing:
      if (p == NcclProtocol::kLl) return std::min(ll, bus / 2) * ring_ratio;
      if (p == NcclProtocol::kLl128)
        return std::min(0.92 * bus, x.channels.count * kRingLl128[x.arch][x.scale]) * ring_ratio;
      return bus * ring_ratio;
    case NcclAlgorithm::kTree: {
      if (!reduce_all) return 0;
      if (p == NcclProtocol::kLl) return std::min(bus / 3.8, ll) / 2;
      if (p == NcclProtocol::kLl128)
        return std::min(bus * (x.nodes == 1 ? 7.0 / 9 : 120.0 / 128), x.channels.count * kTreeLl128[x.arch][x.scale]) /
               2;
      return std::min(0.92 * bus, x.channels.count * kTree[x.arch][x.scale]) / 2;
    }
    case NcclAlgorithm::kNvls: {
      if (!s.nccl.nvls || p != NcclProtocol::kSimple || x.nodes > 1 || (!reduce_all && !scatter)) return 0;
      const double channel = x.channels.gb_s * kNvlsEfficiency[x.arch] * (x.channels.count - 1) / x.channels.count;
      return channel * x.channels.count * (reduce_all ? 2 : 1) * ring_ratio;
    }
    case NcclAlgorithm::kNvlsTree:
      if (!s.nccl.nvls || p != NcclProtocol::kSimple || x.nodes == 1 || !reduce_all || x.per_node < 2) return 0;
      return std::min(0.92 * bus, x.channels.count * kNvlsTree[x.arch][x.scale]) / 2;
    case NcclAlgorithm::kPat:
      if (p != NcclProtocol::kSimple || !scatter || x.per_node > 1) return 0;
      return 0.75 * bus * ring_ratio;
  }
  return 0;
}

double latency_us(const System& s, const Shape& x, Collective op, NcclAlgorithm a, NcclProtocol p) {
  const auto i = static_cast<std::size_t>(a);
  const auto j = static_cast<std::size_t>(p);
  const double base = kBaseUs[i][j];
  const double intra = kLinkUs[inner_link(s)][i][j];
  double inter = kLinkUs[kNet][i][j];
  if (x.per_node == 1 && a == NcclAlgorithm::kRing) inter = kLinkUs[kNet][0][j];
  const double hop = x.nodes > 1 ? outer(s).latency_us : 0;
  inter += p == NcclProtocol::kSimple ? 2 * hop : hop;
  const double levels = std::log2(std::max(1.0, x.nodes));
  switch (a) {
    case NcclAlgorithm::kRing: {
      const double all = steps(op, x.ranks);
      if (op == Collective::kBroadcast || op == Collective::kReduce)
        return base + (x.ranks - x.nodes) * intra + (x.nodes - 1) * inter;
      const double between = x.nodes > 1 ? (op == Collective::kAllReduce ? 2 : 1) * (x.nodes - 1) : 0;
      const double overhead = x.nodes > 1 ? (p == NcclProtocol::kSimple ? 3.0 : 1.0) : 0;
      return base + (all - between) * std::max(intra, overhead) + between * inter;
    }
    case NcclAlgorithm::kTree: return base + 2 * ((x.ranks / x.nodes - 1) * intra + levels * inter);
    case NcclAlgorithm::kNvls: return base + intra;
    case NcclAlgorithm::kNvlsTree: return base + intra + 2 * levels * inter;
    case NcclAlgorithm::kPat: return base + levels * inter / 3.5 + 2.8 * x.ranks;
  }
  return base;
}

NcclChoice cost(const System& s, const Shape& x, Collective op, double bytes, NcclAlgorithm a, NcclProtocol p) {
  NcclChoice out{a, p, 0, bandwidth(s, x, op, a, p), std::numeric_limits<double>::infinity()};
  if (out.gb_s <= 0) return out;
  out.latency_us = latency_us(s, x, op, a, p);
  const double units = bytes / 64;
  if (a == NcclAlgorithm::kTree && op == Collective::kAllReduce && units >= 1 && units < 8388608)
    out.gb_s *= kTreeCorrection[static_cast<std::size_t>(p)][static_cast<std::size_t>(std::log2(units))];
  if (a == NcclAlgorithm::kRing && p == NcclProtocol::kSimple && x.nodes > 1 && op == Collective::kAllReduce &&
      bytes / (x.channels.count * x.ranks) >= 64)
    out.latency_us *= x.arch == kVolta ? 1.9 : 1.4;
  out.time_us = out.latency_us + bytes / (1000 * out.gb_s);
  return out;
}

}  // namespace

NcclChannels nccl_channels(const System& s, const Group& g) {
  const Arch arch = arch_of(s);
  const NcclModel& n = s.nccl;
  if (g.nodes() == 1) {
    if (n.channels > 0 && n.intra_gb_s > 0) return {static_cast<double>(n.channels), n.intra_gb_s};
    if (inner_link(s) == kPci) return {1, inner(s).gb_s};
    const double total = kNvlinkRaw[arch] * inner(s).gb_s;
    if (arch == kHopper) return cut(kSpeedsHopper, std::size(kSpeedsHopper), total);
    if (arch == kBlackwell) return cut(kSpeedsBlackwell, std::size(kSpeedsBlackwell), total);
    return cut(kSpeedsAmpere, std::size(kSpeedsAmpere), total);
  }
  // Each GPU of the group drives a NIC of its own; on the way there a channel stays on NVLink.
  const double nic = n.inter_gb_s > 0 ? n.inter_gb_s : kNicRaw * outer(s).gb_s / static_cast<double>(g.groups_on_nic);
  const double link = (inner_link(s) == kNvlink ? kNvlinkRaw[arch] : 1) * inner(s).gb_s;
  const auto channels = static_cast<double>(g.per_node);
  return {channels, g.per_node > 1 ? std::min(nic, link / channels) : nic};
}

NcclTable nccl_table(const System& system, Collective op, double bytes, const Group& group) {
  const Shape x = shape_of(system, group);
  NcclTable out;
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = cost(system, x, op, bytes, static_cast<NcclAlgorithm>(i / 3), static_cast<NcclProtocol>(i % 3));
  return out;
}

NcclChoice nccl_choice(const System& system, Collective op, double bytes, const Group& group) {
  const NcclTable table = nccl_table(system, op, bytes, group);
  return *std::min_element(table.begin(), table.end(),
                           [](const NcclChoice& a, const NcclChoice& b) { return a.time_us < b.time_us; });
}

std::string_view nccl_algorithm_name(NcclAlgorithm algorithm) {
  static constexpr std::string_view kNames[] = {"tree", "ring", "nvls", "nvls_tree", "pat"};
  return kNames[static_cast<std::size_t>(algorithm)];
}

std::string_view nccl_protocol_name(NcclProtocol protocol) {
  static constexpr std::string_view kNames[] = {"LL", "LL128", "Simple"};
  return kNames[static_cast<std::size_t>(protocol)];
}

}  // namespace comity::workload
