// SPDX-License-Identifier: Apache-2.0
// A training step as Chakra execution traces, one a rank, for simulators of fabrics (ASTRA-sim and others): what an
// estimate takes to happen, without its exposed communication.
//
//   compute     one node a pass of a chunk (F, B, or I and W) with its duration, whole microseconds; one for the
//   optimizer collective  after the pass it belongs to; those of one kind within a pass are one node with the sum of
//   their bytes:
//               all-reduce over tp (all-gather and reduce-scatter with sequence parallelism), all-gather or all-to-all
//               over cp, all-to-all over ep; at the end gradients (all-reduce, or reduce-scatter and all-gather with
//               ZeRO)
//   send, recv  activations to the next chunk's rank and gradients back, where that is another one
// Each pass waits for the one before it on its rank and for what it receives. comm_size is what ASTRA-sim means by it:
// an all-reduce of S sends 2 (n-1)/n S a rank, the others (n-1)/n S.
#pragma once

#include <cstdint>

#include "workload/collective_cost.h"
#include "workload/execution.h"
#include "workload/foreign/astra.h"
#include "workload/foreign/chakra.h"
#include "workload/model.h"
#include "workload/system.h"

namespace comity::workload {

inline constexpr std::int64_t kStepTraceRanks = 4096;
inline constexpr std::int64_t kStepTraceNodes = 50'000'000;  // of all ranks

// Rank by rank; made once, then trace() for each. The model, execution and system have passed their checks.
class StepTraces {
 public:
  // kInput beyond the bounds above.
  [[nodiscard]] static Result<StepTraces> make(const Model& model, const Execution& execution, const System& system,
                                               CostModel cost);
  [[nodiscard]] std::int64_t ranks() const { return ranks_; }
  [[nodiscard]] const AstraGroups& groups() const { return groups_; }
  [[nodiscard]] ChakraTrace trace(std::int64_t rank) const;

 private:
  friend class StepWriter;
  struct Chunk {  // of one micro-batch
    double forward_us = 0, input_us = 0, weight_us = 0;
    double tp_forward = 0, tp_backward = 0;  // bytes sent
    double cp_forward = 0, cp_backward = 0;
    double ep_forward = 0, ep_backward = 0;
    double dense = 0, experts = 0;  // parameters on the rank
  };
  StepTraces(const Model& model, const Execution& execution) : model_(model), execution_(execution) {}

  Model model_;
  Execution execution_;
  std::int64_t ranks_ = 0;
  std::int64_t message_bytes_ = 0;  // from chunk to chunk
  double optimizer_us_ = 0;
  std::vector<Chunk> chunks_;
  AstraGroups groups_;
  std::map<std::pair<int, std::int64_t>, std::int64_t> group_ids_;  // by kind and first rank
};

}  // namespace comity::workload
