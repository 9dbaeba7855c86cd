// SPDX-License-Identifier: Apache-2.0
#include "trace/writer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <iterator>

#include <fmt/format.h>

#include "base/csv.h"
#include "base/text.h"
#include "trace/comity_columns.h"
#include "trace/output.h"

namespace comity::trace {

void append_number(std::string& out, std::int64_t value) {
  std::array<char, 24> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  out.append(buffer.data(), result.ptr);
}

void append_seconds(std::string& out, Time ns) {
  append_number(out, ns / kSecond);
  Time rest = ns % kSecond;
  if (rest == 0) return;
  out += '.';
  for (Time digit = kSecond / 10; rest > 0; digit /= 10) {
    out += static_cast<char>('0' + rest / digit);
    rest %= digit;
  }
}

namespace {

constexpr std::size_t kAlwaysWritten = 3;  // job_id, submit_s, duration_s

const profile::Attributes& attributes_of(const Trace& trace, const Row& row) {
  static const profile::Attributes kNone;
  return row.request.attributes == profile::kNoAttributes ? kNone : trace.attributes[row.request.attributes];
}

// Writes one field, or without `out` only tells whether there is anything to write.
struct FieldWriter {
  std::string* out;
  const Trace& trace;

  [[nodiscard]] bool name(std::uint32_t index) const {
    if (index == profile::kNoName) return false;
    if (out != nullptr) append_csv(*out, trace.names[index]);
    return true;
  }
  [[nodiscard]] bool time(Time ns) const {
    if (ns < 0) return false;
    if (out != nullptr) append_seconds(*out, ns);
    return true;
  }
  [[nodiscard]] bool number(std::int64_t value) const {
    if (value < 0) return false;
    if (out != nullptr) append_number(*out, value);
    return true;
  }
  [[nodiscard]] bool real(double value) const {
    if (!(value >= 0)) return false;
    if (out != nullptr) fmt::format_to(std::back_inserter(*out), "{}", value);
    return true;
  }
  [[nodiscard]] bool deadlines(profile::List list) const {
    for (std::uint32_t i = 0; i < list.count && out != nullptr; ++i) {
      const profile::Deadline& d = trace.deadlines[list.first + i];
      if (i > 0) *out += '|';
      append_seconds(*out, d.after);
      fmt::format_to(std::back_inserter(*out), ":{}:{}", d.value, d.strict ? "strict" : "soft");
    }
    return list.count > 0;
  }
  [[nodiscard]] bool models(profile::List list) const {
    std::string text;
    for (std::uint32_t i = 0; i < list.count && out != nullptr; ++i)
      text.append(i > 0 ? "|" : "").append(trace.names[trace.gpu_models[list.first + i]]);
    if (out != nullptr) append_csv(*out, text);
    return list.count > 0;
  }
};

bool write_attribute(Field field, const profile::Attributes& a, const FieldWriter& to) {
  switch (field) {
    case Field::kName: return to.name(a.name);
    case Field::kModel: return to.name(a.model);
    case Field::kDataset: return to.name(a.dataset);
    case Field::kClass: return to.name(a.job_class);
    case Field::kStatus: return to.name(a.status);
    case Field::kCommand: return to.name(a.command);
    case Field::kDirectory: return to.name(a.directory);
    case Field::kDurationBasis: return to.name(a.duration_basis);
    case Field::kBatchSize: return to.number(a.batch_size);
    case Field::kIterations: return to.number(a.iterations);
    case Field::kCpuMilli: return to.number(a.cpu_milli);
    case Field::kGpuMilli: return to.number(a.gpu_milli);
    case Field::kMixedPrecision: return to.number(a.mixed_precision);
    case Field::kShare: return to.number(a.share);
    case Field::kGpuUtilization: return to.real(a.gpu_utilization);
    case Field::kMemory: return to.real(a.memory_mb);
    case Field::kMemoryUtilization: return to.real(a.memory_utilization);
    case Field::kHostMemory: return to.real(a.host_memory_mb);
    case Field::kSpeed: return to.real(a.speed);
    case Field::kPriority: return to.real(a.priority);
    case Field::kDeadlines: return to.deadlines(a.deadlines);
    case Field::kGpuModels: return to.models(a.gpu_models);
    default: return false;
  }
}

void write_field(Field field, std::size_t index, const FieldWriter& to) {
  const Trace& trace = to.trace;
  const Row& row = trace.rows[index];
  const profile::JobRequest& r = row.request;
  const bool any = r.shape.nodes == 0;  // GPUs anywhere
  switch (field) {
    case Field::kId:
      if (trace.text_ids.empty())
        append_number(*to.out, row.id);
      else
        append_csv(*to.out, trace.text_ids[index]);
      return;
    case Field::kSubmit: return append_seconds(*to.out, row.submit);
    case Field::kDuration: return append_seconds(*to.out, row.duration);
    case Field::kGpus: return append_number(*to.out, static_cast<std::int64_t>(r.shape.total()));
    case Field::kNodes: return void(to.number(any ? -1 : std::int64_t{r.shape.nodes}));
    case Field::kGpusPerNode: return void(to.number(any ? -1 : std::int64_t{r.shape.gpus}));
    case Field::kUser: return void(to.name(r.user));
    case Field::kTenant: return void(to.name(r.tenant));
    case Field::kGroup: return void(to.name(r.group));
    case Field::kGpuType: return void(to.name(r.gpu_type));
    case Field::kEstimate: return void(to.time(r.estimate));
    case Field::kWait: return void(to.time(row.wait));
    case Field::kDeclaredGpus: return void(index == 0 && to.number(static_cast<std::int64_t>(trace.declared_gpus)));
    default: return void(write_attribute(field, attributes_of(trace, row), to));
  }
}

// Which columns that stand in the rows themselves some row needs; one pass, since there may be many rows.
std::array<bool, static_cast<std::size_t>(Field::kIgnored)> needed_by_rows(const Trace& trace) {
  std::array<bool, static_cast<std::size_t>(Field::kIgnored)> needed{};
  bool gpus = trace.rows.empty();
  bool shape = false, user = false, tenant = false, group = false, type = false, estimate = false, wait = false;
  for (const Row& row : trace.rows) {
    const profile::JobRequest& r = row.request;
    gpus |= r.shape.nodes == 0;
    shape |= r.shape.nodes != 0;
    user |= r.user != profile::kNoName;
    tenant |= r.tenant != profile::kNoName;
    group |= r.group != profile::kNoName;
    type |= r.gpu_type != profile::kNoName;
    estimate |= r.estimate >= 0;
    wait |= row.wait >= 0;
  }
  const auto set = [&](Field field, bool value) { needed[static_cast<std::size_t>(field)] = value; };
  set(Field::kGpus, gpus);
  set(Field::kNodes, shape);
  set(Field::kGpusPerNode, shape);
  set(Field::kUser, user);
  set(Field::kTenant, tenant);
  set(Field::kGroup, group);
  set(Field::kGpuType, type);
  set(Field::kEstimate, estimate);
  set(Field::kWait, wait);
  set(Field::kDeclaredGpus, !trace.rows.empty() && trace.declared_gpus > 0);
  return needed;
}

}  // namespace

CsvColumns needed_columns(const Trace& trace) {
  CsvColumns columns;
  const FieldWriter nowhere{.out = nullptr, .trace = trace};
  const auto by_rows = needed_by_rows(trace);
  for (std::size_t c = kAlwaysWritten; c < kComityColumns.size(); ++c) {
    const Field field = kComityColumns[c].field;
    columns.wanted[c] = by_rows[static_cast<std::size_t>(field)];
    if (!is_attribute(field)) continue;
    columns.wanted[c] = std::any_of(trace.attributes.begin(), trace.attributes.end(),
                                    [&](const profile::Attributes& a) { return write_attribute(field, a, nowhere); });
  }
  return columns;
}

void append_csv_header(std::string& out, const CsvColumns& columns) {
  for (std::uint64_t left = columns.wanted.to_ullong(); left != 0; left &= left - 1) {
    out += kComityColumns[static_cast<std::size_t>(std::countr_zero(left))].title;
    out += (left & (left - 1)) == 0 ? '\n' : ',';
  }
}

void append_csv_row(std::string& out, const CsvColumns& columns, const Trace& trace, std::size_t row) {
  const FieldWriter to{.out = &out, .trace = trace};
  for (std::uint64_t left = columns.wanted.to_ullong(); left != 0; left &= left - 1) {
    write_field(kComityColumns[static_cast<std::size_t>(std::countr_zero(left))].field, row, to);
    out += (left & (left - 1)) == 0 ? '\n' : ',';
  }
}

Status write_csv(const Trace& trace, const std::string& path) {
  Result<Output> out = Output::open(path);
  if (!out) return fail(std::move(out.error()));
  const CsvColumns columns = needed_columns(trace);
  append_csv_header(out->text, columns);
  for (std::size_t i = 0; i < trace.rows.size(); ++i) {
    append_csv_row(out->text, columns, trace, i);
    if (Status status = out->flush_if_full(); !status) return status;
  }
  return out->finish();
}

Status write_trace(const Trace& trace, std::string_view format, const std::string& path) {
  if (format == "csv" || format == "comity") return write_csv(trace, path);
  if (format == "swf") return write_swf(trace, path);
  return fail(Code::kUsage, fmt::format("traces are not written as '{}'", printable(format)), "use csv or swf");
}

}  // namespace comity::trace
