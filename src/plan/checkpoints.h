// SPDX-License-Identifier: Apache-2.0
// Work that is interrupted at random and goes on from its last checkpoint: how long it takes on average, how often to
// write, and one run of it by chance. Interruptions come as a Poisson process of rate r; after each the work since the
// last checkpoint is lost and a restart takes R seconds, during which it can be interrupted again.
//
// Young, CACM 1974: tau = sqrt(2 C M); Daly, FGCS 2006: the same with higher terms and the exact mean,
//   E[a segment of tau + C] = e^(r R) (e^(r (tau + C)) - 1) / r,
// where C is the time of writing and M = 1/r. O(1) each; a simulated run is O(segments + interruptions).
#pragma once

#include <cstdint>

namespace comity::plan {

struct Interruptions {
  double rate_per_s = 0;  // of all machines together, any of which stops the work
  double write_s = 0;     // C
  double restart_s = 0;   // R
};

// Work of `work_s` seconds in segments of `interval_s`, the last one shorter, each followed by a write.
[[nodiscard]] double expected_time_s(const Interruptions& what, double work_s, double interval_s);
[[nodiscard]] double young_interval_s(const Interruptions& what);
[[nodiscard]] double daly_interval_s(const Interruptions& what);
// The interval of least expected time per work, by golden section; infinite without interruptions.
[[nodiscard]] double best_interval_s(const Interruptions& what);

struct InterruptedRun {
  double time_s = 0;
  std::int64_t interruptions = 0;
  std::int64_t checkpoints = 0;
  double lost_s = 0;  // work done twice, and restarts
};
// O(interruptions), of which it has at most 10^7: beyond, time_s is infinite.
[[nodiscard]] InterruptedRun simulate_run(const Interruptions& what, double work_s, double interval_s,
                                          std::uint64_t seed, std::uint64_t stream = 0);

}  // namespace comity::plan
