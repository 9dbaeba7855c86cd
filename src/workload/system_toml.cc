// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include "workload/execution.h"
#include "workload/system.h"
#include "workload/toml_fields.h"

namespace comity::workload {
namespace {

constexpr std::int64_t kMaxGpus = 100'000'000;
constexpr std::int64_t kMaxCount = 1'000'000;  // GPUs of a node, multiprocessors, sides of a tile, channels
constexpr double kMaxRate = 1e9;               // GB/s, TFLOP/s, GiB, us
constexpr std::size_t kMaxNetworks = 8;

template <class Visitor, class Any>
void main_fields(Visitor& v, Any& s) {
  v.text("name", s.name);
  v.text("gpu", s.gpu);
  v.text("source", s.source);
  v.text("calibrated_on", s.calibrated_on);
  v.integer("gpus_per_node", s.gpus_per_node, 1, kMaxCount);
  v.integer("gpus", s.gpus, 0, kMaxGpus);
  v.real("price_per_gpu_hour", s.price_per_gpu_hour, 0, kMaxRate);
  v.real("memory_gib", s.memory_gib, 0, kMaxRate);
  v.real("memory_gb_s", s.memory_gb_s, 0, kMaxRate);
  v.real("memory_efficiency", s.memory_efficiency, 0, 1);
  v.real("launch_us", s.launch_us, 0, kMaxRate);
  v.integer("sms", s.sms, 1, kMaxCount);
  v.real("vector_tflops", s.vector_tflops, 0, kMaxRate);
  v.real("attention_efficiency", s.attention_efficiency, 0, 1);
  v.real("attention_backward_efficiency", s.attention_backward_efficiency, 0, 1);
  v.real("host_memory_gib", s.host_memory_gib, 0, kMaxRate);
  v.real("host_gb_s", s.host_gb_s, 0, kMaxRate);
  v.real("step_overhead_s", s.step_overhead_s, 0, kMaxRate);
  v.real("pp_exposed", s.pp_exposed, 0, 1);
  v.real("optimizer_gb_s", s.optimizer_gb_s, 0, kMaxRate);
  v.real("error_band", s.error_band, 0, 100);
}

template <class Visitor, class Any>
void tflops_fields(Visitor& v, Any& tflops) {
  for (std::size_t i = 0; i < tflops.size(); ++i)
    v.real(datatype_name(static_cast<Datatype>(i)), tflops[i], 0, kMaxRate);
}

template <class Visitor, class Any>
void gemm_fields(Visitor& v, Any& gemm) {
  v.real("max_efficiency", gemm.max_efficiency, 0, 1);
  v.real("k_half", gemm.k_half, 0, kMaxRate);
  v.integer("tile_m", gemm.tile_m, 1, kMaxCount);
  v.integer("tile_n", gemm.tile_n, 1, kMaxCount);
  v.real("wave_weight", gemm.wave_weight, 0, 1);
}

template <class Visitor, class Any>
void network_fields(Visitor& v, Any& n) {
  v.text("name", n.name);
  v.integer("domain", n.domain, 0, kMaxGpus);
  v.real("gb_s", n.gb_s, 0, kMaxRate);
  v.real("latency_us", n.latency_us, 0, kMaxRate);
  v.real("efficiency", n.efficiency, 0, 1);
  v.real("all_reduce", n.all_reduce, 0, 1);
  v.real("all_to_all", n.all_to_all, 0, 1);
  v.real("point_to_point", n.point_to_point, 0, 1);
  v.real("oversubscription", n.oversubscription, 1, kMaxRate);
  v.boolean("in_network_reduction", n.in_network_reduction);
}

template <class Visitor, class Any>
void nccl_fields(Visitor& v, Any& nccl) {
  v.text("arch", nccl.arch);
  v.integer("channels", nccl.channels, 0, kMaxCount);
  v.real("intra_gb_s", nccl.intra_gb_s, 0, kMaxRate);
  v.real("inter_gb_s", nccl.inter_gb_s, 0, kMaxRate);
  v.boolean("nvls", nccl.nvls);
}

template <class Fields>
Status read_table(TomlReader& reader, std::string_view key, const Fields& fields) {
  std::optional<TomlReader> inner = reader.table(key);
  if (!inner) return {};
  FieldReader v(*inner);
  fields(v);
  return inner->finish();
}

Status read_networks(TomlReader& reader, System& system) {
  std::vector<TomlReader> tables = reader.tables("network");
  if (tables.size() > kMaxNetworks) reader.refuse("network", "more than 8 tiers");
  for (TomlReader& table : tables) {
    table.require("gb_s");
    Network network;
    FieldReader v(table);
    network_fields(v, network);
    if (auto status = table.finish(); !status) return status;
    system.networks.push_back(std::move(network));
  }
  return {};
}

Status read_system(TomlReader& reader, System& system) {
  read_schema(reader, kSystemSchema);
  for (const char* key : {"name", "memory_gib", "memory_gb_s", "tflops"}) reader.require(key);
  FieldReader v(reader);
  main_fields(v, system);
  if (auto s = read_table(reader, "tflops", [&](FieldReader& in) { tflops_fields(in, system.tflops); }); !s) return s;
  if (auto s = read_table(reader, "gemm", [&](FieldReader& in) { gemm_fields(in, system.gemm); }); !s) return s;
  if (auto s = read_table(reader, "nccl", [&](FieldReader& in) { nccl_fields(in, system.nccl); }); !s) return s;
  if (auto s = read_networks(reader, system); !s) return s;
  return reader.finish();
}

}  // namespace

Result<System> parse_system(std::string_view toml, const std::string& file) {
  const Result<TomlTable> table = parse_toml(toml, file);
  if (!table) return fail(table.error());
  TomlReader reader(*table, file, "");
  System system;
  if (auto status = read_system(reader, system); !status) return fail(status.error());
  if (auto status = check_system(system, file); !status) return fail(at_its_line(status.error(), *table));
  return system;
}

std::string system_toml(const System& system) {
  std::string out = "schema = " + toml_quoted(kSystemSchema) + '\n';
  FieldWriter v(out);
  main_fields(v, system);
  v.heading("[tflops]");
  tflops_fields(v, system.tflops);
  v.heading("[gemm]");
  gemm_fields(v, system.gemm);
  v.heading("[nccl]");
  nccl_fields(v, system.nccl);
  for (const Network& network : system.networks) {
    v.heading("[[network]]");
    network_fields(v, network);
  }
  return out;
}

}  // namespace comity::workload
