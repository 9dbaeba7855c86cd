// SPDX-License-Identifier: Apache-2.0
#include "workload/traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>

#include "base/check.h"

namespace comity::workload {

RankGrid::RankGrid(const Execution& e)
    : t_{e.tp, 1},
      c_{e.cp, 1},
      d_{e.dp, 1},
      p_{e.pp, 1},
      e_(e.ep),
      ulysses_(e.context_parallel == ContextParallel::kUlysses) {
  std::int64_t stride = 1;
  std::int64_t nth = 0;
  std::int64_t dp_at = 0;
  std::int64_t cp_at = 0;
  std::int64_t ep_at = 0;
  const auto place = [&](Side& side, std::int64_t* at) {
    side.stride = stride;
    stride *= side.size;
    if (at != nullptr) *at = nth;
  };
  for (const Axis axis : e.order) {
    ++nth;
    switch (axis) {
      case Axis::kTp: place(t_, nullptr); break;
      case Axis::kCp: place(c_, &cp_at); break;
      case Axis::kDp: place(d_, &dp_at); break;
      case Axis::kPp: place(p_, nullptr); break;
      case Axis::kEp: ep_at = nth; break;
    }
  }
  cp_first_ = cp_at < dp_at;
  ep_neighbours_ = ep_at < std::max(dp_at, cp_at);
  COMITY_CHECK(stride == ranks() && (e.dp * e.cp) % e.ep == 0);
}

std::int64_t RankGrid::rank_of(const Coordinates& at) const {
  return at.tp * t_.stride + at.cp * c_.stride + at.dp * d_.stride + at.pp * p_.stride;
}

Coordinates RankGrid::coordinates(std::int64_t rank) const {
  return Coordinates{along(t_, rank), along(c_, rank), along(d_, rank), along(p_, rank)};
}

std::int64_t RankGrid::replica(const Coordinates& at) const {
  return cp_first_ ? at.cp + c_.size * at.dp : at.dp + d_.size * at.cp;
}

void RankGrid::set_replica(Coordinates& at, std::int64_t j) const {
  at.cp = cp_first_ ? j % c_.size : j / d_.size;
  at.dp = cp_first_ ? j / c_.size : j % d_.size;
}

std::int64_t RankGrid::size(GroupKind kind) const {
  switch (kind) {
    case GroupKind::kTp: return t_.size;
    case GroupKind::kCp: return c_.size;
    case GroupKind::kEp: return e_;
    case GroupKind::kDp: return d_.size;
    case GroupKind::kDpCp: return d_.size * c_.size;
    case GroupKind::kExpertDp: return d_.size * c_.size / e_;
    case GroupKind::kPp: return p_.size;
    case GroupKind::kEmbedding: return std::min<std::int64_t>(2, p_.size);
  }
  return 1;
}

std::int64_t RankGrid::position(GroupKind kind, std::int64_t rank) const {
  const Coordinates at = coordinates(rank);
  const std::int64_t copies = size(GroupKind::kExpertDp);
  switch (kind) {
    case GroupKind::kTp: return at.tp;
    case GroupKind::kCp: return at.cp;
    case GroupKind::kEp: return ep_neighbours_ ? replica(at) % e_ : replica(at) / copies;
    case GroupKind::kDp: return at.dp;
    case GroupKind::kDpCp: return replica(at);
    case GroupKind::kExpertDp: return ep_neighbours_ ? replica(at) / e_ : replica(at) % copies;
    case GroupKind::kPp: return at.pp;
    case GroupKind::kEmbedding: return at.pp == 0 ? 0 : at.pp + 1 == p_.size ? 1 : -1;
  }
  return 0;
}

std::int64_t RankGrid::member(GroupKind kind, std::int64_t rank, std::int64_t position) const {
  Coordinates at = coordinates(rank);
  const std::int64_t copies = size(GroupKind::kExpertDp);
  const std::int64_t j = replica(at);
  switch (kind) {
    case GroupKind::kTp: at.tp = position; break;
    case GroupKind::kCp: at.cp = position; break;
    case GroupKind::kEp:
      set_replica(at, ep_neighbours_ ? j / e_ * e_ + position : position * copies + j % copies);
      break;
    case GroupKind::kDp: at.dp = position; break;
    case GroupKind::kDpCp: set_replica(at, position); break;
    case GroupKind::kExpertDp:
      set_replica(at, ep_neighbours_ ? position * e_ + j % e_ : j / copies * copies + position);
      break;
    case GroupKind::kPp: at.pp = position; break;
    case GroupKind::kEmbedding: at.pp = position == 0 ? 0 : p_.size - 1; break;
  }
  return rank_of(at);
}

std::vector<std::int64_t> RankGrid::group_of(GroupKind kind, std::int64_t rank) const {
  std::vector<std::int64_t> out;
  if (position(kind, rank) < 0) return out;
  out.reserve(size(kind));
  for (std::int64_t i = 0; i < size(kind); ++i) out.push_back(member(kind, rank, i));
  return out;
}

std::vector<std::vector<std::int64_t>> RankGrid::groups(GroupKind kind) const {
  std::vector<std::vector<std::int64_t>> out;
  for (std::int64_t rank = 0; rank < ranks(); ++rank) {
    if (position(kind, rank) == 0) out.push_back(group_of(kind, rank));
  }
  return out;
}

std::string_view traffic_name(TrafficKind kind) {
  switch (kind) {
    case TrafficKind::kTp: return "tp";
    case TrafficKind::kCp: return "cp";
    case TrafficKind::kEp: return "ep";
    case TrafficKind::kDp: return "dp";
    case TrafficKind::kExpertDp: return "expert_dp";
    case TrafficKind::kPp: return "pp";
    case TrafficKind::kEmbedding: return "embedding";
  }
  return "";
}

namespace {

class Emitter {
 public:
  Emitter(const RankGrid& grid, std::span<const RankBytes> by_stage,
          const std::function<void(const TrafficEdge&)>& sink)
      : grid_(grid), by_stage_(by_stage), sink_(sink) {}

