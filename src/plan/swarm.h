// SPDX-License-Identifier: Apache-2.0
// How servers of a swarm choose what to serve, after Petals (Borzunov et al., ACL 2023 demonstrations and its public
// description of the rules; docs/systems/parallax-petals.md). Blocks are a model's layers. O(blocks x n log n) a
// choice; rebalancing repeats that for every server until nobody moves.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace comity::plan {

// Requests a second of a server with n blocks: a request passes (n + 1) / 2 of them on average, and its activations
// the network; a fifth of the network where a relay is in between.
[[nodiscard]] double server_throughput(double block_rps, double network_rps, std::int64_t blocks, bool relayed);
// min(up, down) bits a second over 16 bits a hidden element.
[[nodiscard]] double network_rps(double up_bps, double down_bps, std::int64_t hidden);

struct SwarmServer {
  std::int64_t from = 0;
  std::int64_t blocks = 0;
  double throughput = 0;
};
// A block's throughput is the sum of its servers'.
[[nodiscard]] std::vector<double> block_throughputs(std::span<const SwarmServer> servers, std::int64_t blocks);
// The start whose n blocks are the worst off: least sorted(throughputs[i .. i + n]), compared element by element; the
// first of equals.
[[nodiscard]] std::int64_t choose_start(std::span<const double> throughputs, std::int64_t blocks);

// Whether server `self` should move: if it and then all others moved to where they would go now, would the slowest
// block be so much better that before / after < balance_quality - 1e-3? Never when its leaving opens a gap. `seed`: the
// order in which others move.
[[nodiscard]] bool should_move(std::vector<SwarmServer> servers, std::size_t self, std::int64_t blocks,
                               double balance_quality, std::uint64_t seed);
// Servers join in order; then each in turn moves while should_move says so, at most `rounds` times all of them.
[[nodiscard]] std::vector<SwarmServer> grow_swarm(std::span<const SwarmServer> joining, std::int64_t blocks,
                                                  double balance_quality, std::int64_t rounds, std::uint64_t seed);

}  // namespace comity::plan
