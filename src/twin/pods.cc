// SPDX-License-Identifier: Apache-2.0
#include "twin/pods.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/csv.h"
#include "base/limits.h"
#include "base/rng.h"
#include "base/text.h"

namespace comity::twin {
namespace {

using cluster::GpuModels;
using cluster::ShareNodeSpec;
using cluster::ShareRequest;

struct WantedColumn {
  std::string_view title;
  bool required;
};

// The lines of a CSV file with a header, their fields by wanted column.
class Rows {
 public:
  Rows(std::unique_ptr<ByteSource> source, const std::string& name, std::span<const WantedColumn> wanted)
      : lines_(std::move(source), name), name_(name), wanted_(wanted), at_(wanted.size(), kAbsent) {}

  Status read_header() {
    auto line = lines_.next();
    if (!line) return fail(line.error());
    number_ = line->number;
    if (line->at_end) return fail(error({}, "the file is empty", columns_hint()));
    if (!split_csv(line->text, ',', fields_, scratch_)) return fail(error({}, "the header's quotes are broken", {}));
    count_ = fields_.size();
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      for (std::size_t w = 0; w < wanted_.size(); ++w) {
        if (trim(fields_[f]) != wanted_[w].title) continue;
        if (at_[w] != kAbsent) return fail(error(wanted_[w].title, "the column is there twice", {}));
        at_[w] = f;
      }
    }
    for (std::size_t w = 0; w < wanted_.size(); ++w) {
      if (wanted_[w].required && at_[w] == kAbsent)
        return fail(error(wanted_[w].title, "the column is missing", columns_hint()));
    }
    return {};
  }

  // False at the end.
  Result<bool> next() {
    for (;;) {
      auto line = lines_.next();
      if (!line) return fail(line.error());
      if (line->at_end) return false;
      number_ = line->number;
      if (trim(line->text).empty()) continue;
      if (!split_csv(line->text, ',', fields_, scratch_))
        return fail(error({}, "broken quotes, or too many fields", {}));
      if (fields_.size() != count_)
        return fail(error({}, fmt::format("the line has {} fields, the header {}", fields_.size(), count_), {}));
      return true;
    }
  }

  [[nodiscard]] bool has(std::size_t column) const { return at_[column] != kAbsent; }
  [[nodiscard]] std::string_view text(std::size_t column) const {
    return has(column) ? trim(fields_[at_[column]]) : std::string_view{};
  }
  // A whole number in [0, high].
  Result<std::int64_t> number(std::size_t column, std::int64_t high) const {
    const auto value = parse_int(text(column));
    if (!value || *value < 0 || *value > high)
      return fail(error(wanted_[column].title,
                        fmt::format("'{}' is no whole number from 0 to {}", printable(text(column), 40), high), {}));
    return *value;
  }
  Result<Time> time(std::size_t column) const {
    const auto value = parse_seconds(text(column));
    if (!value || *value < 0)
      return fail(
          error(wanted_[column].title, fmt::format("'{}' is no time in seconds", printable(text(column), 40)), {}));
    return *value;
  }
  [[nodiscard]] Error error(std::string_view field, std::string message, std::string hint) const {
    Error e;
    e.code = Code::kInput;
    e.message = std::move(message);
    e.file = name_;
    e.line = number_;
    e.field = std::string(field);
    e.hint = std::move(hint);
    return e;
  }

 private:
  static constexpr std::size_t kAbsent = ~std::size_t{0};
  [[nodiscard]] std::string columns_hint() const {
    std::string names;
    for (const WantedColumn& w : wanted_) {
      if (w.required) names += (names.empty() ? "" : ",") + std::string(w.title);
    }
    return "the first line names the columns: " + names;
  }

