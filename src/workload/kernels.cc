// SPDX-License-Identifier: Apache-2.0
#include "workload/kernels.h"

#include <algorithm>
#include <cmath>

namespace comity::workload {
namespace {

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;
constexpr double kMicro = 1e-6;
constexpr double kElement = 2;  // bytes of an operand

// Share of the machine that the last wave leaves busy, the best of the tile sizes that libraries try: a tile of half
// the size has to load its operands more often.
double wave_share(const GemmModel& g, std::int64_t sms, double m, double n, double count) {
  double best = 0;
  double share = 1;
  const double tile_m = static_cast<double>(g.tile_m);
  double tile_n = static_cast<double>(g.tile_n);
  do {
    const double tiles = std::ceil(m / tile_m) * std::ceil(n / tile_n) * count;
    const double used = (m * n * count) / (tiles * tile_m * tile_n);  // of the edge tiles
    const double waves = std::ceil(tiles / static_cast<double>(sms));
    best = std::max(best, share * used * tiles / (waves * static_cast<double>(sms)));
    tile_n /= 2;
    share *= 0.93;
  } while (tile_n >= 64);
  return 1 - g.wave_weight * (1 - best);
}

}  // namespace

double peak_flops(const System& system, Datatype datatype) {
  const auto of = [&](Datatype type) { return system.tflops[static_cast<std::size_t>(type)] * kTera; };
  double peak = of(datatype);
  if (peak == 0 && datatype == Datatype::kFp16) peak = of(Datatype::kBf16);
  if (peak == 0 && datatype != Datatype::kFp32)
    peak = of(Datatype::kBf16) > 0 ? of(Datatype::kBf16) : of(Datatype::kFp16);
  return peak > 0 ? peak : of(Datatype::kFp32);
}

double gemm_s(const System& system, Datatype datatype, double m, double n, double k, double count) {
  if (m <= 0 || n <= 0 || k <= 0 || count <= 0) return 0;
  const GemmModel& g = system.gemm;
  const double utilisation = g.max_efficiency * wave_share(g, system.sms, m, n, count) * k / (k + g.k_half);
  const double compute = 2 * m * n * k * count / (peak_flops(system, datatype) * utilisation);
  const double bytes = kElement * count * (m * k + k * n + m * n);
  const double memory = bytes / (system.memory_gb_s * kGiga * system.memory_efficiency);
  return std::max(compute, memory) + system.launch_us * kMicro;
}

double memory_s(const System& system, double bytes) {
  if (bytes <= 0) return 0;
  return bytes / (system.memory_gb_s * kGiga * system.memory_efficiency) + system.launch_us * kMicro;
}

double attention_flops(const AttentionShape& s) {
  const double pairs = s.batch * s.heads * s.queries * s.keys * (s.causal ? 0.5 : 1);
  return 2 * pairs * (s.width + s.value_width);
}

double attention_s(const System& system, Datatype datatype, const AttentionShape& shape, bool backward) {
  if (shape.queries <= 0) return 0;
  // Backward forms the scores once more and four products beside: 2.5 times the forward's work.
  const double flops = attention_flops(shape) * (backward ? 2.5 : 1);
  const double efficiency = backward ? system.attention_backward_efficiency : system.attention_efficiency;
  const Datatype type = datatype == Datatype::kFp8 ? Datatype::kBf16 : datatype;  // kernels keep 16 bit here
  return flops / (peak_flops(system, type) * efficiency) + system.launch_us * kMicro;
}

}  // namespace comity::workload
