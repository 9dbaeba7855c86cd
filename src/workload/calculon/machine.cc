// SPDX-License-Identifier: Apache-2.0
#include "workload/calculon/machine.h"

#include <algorithm>

namespace comity::workload::calculon {
namespace {

double step_of(const Steps& steps, double size) {
  for (const auto& [from, efficiency] : steps)
    if (size >= from) return efficiency;
  return steps.back().second;
}

double unit_s(const Processor& unit, double flops) { return flops / (unit.flops * step_of(unit.efficiency, flops)); }

double memory_s(const Memory& memory, double bytes) {
  return bytes / (memory.bandwidth * step_of(memory.efficiency, bytes));
}

}  // namespace

double net_s(const Network& net, NetOp op, double bytes, double ranks) {
  const auto& [scalar, offset] = net.ops[static_cast<std::size_t>(op)];
  const double scaled = bytes * scalar;
  return net.latency + (scaled + scaled / ranks * offset) / (net.bandwidth * net.efficiency);
}

Machine::Machine(const Execution& exe, const System& sys)
    : sys_(sys),
      matrix_(sys.matrix[static_cast<std::size_t>(exe.datatype)]),
      vector_(sys.vector[static_cast<std::size_t>(exe.datatype)]),
      tp_net_(sys.networks[static_cast<std::size_t>(exe.tensor_par_net)]),
      pp_net_(sys.networks[static_cast<std::size_t>(exe.pipeline_par_net)]),
      dp_net_(sys.networks[static_cast<std::size_t>(exe.data_par_net)]) {}

double Machine::vector_s(double flops) const { return unit_s(vector_, flops); }

double Machine::flops_s(const Layer& layer, Stage stage) const {
  const double flops = layer.flops[static_cast<std::size_t>(stage)];
  return unit_s(layer.matrix && stage != Stage::kOptim ? matrix_ : vector_, flops);
}

double Machine::mem1_s(double bytes) const { return memory_s(sys_.mem1, bytes); }
double Machine::mem2_s(double bytes) const { return memory_s(sys_.mem2, bytes); }

double Machine::joined(double flops_s, double mem_s) const {
  return sys_.roofline ? std::max(flops_s, mem_s) : flops_s + mem_s;
}

}  // namespace comity::workload::calculon
