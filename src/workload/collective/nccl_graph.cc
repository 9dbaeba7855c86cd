// SPDX-License-Identifier: Apache-2.0
#include "workload/collective/nccl_graph.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <span>

namespace comity::workload {
namespace {

// GB/s a channel that NCCL tries, fastest first.
constexpr double kIntra[] = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
constexpr double kInter[] = {48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, .24, .12};
constexpr double kIntraHopper[] = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
constexpr double kInterHopper[] = {48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, .24, .12};
constexpr double kIntraBlackwell[] = {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};
constexpr double kInterBlackwell[] = {96, 80, 48, 45.1, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, .24, .12};
constexpr double kMaxChannels = 32;  // of 64, since NCCL doubles them later

std::span<const double> speeds(NcclArch arch, bool between) {
  if (arch == NcclArch::kBlackwell) return between ? std::span<const double>(kInterBlackwell) : kIntraBlackwell;
  if (arch == NcclArch::kHopper) return between ? std::span<const double>(kInterHopper) : kIntraHopper;
  return between ? std::span<const double>(kInter) : kIntra;
}

struct Ports {
  double gpu = 0;    // GB/s of a GPU's port
  double nic = 0;    // of its NIC; 0: one node
  double ranks = 1;  // of a node
};

double fit(double capacity, double speed) { return std::floor(capacity / speed * (1 + 1e-12)); }

// Rings: each takes `speed` from every GPU's port and, between nodes, from one NIC. The most bandwidth wins, the
// faster channels where two give the same; speeds under about half of the best are not tried.
NcclChannels search_rings(std::span<const double> tried, const Ports& ports) {
  NcclChannels best;
  for (const double speed : tried) {
    if (best.count > 0 && speed / best.inter <= .49) break;
    double count = kMaxChannels;
    if (ports.ranks > 1) count = std::min(count, fit(ports.gpu, speed));
    if (ports.nic > 0) count = std::min(count, ports.ranks * fit(ports.nic, speed));
    if (count * speed > best.count * best.intra) best = {count, speed, speed};
    const double total = ports.ranks > 1 ? ports.gpu : ports.nic;
    if (best.count * best.intra >= total) break;
  }
  // Slower than any speed tried.
  if (best.count == 0) best = {1, ports.gpu, ports.nic > 0 ? ports.nic : ports.gpu};
  return best;
}

// Two channels of half the speed keep more of a GPU busy than a fast one.
void split(NcclArch arch, NcclChannels& channels) {
  if (channels.intra < 25 || channels.count * 2 > kMaxChannels) return;
  if (arch >= NcclArch::kHopper && channels.intra < 50 && channels.count > 4) return;
  channels = {channels.count * 2, channels.intra / 2, channels.inter / 2};
}

// As many trees as rings. A tree is a chain inside of a node, one link shorter than a ring: there may be room for more.
NcclChannels search_trees(std::span<const double> tried, const Ports& ports, const NcclChannels& ring) {
  NcclChannels tree = ring;
  if (ports.ranks <= 1 || ports.nic <= 0) return tree;
  const double room = ports.gpu * ports.ranks / (ports.ranks - 1) / ring.count;
  for (std::size_t i = tried.size(); i-- > 0 && tree.intra < 2 * tree.inter;) {
    if (tried[i] > tree.intra && tried[i] <= room) tree.intra = tried[i];
  }
  return tree;
}

// A head's traffic passes its port twice and every other port once.
NcclChannels search_nvls(std::span<const double> tried, const Ports& ports) {
  NcclChannels nvls;
  for (const double speed : tried) {
    if ((ports.ranks + 1) * speed > ports.gpu || (ports.nic > 0 && speed > ports.nic)) continue;
    nvls = {ports.ranks, speed, speed};
    break;
  }
  if (nvls.count == 0 || ports.nic <= 0) return nvls;
  for (std::size_t i = tried.size(); i-- > 0 && nvls.inter < 2 * nvls.intra;) {
    if (tried[i] > nvls.inter && tried[i] <= ports.nic) nvls.inter = tried[i];
  }
  return nvls;
}

bool named_pci(const System& system) {
  const auto& name = system.networks.front().name;
  constexpr std::string_view kPci = "pci";
  const auto same = [](char a, char b) { return (a | 0x20) == b; };
  return std::search(name.begin(), name.end(), kPci.begin(), kPci.end(), same) != name.end();
}

}  // namespace

NcclArch nccl_arch(const System& system) {
  const std::string_view name = system.nccl.arch;
  if (name == "volta") return NcclArch::kVolta;
  if (name == "hopper") return NcclArch::kHopper;
  if (name == "blackwell") return NcclArch::kBlackwell;
  return NcclArch::kAmpere;
}

double nccl_port_gb_s(const System& system) {
  const double line = system.networks.front().gb_s;
  if (named_pci(system)) return line * 12 / 16;
  switch (nccl_arch(system)) {
    case NcclArch::kVolta:
    case NcclArch::kAmpere: return line * 20 / 25;
    case NcclArch::kHopper: return line * 20.6 / 25;
    case NcclArch::kBlackwell: return line * 40.1 / 50;
  }
  return line;
}

NcclGraphs nccl_graphs(const System& system, const Reach& reach) {
  NcclGraphs graphs;
  graphs.arch = nccl_arch(system);
  graphs.nvlink = !named_pci(system);
  const bool between = reach.nodes > 1;
  const std::size_t nic = std::min<std::size_t>(1, system.networks.size() - 1);
  const Ports ports{nccl_port_gb_s(system), between ? system.networks[nic].gb_s : 0,
                    static_cast<double>(reach.per_node)};
  const std::span<const double> tried = speeds(graphs.arch, between);
  const NcclModel& given = system.nccl;
  graphs.ring = search_rings(tried, ports);
  split(graphs.arch, graphs.ring);
  if (given.channels > 0) graphs.ring.count = static_cast<double>(given.channels);
  if (given.intra_gb_s > 0) graphs.ring.intra = given.intra_gb_s;
  if (given.inter_gb_s > 0) graphs.ring.inter = given.inter_gb_s;
  graphs.tree = search_trees(tried, ports, graphs.ring);
  if (given.nvls && graphs.nvlink && graphs.arch >= NcclArch::kHopper && reach.per_node > 1) {
    graphs.nvls = search_nvls(tried, ports);
  }
  return graphs;
}

}  // namespace comity::workload
