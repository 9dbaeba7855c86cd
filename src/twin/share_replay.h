// SPDX-License-Identifier: Apache-2.0
// Requests for shared GPUs replayed in time: pods arrive when they were created and leave when they have run as long as
// they ran in the trace. One that fits nowhere waits; at each instant with departures the waiting ones are tried again,
// first come first, and one that still does not fit does not hold up the next. Event driven; at equal instants
// departures come before arrivals, arrivals before placement.
//
//   wait           first placement - arrival
//   allocation     time average of GPU given out / capacity, from the first arrival to the last departure
//   fragmentation  time average of F(M) / capacity   (cluster/fragmentation.h)
//   nodes in use   time average of nodes that run anything
//
// A pod that would not fit on an empty node is rejected. A run ends with its sums: pods = finished + rejected, and the
// pool as free as at the beginning. A broken sum is an Error (kFailed).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/table.h"
#include "cluster/fragmentation.h"
#include "cluster/share_placement.h"
#include "sim/statistics.h"
#include "twin/pods.h"

namespace comity::twin {

struct ShareReplayOptions {
  std::vector<cluster::ShareRule> rules;
  std::uint64_t seed = 1;
  cluster::ShareScores scores = cluster::ShareScores::kWhole;
  cluster::ShareTies ties = cluster::ShareTies::kIndex;
  cluster::MixOptions mix{};
  std::size_t threads = 1;
  bool quiet = true;
};

struct ShareReplayRun {
  cluster::ShareRule rule = cluster::ShareRule::kFgd;
  std::uint64_t pods = 0, finished = 0, rejected = 0;
  std::uint64_t waited = 0;  // not placed at the instant of their arrival
  double mean_wait_s = 0, p99_wait_s = 0, max_wait_s = 0;
  double makespan_s = 0;  // first arrival to last departure
  double allocation = 0, fragmentation = 0, nodes_in_use = 0;
  double wall_s = 0;
  std::uint64_t fingerprint = 0;
  bool partial = false;      // interrupted
  sim::BinnedSeries series;  // channels: GPU given out, fragmentation (both in GPUs), nodes in use, pods waiting
};

// One run a rule, the same bytes on any number of threads (wall_s apart). kInput when the list has no times or the
// cluster no GPU.
[[nodiscard]] Result<std::vector<ShareReplayRun>> share_replay(const PodList& pods, const ShareNodes& nodes,
                                                               const ShareReplayOptions& options);

struct ShareReplaySummary {
  const PodList* pods = nullptr;
  const ShareNodes* nodes = nullptr;
  const ShareReplayOptions* options = nullptr;
  std::vector<ShareReplayRun> runs;
  double load_s = 0;
};

[[nodiscard]] Table to_table(const ShareReplaySummary& summary);
[[nodiscard]] std::string to_json(const ShareReplaySummary& summary);  // schema comity.placement/1, mode time
[[nodiscard]] std::string series_csv(const ShareReplaySummary& summary);
[[nodiscard]] std::string share_replay_report(const ShareReplaySummary& summary, const std::string& command);

}  // namespace comity::twin
