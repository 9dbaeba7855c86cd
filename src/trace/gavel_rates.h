// SPDX-License-Identifier: Apache-2.0
// Steps a second of Gavel's workloads alone on V100 GPUs. Gavel's traces give the steps of a job and not its run time;
// they were made from run times by these very rates, so dividing by them gives the run times back (to the step that was
// cut off).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace comity::trace {

// simulation_throughputs.json of stanford-futuredata/gavel (MIT licence), "v100", alone ("null"); its generator of
// traces (scheduler/scripts/utils/generate_trace.py) multiplies by them. By job type and number of GPUs: nothing where
// that file has nothing.
[[nodiscard]] std::optional<double> gavel_rate(std::string_view job_type, std::int64_t gpus);

// The rates of an earlier throughput file, which had one a job type whatever the number of GPUs. Traces with seven
// fields (traces/msr) are Philly's jobs multiplied by them. Recovered by setting the trace of virtual cluster 0e4a51
// against Philly's log: for each job type one rate turns the run times of 15 to 31 jobs into exactly their steps.
[[nodiscard]] std::optional<double> gavel_early_rate(std::string_view job_type);

}  // namespace comity::trace
