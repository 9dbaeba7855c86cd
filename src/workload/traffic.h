// SPDX-License-Identifier: Apache-2.0
// Who sends how much to whom: ranks, groups and the traffic matrix of one training step.
//
// Ranks are numbered as Megatron-LM numbers them: axes innermost first, by default tp-cp-ep-dp-pp, so that rank =
// ((pp d + dp) c + cp) t + tp. Expert parallelism has no axis of its own: its groups lie inside of cp x dp, whose ranks
// are counted as j in the order of the axes; neighbours share a group where ep stands before dp (position j mod e),
// ranks d c / e apart where it stands behind.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "workload/execution.h"
#include "workload/system.h"
#include "workload/volumes.h"

namespace comity::workload {

// kDpCp: who shares gradients of dense parameters; kExpertDp: of experts. kEmbedding: first and last pipeline rank.
enum class GroupKind : std::uint8_t { kTp, kCp, kEp, kDp, kDpCp, kExpertDp, kPp, kEmbedding };

struct Coordinates {
  std::int64_t tp = 0;
  std::int64_t cp = 0;
  std::int64_t dp = 0;
  std::int64_t pp = 0;
  friend bool operator==(const Coordinates&, const Coordinates&) = default;
};

class RankGrid {
 public:
  explicit RankGrid(const Execution& execution);  // which has passed check_execution

  [[nodiscard]] std::int64_t ranks() const { return t_.size * c_.size * d_.size * p_.size; }
  [[nodiscard]] std::int64_t stages() const { return p_.size; }
  [[nodiscard]] std::int64_t rank_of(const Coordinates& at) const;
  [[nodiscard]] Coordinates coordinates(std::int64_t rank) const;

  [[nodiscard]] std::int64_t size(GroupKind kind) const;  // of each group
  // Where the rank stands in its group: 0 .. size - 1; -1: in none (kEmbedding).
  [[nodiscard]] std::int64_t position(GroupKind kind, std::int64_t rank) const;
  // The rank at `position` of the group that `rank` belongs to.
  [[nodiscard]] std::int64_t member(GroupKind kind, std::int64_t rank, std::int64_t position) const;
  [[nodiscard]] std::vector<std::int64_t> group_of(GroupKind kind, std::int64_t rank) const;
  [[nodiscard]] std::vector<std::vector<std::int64_t>> groups(GroupKind kind) const;  // by their first rank

  [[nodiscard]] bool all_to_all(GroupKind kind) const {
    return kind == GroupKind::kEp || (kind == GroupKind::kCp && ulysses_);
  }

 private:
  struct Side {
    std::int64_t size = 1;
    std::int64_t stride = 1;
  };
  [[nodiscard]] static std::int64_t along(const Side& side, std::int64_t rank) {
    return rank / side.stride % side.size;
  }
  [[nodiscard]] std::int64_t replica(const Coordinates& at) const;  // j
  void set_replica(Coordinates& at, std::int64_t j) const;

  Side t_, c_, d_, p_;
  std::int64_t e_ = 1;
  bool cp_first_ = true;       // j = cp + c dp, else dp + d cp
  bool ep_neighbours_ = true;  // position j mod e
  bool ulysses_ = false;
};

enum class TrafficKind : std::uint8_t { kTp, kCp, kEp, kDp, kExpertDp, kPp, kEmbedding };
inline constexpr std::size_t kTrafficKinds = 7;
[[nodiscard]] std::string_view traffic_name(TrafficKind kind);

struct TrafficEdge {
  std::int64_t from = 0;
  std::int64_t to = 0;
  double bytes = 0;
  TrafficKind kind = TrafficKind::kTp;
};

// Every edge that carries something, kind by kind, group by group: rings send to the next rank, all-to-all to every
// other rank alike, pipelines to their neighbours. `by_stage`: one entry a pipeline rank. What leaves a rank adds up to
// its entry. Needs no memory beyond `by_stage`.
void traffic(const RankGrid& grid, std::span<const RankBytes> by_stage,
             const std::function<void(const TrafficEdge&)>& sink);
[[nodiscard]] std::vector<RankBytes> bytes_by_stage(const Model& model, const Execution& execution,
                                                    const VolumeRules& rules = {});

// "from,to,bytes,kind" and a line an edge, in pieces of some kilobytes.
void traffic_csv(const RankGrid& grid, std::span<const RankBytes> by_stage,
                 const std::function<void(std::string_view)>& write);

// Where an edge runs: inside a node, between GPUs of the same number in two nodes (a rail: one switch away in a rail
// network), or between GPUs of different numbers.
enum class EdgePath : std::uint8_t { kNode, kRail, kAcrossRails };
[[nodiscard]] EdgePath path_of(const System& system, std::int64_t from, std::int64_t to);
// The innermost network of the system that joins both; networks.size() - 1 where none says so.
[[nodiscard]] std::size_t network_of(const System& system, std::int64_t from, std::int64_t to);

struct TrafficSums {
  std::array<std::array<double, 3>, kTrafficKinds> bytes{};  // by kind and path
  std::vector<double> by_network;                            // by network_of
  double most_beyond_node = 0;                               // that one GPU sends out of its node
  double total = 0;
  [[nodiscard]] double of(TrafficKind kind) const;
  [[nodiscard]] double of(EdgePath path) const;
};
[[nodiscard]] TrafficSums traffic_sums(const RankGrid& grid, std::span<const RankBytes> by_stage, const System& system);

}  // namespace comity::workload
