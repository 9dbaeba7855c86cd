// SPDX-License-Identifier: Apache-2.0
#include "trace/scale.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/rng.h"
#include "base/text.h"
#include "trace/record.h"

namespace comity::trace {
namespace {

__extension__ using Wide = __int128;

constexpr double kLeastFactor = 1e-6;
constexpr double kMostFactor = 1e6;
constexpr Time kFactorUnit = 1'000'000'000'000;  // a factor is taken to twelve digits

// t * factor / kFactorUnit, halves up; kMaxTime + 1 where it is more than kMaxTime.
Time times(Time t, Time factor) {
  const Wide product = (static_cast<Wide>(t) * factor + kFactorUnit / 2) / kFactorUnit;
  return product > kMaxTime ? kMaxTime + 1 : static_cast<Time>(product);
}

Time in_units(double factor) { return std::llround(factor * static_cast<double>(kFactorUnit)); }

Status check(const ScaleOptions& o) {
  const auto factor = [](double x) { return x >= kLeastFactor && x <= kMostFactor; };
  const char* const range = "must be within 0.000001 and 1000000";
  if (!factor(o.time)) return fail_option("--time", range);
  if (!factor(o.duration)) return fail_option("--duration", range);
  if (!factor(o.size)) return fail_option("--size", range);
  if (o.load && !(*o.load > 0 && *o.load <= kMostFactor))
    return fail_option("--load", "must be above 0 and at most 1000000");
  if (o.load && o.time != 1)
    return fail_option("--load", "is reached by scaling submit times: it excludes --time", "leave one of them out");
  if (o.load && o.gpus == 0) return fail_option("--load", "of which cluster?", "give --nodes, for example 64x8");
  if (o.keep_powers && o.size == 1) return fail_option("--keep-powers", "changes nothing without --size");
  if (!(o.sample > 0 && o.sample <= 1)) return fail_option("--sample", "must be above 0 and at most 1");
  if (o.from < 0 || o.from >= o.to) return fail_option("--to", "must be after --from");
  return {};
}

// Keeps the rows for which `wanted(row)` holds; returns how many went.
template <class Wanted>
std::size_t keep(Trace& trace, Wanted wanted) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < trace.rows.size(); ++i) {
    if (!wanted(trace.rows[i])) continue;
    trace.rows[kept] = trace.rows[i];
    if (!trace.text_ids.empty() && kept != i) trace.text_ids[kept] = std::move(trace.text_ids[i]);
    ++kept;
  }
  const std::size_t gone = trace.rows.size() - kept;
  trace.rows.resize(kept);
  if (!trace.text_ids.empty()) trace.text_ids.resize(kept);
  return gone;
}

std::uint64_t scale_count(std::uint64_t count, double factor, bool keep_powers) {
  const double exact = static_cast<double>(count) * factor;
  if (keep_powers && (count & (count - 1)) == 0) {
    double power = 1;
    while (power * std::sqrt(2.0) <= exact) power *= 2;
    return static_cast<std::uint64_t>(power);
  }
  return static_cast<std::uint64_t>(std::max(1.0, std::floor(exact + 0.5)));
}

Status scale_sizes(Trace& trace, const ScaleOptions& o) {
  for (Row& row : trace.rows) {
    const profile::Shape old = row.request.shape;
    std::uint64_t nodes = old.nodes;
    std::uint64_t gpus = old.gpus;
    if (old.nodes == 0) {
      gpus = scale_count(old.gpus, o.size, o.keep_powers);
    } else if (static_cast<double>(old.nodes) * o.size >= 1) {
      nodes = scale_count(old.nodes, o.size, o.keep_powers);
    } else {
      nodes = 1;
      gpus = scale_count(old.total(), o.size, o.keep_powers);
    }
    if (gpus * std::max<std::uint64_t>(1, nodes) > static_cast<std::uint64_t>(limits::kGpusPerJob))
      return fail_option("--size", fmt::format("a job of {} GPUs would ask for more than a million", old.total()));
    row.request.shape = {.nodes = static_cast<std::uint32_t>(nodes), .gpus = static_cast<std::uint32_t>(gpus)};
  }
  for (profile::Attributes& a : trace.attributes) {
    if (a.cpu_milli >= 0)
      a.cpu_milli = std::llround(std::min(static_cast<double>(a.cpu_milli) * o.size, 1e3 * kMostCpus));
    if (a.host_memory_mb >= 0) a.host_memory_mb *= o.size;
  }
  return {};
}

