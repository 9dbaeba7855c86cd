// SPDX-License-Identifier: Apache-2.0
#include "trace/builder.h"

#include <algorithm>
#include <cstring>

#include "base/limits.h"
#include "base/memory.h"
#include "base/rng.h"
#include "trace/repeated.h"

namespace comity::trace {
namespace {

// At least this many rows at first, then four times as many whenever they run out: memory that is reserved but never
// touched costs nothing, so the peak is that of the last copy, well below what is read after it.
constexpr std::size_t kFirstRows = 1024;
constexpr std::size_t kGrowth = 4;
constexpr std::size_t kMostExpected = std::size_t{1} << 26;
constexpr std::size_t kMostListed = 0xffff'0000;  // entries of lists are counted in 32 bits

bool refuse(Problem& problem, std::string field, std::string message) {
  problem = {.field = std::move(field), .message = std::move(message)};
  return false;
}

// The shape, from GPUs in all, nodes and GPUs a node, as far as each was given.
bool make_shape(const Record& r, profile::Shape& shape, Problem& problem) {
  if (r.nodes == 0 && r.gpus_per_node == 0) {
    if (r.gpus <= 0) return refuse(problem, "gpus", "the job asks for no GPU");
    if (r.gpus > limits::kGpusPerJob) return refuse(problem, "gpus", "more than a million GPUs");
    shape = {.nodes = 0, .gpus = static_cast<std::uint32_t>(r.gpus)};
    return true;
  }
  if (r.nodes == 0) return refuse(problem, "nodes", "GPUs a node are given, but no nodes");
  std::int64_t each = r.gpus_per_node;
  if (each == 0) {
    if (r.gpus == 0) return refuse(problem, "gpus", "the job asks for no GPU");
    if (r.gpus % r.nodes != 0) return refuse(problem, "gpus", "the GPUs can't be split evenly over the nodes");
    each = r.gpus / r.nodes;
  }
  if (r.nodes > limits::kNodes || each > limits::kGpusPerJob || each * r.nodes > limits::kGpusPerJob)
    return refuse(problem, "nodes", "more than a million nodes or GPUs");
  if (r.gpus != 0 && r.gpus != r.nodes * each) return refuse(problem, "gpus", "isn't nodes times GPUs a node");
  shape = {.nodes = static_cast<std::uint32_t>(r.nodes), .gpus = static_cast<std::uint32_t>(each)};
  return true;
}

bool no_attributes(const Record& r) {
  for (auto f = Field::kName; f <= Field::kDurationBasis; f = static_cast<Field>(static_cast<int>(f) + 1)) {
    if (!r.name(f).empty()) return false;
  }
  return r.batch_size < 0 && r.iterations < 0 && r.gpu_utilization < 0 && r.memory_mb < 0 && r.deadlines.empty() &&
         r.gpu_models.empty() && r.gpu_milli < 0 && r.cpu_milli < 0 && r.memory_utilization < 0 &&
         r.host_memory_mb < 0 && r.speed < 0 && r.priority < 0 && r.mixed_precision < 0 && r.share < 0;
}

// What holds for the attributes of any trace.
bool check_attributes(const Record& r, Problem& problem) {
  if (r.gpu_milli == 0 || r.gpu_milli > 1000)
    return refuse(problem, "gpu_milli", "a share of a GPU is 1 to 1000 thousandths");
  if (r.mixed_precision > 1) return refuse(problem, "mixed_precision", "is neither 0 nor 1");
  if (r.share > 1) return refuse(problem, "share", "is neither 0 nor 1");
  for (std::size_t i = 1; i < r.deadlines.size(); ++i) {
    if (r.deadlines[i].after <= r.deadlines[i - 1].after) return refuse(problem, "deadlines", "aren't rising");
  }
  return true;
}

}  // namespace

std::uint32_t NameCache::look_up(std::string_view text) {
  std::uint64_t key = text.size();
  if (text.size() >= 8) {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::memcpy(&first, text.data(), 8);
    std::memcpy(&last, text.data() + text.size() - 8, 8);
    key ^= first ^ (last << 1);
  } else {
    std::uint64_t bytes = 0;
    for (const char c : text) bytes = bytes << 8 | static_cast<unsigned char>(c);
    key ^= bytes << 8;
  }
  Entry& entry = entries_[(key * 0x9e3779b97f4a7c15ULL) >> 55];
  if (entry.text == text) return entry.index;
  const std::uint32_t index = names_->intern(text);
  entry = {.text = (*names_)[index], .index = index};
  return index;
}

Builder::Builder(Trace& trace) : trace_(&trace), names_(trace.names) {}

void Builder::expect(std::size_t rows) { reserve_large(trace_->rows, std::min(rows, kMostExpected)); }

bool Builder::add(const Record& record, std::int64_t line, Problem& problem) {
  std::vector<Row>& rows = trace_->rows;
  Row row;
  if (!make_shape(record, row.request.shape, problem)) return false;
  if (record.duration < 0) return refuse(problem, "duration", "is negative");
  if (record.submit < 0) return refuse(problem, "submit", "is negative");
  const bool plain = !record.may_have_attributes || no_attributes(record);
  if (!plain && !check_attributes(record, problem)) return false;
  if (std::max(trace_->deadlines.size(), trace_->gpu_models.size()) > kMostListed)
    return refuse(problem, {}, "more than four billion deadlines or GPU models");
  if (rows.size() >= static_cast<std::size_t>(limits::kJobs)) return refuse(problem, {}, "more than a billion jobs");
  row.submit = record.submit;
  row.duration = record.duration;
  row.wait = record.wait;
  row.request.estimate = record.estimate;
  row.request.user = names_.intern(record.name(Field::kUser));
  row.request.tenant = names_.intern(record.name(Field::kTenant));
  row.request.group = names_.intern(record.name(Field::kGroup));
  row.request.gpu_type = names_.intern(record.name(Field::kGpuType));
  row.request.attributes = plain ? profile::kNoAttributes : add_attributes(record);
  add_id(record, row);
  const auto index = static_cast<std::uint32_t>(rows.size());
  const std::int64_t offset = line - index;
  if (offsets_.empty() || offsets_.back().offset != offset) offsets_.push_back({.row = index, .offset = offset});
  if (rows.size() == rows.capacity()) reserve_large(rows, std::max(kFirstRows, rows.capacity() * kGrowth));
  rows.push_back(row);
  return true;
}

std::uint32_t Builder::add_attributes(const Record& record) {
  const profile::Attributes attributes = {.name = names_.intern(record.name(Field::kName)),
                                          .model = names_.intern(record.name(Field::kModel)),
                                          .dataset = names_.intern(record.name(Field::kDataset)),
                                          .job_class = names_.intern(record.name(Field::kClass)),
                                          .status = names_.intern(record.name(Field::kStatus)),
                                          .command = names_.intern(record.name(Field::kCommand)),
                                          .directory = names_.intern(record.name(Field::kDirectory)),
                                          .duration_basis = names_.intern(record.name(Field::kDurationBasis)),
                                          .deadlines = add_deadlines(record),
                                          .gpu_models = add_gpu_models(record),
                                          .batch_size = record.batch_size,
                                          .iterations = record.iterations,
                                          .cpu_milli = record.cpu_milli,
                                          .gpu_utilization = record.gpu_utilization,
                                          .memory_mb = record.memory_mb,
                                          .memory_utilization = record.memory_utilization,
                                          .host_memory_mb = record.host_memory_mb,
                                          .speed = record.speed,
                                          .priority = record.priority,
                                          .gpu_milli = static_cast<std::int16_t>(record.gpu_milli),
                                          .mixed_precision = static_cast<std::int8_t>(record.mixed_precision),
                                          .share = static_cast<std::int8_t>(record.share)};
  std::vector<profile::Attributes>& all = trace_->attributes;
  if (all.empty() || !(all.back() == attributes)) all.push_back(attributes);
  return static_cast<std::uint32_t>(all.size() - 1);
}

profile::List Builder::add_deadlines(const Record& record) {
  if (record.deadlines.empty()) return {};
  std::vector<profile::Deadline>& all = trace_->deadlines;
  const profile::List& last = last_deadlines_;
  if (last.count == record.deadlines.size() &&
      std::equal(record.deadlines.begin(), record.deadlines.end(), all.begin() + last.first)) {
    return last;
  }
  last_deadlines_ = {.first = static_cast<std::uint32_t>(all.size()),
                     .count = static_cast<std::uint32_t>(record.deadlines.size())};
  all.insert(all.end(), record.deadlines.begin(), record.deadlines.end());
  return last_deadlines_;
}

profile::List Builder::add_gpu_models(const Record& record) {
  if (record.gpu_models.empty()) return {};
  std::vector<std::uint32_t>& all = trace_->gpu_models;
  const auto start = all.size();
  for (const std::string_view model : record.gpu_models) all.push_back(names_.intern(model));
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(start);
  const profile::List& last = last_gpu_models_;
  if (last.count == record.gpu_models.size() && std::equal(begin, all.end(), all.begin() + last.first)) {
    all.resize(start);
    return last;
  }
  last_gpu_models_ = {.first = static_cast<std::uint32_t>(start),
                      .count = static_cast<std::uint32_t>(record.gpu_models.size())};
  return last_gpu_models_;
}

void Builder::add_id(const Record& record, Row& row) {
  const std::size_t index = trace_->rows.size();
  row.id = record.id_kind == Record::Id::kNumber ? record.id : static_cast<std::int64_t>(index);
  if (record.id_kind == Record::Id::kNone) return;
  has_ids_ = true;
  std::vector<std::string>& texts = trace_->text_ids;
  if (record.id_kind == Record::Id::kText && texts.empty()) {
    texts.reserve(index + 1);
    for (const Row& earlier : trace_->rows) texts.push_back(std::to_string(earlier.id));
    ids_rise_ = false;
  }
  if (record.id_kind == Record::Id::kText)
    texts.emplace_back(record.id_text);
  else if (!texts.empty())
    texts.push_back(std::to_string(record.id));
  ids_rise_ = ids_rise_ && record.id > last_id_;
  last_id_ = record.id;
}

std::vector<std::uint32_t> Builder::repeated_ids() const {
  if (!has_ids_ || ids_rise_) return {};
  if (!trace_->text_ids.empty()) return repeated_texts(trace_->text_ids);
  return repeated_numbers(trace_->rows);
}

std::int64_t Builder::line_of(std::uint32_t row) const {
  const auto after = std::upper_bound(offsets_.begin(), offsets_.end(), row,
                                      [](std::uint32_t r, const LineOffset& o) { return r < o.row; });
  return after == offsets_.begin() ? 0 : row + std::prev(after)->offset;
}

void Builder::remove(const std::vector<std::uint32_t>& rows) {
  std::vector<Row>& all = trace_->rows;
  std::vector<std::string>& texts = trace_->text_ids;
  std::size_t next = 0;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (next < rows.size() && rows[next] == i) {
      ++next;
      continue;
    }
    all[kept] = all[i];
    if (!texts.empty() && kept != i) texts[kept] = std::move(texts[i]);
    ++kept;
  }
  all.resize(kept);
  if (!texts.empty()) texts.resize(kept);
}

}  // namespace comity::trace
