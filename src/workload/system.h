// SPDX-License-Identifier: Apache-2.0
// The machine that trains: one kind of GPU, its memory, and the networks that join them, innermost first. Comity's
// TOML: schema "comity.system/1", keys named as the fields (units are the last part of a name; GB = 10^9 B).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace comity::workload {

// Time of C[M x N] += A[M x K] B[K x N] = max(2 M N K / (peak u), bytes / (memory bandwidth x efficiency)) + launch,
// u = max_efficiency x wave x K / (K + k_half), wave = tiles / (ceil(tiles / sms) sms), tiles of tile_m x tile_n.
struct GemmModel {
  double max_efficiency = 0.8;
  double k_half = 0;
  std::int64_t tile_m = 128;
  std::int64_t tile_n = 256;
  double wave_weight = 1;  // 0: no loss in the last wave, 1: as written above

  friend bool operator==(const GemmModel&, const GemmModel&) = default;
};

// One tier of the network. bandwidth is what one GPU can send in one direction.
struct Network {
  std::string name;
  std::int64_t domain = 0;  // GPUs that it joins; the last tier's is the whole machine's
  double gb_s = 0;
  double latency_us = 0;  // of one message
  double efficiency = 1;  // achieved / line rate of long messages, any pattern without a value of its own below
  double all_reduce = 0;  // 0: efficiency
  double all_to_all = 0;
  double point_to_point = 0;
  double oversubscription = 1;        // of what leaves the tier below
  bool in_network_reduction = false;  // NVLS, SHARP: a GPU sends and receives S + S/n instead of 2(n-1)/n S

  friend bool operator==(const Network&, const Network&) = default;
};

// What NCCL's tuning model needs beside the networks (specs: NCCL 2.x graph/tuning).
struct NcclModel {
  std::string arch = "ampere";  // volta, ampere, hopper, blackwell
  std::int64_t channels = 0;    // 0: as many as the bandwidth wants
  double intra_gb_s = 0;        // of one channel inside of a node; 0: derived
  double inter_gb_s = 0;        // of one channel between nodes; 0: derived
  bool nvls = false;

  friend bool operator==(const NcclModel&, const NcclModel&) = default;
};

struct System {
  std::string name;
  std::string gpu;
  std::string source;
  std::string calibrated_on;  // which measured rows the efficiencies were fitted on; "" = none
  std::int64_t gpus_per_node = 8;
  std::int64_t gpus = 0;  // of the machine; 0: any number
  double price_per_gpu_hour = 0;
  double memory_gib = 80;
  double memory_gb_s = 2039;
  double memory_efficiency = 0.85;
  double launch_us = 4;  // a kernel that the queue can't hide
  std::int64_t sms = 108;
  std::array<double, 4> tflops{};     // by Datatype (bf16, fp16, fp32, fp8); 0: not there
  double vector_tflops = 0;           // fp32 outside of the matrix units
  double attention_efficiency = 0.5;  // of the peak, fused attention forward
  double attention_backward_efficiency = 0.45;
  GemmModel gemm;
  double host_memory_gib = 0;  // a GPU's share
  double host_gb_s = 0;        // GPU to host, one direction
  double step_overhead_s = 0;  // data, logging, synchronisation once a step
  double pp_exposed = 0.1;     // share of stage-to-stage transfers that nothing hides
  double optimizer_gb_s = 0;   // 0: memory_gb_s x memory_efficiency
  std::vector<Network> networks;
  NcclModel nccl;
  double error_band = 0.1;  // the confidence band's half width, relative: covers >= 80 % of rows not used

  // GPUs that the innermost network joins: those of a node, or of a rack where it reaches over nodes.
  [[nodiscard]] std::int64_t joined_gpus() const {
    const std::int64_t domain = networks.size() > 1 ? networks.front().domain : 0;
    return domain > 0 ? domain : gpus_per_node > 1 ? gpus_per_node : 1;
  }
  friend bool operator==(const System&, const System&) = default;
};

[[nodiscard]] Status check_system(const System& system, const std::string& file);
[[nodiscard]] Result<System> parse_system(std::string_view toml, const std::string& file);
[[nodiscard]] std::string system_toml(const System& system);                // reads back equal
[[nodiscard]] Result<System> load_system(const std::string& name_or_file);  // a name of the library or a .toml
[[nodiscard]] const std::vector<std::string>& system_names();

}  // namespace comity::workload
