// SPDX-License-Identifier: Apache-2.0
#include "plan/swarm.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/rng.h"

namespace comity::plan {
namespace {

constexpr double kSlack = 1e-3;
constexpr int kMostSweeps = 100;  // others may chase each other for ever

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

void add(std::vector<double>& throughputs, const SwarmServer& s, double factor) {
  for (std::int64_t b = s.from; b < s.from + s.blocks; ++b) throughputs[at(b)] += factor * s.throughput;
}

double least(const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); }

// Takes the server out, finds its place, puts it there. Whether it moved.
bool place_again(std::vector<double>& throughputs, SwarmServer& server) {
  add(throughputs, server, -(1 + kSlack));  // a little more, so that rounding never holds it where it is
  const std::int64_t start = choose_start(throughputs, server.blocks);
  add(throughputs, server, kSlack);
  const bool moved = start != server.from;
  server.from = start;
  add(throughputs, server, 1);
  return moved;
}

}  // namespace

double server_throughput(double block_rps, double network, std::int64_t blocks, bool relayed) {
  return std::min(block_rps / ((static_cast<double>(blocks) + 1) / 2), network * (relayed ? 0.2 : 1));
}

double network_rps(double up_bps, double down_bps, std::int64_t hidden) {
  return std::min(up_bps, down_bps) / (16 * static_cast<double>(hidden));
}

std::vector<double> block_throughputs(std::span<const SwarmServer> servers, std::int64_t blocks) {
  std::vector<double> out(at(blocks), 0.0);
  for (const SwarmServer& s : servers) add(out, s, 1);
  return out;
}

std::int64_t choose_start(std::span<const double> throughputs, std::int64_t blocks) {
  const auto all = static_cast<std::int64_t>(throughputs.size());
  COMITY_CHECK(blocks >= 1 && blocks <= all);
  std::vector<double> best;
  std::int64_t start = 0;
  for (std::int64_t i = 0; i + blocks <= all; ++i) {
    std::vector<double> window(throughputs.begin() + i, throughputs.begin() + i + blocks);
    std::sort(window.begin(), window.end());
    if (!best.empty() && !(window < best)) continue;
    best = std::move(window);
    start = i;
  }
  return start;
}

bool should_move(std::vector<SwarmServer> servers, std::size_t self, std::int64_t blocks, double balance_quality,
                 std::uint64_t seed) {
  std::vector<double> throughputs = block_throughputs(servers, blocks);
  const double before = least(throughputs);
  std::vector<double> without = throughputs;
  add(without, servers[self], -(1 + kSlack));
  if (before > kSlack && least(without) <= 0) return false;
  if (!place_again(throughputs, servers[self])) return false;
  Rng rng(seed);
  std::vector<std::size_t> order(servers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  bool moved = true;
  for (int sweep = 0; moved && sweep < kMostSweeps; ++sweep) {
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
    moved = false;
    for (const std::size_t s : order) moved = place_again(throughputs, servers[s]) || moved;
  }
  const double after = least(throughputs);
  if (after < before || after < kSlack) return false;
  return before / after < balance_quality - kSlack;
}

std::vector<SwarmServer> grow_swarm(std::span<const SwarmServer> joining, std::int64_t blocks, double balance_quality,
                                    std::int64_t rounds, std::uint64_t seed) {
  std::vector<SwarmServer> out;
  for (SwarmServer s : joining) {
    s.blocks = std::min(s.blocks, blocks);
    s.from = choose_start(block_throughputs(out, blocks), s.blocks);
    out.push_back(s);
  }
  bool moved = true;
  for (std::int64_t round = 0; moved && round < rounds; ++round) {
    moved = false;
    for (std::size_t s = 0; s < out.size(); ++s) {
      if (!should_move(out, s, blocks, balance_quality, seed + static_cast<std::uint64_t>(round))) continue;
      std::vector<double> throughputs = block_throughputs(out, blocks);
      moved = place_again(throughputs, out[s]) || moved;
    }
  }
  return out;
}

}  // namespace comity::plan
