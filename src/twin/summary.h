// SPDX-License-Identifier: Apache-2.0
// The results of a replay as a table, as the JSON contract comity.replay/1, and as CSV rows.
#pragma once

#include <string>
#include <vector>

#include "base/table.h"
#include "twin/replay.h"

namespace comity::twin {

struct ReplaySummary {
  const trace::Trace* trace = nullptr;
  double load_s = 0;
  std::uint64_t nodes = 0;
  std::uint64_t gpus = 0;
  std::string placement;
  std::vector<RunResult> runs;
  std::vector<std::string> notes;  // what the results have to be read with, see twin/replay_notes.h
};

// Results of a run in which no job has ended are "-" here, null in JSON and empty in CSV; a run that was interrupted is
// marked as partial, and never as the best.
[[nodiscard]] Table to_table(const ReplaySummary& summary);
[[nodiscard]] std::string to_json(const ReplaySummary& summary);
// One header line, one line a run.
[[nodiscard]] std::string to_csv(const ReplaySummary& summary);
// Time series of all runs (needs detail): policy, begin_s, gpus_used, gpus_waiting, jobs_waiting, jobs_running.
[[nodiscard]] std::string series_csv(const ReplaySummary& summary);
// Every job of every run (needs detail).
[[nodiscard]] std::string jobs_csv(const ReplaySummary& summary, const Workload& workload);

}  // namespace comity::twin
