// SPDX-License-Identifier: Apache-2.0
// Workload texts of SimAI and AICB in and out, and what SimAI-Analytical says they cost, number for number.
//
// A text: line 1 the kind of parallelism and degrees, line 2 how many layers, then a layer a line: name, a number,
// and for forward, input gradient and weight gradient each compute (ns), operation, bytes; last the update time (ns).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/input.h"
#include "base/result.h"

namespace comity::workload {

enum class SimaiOperation : std::uint8_t {
  kNone,
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,          // SimAI passes over it
  kAllReduceAllToAll,  // read, of no group that SimAI-Analytical prices
};
// The suffix: none (tensor parallel in forward and input gradient, data parallel in weight gradient), _EP, _DP_EP.
enum class SimaiSuffix : std::uint8_t { kNone, kEp, kDpEp };

struct SimaiPass {
  std::int64_t compute_ns = 0;
  SimaiOperation operation = SimaiOperation::kNone;
  SimaiSuffix suffix = SimaiSuffix::kNone;
  std::int64_t bytes = 0;
  bool operator==(const SimaiPass&) const = default;
};

struct SimaiLayer {
  std::string name;
  std::int64_t placeholder = -1;
  SimaiPass forward;
  SimaiPass input_grad;
  SimaiPass weight_grad;
  std::int64_t update_ns = 0;
  std::string policy;  // HYBRID_CUSTOMIZED only: a layer's own kind of parallelism
  bool operator==(const SimaiLayer&) const = default;
};

// Degrees that the header leaves out are empty: older AICB writes no ep, pp, vpp, ga and all_gpus.
struct SimaiWorkload {
  std::string parallelism;  // DATA, MODEL, HYBRID_TRANSFORMER_FWD_IN_BCKWD, MICRO, ...
  std::optional<std::int64_t> tp;
  std::optional<std::int64_t> ep;
  std::optional<std::int64_t> pp;
  std::optional<std::int64_t> vpp;
  std::optional<std::int64_t> ga;
  std::optional<std::int64_t> all_gpus;
  std::optional<std::int64_t> pp_comm;            // bytes; "pp_comm" and "pp_comm:" are both in use
  std::optional<std::int64_t> last_bottom_layer;  // HYBRID_DLRM
  std::vector<std::int64_t> checkpoints;
  std::vector<std::int64_t> checkpoint_initiates;
  std::vector<SimaiLayer> layers;
  std::vector<std::string> notes;                     // what was passed over; not written
  bool operator==(const SimaiWorkload& other) const;  // without notes
};

// Errors (kInput) name file, line and column. Bounds: 10^7 layers, 10^15 ns, 2^62 B.
[[nodiscard]] Result<SimaiWorkload> read_simai(const std::string& path);
[[nodiscard]] Result<SimaiWorkload> read_simai_from(LineReader& reader);
[[nodiscard]] std::string write_simai(const SimaiWorkload& workload);  // reads back equal

// What SimAI-Analytical is given beside the workload; its options in brackets.
struct SimaiMachine {
  std::int64_t gpus = 0;           // (-g)
  double nvlink_gb_s = 0;          // (-nv), 2^30 B
  double nic_gb_s = 0;             // (-nic), of one NIC
  std::int64_t nics_per_node = 8;  // (-n_p_s)
  std::int64_t gpus_per_node = 8;  // (-g_p_s)
  double dp_overlap = 0;           // (-dp_o) share of the communication that computation hides
  double ep_overlap = 0;
  double tp_overlap = 0;
  double pp_overlap = 0;
};

struct SimaiTransfer {
  double total_us = 0;
  double exposed_us = 0;
  double algorithm_gb_s = 0;  // bytes over time; not a number where there is neither
  double bus_gb_s = 0;
};

struct SimaiLayerCost {
  std::string name;
  double forward_us = 0;  // compute
  double input_grad_us = 0;
  double weight_grad_us = 0;
  SimaiTransfer forward;
  SimaiTransfer input_grad;
  SimaiTransfer weight_grad;
};

struct SimaiEstimate {
  double dp_us = 0;  // exposed communication by group
  double dp_ep_us = 0;
  double tp_us = 0;
  double ep_us = 0;
  double pp_us = 0;
  double bubble_us = 0;
  double compute_us = 0;
  double exposed_us = 0;  // of all groups but pp
  double total_us = 0;    // compute + exposed + bubble + pp
  std::vector<SimaiLayerCost> layers;
  std::vector<std::string> notes;  // what was assumed
};

// SimAI-Analytical as of October 2025 (the bubble is part of the total). Errors: a workload that takes no time, GPUs
// that the degrees do not fit, sizes outside of the ratio tables (with the layer).
[[nodiscard]] Result<SimaiEstimate> simai_estimate(const SimaiWorkload& workload, const SimaiMachine& machine,
                                                   const std::string& file);
// The end-to-end CSV that SimAI-Analytical would have written, `prefix` its -r.
[[nodiscard]] std::string simai_csv(const SimaiEstimate& estimate, std::string_view prefix);

// Share of the bus bandwidth that messages of a size reach, by kind of link and nodes (simai_ratio.cc).
enum class SimaiRatio : std::uint8_t { kNic, kNvlink, kAllToAll };
// Nothing over 16 GiB: SimAI stops there.
[[nodiscard]] std::optional<float> simai_ratio(SimaiRatio table, double bytes, std::int64_t nodes);

}  // namespace comity::workload
