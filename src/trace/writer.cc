// SPDX-License-Identifier: Apache-2.0
#include "trace/writer.h"

#include <algorithm>
#include <array>
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

bool write_field(Field field, std::size_t index, const FieldWriter& to) {
  const Trace& trace = to.trace;
  const Row& row = trace.rows[index];
  const profile::JobRequest& r = row.request;
  const bool any = r.shape.nodes == 0;  // GPUs anywhere
  switch (field) {
    case Field::kId:
      if (trace.text_ids.empty()) return to.number(row.id);
      if (to.out != nullptr) append_csv(*to.out, trace.text_ids[index]);
      return true;
    case Field::kSubmit: return to.time(row.submit);
    case Field::kDuration: return to.time(row.duration);
    case Field::kGpus: return to.number(static_cast<std::int64_t>(r.shape.total())) && any;
    case Field::kNodes: return to.number(any ? -1 : std::int64_t{r.shape.nodes});
    case Field::kGpusPerNode: return to.number(any ? -1 : std::int64_t{r.shape.gpus});
    case Field::kUser: return to.name(r.user);
    case Field::kTenant: return to.name(r.tenant);
    case Field::kGroup: return to.name(r.group);
    case Field::kGpuType: return to.name(r.gpu_type);
    case Field::kEstimate: return to.time(r.estimate);
    case Field::kWait: return to.time(row.wait);
    case Field::kDeclaredGpus:
      return index == 0 && trace.declared_gpus > 0 && to.number(static_cast<std::int64_t>(trace.declared_gpus));
    default: return write_attribute(field, attributes_of(trace, row), to);
  }
}

}  // namespace

bool CsvColumns::has(Field field) const {
  for (std::size_t c = 0; c < kComityColumns.size(); ++c) {
    if (wanted[c] && kComityColumns[c].field == field) return true;
  }
  return false;
}

CsvColumns needed_columns(const Trace& trace) {
  CsvColumns columns;
  const FieldWriter nowhere{.out = nullptr, .trace = trace};
  for (std::size_t c = kAlwaysWritten; c < kComityColumns.size(); ++c) {
    const Field field = kComityColumns[c].field;
    bool wanted = field == Field::kGpus && trace.rows.empty();
    if (is_attribute(field)) {
      wanted = std::any_of(trace.attributes.begin(), trace.attributes.end(),
                           [&](const profile::Attributes& a) { return write_attribute(field, a, nowhere); });
    }
    for (std::size_t i = 0; i < trace.rows.size() && !wanted && !is_attribute(field); ++i)
      wanted = write_field(field, i, nowhere);
    columns.wanted[c] = wanted;
  }
  return columns;
}

void append_csv_header(std::string& out, const CsvColumns& columns) {
  bool first = true;
  for (std::size_t c = 0; c < kComityColumns.size(); ++c) {
    if (!columns.wanted[c]) continue;
    out.append(first ? "" : ",").append(kComityColumns[c].title);
    first = false;
  }
  out += '\n';
}

void append_csv_row(std::string& out, const CsvColumns& columns, const Trace& trace, std::size_t row) {
  const FieldWriter to{.out = &out, .trace = trace};
  bool first = true;
  for (std::size_t c = 0; c < kComityColumns.size(); ++c) {
    if (!columns.wanted[c]) continue;
    if (!first) out += ',';
    first = false;
    static_cast<void>(write_field(kComityColumns[c].field, row, to));
  }
  out += '\n';
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
