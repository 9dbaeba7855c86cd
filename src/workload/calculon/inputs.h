// SPDX-License-Identifier: Apache-2.0
// Calculon's three input files (Isaev et al., SC'23; calculon-ai/calculon): application, execution and system JSON,
// with its own names and rules. What Calculon asserts is an error here that names the field.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "workload/model.h"

namespace comity::workload::calculon {

struct Application {
  std::int64_t hidden = 0;
  std::int64_t feedforward = 0;
  std::int64_t seq_size = 0;
  std::int64_t attn_heads = 0;
  std::int64_t attn_size = 0;
  std::int64_t num_blocks = 0;
};

enum class ActivationRecompute : std::uint8_t { kNone, kAttnOnly, kFull };
enum class TensorParComm : std::uint8_t { kAr, kP2pRsAg, kRsAg };
enum class TensorParOverlap : std::uint8_t { kNone, kRing, kPipe };
enum class ElementType : std::uint8_t { kFloat8, kFloat16, kFloat32, kBfloat16 };

struct Execution {
  bool training = true;
  std::int64_t num_procs = 1;
  std::int64_t tensor_par = 1;
  std::int64_t pipeline_par = 1;
  std::int64_t data_par = 1;
  std::int64_t tensor_par_net = 0;
  std::int64_t pipeline_par_net = 0;
  std::int64_t data_par_net = 0;
  std::int64_t batch_size = 1;
  std::int64_t microbatch_size = 1;
  ElementType datatype = ElementType::kFloat16;
  bool fused_activation = false;
  bool multiquery = false;
  ActivationRecompute activation_recompute = ActivationRecompute::kNone;
  std::int64_t pipeline_interleaving = 1;
  bool optimizer_sharding = false;
  TensorParComm tensor_par_comm_type = TensorParComm::kAr;
  TensorParOverlap tensor_par_overlap = TensorParOverlap::kNone;
  bool seq_par_ag_redo = false;
  bool data_par_overlap = false;
  bool weight_offload = false;
  bool activations_offload = false;
  bool optimizer_offload = false;

  [[nodiscard]] std::int64_t microbatches() const { return batch_size / data_par / microbatch_size; }
};

// Efficiency from a size on, largest size first; the last one's size is 0.
using Steps = std::vector<std::pair<double, double>>;

struct Processor {
  double flops = 0;  // FLOP/s; 0: the type is not there
  Steps efficiency;
};
struct Memory {
  double capacity = 0;   // B
  double bandwidth = 0;  // B/s
  Steps efficiency;
};
enum class NetOp : std::uint8_t { kP2p, kReduceScatter, kAllGather, kAllReduce };
struct Network {
  double bandwidth = 0;  // B/s
  double efficiency = 1;
  std::int64_t size = 0;
  double latency = 0;                              // s
  std::array<std::pair<double, double>, 4> ops{};  // by NetOp: scalar and offset
  bool must_be_filled = false;
  double processor_usage = 0;
};
struct System {
  std::array<Processor, 4> matrix;  // by ElementType
  std::array<Processor, 4> vector;
  Memory mem1;
  Memory mem2;
  bool roofline = false;  // else compute and memory time add up
  std::vector<Network> networks;
};

[[nodiscard]] Result<Application> parse_application(std::string_view json, const std::string& file);
[[nodiscard]] Result<Execution> parse_execution(std::string_view json, const std::string& file);
[[nodiscard]] Result<System> parse_system(std::string_view json, const std::string& file);

// Bytes of an element.
[[nodiscard]] double element_bytes(ElementType type);

}  // namespace comity::workload::calculon
