// SPDX-License-Identifier: Apache-2.0
#include "trace/merge.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <utility>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/text.h"
#include "trace/repeated.h"
#include "trace/row_copy.h"

namespace comity::trace {
namespace {

// One trace on its way into the result.
struct Source {
  const Trace* trace = nullptr;
  RowCopier copier;
  std::vector<std::uint32_t> order;  // rows by submission
  std::size_t next = 0;
  Time shift = 0;

  [[nodiscard]] const Row& row() const { return trace->rows[order[next]]; }
  [[nodiscard]] Time submit() const { return row().submit + shift; }
};

std::vector<std::uint32_t> by_submission(const Trace& trace) {
  std::vector<std::uint32_t> order(trace.rows.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return trace.rows[a].submit < trace.rows[b].submit; });
  return order;
}

Status check(std::span<const Trace> traces, const MergeOptions& o) {
  if (traces.empty()) return fail(Code::kUsage, "no trace to merge");
  std::size_t jobs = 0;
  for (const Trace& trace : traces) jobs += trace.rows.size();
  if (jobs > static_cast<std::size_t>(limits::kJobs)) return fail(Code::kInput, "more than a billion jobs in all");
  const auto count = [&](const char* option, std::size_t given) -> Status {
    if (given == 0 || given == traces.size()) return {};
    return fail_option(option, fmt::format("{} values for {} traces", given, traces.size()),
                       "give one for each trace, separated by commas");
  };
  if (Status status = count("--offset", o.offsets.size()); !status) return status;
  if (Status status = count("--prefix", o.prefixes.size()); !status) return status;
  for (const Time offset : o.offsets) {
    if (offset < 0 || offset > kMaxTime) return fail_option("--offset", "must be within 0 and 73 years");
  }
  return {};
}

Result<std::vector<Source>> open_sources(std::span<const Trace> traces, const MergeOptions& o, Trace& to) {
  std::vector<Source> sources;
  sources.reserve(traces.size());
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const Trace& trace = traces[i];
    const std::string prefix = o.prefixes.empty() || o.prefixes[i].empty() ? "" : o.prefixes[i] + "/";
    RowCopier copier(trace, to, [prefix](Field field, const std::string& name) {
      return field == Field::kUser || field == Field::kTenant ? prefix + name : name;
    });
    Source source{.trace = &trace, .copier = std::move(copier), .order = by_submission(trace)};
    if (!source.order.empty()) {
      const Time first = trace.rows[source.order.front()].submit;
      const Time last = trace.rows[source.order.back()].submit;
      source.shift = (o.align_start ? -first : 0) + (o.offsets.empty() ? 0 : o.offsets[i]);
      if (last > kMaxTime - source.shift)
        return fail(Code::kInput, fmt::format("{}: its last job would come after 73 years", printable(trace.path)),
                    "a smaller --offset, or --align start");
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

std::string id_of(const Trace& trace, std::uint32_t row) {
  return trace.text_ids.empty() ? std::to_string(trace.rows[row].id) : trace.text_ids[row];
}

void number_rows(Trace& trace) {
  for (std::size_t i = 0; i < trace.rows.size(); ++i) trace.rows[i].id = static_cast<std::int64_t>(i);
}

// Where each row of the result is from.
struct Origin {
  std::uint32_t source;
  std::uint32_t row;
};

std::vector<Origin> merge_rows(std::vector<Source>& sources, Trace& to) {
  using Entry = std::pair<Time, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (std::uint32_t i = 0; i < sources.size(); ++i) {
    if (!sources[i].order.empty()) queue.emplace(sources[i].submit(), i);
  }
  std::vector<Origin> origins;
  while (!queue.empty()) {
    const auto [submit, i] = queue.top();
    queue.pop();
    Source& source = sources[i];
    Row row = source.copier.copy(source.row());
    row.submit = submit;
    to.rows.push_back(row);
    origins.push_back({.source = i, .row = source.order[source.next]});
    if (++source.next < source.order.size()) queue.emplace(source.submit(), i);
  }
  return origins;
}

// True where ids clashed and were prefixed.
bool settle_ids(std::span<const Trace> traces, const std::vector<Origin>& origins, Trace& to) {
  const bool texts = std::any_of(traces.begin(), traces.end(), [](const Trace& t) { return !t.text_ids.empty(); });
  if (texts) {
    for (const Origin& o : origins) to.text_ids.push_back(id_of(traces[o.source], o.row));
  }
  const bool clash = texts ? !repeated_texts(to.text_ids).empty() : !repeated_numbers(to.rows).empty();
  if (clash) {
    to.text_ids.clear();
    for (const Origin& o : origins)
      to.text_ids.push_back(fmt::format("{}:{}", o.source + 1, id_of(traces[o.source], o.row)));
  }
  if (!to.text_ids.empty()) number_rows(to);
  return clash;
}

}  // namespace

Result<Merged> merge_traces(std::span<const Trace> traces, const MergeOptions& o) {
  if (Status status = check(traces, o); !status) return fail(std::move(status.error()));
  Merged merged;
  Trace& to = merged.trace;
  to.format = "merged";
  bool all_declare = true;
  for (const Trace& trace : traces) {
    to.path.append(to.path.empty() ? "" : " + ").append(trace.path);
    to.declared_gpus += trace.declared_gpus;
    all_declare = all_declare && trace.declared_gpus > 0;
  }
  if (!all_declare) to.declared_gpus = 0;
  Result<std::vector<Source>> sources = open_sources(traces, o, to);
  if (!sources) return fail(std::move(sources.error()));
  const std::vector<Origin> origins = merge_rows(*sources, to);
  if (o.number)
    number_rows(to);
  else
    merged.ids_prefixed = settle_ids(traces, origins, to);
  return merged;
}

}  // namespace comity::trace
