// SPDX-License-Identifier: Apache-2.0
// What freezing the first k of a model's L layers gives and costs, after IceFrog (TPDS 36(6) 2025; its abstract names
// frozen penalty, layer-aware throughput and effective progress, the formulas are a reconstruction, docs/systems/
// icefrog.md):
//   step(k, g)  = B sum_l f_l + B sum_{l>k} b_l + sync(k, g)      seconds; f, b = forward, backward of a sample
//   sync(k, g)  = 2 (g-1)/g sum_{l>k} p_l / bandwidth + (g-1) latency
//   rate(k, g)  = g B / step(k, g)                                samples/s
//   phi(k)      = eta sum_{l<=k} G_l / sum_l G_l                  frozen penalty; G_l = gradient norm / parameter norm
//   effective   = rate (1 - phi)
// A trainer measures G_l; the twin takes gradients_at(progress). Costs: O(L) a call of gradients_at, else O(1).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "profile/layers.h"

namespace comity::profile {

struct FreezingSettings {
  double bandwidth_gb_s = 10;    // that gradients are exchanged with
  double latency_s = 50e-6;      // of a message there
  double eta = 1;                // scale of the penalty
  double most_penalty = 0.05;    // no depth with more
  double first_converges = 0.1;  // of the training until the first layer's G has fallen to 1/e; the last one's: 1
  bool cached = false;           // the frozen layers' outputs are kept: their forward passes fall away
};

class Freezing {
 public:
  Freezing(const LayerTable& table, const FreezingSettings& settings);

  [[nodiscard]] int layers() const { return static_cast<int>(backward_.size()) - 1; }
  [[nodiscard]] double step_s(int depth, std::int64_t gpus) const;  // 0 <= depth < layers
  [[nodiscard]] double rate(int depth, std::int64_t gpus) const;
  // One value a layer, >= 0, not all 0.
  [[nodiscard]] double penalty(int depth, std::span<const double> gradients) const;
  // Reconstruction: exp(-progress / c_l), c_l rising evenly from first_converges to 1. progress in [0, 1].
  [[nodiscard]] std::vector<double> gradients_at(double progress) const;

  struct Choice {
    int depth = 0;
    double rate = 0;  // effective
  };
  // The depth with the greatest effective rate among those whose penalty is allowed; the least depth of equals.
  [[nodiscard]] Choice best(std::int64_t gpus, std::span<const double> gradients) const;

 private:
  FreezingSettings set_;
  double batch_;
  std::vector<double> forward_;   // [k]: seconds a sample of the layers behind k
  std::vector<double> backward_;  // the same
  std::vector<double> bytes_;     // of their gradients
};

// When to thaw a layer: three windows in a row whose loss falls by less than 80 % of what was fitted.
class ThawRule {
 public:
  // Slopes of the loss, both > 0 where it falls. True: one layer less should be frozen, and counting begins anew.
  bool observe(double measured, double fitted);

 private:
  int poor_ = 0;
};

}  // namespace comity::profile
