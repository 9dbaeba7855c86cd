// SPDX-License-Identifier: Apache-2.0
#include "workload/collective/formulas.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

namespace comity::workload::closed_form {
namespace {

double real(std::int64_t n) { return static_cast<double>(n); }

// (n-1)/n: what of the buffer leaves a rank when each has its share already.
double others(std::int64_t n) { return (real(n) - 1) / real(n); }

}  // namespace

std::int64_t floor_log2(std::int64_t n) {
  return n <= 1 ? 0 : static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(n))) - 1;
}

std::int64_t ceil_log2(std::int64_t n) {
  return n <= 1 ? 0 : static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(n) - 1));
}

double ring_all_reduce(std::int64_t n, double bytes, const Port& port) {
  if (n <= 1) return 0;
  return 2 * (real(n) - 1) * port.alpha + 2 * others(n) * bytes * port.beta + others(n) * bytes * port.gamma;
}

double recursive_doubling_all_reduce(std::int64_t n, double bytes, const Port& port) {
  return real(ceil_log2(n)) * (port.alpha + bytes * (port.beta + port.gamma));
}

double halving_doubling_all_reduce(std::int64_t n, double bytes, const Port& port) {
  if (n <= 1) return 0;
  const std::int64_t log = floor_log2(n);
  const std::int64_t power = std::int64_t{1} << log;
  const double core =
      2 * real(log) * port.alpha + 2 * others(power) * bytes * port.beta + others(power) * bytes * port.gamma;
  const double fold = 2 * port.alpha + 2 * bytes * port.beta + bytes * port.gamma;
  return n == power ? core : core + fold;
}

double tree_all_reduce(std::int64_t n, double bytes, double pieces, const Port& port) {
  if (n <= 1) return 0;
  return 2 * (real(ceil_log2(n)) + pieces - 1) * (port.alpha + 2 * bytes / pieces * port.beta);
}

double double_tree_all_reduce(std::int64_t n, double bytes, double pieces, const Port& port) {
  if (n <= 1) return 0;
  return 2 * (real(ceil_log2(n)) + pieces - 1) * (port.alpha + bytes / pieces * port.beta);
}

double direct_all_reduce(std::int64_t n, double bytes, const Port& port) {
  if (n <= 1) return 0;
  return 2 * port.alpha + 2 * others(n) * bytes * port.beta;
}

double full_mesh_all_reduce(std::int64_t n, double bytes, const Port& port) {
  if (n <= 1) return 0;
  return 2 * port.alpha + 2 * bytes / real(n) * port.beta;
}

double one_shot_all_reduce(std::int64_t n, double bytes, const Port& port) {
  if (n <= 1) return 0;
  return port.alpha + (real(n) - 1) * bytes * (port.beta + port.gamma);
}

double in_network_all_reduce(std::int64_t n, double bytes, const Port& port) {
  if (n <= 1) return 0;
  return 2 * port.alpha + (1 + 1 / real(n)) * bytes * port.beta;
}

double hierarchical_all_reduce(std::int64_t per_node, std::int64_t nodes, double bytes, const Port& inside,
                               const Port& between) {
  return 2 * ring_scatter(per_node, bytes, {inside.alpha, inside.beta, 0}) +
         (per_node > 1 ? others(per_node) * bytes * inside.gamma : 0) +
         ring_all_reduce(nodes, bytes / real(std::max<std::int64_t>(per_node, 1)), between);
}

double ring_scatter(std::int64_t n, double bytes, const Port& port) {
  if (n <= 1) return 0;
  return (real(n) - 1) * port.alpha + others(n) * bytes * (port.beta + port.gamma);
}

double halving_scatter(std::int64_t n, double bytes, const Port& port) {
  if (n <= 1) return 0;
  return real(ceil_log2(n)) * port.alpha + others(n) * bytes * (port.beta + port.gamma);
}

double pairwise_all_to_all(std::int64_t n, double bytes, const Port& port) {
  if (n <= 1) return 0;
  return (real(n) - 1) * port.alpha + others(n) * bytes * port.beta;
}

double bruck_all_to_all(std::int64_t n, double bytes, const Port& port) {
  return real(ceil_log2(n)) * (port.alpha + bytes / 2 * port.beta);
}

double ring_all_to_all(std::int64_t n, double bytes, const Port& port) {
  if (n <= 1) return 0;
  return (real(n) - 1) * (port.alpha + bytes / 2 * port.beta);
}

double hierarchical_all_to_all(std::int64_t per_node, std::int64_t nodes, double bytes, const Port& inside,
                               const Port& between) {
  return pairwise_all_to_all(per_node, bytes, inside) + pairwise_all_to_all(nodes, bytes, between);
}

double skewed_all_to_all_bound(std::span<const double> matrix, std::int64_t n, const Port& port) {
  double fullest = 0;
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(n, 0));
  for (std::size_t i = 0; i < size; ++i) {
    double out = 0;
    double in = 0;
    for (std::size_t j = 0; j < size; ++j) {
      if (j == i) continue;
      out += matrix[i * size + j];
      in += matrix[j * size + i];
    }
    fullest = std::max({fullest, out, in});
  }
  return fullest * port.beta;
}

double binomial_broadcast(std::int64_t n, double bytes, const Port& port) {
  return real(ceil_log2(n)) * (port.alpha + bytes * (port.beta + port.gamma));
}

double chain_pieces(std::int64_t n, double bytes, const Port& port) {
  if (n <= 2 || port.alpha <= 0) return 1;
  return std::max(1.0, std::sqrt((real(n) - 2) * bytes * (port.beta + port.gamma) / port.alpha));
}

double chain_broadcast(std::int64_t n, double bytes, double pieces, const Port& port) {
  if (n <= 1) return 0;
  return (real(n) - 2 + pieces) * (port.alpha + bytes / pieces * (port.beta + port.gamma));
}

double scatter_gather_broadcast(std::int64_t n, double bytes, const Port& port) {
  if (n <= 1) return 0;
  return (real(ceil_log2(n)) + real(n) - 1) * port.alpha + 2 * others(n) * bytes * port.beta +
         others(n) * bytes * port.gamma;
}

double message(double bytes, const Port& port) { return port.alpha + bytes * port.beta; }

double busbw_factor(Collective op, std::int64_t n) {
  if (n <= 1) return op == Collective::kBroadcast || op == Collective::kReduce || op == Collective::kPointToPoint;
  switch (op) {
    case Collective::kAllReduce: return 2 * others(n);
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllToAll: return others(n);
    case Collective::kBroadcast:
    case Collective::kReduce:
    case Collective::kPointToPoint: return 1;
  }
  return 1;
}

}  // namespace comity::workload::closed_form