  // One kind of collective: `bytes` is what each member of a group sends.
  void collective(GroupKind group, TrafficKind kind, double RankBytes::* bytes) const {
    const std::int64_t n = grid_.size(group);
    if (n < 2) return;
    for (std::int64_t first = 0; first < grid_.ranks(); ++first) {
      if (grid_.position(group, first) != 0) continue;
      const std::vector<std::int64_t> members = grid_.group_of(group, first);
      for (std::int64_t i = 0; i < n; ++i) {
        const double sent = by_stage_[grid_.coordinates(members[i]).pp].*bytes;
        if (grid_.all_to_all(group)) {
          for (std::int64_t j = 1; j < n; ++j) {
            emit(members[i], members[(i + j) % n], sent / static_cast<double>(n - 1), kind);
          }
        } else {
          emit(members[i], members[(i + 1) % n], sent, kind);
        }
      }
    }
  }

  void pipelines() const {
    const std::int64_t p = grid_.stages();
    if (p < 2) return;
    for (std::int64_t rank = 0; rank < grid_.ranks(); ++rank) {
      const std::int64_t at = grid_.position(GroupKind::kPp, rank);
      const RankBytes& bytes = by_stage_[at];
      emit(rank, grid_.member(GroupKind::kPp, rank, (at + 1) % p), bytes.pp_next, TrafficKind::kPp);
      emit(rank, grid_.member(GroupKind::kPp, rank, (at + p - 1) % p), bytes.pp_previous, TrafficKind::kPp);
    }
  }

 private:
  void emit(std::int64_t from, std::int64_t to, double bytes, TrafficKind kind) const {
    if (bytes > 0) sink_(TrafficEdge{from, to, bytes, kind});
  }

