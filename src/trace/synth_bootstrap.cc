// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/log.h"
#include "trace/row_copy.h"
#include "trace/synth.h"

namespace comity::trace {
namespace {

constexpr double kMostWeeks = 2000;
constexpr double kMostLoadFactor = 1000;
constexpr double kMostJobs = 1e8;

// The rows of a trace by block, in order of submission.
struct Blocks {
  Time length = kDay;
  std::vector<std::uint32_t> order;          // rows by (submit, position)
  std::vector<std::size_t> begin;            // block b is order[begin[b], begin[b + 1])
  std::vector<std::vector<std::size_t>> at;  // blocks by their place in the week
  std::size_t first = 0;                     // number of the first block
  std::size_t whole = 1;                     // blocks to draw from: all, or all but the last

  [[nodiscard]] std::size_t count() const { return begin.size() - 1; }
};

Blocks cut(const Trace& source, bool by_hour) {
  Blocks blocks;
  blocks.length = by_hour ? kHour : kDay;
  blocks.order.resize(source.rows.size());
  std::iota(blocks.order.begin(), blocks.order.end(), 0U);
  std::stable_sort(blocks.order.begin(), blocks.order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return source.rows[a].submit < source.rows[b].submit; });
  const auto block_of = [&](std::size_t i) {
    return static_cast<std::size_t>(source.rows[blocks.order[i]].submit / blocks.length);
  };
  blocks.first = block_of(0);
  const std::size_t last = block_of(blocks.order.size() - 1);
  std::size_t row = 0;
  for (std::size_t b = blocks.first; b <= last; ++b) {
    blocks.begin.push_back(row);
    while (row < blocks.order.size() && block_of(row) == b) ++row;
  }
  blocks.begin.push_back(row);
  // A last block that was cut short is drawn only where there is no other.
  const Time covered = source.rows[blocks.order.back()].submit % blocks.length;
  const bool cut_short = covered < blocks.length - blocks.length / 10;
  const std::size_t whole = std::max<std::size_t>(1, blocks.count() - (cut_short ? 1 : 0));
  blocks.whole = whole;
  blocks.at.resize(by_hour ? 168 : 7);
  for (std::size_t b = 0; b < whole; ++b) blocks.at[(blocks.first + b) % blocks.at.size()].push_back(b);
  return blocks;
}

std::size_t draw_block(const Blocks& blocks, std::size_t place, Rng& rng) {
  const std::vector<std::size_t>& same = blocks.at[place % blocks.at.size()];
  if (!same.empty()) return same[rng.below(same.size())];
  return rng.below(blocks.whole);
}

Status check(const Trace& source, const BootstrapOptions& o) {
  if (source.rows.empty()) return fail(Code::kInput, "the trace to draw from has no job");
  if (!(o.weeks > 0 && o.weeks <= kMostWeeks)) return fail_option("--weeks", "must be above 0 and at most 2000");
  if (!(o.load_factor > 0 && o.load_factor <= kMostLoadFactor))
    return fail_option("--load-factor", "must be above 0 and at most 1000");
  const Time last = std::max_element(source.rows.begin(), source.rows.end(), [](const Row& a, const Row& b) {
                      return a.submit < b.submit;
                    })->submit;
  const Time first = std::min_element(source.rows.begin(), source.rows.end(), [](const Row& a, const Row& b) {
                       return a.submit < b.submit;
                     })->submit;
  if (last - first > static_cast<Time>(kMostWeeks) * 7 * kDay)
    return fail(Code::kInput, "the trace to draw from spans more than 2000 weeks");
  return {};
}

Status check_size(double jobs) {
  if (jobs <= kMostJobs) return {};
  return fail_option("--weeks",
                     fmt::format("that makes {:.0f} million jobs, more than 100 million", std::ceil(jobs / 1e6)),
                     "take fewer weeks or a smaller load factor");
}

// How many jobs are drawn on average. O(places + blocks).
double expected_jobs(const Blocks& blocks, double places, double load_factor) {
  const auto jobs_of = [&](std::size_t b) { return static_cast<double>(blocks.begin[b + 1] - blocks.begin[b]); };
  double of_any = 0;
  for (std::size_t b = 0; b < blocks.whole; ++b) of_any += jobs_of(b) / static_cast<double>(blocks.whole);
  std::vector<double> mean;  // by place in the week
  for (const std::vector<std::size_t>& same : blocks.at) {
    mean.push_back(same.empty() ? of_any : 0);
    for (const std::size_t b : same) mean.back() += jobs_of(b) / static_cast<double>(same.size());
  }
  double sum = 0;
  for (std::size_t place = 0; static_cast<double>(place) < places - 1e-9; ++place) sum += mean[place % mean.size()];
  return sum * load_factor;
}

}  // namespace

Result<Trace> synth_bootstrap(const Trace& source, const BootstrapOptions& o) {
  if (Status status = check(source, o); !status) return fail(std::move(status.error()));
  const Blocks blocks = cut(source, o.by_hour);
  Trace trace;
  trace.path = source.path + " (resampled)";
  trace.format = "synth_bootstrap";
  trace.declared_gpus = source.declared_gpus;
  RowCopier copier(source, trace, [](Field, const std::string& name) { return name; });
  Rng rng(o.seed);
  const double count = o.weeks * static_cast<double>(7 * kDay / blocks.length);
  if (Status status = check_size(expected_jobs(blocks, count, o.load_factor)); !status)
    return fail(std::move(status.error()));
  const int layers = static_cast<int>(std::ceil(o.load_factor));
  const double keep = o.load_factor - (layers - 1);
  for (std::size_t place = 0; static_cast<double>(place) < count - 1e-9; ++place) {
    for (int layer = 0; layer < layers; ++layer) {
      if (interrupted()) return fail(Code::kInterrupted, "interrupted while drawing jobs");
      const std::size_t b = draw_block(blocks, place, rng);
      const Time shift = (static_cast<Time>(place) - static_cast<Time>(blocks.first + b)) * blocks.length;
      for (std::size_t i = blocks.begin[b]; i < blocks.begin[b + 1]; ++i) {
        if (layer + 1 == layers && keep < 1 && rng.uniform() >= keep) continue;
        Row row = copier.copy(source.rows[blocks.order[i]]);
        row.submit += shift;
        trace.rows.push_back(row);
      }
      if (Status status = check_size(static_cast<double>(trace.rows.size())); !status)
        return fail(std::move(status.error()));
    }
  }
  std::stable_sort(trace.rows.begin(), trace.rows.end(),
                   [](const Row& a, const Row& b) { return a.submit < b.submit; });
  for (std::size_t i = 0; i < trace.rows.size(); ++i) trace.rows[i].id = static_cast<std::int64_t>(i);
  return trace;
}

}  // namespace comity::trace
