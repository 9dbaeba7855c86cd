// SPDX-License-Identifier: Apache-2.0
// Layers of a model for those who freeze some of them (IceFrog, TPDS 36(6) 2025): forward FLOP a sample and parameters,
// front to back, from published shapes. Files of data/layers/, schema comity.layers/1; a layer here is a block.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace comity::profile {

struct LayerTable {
  std::string name;
  std::vector<std::string> aliases;
  std::string source;
  std::int64_t batch = 1;   // samples a GPU and step
  std::int64_t epochs = 1;  // of a whole training
  double tflops = 1;        // 10^12 FLOP/s that a GPU achieves on it
  std::vector<std::string> layers;
  std::vector<double> gflop;   // forward, a sample; backward is twice that
  std::vector<double> mparam;  // 10^6 parameters
};

// Errors (kInput) name file, line and key: lists of different lengths, no layer or more than 4,096, numbers that are
// negative or not finite.
[[nodiscard]] Result<LayerTable> parse_layers(std::string_view text, const std::string& file);

// Those of the program, parsed once.
[[nodiscard]] const std::vector<LayerTable>& layer_tables();
// By name or alias, whatever the case; null when there is none.
[[nodiscard]] const LayerTable* find_layers(std::string_view model);

}  // namespace comity::profile