  LineReader lines_;
  std::string name_;
  std::span<const WantedColumn> wanted_;
  std::vector<std::size_t> at_;
  std::vector<std::string_view> fields_;
  std::string scratch_;
  std::size_t count_ = 0;
  std::int64_t number_ = 0;
};

enum NodeColumn { kNodeName, kNodeCpu, kNodeMemory, kNodeGpus, kNodeModel };
constexpr std::array<WantedColumn, 5> kNodeColumns = {
    {{"sn", true}, {"cpu_milli", true}, {"memory_mib", true}, {"gpu", true}, {"model", true}}};

enum PodColumn { kPodName, kPodCpu, kPodMemory, kPodGpus, kPodMilli, kPodSpec, kCreated, kDeleted, kScheduled };
constexpr std::array<WantedColumn, 9> kPodColumns = {{{"name", true},
                                                      {"cpu_milli", true},
                                                      {"memory_mib", true},
                                                      {"num_gpu", true},
                                                      {"gpu_milli", true},
                                                      {"gpu_spec", false},
                                                      {"creation_time", false},
                                                      {"deletion_time", false},
                                                      {"scheduled_time", false}}};

Result<ShareNodeSpec> read_node(const Rows& rows, GpuModels& models) {
  ShareNodeSpec node;
  node.name = std::string(rows.text(kNodeName).substr(0, limits::kNameBytes));
  auto cpu = rows.number(kNodeCpu, cluster::kShareAmount);
  if (!cpu) return fail(cpu.error());
  auto memory = rows.number(kNodeMemory, cluster::kShareAmount);
  if (!memory) return fail(memory.error());
  auto gpus = rows.number(kNodeGpus, static_cast<std::int64_t>(cluster::kShareGpus));
  if (!gpus) return fail(gpus.error());
  node.cpu_milli = *cpu;
  node.memory_mib = *memory;
  node.gpus = static_cast<std::uint32_t>(*gpus);
  if (node.gpus == 0) return node;
  auto model = models.intern(rows.text(kNodeModel).substr(0, limits::kNameBytes));
  if (!model) return fail(rows.error("model", model.error().message, {}));
  node.model = *model;
  return node;
}

// "T4|P100": the bits of the models named; nothing named = any model.
Result<std::uint64_t> read_models(const Rows& rows, GpuModels& models) {
  const std::string_view text = rows.text(kPodSpec);
  if (text.empty()) return cluster::kAnyModel;
  std::uint64_t bits = 0;
  for (const std::string_view part : split(text, '|')) {
    if (trim(part).empty()) continue;
    auto model = models.intern(trim(part).substr(0, limits::kNameBytes));
    if (!model) return fail(rows.error("gpu_spec", model.error().message, {}));
    bits |= std::uint64_t{1} << *model;
  }
  return bits;
}

Result<ShareRequest> read_request(const Rows& rows, GpuModels& models) {
  ShareRequest r;
  auto cpu = rows.number(kPodCpu, cluster::kShareAmount);
  if (!cpu) return fail(cpu.error());
  auto memory = rows.number(kPodMemory, cluster::kShareAmount);
  if (!memory) return fail(memory.error());
  auto gpus = rows.number(kPodGpus, static_cast<std::int64_t>(cluster::kShareGpus));
  if (!gpus) return fail(gpus.error());
  auto milli = rows.number(kPodMilli, cluster::kGpuMilli);
  if (!milli) return fail(milli.error());
  r.cpu_milli = *cpu;
  r.memory_mib = *memory;
  r.gpus = static_cast<std::uint32_t>(*gpus);
  r.gpu_milli = static_cast<std::uint32_t>(*milli);
  if (r.gpus == 0 && r.gpu_milli != 0)
    return fail(rows.error("gpu_milli", "a pod without a GPU asks for part of one", {}));
  if (r.gpus > 0 && r.gpu_milli == 0)
    return fail(rows.error("gpu_milli", "a pod with a GPU asks for nothing of it", {}));
  if (r.gpus > 1 && r.gpu_milli != cluster::kGpuMilli)
    return fail(rows.error("gpu_milli", "shares of several GPUs cannot be asked for", "1000 where num_gpu is over 1"));
  if (r.gpus == 0) return r;
  auto bits = read_models(rows, models);
  if (!bits) return fail(bits.error());
  r.models = *bits;
  return r;
}

Status read_times(const Rows& rows, Pod& pod) {
  auto created = rows.time(kCreated);
  if (!created) return fail(created.error());
  auto deleted = rows.time(kDeleted);
  if (!deleted) return fail(deleted.error());
  Time started = *created;
  if (!rows.text(kScheduled).empty()) {
    auto scheduled = rows.time(kScheduled);
    if (!scheduled) return fail(scheduled.error());
    started = *scheduled;
  }
  if (*deleted < started) return fail(rows.error("deletion_time", "the pod ends before it begins", {}));
  pod.arrival = *created;
  pod.run = *deleted - started;
  return {};
}

}  // namespace

std::int64_t PodList::gpu_milli() const {
  std::int64_t sum = 0;
  for (const Pod& pod : pods) sum += pod.request.total_gpu_milli();
  return sum;
}

std::int64_t ShareNodes::gpu_milli() const {
  std::int64_t sum = 0;
  for (const ShareNodeSpec& node : nodes) sum += std::int64_t{node.gpus} * cluster::kGpuMilli;
  return sum;
}

