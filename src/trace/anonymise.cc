// SPDX-License-Identifier: Apache-2.0
#include "trace/anonymise.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "trace/comity_columns.h"
#include "trace/row_copy.h"
#include "trace/writer.h"

namespace comity::trace {
namespace {

constexpr Time kWeek = 7 * kDay;
constexpr std::uint64_t kShiftSeconds = 10ULL * 365 * 86'400;

struct NamedField {
  Field field;
  const char* name;
  bool text;  // can be hashed
};
constexpr std::array<NamedField, 27> kFields = {{{Field::kUser, "user", true},
                                                 {Field::kTenant, "tenant", true},
                                                 {Field::kGroup, "group", true},
                                                 {Field::kGpuType, "gpu_type", true},
                                                 {Field::kName, "name", true},
                                                 {Field::kModel, "model", true},
                                                 {Field::kDataset, "dataset", true},
                                                 {Field::kCommand, "command", true},
                                                 {Field::kDirectory, "directory", true},
                                                 {Field::kClass, "class", false},
                                                 {Field::kStatus, "status", false},
                                                 {Field::kEstimate, "estimate", false},
                                                 {Field::kWait, "wait", false},
                                                 {Field::kBatchSize, "batch_size", false},
                                                 {Field::kIterations, "iterations", false},
                                                 {Field::kGpuUtilization, "gpu_utilization", false},
                                                 {Field::kMemory, "memory", false},
                                                 {Field::kMemoryUtilization, "memory_utilization", false},
                                                 {Field::kSpeed, "speed", false},
                                                 {Field::kMixedPrecision, "mixed_precision", false},
                                                 {Field::kGpuMilli, "gpu_milli", false},
                                                 {Field::kGpuModels, "gpu_models", false},
                                                 {Field::kCpuMilli, "cpu_milli", false},
                                                 {Field::kHostMemory, "host_memory", false},
                                                 {Field::kDeadlines, "deadlines", false},
                                                 {Field::kPriority, "priority", false},
                                                 {Field::kShare, "share", false}}};

bool has(const std::vector<Field>& list, Field field) {
  return std::find(list.begin(), list.end(), field) != list.end();
}

const char* name_of(Field field) {
  return std::find_if(kFields.begin(), kFields.end(), [&](const NamedField& f) { return f.field == field; })->name;
}

bool is_in(const CsvColumns& columns, Field field) {
  for (std::size_t i = 0; i < kComityColumns.size(); ++i) {
    if (kComityColumns[i].field == field) return columns.wanted[i];
  }
  return false;
}

void erase(Field field, profile::Attributes& a) {
  switch (field) {
    case Field::kBatchSize: a.batch_size = -1; break;
    case Field::kIterations: a.iterations = -1; break;
    case Field::kGpuUtilization: a.gpu_utilization = -1; break;
    case Field::kMemory: a.memory_mb = -1; break;
    case Field::kMemoryUtilization: a.memory_utilization = -1; break;
    case Field::kSpeed: a.speed = -1; break;
    case Field::kMixedPrecision: a.mixed_precision = -1; break;
    case Field::kGpuMilli: a.gpu_milli = -1; break;
    case Field::kGpuModels: a.gpu_models = {}; break;
    case Field::kCpuMilli: a.cpu_milli = -1; break;
    case Field::kHostMemory: a.host_memory_mb = -1; break;
    case Field::kDeadlines: a.deadlines = {}; break;
    case Field::kPriority: a.priority = -1; break;
    case Field::kShare: a.share = -1; break;
    default: break;  // names are the copier's, estimates and waits the row's
  }
}

// Whole numbers by value; other ids by length, then text: the order of a replay.
bool id_before(const Trace& trace, std::uint32_t a, std::uint32_t b) {
  if (trace.text_ids.empty()) return trace.rows[a].id < trace.rows[b].id;
  const std::string& x = trace.text_ids[a];
  const std::string& y = trace.text_ids[b];
  return x.size() != y.size() ? x.size() < y.size() : x < y;
}

std::vector<std::uint32_t> order_of(const Trace& trace, Ids ids) {
  std::vector<std::uint32_t> order(trace.rows.size());
  std::iota(order.begin(), order.end(), 0U);
  if (ids == Ids::kKeep) return order;
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Time x = trace.rows[a].submit;
    const Time y = trace.rows[b].submit;
    return x != y ? x < y : id_before(trace, a, b);
  });
  return order;
}

// Rounded up to a multiple of `step`; negative (unknown) and step 0 stay.
bool round_up(Time& t, Time step) {
  if (t < 0 || step == 0 || t % step == 0) return true;
  t += step - t % step;
  return t <= kMaxTime;
}

