// SPDX-License-Identifier: Apache-2.0
// What other simulators say an iteration takes, for `comity iteration estimate --cost astra_unaware | simai`: files in,
// named numbers out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workload/foreign/astra.h"
#include "workload/foreign/simai.h"

namespace comity::workload {

// One line of a breakdown. The lines of ForeignEstimate::breakdown add up to iteration_s.
struct ForeignPart {
  std::string_view name;  // "compute", "exposed_tp", ...; a field of the JSON with _s behind
  double seconds = 0;
};

struct ForeignEstimate {
  double iteration_s = 0;
  std::vector<ForeignPart> breakdown;
  bool approximate = false;
  std::vector<std::string> notes;  // what was dropped or assumed, for stderr
};

struct AstraRequest {
  std::string chakra;   // --chakra PREFIX: PREFIX.0.et, PREFIX.1.et ... or .et.gz, one an NPU
  std::string system;   // --system
  std::string network;  // --network
  std::string groups;   // --groups, "" = none
};
struct AstraAnswer {
  ForeignEstimate summary;  // of the rank that ends last
  AstraEstimate details;    // every rank
};
[[nodiscard]] Result<AstraAnswer> evaluate(const AstraRequest& request);

struct SimaiRequest {
  std::string workload;  // --workload
  SimaiMachine machine;  // --gpus, --nvlink-gb-s, --nic-gb-s, --nics-per-node, --gpus-per-node
};
struct SimaiAnswer {
  ForeignEstimate summary;
  SimaiEstimate details;  // every layer
};
[[nodiscard]] Result<SimaiAnswer> evaluate(const SimaiRequest& request);

// {"iteration_s", "breakdown": {"compute_s", ...}, "approximate", "notes"}
[[nodiscard]] std::string foreign_json(const ForeignEstimate& estimate);

}  // namespace comity::workload