Result<ShareNodes> read_share_nodes_from(std::unique_ptr<ByteSource> source, const std::string& name) {
  ShareNodes out;
  out.path = name;
  Rows rows(std::move(source), name, kNodeColumns);
  if (auto status = rows.read_header(); !status) return fail(status.error());
  for (;;) {
    auto more = rows.next();
    if (!more) return fail(more.error());
    if (!*more) break;
    if (out.nodes.size() == static_cast<std::size_t>(limits::kNodes))
      return fail(rows.error({}, fmt::format("more than {} nodes", limits::kNodes), {}));
    auto node = read_node(rows, out.models);
    if (!node) return fail(node.error());
    out.nodes.push_back(std::move(*node));
  }
  if (out.nodes.empty()) return fail(rows.error({}, "no node behind the header", {}));
  return out;
}

Result<PodList> read_pods_from(std::unique_ptr<ByteSource> source, const std::string& name, GpuModels& models) {
  PodList out;
  out.path = name;
  Rows rows(std::move(source), name, kPodColumns);
  if (auto status = rows.read_header(); !status) return fail(status.error());
  out.timed = rows.has(kCreated) && rows.has(kDeleted);
  for (;;) {
    auto more = rows.next();
    if (!more) return fail(more.error());
    if (!*more) break;
    if (out.pods.size() == kPods) return fail(rows.error({}, fmt::format("more than {} pods", kPods), {}));
    auto request = read_request(rows, models);
    if (!request) return fail(request.error());
    Pod pod;
    pod.request = *request;
    if (out.timed) {
      if (auto status = read_times(rows, pod); !status) return fail(status.error());
    }
    out.pods.push_back(pod);
    out.names.emplace_back(rows.text(kPodName).substr(0, limits::kNameBytes));
  }
  if (out.pods.empty()) return fail(rows.error({}, "no pod behind the header", {}));
  return out;
}

Result<ShareNodes> read_share_nodes(const std::string& path) {
  auto source = open_source(path);
  if (!source) return fail(source.error());
  return read_share_nodes_from(std::move(*source), path);
}

Result<PodList> read_pods(const std::string& path, GpuModels& models) {
  auto source = open_source(path);
  if (!source) return fail(source.error());
  return read_pods_from(std::move(*source), path, models);
}

ShareNodes synthetic_share_nodes(std::size_t nodes) {
  ShareNodes out;
  out.path = fmt::format("{} synthetic nodes", nodes);
  constexpr std::array<std::uint32_t, 3> kGpus = {8, 2, 4};
  constexpr std::array<std::string_view, 3> kModels = {"big", "small", "middle"};
  for (std::size_t i = 0; i < nodes; ++i) {
    const std::size_t kind = i % 16 < 8 ? 0 : (i % 16 < 15 ? 1 : 2);
    ShareNodeSpec node;
    node.name = fmt::format("n{}", i);
    node.gpus = kGpus[kind];
    node.cpu_milli = std::int64_t{16'000} * node.gpus;
    node.memory_mib = std::int64_t{96} * 1024 * node.gpus;
    node.model = out.models.intern(kModels[kind]).value();
    out.nodes.push_back(std::move(node));
  }
  return out;
}

PodList synthetic_pods(std::size_t pods, std::uint64_t seed) {
  PodList out;
  out.path = fmt::format("{} synthetic pods", format_count(pods));
  out.timed = true;
  Rng rng(seed, 0x706f6473);
  constexpr std::array<double, 6> kShares = {1088, 3078, 3911, 16, 15, 44};
  constexpr std::array<std::uint32_t, 6> kGpus = {0, 1, 1, 2, 4, 8};
  Time at = 0;
  for (std::size_t i = 0; i < pods; ++i) {
    const std::size_t kind = rng.pick(kShares);
    Pod pod;
    pod.request.gpus = kGpus[kind];
    pod.request.gpu_milli = kind == 0 ? 0 : kind == 1 ? static_cast<std::uint32_t>(20 + 20 * rng.below(48)) : 1000;
    const std::int64_t cores =
        kind < 2 ? std::int64_t{1} << rng.below(5) : 4 * (1 + static_cast<std::int64_t>(rng.below(4)));
    const std::int64_t factor = std::max<std::int64_t>(1, pod.request.gpus);
    pod.request.cpu_milli = 1000 * cores * factor;
    pod.request.memory_mib = 4096 * cores * factor;
    at += from_seconds(rng.exponential(60));
    pod.arrival = at;
    pod.run = from_seconds(60 + rng.exponential(7200));
    out.pods.push_back(pod);
    out.names.push_back(fmt::format("pod-{}", i));
  }
  return out;
}

}  // namespace comity::twin
