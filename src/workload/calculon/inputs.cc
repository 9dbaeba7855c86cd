// SPDX-License-Identifier: Apache-2.0
#include "workload/calculon/inputs.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/json_document.h"
#include "base/text.h"

namespace comity::workload::calculon {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 20;  // products of three stay below 2^63
constexpr double kLarge = 1e12;
constexpr std::array<std::string_view, 4> kTypes = {"float8", "float16", "float32", "bfloat16"};
constexpr std::array<std::string_view, 4> kOps = {"p2p", "reduce_scatter", "all_gather", "all_reduce"};

std::int64_t count(TomlReader& reader, std::string_view key, std::int64_t low = 1) {
  reader.require(key);
  return reader.integer(key, low, low, kMost);
}
bool flag(TomlReader& reader, std::string_view key) {
  reader.require(key);
  return reader.boolean(key, false);
}
double number(TomlReader& reader, std::string_view key, double low, double high) {
  reader.require(key);
  return reader.real(key, high, low, high);
}

// One of `names`, by its place.
template <class Enum, std::size_t kNames>
Enum choice(TomlReader& reader, std::string_view key, const std::array<std::string_view, kNames>& names) {
  reader.require(key);
  const std::string got = reader.text(key, std::string(names[0]));
  const auto found = std::find(names.begin(), names.end(), got);
  if (found != names.end()) return static_cast<Enum>(found - names.begin());
  reader.refuse(key, fmt::format("must be one of {}, not '{}'", fmt::join(names, ", "), printable(got, 40)));
  return Enum{};
}

void check_degrees(TomlReader& r, const Execution& e) {
  if (e.num_procs != e.tensor_par * e.pipeline_par * e.data_par)
    r.refuse("num_procs", fmt::format("is not tensor_par x pipeline_par x data_par = {} x {} x {}", e.tensor_par,
                                      e.pipeline_par, e.data_par));
  if (e.batch_size % e.data_par != 0)
    r.refuse("batch_size", "is no multiple of data_par");
  else if (e.batch_size / e.data_par % e.microbatch_size != 0)
    r.refuse("microbatch_size", "does not divide batch_size / data_par");
  if (e.pipeline_par == 1 && e.pipeline_interleaving != 1)
    r.refuse("pipeline_interleaving", "must be 1 where pipeline_par is 1");
}
void check_switches(TomlReader& r, const Execution& e) {
  if (e.activation_recompute != ActivationRecompute::kNone && !e.training)
    r.refuse("activation_recompute", "goes with training only");
  if (e.optimizer_sharding && e.data_par == 1) r.refuse("optimizer_sharding", "needs data_par > 1");
  if (e.tensor_par_overlap != TensorParOverlap::kNone && e.tensor_par == 1)
    r.refuse("tensor_par_overlap", "needs tensor_par > 1");
  if (e.seq_par_ag_redo &&
      (e.tensor_par_comm_type != TensorParComm::kRsAg || e.activation_recompute == ActivationRecompute::kFull))
    r.refuse("seq_par_ag_redo", "needs tensor_par_comm_type rs_ag and no full recomputation");
  if (e.data_par_overlap && (!e.training || e.data_par == 1))
    r.refuse("data_par_overlap", "needs training and data_par > 1");
  if (e.optimizer_offload && !e.training) r.refuse("optimizer_offload", "goes with training only");
}

// [[size, efficiency], ...], sizes falling to 0.
Steps read_steps(TomlReader& reader, std::string_view key, double unit) {
  reader.require(key);
  Steps out;
  double last = kLarge;
  for (const auto& [size, efficiency] : reader.points(key, 0, kLarge)) {
    if (size >= last || efficiency <= 0 || efficiency > 1) {
      reader.refuse(key, "sizes must fall and efficiencies lie above 0 and not above 1");
      return out;
    }
    last = size;
    out.emplace_back(size * unit, efficiency);
  }
  if (out.empty() || out.back().first > 0) reader.refuse(key, "the last size must be 0");
  return out;
}

Status read_processors(TomlReader& reader, std::string_view key, std::array<Processor, 4>& out) {
  reader.require(key);
  auto table = reader.table(key);
  if (!table) return {};
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    auto type = table->table(kTypes[i]);
    if (!type) continue;
    out[i].flops = number(*type, "tflops", 1e-6, kLarge) * 1e12;
    out[i].efficiency = read_steps(*type, "gflops_efficiency", 1e9);
    if (auto status = type->finish(); !status) return status;
  }
  return table->finish();
}

Status read_memory(TomlReader& reader, std::string_view key, Memory& out) {
  reader.require(key);
  auto table = reader.table(key);
  if (!table) return {};
  out.capacity = number(*table, "GiB", 0, kLarge) * 1073741824.0;
  out.bandwidth = number(*table, "GBps", 1e-6, kLarge) * 1e9;
  out.efficiency = read_steps(*table, "MB_efficiency", 1e6);
  return table->finish();
}

double number_at(const TomlArray& pair, std::size_t i) {
  if (const double* d = std::get_if<double>(&pair[i].v)) return *d;
  if (const std::int64_t* n = std::get_if<std::int64_t>(&pair[i].v)) return static_cast<double>(*n);
  return 0;
}

