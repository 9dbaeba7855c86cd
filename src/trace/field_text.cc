// SPDX-License-Identifier: Apache-2.0
#include "trace/field_text.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/text.h"

namespace comity::trace {
namespace {

bool refuse(Problem& problem, std::string_view message, std::string_view text) {
  problem.message = fmt::format("{}: '{}'", message, printable(text));
  return false;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  if (const auto value = parse_int(text)) return value;
  const auto value = parse_double(text);
  if (!value || std::fabs(*value) > 9e15 || std::floor(*value) != *value) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

bool store_time(std::string_view text, bool optional, Time& time, Problem& problem) {
  if (text.empty()) {
    time = -1;
    if (!optional) problem.message = "is empty";
    return optional;
  }
  const auto value = parse_seconds(text);
  if (!value) return refuse(problem, "is no number of seconds within 73 years", text);
  time = *value;
  if (time >= 0) return true;
  if (!optional || time != -kSecond) return refuse(problem, "is negative", text);
  time = -1;
  return true;
}

bool store_count(std::string_view text, std::int64_t unknown, std::int64_t& count, Problem& problem) {
  count = unknown;
  if (text.empty()) return true;
  const auto value = whole_number(text);
  if (!value) return refuse(problem, "is no whole number", text);
  if (unknown < 0 && *value == -1) return true;
  if (*value < 0) return refuse(problem, "is negative", text);
  count = *value;
  return true;
}

bool store_real(std::string_view text, double& real, Problem& problem) {
  real = -1;
  if (text.empty()) return true;
  const auto value = parse_double(text);
  if (!value) return refuse(problem, "is no finite number", text);
  if (*value < 0 && *value != -1) return refuse(problem, "is negative", text);
  real = *value;
  return true;
}

bool store_id(std::string_view text, Record& record, Problem& problem) {
  if (text.empty()) {
    problem.message = "is empty";
    return false;
  }
  if (text.size() > limits::kNameBytes) return refuse(problem, "is longer than 4096 bytes", text);
  const auto value = parse_int(text);
  if (value && *value < 0) return refuse(problem, "is negative", text);
  // "007" and "7" are two ids, and each is written as it was read.
  const bool canonical = value && (text.size() == 1 || (text[0] != '0' && text[0] != '-'));
  record.id_kind = canonical ? Record::Id::kNumber : Record::Id::kText;
  record.id = canonical ? *value : 0;
  record.id_text = text;
  return true;
}

// "V100M16|V100M32": names between bars, none of them empty.
bool store_models(std::string_view text, Record& record, Problem& problem) {
  record.gpu_models.clear();
  if (text.empty()) return true;
  if (text.size() > limits::kNameBytes) return refuse(problem, "is longer than 4096 bytes", text);
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('|', begin), text.size());
    const std::string_view model = trim(text.substr(begin, end - begin));
    if (model.empty()) return refuse(problem, "has an empty entry between its bars", text);
    if (record.gpu_models.size() == kMostInList) return refuse(problem, "has more than 64 entries", text);
    record.gpu_models.push_back(model);
    begin = end + 1;
  }
  return true;
}

// "60:10:soft|90:5:soft", rising.
bool store_deadlines(std::string_view text, Record& record, Problem& problem) {
  record.deadlines.clear();
  if (text.empty()) return true;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('|', begin), text.size());
    const std::string_view entry = text.substr(begin, end - begin);
    const std::size_t first = entry.find(':');
    const std::size_t second = first == std::string_view::npos ? first : entry.find(':', first + 1);
    if (second == std::string_view::npos) return refuse(problem, "isn't SECONDS:VALUE:strict or :soft", entry);
    const auto after = parse_seconds(trim(entry.substr(0, first)));
    const auto value = parse_double(trim(entry.substr(first + 1, second - first - 1)));
    const std::string_view kind = trim(entry.substr(second + 1));
    if (!after || *after < 0) return refuse(problem, "has no number of seconds from 0 to 73 years", entry);
    if (!value || *value < 0) return refuse(problem, "has no value from 0 on", entry);
    if (kind != "strict" && kind != "soft") return refuse(problem, "is neither strict nor soft", entry);
    if (record.deadlines.size() == kMostInList) return refuse(problem, "has more than 64 entries", text);
    record.deadlines.push_back({.after = *after, .value = *value, .strict = kind == "strict"});
    begin = end + 1;
  }
  return true;
}

}  // namespace

bool store_text(Field field, std::string_view text, Record& record, Problem& problem) {
  if (field == Field::kIgnored) return true;
  text = trim(text);
  if (is_name(field)) {
    record.name(field) = text;
    return text.size() <= limits::kNameBytes || refuse(problem, "is longer than 4096 bytes", text);
  }
  switch (field) {
    case Field::kId: return store_id(text, record, problem);
    case Field::kSubmit: return store_time(text, false, record.submit, problem);
    case Field::kDuration: return store_time(text, false, record.duration, problem);
    case Field::kEstimate: return store_time(text, true, record.estimate, problem);
    case Field::kWait: return store_time(text, true, record.wait, problem);
    case Field::kGpus: return store_count(text, 0, record.gpus, problem);
    case Field::kNodes: return store_count(text, 0, record.nodes, problem);
    case Field::kGpusPerNode: return store_count(text, 0, record.gpus_per_node, problem);
    case Field::kBatchSize: return store_count(text, -1, record.batch_size, problem);
    case Field::kIterations: return store_count(text, -1, record.iterations, problem);
    case Field::kGpuUtilization: return store_real(text, record.gpu_utilization, problem);
    case Field::kMemory: return store_real(text, record.memory_mb, problem);
    case Field::kMemoryUtilization: return store_real(text, record.memory_utilization, problem);
    case Field::kHostMemory: return store_real(text, record.host_memory_mb, problem);
    case Field::kSpeed: return store_real(text, record.speed, problem);
    case Field::kPriority: return store_real(text, record.priority, problem);
    case Field::kCpuMilli: return store_count(text, -1, record.cpu_milli, problem);
    case Field::kGpuMilli: return store_count(text, -1, record.gpu_milli, problem);
    case Field::kMixedPrecision: return store_count(text, -1, record.mixed_precision, problem);
    case Field::kShare: return store_count(text, -1, record.share, problem);
    case Field::kDeclaredGpus: return store_count(text, -1, record.declared_gpus, problem);
    case Field::kGpuModels: return store_models(text, record, problem);
    case Field::kDeadlines: return store_deadlines(text, record, problem);
    default: return true;
  }
}

}  // namespace comity::trace
