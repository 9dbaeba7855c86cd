// SPDX-License-Identifier: Apache-2.0
// How a model is spread over GPUs and run: the degrees of parallelism, the schedule and what is overlapped. Comity's
// TOML: schema "comity.execution/1", keys named as the fields.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workload/model.h"
#include "workload/system.h"

namespace comity::workload {

enum class Schedule : std::uint8_t { kGpipe, k1f1b, kInterleaved, kZbH1, kZbH2, kDualPipe };
enum class Recompute : std::uint8_t { kNone, kSelective, kFull };
enum class ContextParallel : std::uint8_t { kRing, kUlysses };
enum class Datatype : std::uint8_t { kBf16, kFp16, kFp32, kFp8 };
enum class Axis : std::uint8_t { kTp, kCp, kEp, kDp, kPp };

struct Execution {
  std::int64_t tp = 1;              // tensor
  std::int64_t cp = 1;              // context
  std::int64_t pp = 1;              // pipeline
  std::int64_t dp = 1;              // data
  std::int64_t ep = 1;              // experts; divides dp * cp
  std::int64_t virtual_stages = 1;  // chunks a rank, v
  std::int64_t microbatch = 1;      // sequences, b
  std::int64_t batch = 1;           // sequences of a step over all GPUs, B
  std::int64_t sequence = 0;        // tokens; 0: the model's
  Schedule schedule = Schedule::k1f1b;
  Recompute recompute = Recompute::kNone;
  double recompute_share = 1;  // of the layers that recompute says something about
  ContextParallel context_parallel = ContextParallel::kRing;
  Datatype datatype = Datatype::kBf16;
  std::int64_t zero = 0;            // 0 DDP, 1..3 (3: FSDP)
  std::int64_t gradient_bytes = 4;  // of an element, in memory and on the wire
  bool sequence_parallel = false;   // Korthikanti et al. 2022; needs tp > 1
  bool flash_attention = true;      // no s x s matrix in memory
  bool fused = true;                // activation, bias and dropout in one pass over memory
  bool dropout = true;
  bool tp_overlap = false;             // all-gather and reduce-scatter hidden behind the GEMMs they feed
  bool dp_overlap = true;              // buckets leave while backward goes on
  bool ep_overlap = false;             // all-to-all behind another micro-batch's computation
  bool scatter_gather = true;          // a stage sends 1/tp of the activation a rank
  bool causal_skip = true;             // attention kernels leave out the upper triangle
  double expert_capacity = 0;          // capacity factor; 0: dropless
  std::int64_t expert_node_limit = 0;  // nodes that one token's experts lie on at most; 0: no limit
  double expert_skew = 1;              // tokens of the fullest rank over the mean
  double activation_offload = 0;       // share of the activations kept in host memory
  bool optimizer_offload = false;
  std::array<Axis, 5> order = {Axis::kTp, Axis::kCp, Axis::kEp, Axis::kDp, Axis::kPp};  // innermost first
  std::vector<std::int64_t> stage_layers;  // of each of the pp * v chunks in order; empty: as even as can be

  [[nodiscard]] std::int64_t gpus() const { return tp * cp * pp * dp; }
  [[nodiscard]] std::int64_t microbatches() const { return batch / (microbatch * dp); }  // m, of a replica
  [[nodiscard]] std::int64_t tokens(const Model& model) const { return sequence > 0 ? sequence : model.sequence; }

  friend bool operator==(const Execution&, const Execution&) = default;
};

// Layers of chunk c (0 .. pp*v - 1 in the order in which a token passes them).
[[nodiscard]] std::int64_t layers_of_chunk(const Execution& execution, const Model& model, std::int64_t chunk);

// Everything that makes the execution impossible, with the field to change: degrees that don't divide heads, layers,
// batch or experts, more stages than layers, groups that don't fit the system.
[[nodiscard]] Status check_execution(const Execution& execution, const Model& model, const System& system,
                                     const std::string& file);

[[nodiscard]] Result<Execution> parse_execution(std::string_view toml, const std::string& file);
[[nodiscard]] Result<Execution> load_execution(const std::string& file);  // .toml
[[nodiscard]] std::string execution_toml(const Execution& execution);

[[nodiscard]] std::string_view schedule_name(Schedule schedule);
[[nodiscard]] std::string_view recompute_name(Recompute recompute);
[[nodiscard]] std::string_view datatype_name(Datatype datatype);

}  // namespace comity::workload