Status read_ops(TomlReader& reader, Network& out) {
  reader.require("ops");
  auto table = reader.table("ops");
  if (!table) return {};
  for (std::size_t i = 0; i < kOps.size(); ++i) {
    table->require(kOps[i]);
    const TomlValue* value = table->value(kOps[i]);
    if (value == nullptr) continue;
    const TomlArray* pair = std::get_if<TomlArray>(&value->v);
    const bool lone = pair != nullptr && pair->size() == 2 && std::holds_alternative<std::monostate>((*pair)[1].v);
    // Transfers from one to one have no offset, collectives must have one.
    if (pair == nullptr || pair->size() != 2 || lone != (i == 0) || number_at(*pair, 0) <= 0) {
      table->refuse(kOps[i], i == 0 ? "must be [scalar above 0, null]" : "must be [scalar above 0, offset]");
      continue;
    }
    out.ops[i] = {number_at(*pair, 0), lone ? 0 : number_at(*pair, 1)};
  }
  return table->finish();
}

Status read_network(TomlReader& reader, Network& out) {
  out.bandwidth = number(reader, "bandwidth", 1e-6, kLarge) * 1e9;
  out.efficiency = number(reader, "efficiency", 1e-6, 1);
  out.size = count(reader, "size", 0);
  out.latency = number(reader, "latency", 0, 1e6);
  out.must_be_filled = flag(reader, "must_be_filled");
  out.processor_usage = number(reader, "processor_usage", 0, 0.999);
  if (auto status = read_ops(reader, out); !status) return status;
  return reader.finish();
}

}  // namespace

Result<Application> parse_application(std::string_view json, const std::string& file) {
  auto table = parse_json(json, file);
  if (!table) return fail(table.error());
  TomlReader r(*table, file, "");
  Application out{count(r, "hidden"),     count(r, "feedforward"), count(r, "seq_size"),
                  count(r, "attn_heads"), count(r, "attn_size"),   count(r, "num_blocks")};
  if (auto status = r.finish(); !status) return fail(status.error());
  return out;
}

Result<Execution> parse_execution(std::string_view json, const std::string& file) {
  auto table = parse_json(json, file);
  if (!table) return fail(table.error());
  TomlReader r(*table, file, "");
  Execution e;
  e.training = flag(r, "training");
  r.require("num_procs");
  e.num_procs = r.integer("num_procs", 1, 1, std::int64_t{1} << 60);
  e.tensor_par = count(r, "tensor_par");
  e.pipeline_par = count(r, "pipeline_par");
  e.data_par = count(r, "data_par");
  e.tensor_par_net = count(r, "tensor_par_net", 0);
  e.pipeline_par_net = count(r, "pipeline_par_net", 0);
  e.data_par_net = count(r, "data_par_net", 0);
  e.batch_size = count(r, "batch_size");
  e.microbatch_size = count(r, "microbatch_size");
  e.datatype = choice<ElementType>(r, "datatype", kTypes);
  e.fused_activation = flag(r, "fused_activation");
  e.multiquery = choice<int>(r, "attention_type", std::array<std::string_view, 2>{"multihead", "multiquery"}) == 1;
  e.activation_recompute = choice<ActivationRecompute>(r, "activation_recompute",
                                                       std::array<std::string_view, 3>{"none", "attn_only", "full"});
  e.pipeline_interleaving = count(r, "pipeline_interleaving");
  e.optimizer_sharding = flag(r, "optimizer_sharding");
  e.tensor_par_comm_type =
      choice<TensorParComm>(r, "tensor_par_comm_type", std::array<std::string_view, 3>{"ar", "p2p_rs_ag", "rs_ag"});
  e.tensor_par_overlap =
      choice<TensorParOverlap>(r, "tensor_par_overlap", std::array<std::string_view, 3>{"none", "ring", "pipe"});
  e.seq_par_ag_redo = flag(r, "seq_par_ag_redo");
  e.data_par_overlap = flag(r, "data_par_overlap");
  e.weight_offload = flag(r, "weight_offload");
  e.activations_offload = flag(r, "activations_offload");
  e.optimizer_offload = flag(r, "optimizer_offload");
  check_degrees(r, e);
  check_switches(r, e);
  if (auto status = r.finish(); !status) return fail(status.error());
  return e;
}

Result<System> parse_system(std::string_view json, const std::string& file) {
  auto table = parse_json(json, file);
  if (!table) return fail(table.error());
  TomlReader r(*table, file, "");
  System out;
  Status status = read_processors(r, "matrix", out.matrix);
  if (status) status = read_processors(r, "vector", out.vector);
  if (status) status = read_memory(r, "mem1", out.mem1);
  if (status) status = read_memory(r, "mem2", out.mem2);
  out.roofline = choice<int>(r, "processing_mode", std::array<std::string_view, 2>{"no_overlap", "roofline"}) == 1;
  r.require("networks");
  for (TomlReader& each : r.tables("networks")) {
    if (!status) break;
    if (out.networks.size() >= 64) {
      r.refuse("networks", "more than 64 tiers");
      break;
    }
    out.networks.emplace_back();
    status = read_network(each, out.networks.back());
  }
  if (status) status = r.finish();
  if (!status) return fail(status.error());
  return out;
}

double element_bytes(ElementType type) {
  switch (type) {
    case ElementType::kFloat8: return 1;
    case ElementType::kFloat16:
    case ElementType::kBfloat16: return 2;
    case ElementType::kFloat32: return 4;
  }
  return 0;
}

}  // namespace comity::workload::calculon
