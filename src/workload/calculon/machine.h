// SPDX-License-Identifier: Apache-2.0
// How long a System takes for an amount of work: Calculon's step tables and its closed form of a collective.
#pragma once

#include "workload/calculon/layers.h"

namespace comity::workload::calculon {

// Seconds of one operation among `ranks` processors over `bytes`. What the offset adds is a rank's share of the bytes.
[[nodiscard]] double net_s(const Network& net, NetOp op, double bytes, double ranks);

class Machine {
 public:
  // The system must have exe's networks and element type (evaluate() checks).
  Machine(const Execution& exe, const System& sys);

  [[nodiscard]] double vector_s(double flops) const;
  // The optimizer's step is the vector unit's, whatever the layer.
  [[nodiscard]] double flops_s(const Layer& layer, Stage stage) const;
  [[nodiscard]] double mem1_s(double bytes) const;
  [[nodiscard]] double mem2_s(double bytes) const;
  // Arithmetic and memory side by side (roofline), or one after the other.
  [[nodiscard]] double joined(double flops_s, double mem_s) const;

  [[nodiscard]] const Network& tp_net() const { return tp_net_; }
  [[nodiscard]] const Network& pp_net() const { return pp_net_; }
  [[nodiscard]] const Network& dp_net() const { return dp_net_; }
  [[nodiscard]] double matrix_peak() const { return matrix_.flops; }  // FLOP/s
  [[nodiscard]] double mem1_capacity() const { return sys_.mem1.capacity; }
  [[nodiscard]] double mem2_capacity() const { return sys_.mem2.capacity; }

 private:
  const System& sys_;
  const Processor& matrix_;
  const Processor& vector_;
  const Network& tp_net_;
  const Network& pp_net_;
  const Network& dp_net_;
};

}  // namespace comity::workload::calculon
