// SPDX-License-Identifier: Apache-2.0
// Synthetic traces. All are drawn from base/rng.h: the same options and seed give the same jobs for ever.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/rng.h"
#include "trace/trace.h"

namespace comity::trace {

// A week of the campus cluster of SING (ASPLOS'25), from the paper's figures on usage and job shape.
//
// Arrivals are a Poisson process whose rate in hour h of weekday d is
//     V [ (1 - phi) w_d w_h / (sum_d w_d sum_h w_h) + phi / 168 ]      jobs an hour,
// with the paper's counts w_d (tasks by weekday, Sunday first) and w_h (by hour). Sizes are the paper's nodes x GPUs a
// node. Run times are scale * (hours of the paper's histogram, whose bars are centred on whole hours: uniform within
// half an hour), at most 24 h; their mean is 9.78 h * scale. V = load * 168 / (10.08 * 9.78 * scale) jobs a week is
// what keeps `load` GPUs busy. A warm-up day (the Saturday) comes first: t = 0 is its start, the week begins at 24 h.
struct SingOptions {
  double scale = 0.15;
  double phi = 0.7;   // share of arrivals that know no hour, 0 to 1
  double load = 100;  // GPUs
  int weeks = 1;
  std::uint64_t seed = 1;
};
[[nodiscard]] Result<Trace> synth_sing(const SingOptions& options);
// The share of the arrivals of a week in each hour, Sunday 0 h first; the sum is 1.
[[nodiscard]] std::array<double, 168> sing_arrival_weights(double phi);

// A trace of any length like another one: block bootstrap. Time is cut into blocks (a day or an hour); the k-th block
// of the new trace is a block of the old one drawn from those at the same place in the week (any, if the old trace has
// none whole there), with all its jobs at their offsets. So bursts, and the rhythm of day and week, stay. A load
// factor f overlays ceil(f) such draws, of the last of which a job is kept with probability f - ceil(f) + 1.
// Weekdays count from the trace's origin. Jobs are numbered anew, in order of submission.
struct BootstrapOptions {
  double weeks = 1;
  bool by_hour = false;  // blocks of an hour; else of a day
  double load_factor = 1;
  std::uint64_t seed = 1;
};
[[nodiscard]] Result<Trace> synth_bootstrap(const Trace& source, const BootstrapOptions& options);

// Jobs without end for speed runs: Poisson arrivals that offer `load` of `gpus` GPUs, sizes drawn by weight,
// log-normal run times (whole seconds, at least 1, at most 30 days). Rate = load * gpus / (E[size] E[duration]) with
// E[duration] = median exp(sigma^2 / 2). Holds no jobs: memory is constant however many are drawn.
struct SteadyOptions {
  std::uint64_t jobs = 100'000;
  std::uint64_t gpus = 512;
  double load = 0.9;
  double median_s = 600;
  double sigma = 1.5;
  std::uint64_t seed = 1;
};
class SteadyJobs {
 public:
  [[nodiscard]] static Result<SteadyJobs> make(const SteadyOptions& options);
  [[nodiscard]] Row next();  // ids 0, 1, 2 ...; submits never fall

 private:
  explicit SteadyJobs(const SteadyOptions& options);

  SteadyOptions options_;
  Rng rng_;
  std::vector<double> weights_;
  double mean_gap_s_ = 0;
  double now_s_ = 0;
  std::int64_t next_id_ = 0;
};
[[nodiscard]] Result<Trace> synth_steady(const SteadyOptions& options);
// The same jobs as Comity CSV straight to `path` ("-" is standard output).
[[nodiscard]] Status write_steady(const SteadyOptions& options, const std::string& path, bool quiet);

}  // namespace comity::trace