tl::unexpected<Error> too_late(const Trace& trace) {
  return fail(Code::kInput, fmt::format("{}: a time would pass 73 years", printable(trace.path)),
              "smaller --round-submit and --round-duration, or no --shift-time");
}

Result<Time> shift_of(const Trace& trace, const Key& key, const AnonymiseOptions& o) {
  if (!o.shift_time) return 0;
  const Time shift = o.whole_weeks
                         ? static_cast<Time>(key.number("shift weeks", kShiftSeconds * kSecond / kWeek)) * kWeek
                         : static_cast<Time>(key.number("shift seconds", kShiftSeconds)) * kSecond;
  for (const Row& row : trace.rows) {
    if (row.submit > kMaxTime - shift) return too_late(trace);
  }
  return shift;
}

void list_fields(const Trace& before, const AnonymiseOptions& o, Anonymised& out) {
  const CsvColumns columns = needed_columns(before);
  for (const NamedField& f : kFields) {
    if (!is_in(columns, f.field)) continue;
    const bool hashed = has(o.hash, f.field == Field::kGpuModels ? Field::kGpuType : f.field);
    (has(o.drop, f.field) ? out.dropped : hashed ? out.hashed : out.kept).emplace_back(f.name);
  }
}

}  // namespace

Result<std::vector<Field>> parse_fields(std::string_view text, bool drop, const std::string& option) {
  std::vector<Field> fields;
  std::vector<std::string> names = {"all"};
  for (const NamedField& f : kFields) {
    if (f.text || drop) names.emplace_back(f.name);
  }
  for (const std::string_view word : split(text, ',')) {
    const std::string name(trim(word));
    if (name.empty()) continue;
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      const std::string near = nearest(name, names);
      return fail_option(option, fmt::format("there is no field '{}'", printable(name)),
                         near.empty() ? fmt::format("one of {}", fmt::join(names, ", ")) : fmt::format("'{}'?", near));
    }
    for (const NamedField& f : kFields) {
      const bool wanted = name == "all" ? f.text : name == f.name;
      if (wanted && !has(fields, f.field)) fields.push_back(f.field);
    }
  }
  return fields;
}

Result<Anonymised> anonymise(const Trace& trace, const Key& key, const AnonymiseOptions& o) {
  for (const Field field : o.hash) {
    if (has(o.drop, field)) return fail(Code::kUsage, fmt::format("{} is both hashed and dropped", name_of(field)));
  }
  if (o.round_submit < 0 || o.round_submit > kMaxTime || o.round_duration < 0 || o.round_duration > kMaxTime)
    return fail_option(o.round_submit < 0 || o.round_submit > kMaxTime ? "--round-submit" : "--round-duration",
                       "must be within 0 and 73 years");
  const Result<Time> shift = shift_of(trace, key, o);
  if (!shift) return fail(shift.error());
  Anonymised out;
  list_fields(trace, o, out);
  out.trace.path = "anonymised";
  out.trace.format = "comity";
  out.trace.declared_gpus = trace.declared_gpus;
  RowCopier copier(trace, out.trace, [&](Field field, const std::string& name) -> std::string {
    if (has(o.drop, field)) return {};
    return has(o.hash, field) ? key.pseudonym(name_of(field), name) : name;
  });
  const bool drop_wait = has(o.drop, Field::kWait);
  const bool drop_estimate = has(o.drop, Field::kEstimate);
  out.trace.rows.reserve(trace.rows.size());
  for (const std::uint32_t i : order_of(trace, o.ids)) {
    Row row = copier.copy(trace.rows[i]);
    row.submit += *shift;
    if (o.round_submit > 0) row.submit -= row.submit % o.round_submit;
    const bool fits = round_up(row.duration, o.round_duration) && round_up(row.wait, o.round_duration) &&
                      round_up(row.request.estimate, o.round_duration);
    if (!fits) return too_late(trace);
    if (drop_wait) row.wait = -1;
    if (drop_estimate) row.request.estimate = -1;
    if (o.ids == Ids::kHash) {
      const std::string id = trace.text_ids.empty() ? std::to_string(row.id) : trace.text_ids[i];
      out.trace.text_ids.push_back(key.pseudonym("id", id));
    } else if (o.ids == Ids::kKeep && !trace.text_ids.empty()) {
      out.trace.text_ids.push_back(trace.text_ids[i]);
    }
    if (o.ids != Ids::kKeep) row.id = static_cast<std::int64_t>(out.trace.rows.size());
    out.trace.rows.push_back(row);
  }
  for (profile::Attributes& a : out.trace.attributes) {
    for (const Field field : o.drop) erase(field, a);
  }
  return out;
}

}  // namespace comity::trace
