// SPDX-License-Identifier: Apache-2.0
#include "workload/collective/alpha_beta.h"

#include <algorithm>
#include <cmath>

#include "workload/collective/formulas.h"
#include "workload/collective/reach.h"

namespace comity::workload {
namespace {

using closed_form::Port;

struct Ports {
  Port in;
  Port out;
  Port ring;  // flat rings through all ranks, as many as the node has NICs of the group
};

Ports ports_of(const Reach& reach) {
  Ports ports{{reach.alpha_in, 1 / reach.in, 0}, {}, {reach.alpha_in, 1 / reach.in, 0}};
  if (reach.nodes > 1) {
    ports.out = {reach.alpha_out, 1 / reach.out, 0};
    const double node = reach.out * static_cast<double>(reach.per_node);
    const double rate = reach.per_node > 1 ? std::min(reach.in, node) : reach.out;
    ports.ring = {std::max(reach.alpha_in, reach.alpha_out), 1 / rate, 0};
  }
  return ports;
}

double share(const Reach& reach, double bytes) { return bytes / static_cast<double>(reach.per_node); }

// Of a flat ring that goes round `rounds` times: hops inside of nodes and between them, and the bytes of the port.
double ring_s(const Reach& reach, const Ports& ports, double rounds, double bytes) {
  const auto n = static_cast<double>(reach.ranks);
  const auto between = static_cast<double>(reach.nodes - 1);
  return rounds *
         ((n - 1 - between) * ports.in.alpha + between * ports.out.alpha + (n - 1) / n * bytes * ports.ring.beta);
}

// Two levels one after the other, or at once on as many pieces of the buffer as are best: then the slower level's
// bytes take their time, and the other one's a piece's.
double two_levels_s(double inside, double inside_latency, double between, double between_latency) {
  const double slower = std::max(inside - inside_latency, between - between_latency);
  const double other = std::min(inside - inside_latency, between - between_latency);
  const double latency = std::max(inside_latency, between_latency);
  const double pieces = latency > 0 ? std::max(1.0, std::sqrt(other / latency)) : 1e9;
  return inside_latency + between_latency + slower + other / pieces + (pieces - 1) * latency;
}

double log_latency(std::int64_t n, const Port& port) {
  return static_cast<double>(closed_form::ceil_log2(n)) * port.alpha;
}

double one_level_all_reduce(std::int64_t n, double bytes, const Port& port, bool in_network) {
  double best = std::min(2 * closed_form::halving_scatter(n, bytes, port),
                         closed_form::recursive_doubling_all_reduce(n, bytes, port));
  if (in_network) best = std::min(best, closed_form::in_network_all_reduce(n, bytes, port));
  return best;
}

double all_reduce(const Reach& reach, const Ports& ports, double bytes) {
  if (reach.nodes == 1) return one_level_all_reduce(reach.ranks, bytes, ports.in, reach.in_network_in);
  const std::int64_t g = reach.per_node;
  double inside = 2 * closed_form::halving_scatter(g, bytes, ports.in);
  double inside_latency = 2 * log_latency(g, ports.in);
  if (reach.in_network_in && g > 1) {
    inside = std::min(inside, closed_form::in_network_all_reduce(g, bytes, ports.in));
    inside_latency = 2 * ports.in.alpha;
  }
  const double rail = share(reach, bytes);
  double between = 2 * closed_form::halving_scatter(reach.nodes, rail, ports.out);
  double between_latency = 2 * log_latency(reach.nodes, ports.out);
  if (reach.in_network_out) {
    between = std::min(between, closed_form::in_network_all_reduce(reach.nodes, rail, ports.out));
    between_latency = 2 * ports.out.alpha;
  }
  const double levels = two_levels_s(inside, inside_latency, between, between_latency);
  const double doubling = closed_form::recursive_doubling_all_reduce(g, bytes, ports.in) +
                          closed_form::recursive_doubling_all_reduce(reach.nodes, bytes, ports.out);
  return std::min({levels, doubling, ring_s(reach, ports, 2, bytes)});
}

// All-gather and reduce-scatter: the same way, forwards and backwards.
double scatter(const Reach& reach, const Ports& ports, double bytes) {
  if (reach.nodes == 1) return closed_form::halving_scatter(reach.ranks, bytes, ports.in);
  const double levels = two_levels_s(
      closed_form::halving_scatter(reach.per_node, bytes, ports.in), log_latency(reach.per_node, ports.in),
      closed_form::halving_scatter(reach.nodes, share(reach, bytes), ports.out), log_latency(reach.nodes, ports.out));
  return std::min(levels, ring_s(reach, ports, 1, bytes));
}

double all_to_all(const Reach& reach, const Ports& ports, double bytes) {
  const auto n = static_cast<double>(reach.ranks);
  const auto g = static_cast<double>(reach.per_node);
  if (reach.nodes == 1) {
    return std::min(closed_form::pairwise_all_to_all(reach.ranks, bytes, ports.in),
                    closed_form::bruck_all_to_all(reach.ranks, bytes, ports.in));
  }
  // NVLink and NIC are ports of their own: they send at the same time.
  const double pairwise = (g - 1) * ports.in.alpha + (n - g) * ports.out.alpha +
                          std::max((g - 1) / n * bytes / reach.in, (n - g) / n * bytes / reach.out_all_to_all);
  const Port rail{reach.alpha_out, 1 / reach.out_all_to_all, 0};
  const double levels = closed_form::hierarchical_all_to_all(reach.per_node, reach.nodes, bytes, ports.in, rail);
  const Port any{reach.alpha_out, 1 / reach.out_message, 0};
  return std::min({pairwise, levels, closed_form::bruck_all_to_all(reach.ranks, bytes, any)});
}

double one_level_broadcast(std::int64_t n, double bytes, const Port& port, bool in_network) {
  const double pieces = closed_form::chain_pieces(n, bytes, port);
  double best =
      std::min({closed_form::binomial_broadcast(n, bytes, port), closed_form::chain_broadcast(n, bytes, pieces, port),
                2 * closed_form::halving_scatter(n, bytes, port)});
  if (in_network) best = std::min(best, closed_form::message(bytes, port));
  return best;
}

// Broadcast, and reduce backwards.
double broadcast(const Reach& reach, const Ports& ports, double bytes) {
  if (reach.nodes == 1) return one_level_broadcast(reach.ranks, bytes, ports.in, reach.in_network_in);
  const double whole = one_level_broadcast(reach.nodes, bytes, ports.out, reach.in_network_out) +
                       one_level_broadcast(reach.per_node, bytes, ports.in, reach.in_network_in);
  const double rails = 2 * closed_form::halving_scatter(reach.per_node, bytes, ports.in) +
                       one_level_broadcast(reach.nodes, share(reach, bytes), ports.out, reach.in_network_out);
  const double pieces = closed_form::chain_pieces(reach.ranks, bytes, ports.ring);
  return std::min({whole, rails, closed_form::chain_broadcast(reach.ranks, bytes, pieces, ports.ring)});
}

}  // namespace

double alpha_beta_s(const System& system, Collective op, double bytes, const Group& group) {
  if (group.ranks <= 1 || !(bytes > 0) || system.networks.empty()) return 0;
  const Reach reach = reach_of(system, op, group);
  const Ports ports = ports_of(reach);
  switch (op) {
    case Collective::kAllReduce: return all_reduce(reach, ports, bytes);
    case Collective::kAllGather:
    case Collective::kReduceScatter: return scatter(reach, ports, bytes);
    case Collective::kAllToAll: return all_to_all(reach, ports, bytes);
    case Collective::kBroadcast:
    case Collective::kReduce: return broadcast(reach, ports, bytes);
    case Collective::kPointToPoint:
      return reach.nodes == 1 ? closed_form::message(bytes, ports.in)
                              : closed_form::message(bytes, {reach.alpha_out, 1 / reach.out_message, 0});
  }
  return 0;
}

}  // namespace comity::workload
