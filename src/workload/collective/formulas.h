// SPDX-License-Identifier: Apache-2.0
// Closed forms of the standard collective algorithms (Thakur, Rabenseifner and Gropp 2005; Sanders, Speck and Traeff
// 2009 for the two trees; Bruck et al. 1997). n ranks, S bytes as collective_cost.h counts them, seconds out. Every
// function is 0 for one rank. Plain functions of numbers: safe anywhere.
#pragma once

#include <cstdint>
#include <span>

#include "workload/collective_cost.h"

namespace comity::workload::closed_form {

// A rank's full-duplex port: a message of b bytes takes alpha + b beta, reducing b bytes takes b gamma.
struct Port {
  double alpha = 0;  // s a message
  double beta = 0;   // s a byte
  double gamma = 0;  // s a reduced byte
};

[[nodiscard]] std::int64_t ceil_log2(std::int64_t n);   // 0 for n <= 1
[[nodiscard]] std::int64_t floor_log2(std::int64_t n);  // 0 for n <= 1

// All-reduce.
[[nodiscard]] double ring_all_reduce(std::int64_t n, double bytes, const Port& port);
[[nodiscard]] double recursive_doubling_all_reduce(std::int64_t n, double bytes, const Port& port);
// Rabenseifner. Where n is no power of two, the ranks beyond it fold into a partner first and get the result last.
[[nodiscard]] double halving_doubling_all_reduce(std::int64_t n, double bytes, const Port& port);
// k pieces up and down one binary tree: an inner rank's port carries two children.
[[nodiscard]] double tree_all_reduce(std::int64_t n, double bytes, double pieces, const Port& port);
// Two trees, each with half of the bytes; a rank is inner in one of them.
[[nodiscard]] double double_tree_all_reduce(std::int64_t n, double bytes, double pieces, const Port& port);
// Everybody sends to everybody at once, on a switch; then the same back.
[[nodiscard]] double direct_all_reduce(std::int64_t n, double bytes, const Port& port);
// The same where a link of its own (port.beta each) joins every two ranks.
[[nodiscard]] double full_mesh_all_reduce(std::int64_t n, double bytes, const Port& port);
// Everybody gathers all and reduces by itself.
[[nodiscard]] double one_shot_all_reduce(std::int64_t n, double bytes, const Port& port);
// The switch adds up (NVLS, SHARP): a port carries S + S/n each way.
[[nodiscard]] double in_network_all_reduce(std::int64_t n, double bytes, const Port& port);
// Reduce-scatter in the node, all-reduce of S/g along each rail, all-gather in the node.
[[nodiscard]] double hierarchical_all_reduce(std::int64_t per_node, std::int64_t nodes, double bytes,
                                             const Port& inside, const Port& between);

// Reduce-scatter; all-gather with gamma = 0.
[[nodiscard]] double ring_scatter(std::int64_t n, double bytes, const Port& port);
[[nodiscard]] double halving_scatter(std::int64_t n, double bytes, const Port& port);  // Bruck: any n

// All-to-all.
[[nodiscard]] double pairwise_all_to_all(std::int64_t n, double bytes, const Port& port);
[[nodiscard]] double bruck_all_to_all(std::int64_t n, double bytes, const Port& port);
[[nodiscard]] double ring_all_to_all(std::int64_t n, double bytes, const Port& port);  // store and forward
[[nodiscard]] double hierarchical_all_to_all(std::int64_t per_node, std::int64_t nodes, double bytes,
                                             const Port& inside, const Port& between);
// No schedule is faster when rank i has matrix[i * n + j] bytes for rank j: the fullest port, out or in. The diagonal
// stays where it is.
[[nodiscard]] double skewed_all_to_all_bound(std::span<const double> matrix, std::int64_t n, const Port& port);

// Broadcast; reduce with gamma.
[[nodiscard]] double binomial_broadcast(std::int64_t n, double bytes, const Port& port);
[[nodiscard]] double chain_pieces(std::int64_t n, double bytes, const Port& port);  // the best k, at least 1
[[nodiscard]] double chain_broadcast(std::int64_t n, double bytes, double pieces, const Port& port);
[[nodiscard]] double scatter_gather_broadcast(std::int64_t n, double bytes, const Port& port);

[[nodiscard]] double message(double bytes, const Port& port);

// busbw / algbw as nccl-tests prints them, algbw = S / time.
[[nodiscard]] double busbw_factor(Collective op, std::int64_t n);

}  // namespace comity::workload::closed_form
