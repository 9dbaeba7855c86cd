// SPDX-License-Identifier: Apache-2.0
#include "workload/collective/schedule.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <string>
#include <utility>

#include "workload/collective/trees.h"

namespace comity::workload {
namespace {

using Steps = std::vector<CollectiveStep>;

// Collects messages; beyond the bound it only remembers that there were more.
class Builder {
 public:
  explicit Builder(std::int32_t ranks) : n_(ranks) {}
  void send(std::int32_t round, std::int32_t from, std::int32_t to, std::int64_t chunk) {
    if (steps_.size() >= kMostScheduleSteps) {
      full_ = true;
    } else {
      steps_.push_back({round, from, to, static_cast<std::int32_t>(chunk), 0, false});
    }
  }
  [[nodiscard]] std::int32_t n() const { return n_; }
  [[nodiscard]] std::int32_t after(std::int32_t rank, std::int32_t by) const { return (rank + by) % n_; }
  [[nodiscard]] bool full() const { return full_; }
  [[nodiscard]] Steps take() { return std::move(steps_); }

 private:
  std::int32_t n_;
  Steps steps_;
  bool full_ = false;
};

std::int32_t rounds_of(const Steps& steps) {
  std::int32_t rounds = 0;
  for (const CollectiveStep& step : steps) rounds = std::max(rounds, step.round + 1);
  return rounds;
}

// From `source` over all edges of the tree, away from it.
void flood(Builder& out, const RankTree& tree, std::int32_t source, std::int32_t first, std::int32_t chunk) {
  const auto children = tree.children();
  std::vector<std::pair<std::int32_t, std::int32_t>> reached = {{source, -1}};  // rank, where it came from
  std::vector<std::int32_t> round = {first};
  for (std::size_t i = 0; i < reached.size() && !out.full(); ++i) {
    const std::int32_t rank = reached[i].first;
    const std::int32_t before = reached[i].second;
    const auto go = [&](std::int32_t to) {
      if (to < 0 || to == before) return;
      out.send(round[i], rank, to, chunk);
      reached.emplace_back(to, rank);
      round.push_back(round[i] + 1);
    };
    go(tree.parent[static_cast<std::size_t>(rank)]);
    for (const std::int32_t child : children[static_cast<std::size_t>(rank)]) go(child);
  }
}

// Doubling: after round b a rank has the chunks of the 2^b ranks around it. Ranks beyond the power of two give theirs
// to a partner first and get the others last.
void doubling_gather(Builder& out) {
  const std::int32_t n = out.n();
  const auto power = static_cast<std::int32_t>(std::bit_floor(static_cast<std::uint32_t>(n)));
  const std::int32_t first = n > power ? 1 : 0;
  for (std::int32_t extra = power; extra < n; ++extra) out.send(0, extra, extra - power, extra);
  std::int32_t round = first;
  for (std::int32_t bit = 1; bit < power; bit *= 2, ++round) {
    for (std::int32_t rank = 0; rank < power; ++rank) {
      for (std::int32_t owner = rank / bit * bit; owner < (rank / bit + 1) * bit; ++owner) {
        out.send(round, rank, rank ^ bit, owner);
        if (owner + power < n) out.send(round, rank, rank ^ bit, owner + power);
      }
    }
  }
  for (std::int32_t extra = power; extra < n; ++extra) {
    for (std::int32_t chunk = 0; chunk < n; ++chunk) {
      if (chunk != extra) out.send(round, extra - power, extra, chunk);
    }
  }
}

void gather(Builder& out, CollectiveAlgorithm algorithm) {
  const std::int32_t n = out.n();
  if (algorithm == CollectiveAlgorithm::kHalvingDoubling) return doubling_gather(out);
  if (algorithm == CollectiveAlgorithm::kTree) {
    const RankTree tree = binary_tree(n);
    for (std::int32_t owner = 0; owner < n && !out.full(); ++owner) flood(out, tree, owner, 0, owner);
    return;
  }
  for (std::int32_t d = 1; d < n && !out.full(); ++d) {
    for (std::int32_t rank = 0; rank < n; ++rank) {
      if (algorithm == CollectiveAlgorithm::kRing) {
        out.send(d - 1, rank, out.after(rank, 1), out.after(rank, n - d + 1));
      } else {
        out.send(algorithm == CollectiveAlgorithm::kDirect ? 0 : d - 1, rank, out.after(rank, d), rank);
      }
    }
  }
}

void broadcast(Builder& out, CollectiveAlgorithm algorithm, std::int32_t pieces) {
  const std::int32_t n = out.n();
  const RankTree tree = binary_tree(n);
  for (std::int32_t chunk = 0; chunk < pieces && !out.full(); ++chunk) {
    if (algorithm == CollectiveAlgorithm::kTree) flood(out, tree, 0, chunk, chunk);
    for (std::int32_t to = 1; to < n; ++to) {
      switch (algorithm) {
        case CollectiveAlgorithm::kRing: out.send(chunk + to - 1, to - 1, to, chunk); break;
        case CollectiveAlgorithm::kDirect: out.send(0, 0, to, chunk); break;
        case CollectiveAlgorithm::kPairwise: out.send(to - 1, 0, to, chunk); break;
        case CollectiveAlgorithm::kHalvingDoubling: {
          const auto high = static_cast<std::uint32_t>(to);
          out.send(std::bit_width(high) - 1, to - static_cast<std::int32_t>(std::bit_floor(high)), to, chunk);
          break;
        }
        case CollectiveAlgorithm::kTree: break;
      }
    }
  }
}

// A block's way from s to d along the tree: up to where the ways to the root meet, then down.
std::vector<std::int32_t> tree_path(const RankTree& tree, std::int32_t s, std::int32_t d) {
  const auto to_root = [&](std::int32_t rank) {
    std::vector<std::int32_t> path;
    for (; rank >= 0; rank = tree.parent[static_cast<std::size_t>(rank)]) path.push_back(rank);
    return path;
  };
  std::vector<std::int32_t> up = to_root(s);
  std::vector<std::int32_t> down = to_root(d);
  while (up.size() > 1 && down.size() > 1 && up[up.size() - 2] == down[down.size() - 2]) {
    up.pop_back();
    down.pop_back();
  }
  up.insert(up.end(), down.rbegin() + 1, down.rend());
  return up;
}

void exchange(Builder& out, CollectiveAlgorithm algorithm) {
  const std::int32_t n = out.n();
  const RankTree tree = binary_tree(n);
  for (std::int32_t s = 0; s < n && !out.full(); ++s) {
    for (std::int32_t distance = 1; distance < n; ++distance) {
      const std::int32_t d = out.after(s, distance);
      const std::int64_t block = std::int64_t{s} * n + d;
      if (algorithm == CollectiveAlgorithm::kDirect) out.send(0, s, d, block);
      if (algorithm == CollectiveAlgorithm::kPairwise) out.send(distance - 1, s, d, block);
      if (algorithm == CollectiveAlgorithm::kRing) {
        for (std::int32_t r = 0; r < distance; ++r) out.send(r, out.after(s, r), out.after(s, r + 1), block);
      }
      if (algorithm == CollectiveAlgorithm::kHalvingDoubling) {
        for (std::int32_t bit = 1, b = 0; bit <= distance; bit *= 2, ++b) {
          const std::int32_t at = out.after(s, distance & (bit - 1));
          if ((distance & bit) != 0) out.send(b, at, out.after(at, bit), block);
        }
      }
      if (algorithm == CollectiveAlgorithm::kTree) {
        const std::vector<std::int32_t> path = tree_path(tree, s, d);
        for (std::size_t i = 1; i < path.size(); ++i) {
          out.send(static_cast<std::int32_t>(i) - 1, path[i - 1], path[i], block);
        }
      }
    }
  }
}

// Whoever sent a chunk in a gather gets it back, added up, in a reduce-scatter; the same for broadcast and reduce.
Steps backwards(const Steps& steps) {
  const std::int32_t rounds = rounds_of(steps);
  Steps reversed;
  reversed.reserve(steps.size());
  for (const CollectiveStep& step : steps) {
    reversed.push_back({rounds - 1 - step.round, step.to, step.from, step.chunk, 0, true});
  }
  return reversed;
}

Steps there_and_back(const Steps& spread) {
  Steps steps = backwards(spread);
  const std::int32_t rounds = rounds_of(spread);
  for (CollectiveStep step : spread) {
    step.round += rounds;
    steps.push_back(step);
  }
  return steps;
}

void double_tree(Builder& out, std::int32_t pieces) {
  const auto [even, odd] = double_binary_tree(out.n());
  for (std::int32_t chunk = 0; chunk < pieces && !out.full(); ++chunk) {
    const RankTree& tree = chunk % 2 == 0 ? even : odd;
    flood(out, tree, tree.root(), chunk / 2, chunk);
  }
}

void spread(Builder& out, Collective op, CollectiveAlgorithm algorithm, std::int32_t pieces) {
  switch (op) {
    case Collective::kAllReduce:
      if (algorithm == CollectiveAlgorithm::kTree) return double_tree(out, pieces);
      return gather(out, algorithm);
    case Collective::kAllGather:
    case Collective::kReduceScatter: return gather(out, algorithm);
    case Collective::kBroadcast:
    case Collective::kReduce: return broadcast(out, algorithm, pieces);
    case Collective::kAllToAll: return exchange(out, algorithm);
    case Collective::kPointToPoint: return;
  }
}

std::int32_t chunks_of(Collective op, CollectiveAlgorithm algorithm, std::int32_t ranks, std::int32_t pieces) {
  if (op == Collective::kAllToAll) return ranks * ranks;
  const bool tree = op == Collective::kAllReduce && algorithm == CollectiveAlgorithm::kTree;
  return tree || op == Collective::kBroadcast || op == Collective::kReduce ? pieces : ranks;
}

// Every rank sends at least one chunk to every other one, or gets every piece; a ring passes a block on n/2 times.
std::size_t least_steps(Collective op, CollectiveAlgorithm algorithm, std::int32_t ranks, std::int32_t pieces) {
  const auto n = static_cast<std::size_t>(ranks);
  if (op == Collective::kAllToAll && algorithm == CollectiveAlgorithm::kRing) return n * n * (n - 1) / 2;
  const bool pieced = op == Collective::kBroadcast || op == Collective::kReduce;
  return (n - 1) * (pieced ? static_cast<std::size_t>(pieces) : n);
}

tl::unexpected<Error> bad(std::string field, std::string message, std::string hint) {
  return fail(Error{.code = Code::kInput,
                    .message = std::move(message),
                    .file = {},
                    .line = 0,
                    .field = std::move(field),
                    .hint = std::move(hint),
                    .cause = {}});
}

}  // namespace

Result<CollectiveSchedule> make_schedule(Collective op, CollectiveAlgorithm algorithm, std::int32_t ranks,
                                         std::int64_t bytes, std::int32_t pieces) {
  if (op == Collective::kPointToPoint) return bad("op", "one message has no schedule", "take a collective operation");
  if (ranks < 1 || ranks > kMostScheduleRanks) {
    return bad("ranks", std::to_string(ranks) + " ranks", "take 1 to " + std::to_string(kMostScheduleRanks));
  }
  if (bytes < 0 || bytes > std::int64_t{1} << 50) {
    return bad("bytes", std::to_string(bytes) + " bytes", "take 0 to 2^50");
  }
  if (pieces < 1 || pieces > 65536) return bad("pieces", std::to_string(pieces) + " pieces", "take 1 to 65536");
  const bool trees = op == Collective::kAllReduce && algorithm == CollectiveAlgorithm::kTree;
  Builder builder(ranks);
  const bool fits = trees || least_steps(op, algorithm, ranks, pieces) <= kMostScheduleSteps;
  if (fits) spread(builder, op, algorithm, pieces);
  if (!fits || builder.full()) {
    return bad("ranks", "more than " + std::to_string(kMostScheduleSteps) + " messages", "take fewer ranks or pieces");
  }
  CollectiveSchedule schedule{op, algorithm, ranks, chunks_of(op, algorithm, ranks, pieces), 0, builder.take()};
  if (op == Collective::kAllReduce) schedule.steps = there_and_back(schedule.steps);
  if (op == Collective::kReduceScatter || op == Collective::kReduce) schedule.steps = backwards(schedule.steps);
  schedule.rounds = rounds_of(schedule.steps);
  // A block of an all-to-all is rank d's share of its sender's buffer.
  const std::int64_t parts = op == Collective::kAllToAll ? ranks : schedule.chunks;
  for (CollectiveStep& step : schedule.steps) {
    const std::int64_t part = step.chunk % parts;
    step.bytes = bytes / parts + (part < bytes % parts ? 1 : 0);
  }
  const auto earlier = [](const CollectiveStep& a, const CollectiveStep& b) { return a.round < b.round; };
  std::stable_sort(schedule.steps.begin(), schedule.steps.end(), earlier);
  return schedule;
}

std::string_view collective_algorithm_name(CollectiveAlgorithm algorithm) {
  switch (algorithm) {
    case CollectiveAlgorithm::kRing: return "ring";
    case CollectiveAlgorithm::kTree: return "tree";
    case CollectiveAlgorithm::kDirect: return "direct";
    case CollectiveAlgorithm::kPairwise: return "pairwise";
    case CollectiveAlgorithm::kHalvingDoubling: return "halving_doubling";
  }
  return "";
}

}  // namespace comity::workload