Status scale_durations(Trace& trace, const ScaleOptions& o) {
  const Time factor = in_units(o.duration);
  for (Row& row : trace.rows) {
    row.duration = times(row.duration, factor);
    if (row.request.estimate >= 0) row.request.estimate = times(row.request.estimate, factor);
    if (row.duration > kMaxTime || row.request.estimate > kMaxTime)
      return fail_option("--duration", "a job would run for more than 73 years");
  }
  for (profile::Deadline& d : trace.deadlines) {
    d.after = times(d.after, factor);
    if (d.after > kMaxTime) return fail_option("--duration", "a deadline would come after more than 73 years");
  }
  return {};
}

struct Demand {
  Time first = 0;
  Time last = 0;
  double gpu_seconds = 0;
  [[nodiscard]] double mean_gpus() const { return last > first ? gpu_seconds / to_seconds(last - first) : 0; }
};
Demand demand(const Trace& trace) {
  Demand d{.first = kNever, .last = 0, .gpu_seconds = 0};
  Wide sum = 0;
  for (const Row& row : trace.rows) {
    d.first = std::min(d.first, row.submit);
    d.last = std::max(d.last, row.submit);
    sum += static_cast<Wide>(row.duration) * static_cast<Wide>(row.request.shape.total());
  }
  d.gpu_seconds = static_cast<double>(sum) / 1e9;
  return d;
}

Status scale_submits(Trace& trace, Time first, double by, const char* option) {
  const Time factor = in_units(by);
  for (Row& row : trace.rows) {
    row.submit = times(row.submit - first, factor);
    if (row.submit > kMaxTime - first) return fail_option(option, "a job would be submitted after more than 73 years");
    row.submit += first;
  }
  return {};
}

Status scale_load(Trace& trace, const ScaleOptions& o, ScaleReport& report) {
  const Demand d = demand(trace);
  if (d.mean_gpus() <= 0)
    return fail(Code::kInput, "the jobs offer no load that could be scaled",
                "all were submitted at one instant, or none runs for any time");
  const double by = d.mean_gpus() / (*o.load * static_cast<double>(o.gpus));
  if (by < kLeastFactor || by > kMostFactor)
    return fail_option(
        "--load", fmt::format("is out of reach: the trace offers {:.3g}", d.mean_gpus() / static_cast<double>(o.gpus)));
  if (Status status = scale_submits(trace, d.first, by, "--load"); !status) return status;
  std::size_t larger = 0;
  for (const Row& row : trace.rows) larger += row.request.shape.total() > o.gpus ? 1 : 0;
  std::string text = fmt::format("submit times x {:.6g} for a load of {:.6g} on {} GPUs", by, *o.load, o.gpus);
  if (larger > 0) text += fmt::format(" (which {} jobs don't fit)", format_count(larger));
  report.changes.push_back(std::move(text));
  return {};
}

Status choose_jobs(Trace& trace, const ScaleOptions& o, ScaleReport& report) {
  if (o.from > 0 || o.to != kNever) {
    const std::size_t gone = keep(trace, [&](const Row& row) { return row.submit >= o.from && row.submit < o.to; });
    report.changes.push_back(fmt::format("{} jobs outside of the window left out", format_count(gone)));
  }
  if (o.sample < 1) {
    Rng rng(o.seed);
    const std::size_t gone = keep(trace, [&](const Row&) { return rng.uniform() < o.sample; });
    report.changes.push_back(
        fmt::format("{} jobs left out of a sample of {:.6g}, seed {}", format_count(gone), o.sample, o.seed));
  }
  if (trace.rows.empty()) return fail(Code::kInput, "no job is left", "a wider window or a larger sample");
  return {};
}

}  // namespace

Result<ScaleReport> scale_trace(Trace& trace, const ScaleOptions& o) {
  if (Status status = check(o); !status) return fail(std::move(status.error()));
  ScaleReport report;
  report.mean_gpus_before = demand(trace).mean_gpus();
  Status status = choose_jobs(trace, o, report);
  if (status && o.size != 1) {
    status = scale_sizes(trace, o);
    report.changes.push_back(fmt::format("GPUs x {:.6g}, rounded{}", o.size, o.keep_powers ? ", powers kept" : ""));
  }
  if (status && o.duration != 1) {
    status = scale_durations(trace, o);
    report.changes.push_back(fmt::format("run times, estimates and deadlines x {:.6g}", o.duration));
  }
  if (status && o.time != 1) {
    status = scale_submits(trace, demand(trace).first, o.time, "--time");
    report.changes.push_back(fmt::format("submit times x {:.6g}", o.time));
  }
  if (status && o.load) status = scale_load(trace, o, report);
  if (!status) return fail(std::move(status.error()));
  if (o.size != 1 || o.duration != 1 || o.time != 1 || o.load) {
    bool any = false;
    for (Row& row : trace.rows) {
      any = any || row.wait >= 0;
      row.wait = -1;
    }
    if (any) report.changes.emplace_back("waits of the log dropped");
  }
  report.mean_gpus_after = demand(trace).mean_gpus();
  return report;
}

}  // namespace comity::trace