  const RankGrid& grid_;
  std::span<const RankBytes> by_stage_;
  const std::function<void(const TrafficEdge&)>& sink_;
};

}  // namespace

void traffic(const RankGrid& grid, std::span<const RankBytes> by_stage,
             const std::function<void(const TrafficEdge&)>& sink) {
  COMITY_CHECK(static_cast<std::int64_t>(by_stage.size()) == grid.stages());
  const Emitter emitter(grid, by_stage, sink);
  emitter.collective(GroupKind::kTp, TrafficKind::kTp, &RankBytes::tp);
  emitter.collective(GroupKind::kCp, TrafficKind::kCp, &RankBytes::cp);
  emitter.collective(GroupKind::kEp, TrafficKind::kEp, &RankBytes::ep);
  emitter.collective(GroupKind::kDpCp, TrafficKind::kDp, &RankBytes::dp);
  emitter.collective(GroupKind::kExpertDp, TrafficKind::kExpertDp, &RankBytes::expert_dp);
  emitter.pipelines();
  emitter.collective(GroupKind::kEmbedding, TrafficKind::kEmbedding, &RankBytes::embedding);
}

std::vector<RankBytes> bytes_by_stage(const Model& model, const Execution& execution, const VolumeRules& rules) {
  std::vector<RankBytes> out;
  out.reserve(execution.pp);
  for (std::int64_t rank = 0; rank < execution.pp; ++rank) out.push_back(rank_bytes(model, execution, rank, rules));
  return out;
}

void traffic_csv(const RankGrid& grid, std::span<const RankBytes> by_stage,
                 const std::function<void(std::string_view)>& write) {
  constexpr std::size_t kPiece = 1 << 15;
  std::string out = "from,to,bytes,kind\n";
  traffic(grid, by_stage, [&](const TrafficEdge& edge) {
    fmt::format_to(std::back_inserter(out), "{},{},{},{}\n", edge.from, edge.to, edge.bytes, traffic_name(edge.kind));
    if (out.size() < kPiece) return;
    write(out);
    out.clear();
  });
  if (!out.empty()) write(out);
}

EdgePath path_of(const System& system, std::int64_t from, std::int64_t to) {
  const std::int64_t node = system.joined_gpus();
  if (from / node == to / node) return EdgePath::kNode;
  return from % node == to % node ? EdgePath::kRail : EdgePath::kAcrossRails;
}

std::size_t network_of(const System& system, std::int64_t from, std::int64_t to) {
  for (std::size_t i = 0; i < system.networks.size(); ++i) {
    const std::int64_t domain = system.networks[i].domain;
    if (domain <= 0 || from / domain == to / domain) return i;
  }
  return std::max<std::size_t>(1, system.networks.size()) - 1;
}

double TrafficSums::of(TrafficKind kind) const {
  const auto& row = bytes[static_cast<std::size_t>(kind)];
  return std::accumulate(row.begin(), row.end(), 0.0);
}

double TrafficSums::of(EdgePath path) const {
  return std::accumulate(bytes.begin(), bytes.end(), 0.0, [path](double sum, const std::array<double, 3>& row) {
    return sum + row[static_cast<std::size_t>(path)];
  });
}

TrafficSums traffic_sums(const RankGrid& grid, std::span<const RankBytes> by_stage, const System& system) {
  TrafficSums out;
  out.by_network.resize(std::max<std::size_t>(1, system.networks.size()));
  std::vector<double> beyond(grid.ranks());
  traffic(grid, by_stage, [&](const TrafficEdge& edge) {
    const EdgePath path = path_of(system, edge.from, edge.to);
    out.bytes[static_cast<std::size_t>(edge.kind)][static_cast<std::size_t>(path)] += edge.bytes;
    out.by_network[network_of(system, edge.from, edge.to)] += edge.bytes;
    if (path != EdgePath::kNode) beyond[edge.from] += edge.bytes;
    out.total += edge.bytes;
  });
  out.most_beyond_node = *std::max_element(beyond.begin(), beyond.end());
  return out;
}

}  // namespace comity::workload
