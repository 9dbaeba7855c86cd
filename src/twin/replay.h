// SPDX-License-Identifier: Apache-2.0
// Replays a job trace on a cluster under one policy: the policy object is the live one, the clock is simulated. Event
// driven: time jumps from one arrival, end or wake-up to the next. At equal instants releases come before arrivals,
// arrivals before decisions; ties between jobs go by submit time, then id (or file order).
//
// Quantities of a finished job (all times in seconds when printed):
//   JCT    end - submit
//   queue  JCT - time it ran (run time includes overhead charged for preemptions)
// makespan = last end - first submit; GPU utilisation = GPU time used / (GPUs x makespan).
//
// A run ends with its conservation sums: submitted = finished + stopped + rejected + unfinished, and the integral of
// GPUs held (shared ones once for each holder) = the sum over jobs of GPUs x run time. A broken sum is an Error.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/params.h"
#include "base/result.h"
#include "cluster/spec.h"
#include "sched/policy.h"
#include "sim/statistics.h"
#include "trace/trace.h"
#include "twin/deadlines.h"

namespace comity::twin {

enum class Ties { kId, kFile };
enum class Mode { kStrict, kSkip };
// kHistory: from the jobs that have finished (twin/history.h); before that the user's own word, else an hour.
enum class Estimates { kOracle, kUser, kNoisy, kHistory };

struct ReplayOptions {
  cluster::ClusterSpec cluster;
  cluster::Placement placement = cluster::Placement::kBestFit;
  Ties ties = Ties::kId;
  Mode mode = Mode::kStrict;
  Estimates estimates = Estimates::kOracle;
  double noise_percent = 30;  // kNoisy: estimate = duration * (1 + N(0, noise/100)), drawn again outside (0.5, 2)
  std::uint64_t seed = 1;
  const profile::Colocation* colocation = nullptr;  // for policies that share GPUs; must outlive the run
  const profile::Rates* rates = nullptr;            // speeds on types of GPUs; none: all alike. Must outlive the run
  bool detail = false;                              // keep what the report and jobs.csv need
  bool quiet = true;                                // no progress line
};

// The tenants of a trace (its users, where jobs have none), with equal shares, by name.
[[nodiscard]] std::vector<cluster::TenantSpec> tenants_of(const trace::Trace& trace);

// A trace in the order in which its jobs become known. JobId i is the i-th of these. The trace must outlive it.
class Workload {
 public:
  Workload(const trace::Trace& trace, Ties ties);
  [[nodiscard]] std::size_t size() const { return trace_->rows.size(); }
  [[nodiscard]] std::uint32_t row_of(std::size_t job) const {
    return order_.empty() ? static_cast<std::uint32_t>(job) : order_[job];
  }
  [[nodiscard]] const trace::Row& row(std::size_t job) const { return trace_->rows[row_of(job)]; }
  [[nodiscard]] const trace::Trace& trace() const { return *trace_; }
  // The id as the file has it.
  [[nodiscard]] std::string id_text(std::size_t job) const;

 private:
  const trace::Trace* trace_;
  std::vector<std::uint32_t> order_;  // empty: the file's own order
};

struct Rejection {
  std::string reason;
  std::uint64_t jobs = 0;
  std::vector<std::string> examples;  // ids, the first ten
};

struct JobOutcome {
  Time first_start = -1;
  Time end = -1;
  Time ran = 0;
  std::uint32_t preemptions = 0;
  bool stopped = false;
};

// A stretch of one node's GPUs held by one job.
struct Stretch {
  std::uint32_t job = 0;
  std::uint32_t node = 0;
  std::uint32_t gpus = 0;
  Time start = 0;
  Time end = 0;
};

struct Detail {
  std::vector<JobOutcome> jobs;
  std::vector<Stretch> stretches;  // empty under Placement::kCount; the first kMaxStretches
  sim::BinnedSeries series;        // channels: GPUs in use, GPUs waited for, jobs waiting, jobs running
};
inline constexpr std::size_t kMaxStretches = 2'000'000;

struct RunResult {
  std::string policy;
  std::map<std::string, std::string> parameters;
  std::uint64_t submitted = 0;
  std::uint64_t finished = 0;
  std::uint64_t stopped = 0;  // ended by the policy before their work was done
  std::uint64_t rejected = 0;
  std::uint64_t unfinished = 0;
  double avg_jct_s = 0, median_jct_s = 0, p99_jct_s = 0;
  double avg_queue_s = 0, median_queue_s = 0, p99_queue_s = 0, max_queue_s = 0;
  double makespan_s = 0;
  std::uint64_t preemptions = 0;
  std::uint64_t migrations = 0;
  std::vector<std::pair<std::string, double>> policy_figures;  // Policy::figures() at the end
  std::optional<sched::Fairness> fairness;                     // Policy::fairness() at the end
  DeadlineResult deadlines;                                    // all 0 where no job has one
  std::uint64_t resizes = 0;                                   // running jobs that were given another number of GPUs
  std::uint64_t shared = 0;                                    // jobs that were started on the GPUs of another
  double gpu_utilization = 0;
  std::uint64_t events = 0;
  double wall_s = 0;
  std::uint64_t peak_rss_bytes = 0;
  std::uint64_t fingerprint = 0;
  bool partial = false;  // interrupted
  std::vector<Rejection> rejections;
  std::vector<Detail> detail;  // one, or none
};

// Errors: kInput when jobs can never fit and mode is strict (all of them named, up to a limit), kFailed when jobs stay
// unfinished or a conservation sum is broken.
[[nodiscard]] Result<RunResult> replay(const Workload& workload, const sched::PolicyInfo& policy, const Params& params,
                                       const ReplayOptions& options);

// Several policies, `threads` at a time; results in the order asked for, the same bytes on any number of threads
// (wall_s and peak_rss_bytes apart).
[[nodiscard]] Result<std::vector<RunResult>> replay_all(const Workload& workload,
                                                        const std::vector<const sched::PolicyInfo*>& policies,
                                                        const Params& params, const ReplayOptions& options,
                                                        std::size_t threads);

}  // namespace comity::twin
