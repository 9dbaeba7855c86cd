// SPDX-License-Identifier: Apache-2.0
// The operations of one transformer block as Calculon counts them: FLOPs, bytes and communication of each pass.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "workload/calculon/inputs.h"

namespace comity::workload::calculon {

enum class Stage : std::uint8_t { kForward, kAgrad, kWgrad, kOptim };
inline constexpr std::size_t kStages = 4;

// What its communication looks like: none, or a tensor-parallel boundary of its own, or one that runs beside a product.
enum class LayerComm : std::uint8_t { kNone, kBoundary, kOverlapped };

struct Layer {
  std::array<double, kStages> flops{};
  std::array<double, kStages> mem{};  // bytes accessed
  double weight = 0;                  // bytes
  double activation = 0;
  double output = 0;
  double weight_grad = 0;  // sharded, in the type of the wire
  double weight_grad_whole = 0;
  double activation_grad = 0;
  double optimizer = 0;
  double comm_bytes = 0;  // of the tensor that crosses the boundary, over all ranks
  LayerComm comm = LayerComm::kNone;
  bool conjugate = false;  // reduces going forward; else going backward
  bool matrix = false;
  bool recompute = false;
  bool recomm = false;
  bool reuses_activation = false;
  bool stores_activation = true;
  bool stores_output = true;
};

// Sixteen to nineteen layers, in the order in which a token passes them.
[[nodiscard]] std::vector<Layer> block_layers(const Application& app, const Execution& exe);

}  // namespace comity::workload::calculon
