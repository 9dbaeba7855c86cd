// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/text.h"
#include "workload/findings.h"
#include "workload/system.h"

namespace comity::workload {
namespace {

// Rates and sizes, in the units of the file: of anything outside, times would come out infinite or 0.
constexpr double kLeast = 1e-6;
constexpr double kMost = 1e12;

void positive(Findings& found, std::string_view field, double v) {
  found.need(
      v >= kLeast && v <= kMost, field,
      [&] { return fmt::format("must be between {} and {}, not {}", kLeast, kMost, v); }, [] { return std::string(); });
}
void none_or_positive(Findings& found, std::string_view field, double v) {
  if (v != 0) positive(found, field, v);
}

void share(Findings& found, std::string_view field, double v, double low) {
  found.need(
      v >= low && v <= 1, field, [&] { return fmt::format("must be between {} and 1, not {}", low, v); },
      [] { return std::string(); });
}

void not_negative(Findings& found, std::string_view field, double v) {
  found.need(
      v >= 0 && v <= kMost, field, [&] { return fmt::format("must be between 0 and {}, not {}", kMost, v); },
      [] { return std::string(); });
}

// An efficiency of 0 would make a time infinite.
constexpr double kLeastEfficiency = 1e-6;

void check_gpu(Findings& found, const System& s) {
  found.need(!s.name.empty() && s.name.size() <= limits::kNameBytes, "name", "must be 1 to 4096 bytes long");
  found.need(s.gpus_per_node >= 1, "gpus_per_node", "must be 1 or more");
  found.need(s.gpus >= 0, "gpus", "must be 0 (any number) or more");
  positive(found, "memory_gib", s.memory_gib);
  positive(found, "memory_gb_s", s.memory_gb_s);
  share(found, "memory_efficiency", s.memory_efficiency, kLeastEfficiency);
  share(found, "attention_efficiency", s.attention_efficiency, kLeastEfficiency);
  share(found, "attention_backward_efficiency", s.attention_backward_efficiency, kLeastEfficiency);
  not_negative(found, "launch_us", s.launch_us);
  found.need(s.sms >= 1, "sms", "must be 1 or more");
  for (const double peak : s.tflops) none_or_positive(found, "tflops", peak);
  found.need(std::any_of(s.tflops.begin(), s.tflops.end(), [](double peak) { return peak > 0; }), "tflops",
             "no datatype has a peak", "give bf16, fp16, fp32 or fp8");
  positive(found, "vector_tflops", s.vector_tflops);
  share(found, "gemm.max_efficiency", s.gemm.max_efficiency, kLeastEfficiency);
  not_negative(found, "gemm.k_half", s.gemm.k_half);
  share(found, "gemm.wave_weight", s.gemm.wave_weight, 0);
  found.need(s.gemm.tile_m >= 1 && s.gemm.tile_n >= 1, "gemm.tile_m", "tiles must be 1 or more wide and high");
}

void check_host(Findings& found, const System& s) {
  not_negative(found, "price_per_gpu_hour", s.price_per_gpu_hour);
  not_negative(found, "host_memory_gib", s.host_memory_gib);
  none_or_positive(found, "host_gb_s", s.host_gb_s);
  not_negative(found, "step_overhead_s", s.step_overhead_s);
  none_or_positive(found, "optimizer_gb_s", s.optimizer_gb_s);
  found.need(
      s.error_band >= 0 && s.error_band < 1, "error_band",
      [&] { return fmt::format("must be a share from 0 to less than 1, not {}", s.error_band); },
      [] { return std::string("0.1 says 10 % either way"); });
  share(found, "pp_exposed", s.pp_exposed, 0);
}

void check_network(Findings& found, const Network& n, const std::string& at) {
  positive(found, at + ".gb_s", n.gb_s);
  not_negative(found, at + ".latency_us", n.latency_us);
  share(found, at + ".efficiency", n.efficiency, kLeastEfficiency);
  for (const double own : {n.all_reduce, n.all_to_all, n.point_to_point})
    if (own != 0) share(found, at + ".efficiency", own, kLeastEfficiency);
  found.need(n.oversubscription >= 1 && n.oversubscription <= kMost, at + ".oversubscription",
             "must be 1 (none) or more");
}

void check_networks(Findings& found, const System& s) {
  std::int64_t below = 1;
  for (std::size_t i = 0; i < s.networks.size() && found.ok(); ++i) {
    const std::string at = fmt::format("network[{}]", i);
    const Network& network = s.networks[i];
    check_network(found, network, at);
    const bool last = i + 1 == s.networks.size();
    if (last && network.domain == 0) break;  // the whole machine
    found.need(
        network.domain > below && network.domain % below == 0, at + ".domain",
        [&] {
          return fmt::format("{} GPUs are no multiple of the {} that the tier below joins", network.domain, below);
        },
        [&] { return std::string("tiers stand innermost first; 0 says the whole machine, in the last tier only"); });
    found.need(
        !last || s.gpus <= network.domain, at + ".domain",
        [&] { return fmt::format("the last tier joins {} GPUs, the machine has {}", network.domain, s.gpus); },
        [] { return std::string("0 says the whole machine"); });
    below = network.domain;
  }
  found.need(!s.networks.empty() || s.gpus == 1, "network", "no network joins the GPUs",
             "add [[network]] tables, or say gpus = 1");
}

void check_nccl(Findings& found, const NcclModel& nccl) {
  static const std::array<std::string, 4> archs = {"volta", "ampere", "hopper", "blackwell"};
  found.need(
      std::find(archs.begin(), archs.end(), nccl.arch) != archs.end(), "nccl.arch",
      [&] { return fmt::format("no tuning of NCCL is known for '{}'", printable(nccl.arch)); },
      [&] { return fmt::format("one of {}", fmt::join(archs, ", ")); });
  found.need(nccl.channels >= 0, "nccl.channels", "must be 0 (derived) or more");
  none_or_positive(found, "nccl.intra_gb_s", nccl.intra_gb_s);
  none_or_positive(found, "nccl.inter_gb_s", nccl.inter_gb_s);
}

}  // namespace

Status check_system(const System& system, const std::string& file) {
  Findings found(file);
  check_gpu(found, system);
  check_host(found, system);
  check_networks(found, system);
  check_nccl(found, system.nccl);
  return found.status();
}

}  // namespace comity::workload
