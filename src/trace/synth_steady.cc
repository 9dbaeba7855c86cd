// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "base/limits.h"
#include "base/log.h"
#include "trace/output.h"
#include "trace/synth.h"
#include "trace/writer.h"

namespace comity::trace {
namespace {

constexpr std::array<std::uint32_t, 6> kSizes = {1, 2, 4, 8, 16, 32};
constexpr std::array<double, 6> kWeights = {0.58, 0.13, 0.12, 0.13, 0.03, 0.01};
constexpr double kMostSeconds = 30 * 86'400.0;

}  // namespace

SteadyJobs::SteadyJobs(const SteadyOptions& options) : options_(options), rng_(options.seed) {
  double sum = 0;
  double gpus = 0;
  for (std::size_t i = 0; i < kSizes.size() && kSizes[i] <= options.gpus; ++i) {
    weights_.push_back(kWeights[i]);
    sum += kWeights[i];
    gpus += kWeights[i] * kSizes[i];
  }
  const double mean_s = options.median_s * std::exp(options.sigma * options.sigma / 2);
  mean_gap_s_ = gpus / sum * mean_s / (options.load * static_cast<double>(options.gpus));
}

Result<SteadyJobs> SteadyJobs::make(const SteadyOptions& o) {
  if (o.jobs < 1 || o.jobs > static_cast<std::uint64_t>(limits::kJobs))
    return fail_option("--jobs", "must be within 1 and a billion");
  if (o.gpus < 1 || o.gpus > static_cast<std::uint64_t>(limits::kGpusPerJob))
    return fail_option("--gpus", "must be within 1 and a million");
  if (!(o.load > 0 && o.load <= 100)) return fail_option("--load", "must be above 0 and at most 100");
  if (!(o.median_s >= 1 && o.median_s <= 86'400)) return fail_option("--median", "must be within 1 s and a day");
  if (!(o.sigma >= 0 && o.sigma <= 3)) return fail_option("--sigma", "must be within 0 and 3");
  SteadyJobs jobs(o);
  if (jobs.mean_gap_s_ * static_cast<double>(o.jobs) > 0.9 * to_seconds(kMaxTime))
    return fail_option("--jobs", "so many jobs at this load would take more than 65 years",
                       "more GPUs or shorter jobs");
  return jobs;
}

Row SteadyJobs::next() {
  Row row;
  now_s_ += rng_.exponential(mean_gap_s_);
  row.submit = static_cast<Time>(std::min(now_s_, to_seconds(kMaxTime) - 1)) * kSecond;
  row.request.shape.gpus = kSizes[rng_.pick(weights_)];
  const double run = options_.median_s * std::exp(rng_.normal(0, options_.sigma));
  row.duration = static_cast<Time>(std::llround(std::clamp(run, 1.0, kMostSeconds))) * kSecond;
  row.id = next_id_++;
  return row;
}

Result<Trace> synth_steady(const SteadyOptions& options) {
  Result<SteadyJobs> jobs = SteadyJobs::make(options);
  if (!jobs) return fail(std::move(jobs.error()));
  Trace trace;
  trace.path = "synthetic steady load";
  trace.format = "synth_steady";
  trace.rows.reserve(options.jobs);
  for (std::uint64_t i = 0; i < options.jobs; ++i) trace.rows.push_back(jobs->next());
  return trace;
}

Status write_steady(const SteadyOptions& options, const std::string& path, bool quiet) {
  Result<SteadyJobs> jobs = SteadyJobs::make(options);
  if (!jobs) return fail(std::move(jobs.error()));
  Result<Output> out = Output::open(path);
  if (!out) return fail(std::move(out.error()));
  Progress progress("drawing jobs", "jobs", options.jobs, quiet);
  const CsvColumns columns;
  Trace trace;
  trace.rows.resize(1);
  append_csv_header(out->text, columns);
  for (std::uint64_t i = 0; i < options.jobs; ++i) {
    trace.rows[0] = jobs->next();
    append_csv_row(out->text, columns, trace, 0);
    if (Status status = out->flush_if_full(); !status) return status;
    if (i % 4096 != 0) continue;
    progress.update(i);
    if (interrupted()) return fail(Code::kInterrupted, "interrupted while drawing jobs");
  }
  return out->finish();
}

}  // namespace comity::trace
