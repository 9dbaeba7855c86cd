// SPDX-License-Identifier: Apache-2.0
#include "trace/writer.h"

#include <array>
#include <charconv>

#include <fmt/format.h>

#include "base/csv.h"
#include "base/text.h"
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

void append_real(std::string& out, double value) { fmt::format_to(std::back_inserter(out), "{}", value); }

// One optional field with the separator before it.
struct FieldWriter {
  std::string& out;
  const profile::NameTable& names;

  void name(bool wanted, std::uint32_t index) const {
    if (!wanted) return;
    out += ',';
    if (index != profile::kNoName) append_csv(out, names[index]);
  }
  void time(bool wanted, Time ns) const {
    if (!wanted) return;
    out += ',';
    if (ns >= 0) append_seconds(out, ns);
  }
  void number(bool wanted, std::int64_t value) const {
    if (!wanted) return;
    out += ',';
    if (value >= 0) append_number(out, value);
  }
  void real(bool wanted, double value) const {
    if (!wanted) return;
    out += ',';
    if (value >= 0) append_real(out, value);
  }
};

const profile::Attributes& attributes_of(const Trace& trace, const Row& row) {
  static const profile::Attributes kNone;
  return row.request.attributes == profile::kNoAttributes ? kNone : trace.attributes[row.request.attributes];
}

}  // namespace

CsvColumns needed_columns(const Trace& trace) {
  CsvColumns c;
  c.gpus = trace.rows.empty();
  for (const Row& row : trace.rows) {
    const profile::JobRequest& r = row.request;
    c.gpus |= r.shape.nodes == 0;
    c.shape |= r.shape.nodes != 0;
    c.user |= r.user != profile::kNoName;
    c.tenant |= r.tenant != profile::kNoName;
    c.group |= r.group != profile::kNoName;
    c.gpu_type |= r.gpu_type != profile::kNoName;
    c.estimate |= r.estimate >= 0;
    c.wait |= row.wait >= 0;
  }
  for (const profile::Attributes& a : trace.attributes) {
    c.name |= a.name != profile::kNoName;
    c.model |= a.model != profile::kNoName;
    c.dataset |= a.dataset != profile::kNoName;
    c.batch_size |= a.batch_size >= 0;
    c.iterations |= a.iterations >= 0;
    c.gpu_utilization |= a.gpu_utilization >= 0;
    c.memory |= a.memory_mb >= 0;
  }
  return c;
}

void append_csv_header(std::string& out, const CsvColumns& c) {
  const auto add = [&](bool wanted, std::string_view title) {
    if (wanted) out.append(",").append(title);
  };
  out += "job_id,submit_s,duration_s";
  add(c.gpus, "gpus");
  add(c.shape, "nodes,gpus_per_node");
  add(c.user, "user");
  add(c.tenant, "tenant");
  add(c.group, "group");
  add(c.gpu_type, "gpu_type");
  add(c.estimate, "estimate_s");
  add(c.wait, "wait_s");
  add(c.name, "name");
  add(c.model, "model");
  add(c.dataset, "dataset");
  add(c.batch_size, "batch_size");
  add(c.iterations, "iterations");
  add(c.gpu_utilization, "gpu_utilization");
  add(c.memory, "memory_mb");
  out += '\n';
}

void append_csv_row(std::string& out, const CsvColumns& c, const Trace& trace, std::size_t index) {
  const Row& row = trace.rows[index];
  const profile::JobRequest& r = row.request;
  if (trace.text_ids.empty())
    append_number(out, row.id);
  else
    append_csv(out, trace.text_ids[index]);
  out += ',';
  append_seconds(out, row.submit);
  out += ',';
  append_seconds(out, row.duration);
  const FieldWriter field{.out = out, .names = trace.names};
  field.number(c.gpus, static_cast<std::int64_t>(r.shape.total()));
  field.number(c.shape, r.shape.nodes == 0 ? -1 : std::int64_t{r.shape.nodes});
  field.number(c.shape, r.shape.nodes == 0 ? -1 : std::int64_t{r.shape.gpus});
  field.name(c.user, r.user);
  field.name(c.tenant, r.tenant);
  field.name(c.group, r.group);
  field.name(c.gpu_type, r.gpu_type);
  field.time(c.estimate, r.estimate);
  field.time(c.wait, row.wait);
  const profile::Attributes& a = attributes_of(trace, row);
  field.name(c.name, a.name);
  field.name(c.model, a.model);
  field.name(c.dataset, a.dataset);
  field.number(c.batch_size, a.batch_size);
  field.number(c.iterations, a.iterations);
  field.real(c.gpu_utilization, a.gpu_utilization);
  field.real(c.memory, a.memory_mb);
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
