// SPDX-License-Identifier: Apache-2.0
#include "workload/own_machine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "math/gemm_probe.h"
#include "math/minimise.h"
#include "workload/execution.h"
#include "workload/kernels.h"

namespace comity::workload {
namespace {

constexpr std::array<std::array<std::size_t, 3>, 10> kShapes = {{{64, 64, 64},
                                                                 {128, 128, 128},
                                                                 {256, 256, 256},
                                                                 {512, 512, 512},
                                                                 {1024, 1024, 1024},
                                                                 {1024, 1024, 64},
                                                                 {1024, 64, 1024},
                                                                 {32, 1024, 1024},
                                                                 {256, 1024, 256},
                                                                 {768, 768, 768}}};

double gflop_s(const System& system, const MeasuredGemm& p) {
  return 2e-9 * p.m * p.n * p.k / gemm_s(system, Datatype::kFp32, p.m, p.n, p.k);
}

// What the fit may move: how the peak is reached and what a call costs.
System with(const System& start, const std::vector<double>& x) {
  System s = start;
  s.gemm.max_efficiency = x[0];
  s.gemm.k_half = x[1];
  s.launch_us = x[2];
  return s;
}

}  // namespace

OwnMachine measure_machine(const System& start, double seconds) {
  OwnMachine out;
  out.system = start;
  const double each = seconds / (kShapes.size() + 2);
  double most = 0;
  for (const auto& [m, n, k] : kShapes) {
    const double flops = math::measure_gemm(m, n, k, each);
    most = std::max(most, flops);
    out.products.push_back({static_cast<double>(m), static_cast<double>(n), static_cast<double>(k), flops * 1e-9, 0});
  }
  System& s = out.system;
  s.tflops = {0, 0, most * 1e-12, 0};
  s.vector_tflops = most * 1e-12;
  out.copy_gb_s = math::measure_copy(std::size_t{64} << 20, 2 * each) * 1e-9;
  s.memory_gb_s = out.copy_gb_s;
  s.memory_efficiency = 1;
  const auto loss = [&](const std::vector<double>& x) {
    if (x[0] <= 0.05 || x[0] > 1 || x[1] < 0 || x[2] < 0) return std::numeric_limits<double>::infinity();
    double sum = 0;
    for (const MeasuredGemm& p : out.products) {
      const double error = std::log(gflop_s(with(s, x), p) / p.measured_gflop_s);
      sum += error * error;
    }
    return sum;
  };
  s = with(s, math::minimise(loss, {0.9, 32, 1}, {0.05, 16, 0.5}, 3000).at);
  for (MeasuredGemm& p : out.products) p.modelled_gflop_s = gflop_s(s, p);
  s.calibrated_on = "this machine: products and copies of one thread";
  return out;
}

}  // namespace comity::workload
