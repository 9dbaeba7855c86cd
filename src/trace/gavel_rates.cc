// SPDX-License-Identifier: Apache-2.0
#include "trace/gavel_rates.h"

#include <algorithm>
#include <array>

namespace comity::trace {
namespace {

struct Rates {
  std::string_view job_type;
  double early;
  std::array<double, 4> on_gpus;  // 1, 2, 4, 8; 0 = not known
};

constexpr std::array<Rates, 26> kRates = {{
    {"A3C", 8.233033, {7.17576718, 0, 0, 0}},
    {"CycleGAN", 4.918494, {4.426088263, 0, 0, 0}},
    {"LM (batch size 10)", 143.3605, {81.65163492, 163.1290205, 121.4776196, 615.0934648}},
    {"LM (batch size 20)", 107.9509, {64.742451, 132.1741345, 110.9968599, 497.2952582}},
    {"LM (batch size 40)", 71.72304, {45.23737155, 91.59265731, 96.03124517, 359.3069249}},
    {"LM (batch size 5)", 167.1229, {109.1666177, 185.723831, 126.7157182, 698.773293}},
    {"LM (batch size 80)", 43.90361, {28.23995505, 58.09153802, 74.80729601, 231.1761989}},
    {"Recommendation (batch size 1024)", 0.4799799, {13.28256971, 0, 0, 0}},
    {"Recommendation (batch size 2048)", 0.5675317, {7.469632061, 0, 0, 0}},
    {"Recommendation (batch size 4096)", 0.6244082, {3.90605053, 0, 0, 0}},
    {"Recommendation (batch size 512)", 0.3314824, {23.31763495, 0, 0, 0}},
    {"Recommendation (batch size 8192)", 0.6023546, {2.841510364, 0, 0, 0}},
    {"ResNet-18 (batch size 128)", 30.2875, {17.99490623, 23.98535306, 69.95051765, 162.0916072}},
    {"ResNet-18 (batch size 16)", 77.31737, {32.35338433, 100.142062, 123.8537664, 382.5974423}},
    {"ResNet-18 (batch size 256)", 16.98737, {10.3002565, 15.88284862, 27.7820579, 81.50658733}},
    {"ResNet-18 (batch size 32)", 65.80541, {29.94715735, 94.24893165, 114.7334204, 340.0383619}},
    {"ResNet-18 (batch size 64)", 48.88418, {24.0932319, 74.13589143, 95.58814453, 255.8291393}},
    {"ResNet-50 (batch size 128)", 2.845981, {2.496765578, 4.223014555, 7.029294087, 10.29318315}},
    {"ResNet-50 (batch size 16)", 17.37439, {11.39612907, 13.85975768, 23.19558565, 27.79909464}},
    {"ResNet-50 (batch size 32)", 9.920583, {7.787264919, 10.83457118, 13.7632291, 24.06742356}},
    {"ResNet-50 (batch size 64)", 5.4576, {4.394774823, 7.922054368, 9.451949566, 17.30317276}},
    {"Transformer (batch size 128)", 5.77121, {5.44610522, 10.06923839, 14.17451717, 30.88352104}},
    {"Transformer (batch size 16)", 12.84565, {11.06408721, 14.15381994, 20.084976, 71.65168022}},
    {"Transformer (batch size 256)", 1.70703, {1.595140707, 2.88524363, 4.76304577, 9.717023684}},
    {"Transformer (batch size 32)", 12.47528, {10.62089334, 13.32803755, 22.82251122, 63.97766004}},
    {"Transformer (batch size 64)", 9.568024, {8.617758992, 15.87649649, 19.65962222, 49.65070021}},
}};

const Rates* find(std::string_view job_type) {
  const auto at =
      std::find_if(kRates.begin(), kRates.end(), [&](const Rates& rates) { return rates.job_type == job_type; });
  return at == kRates.end() ? nullptr : &*at;
}

}  // namespace

std::optional<double> gavel_rate(std::string_view job_type, std::int64_t gpus) {
  constexpr std::array<std::int64_t, 4> kGpus = {1, 2, 4, 8};
  const Rates* rates = find(job_type);
  const auto at = std::find(kGpus.begin(), kGpus.end(), gpus);
  if (rates == nullptr || at == kGpus.end()) return std::nullopt;
  const double rate = rates->on_gpus[static_cast<std::size_t>(at - kGpus.begin())];
  return rate > 0 ? std::optional<double>(rate) : std::nullopt;
}

std::optional<double> gavel_early_rate(std::string_view job_type) {
  const Rates* rates = find(job_type);
  return rates == nullptr ? std::nullopt : std::optional<double>(rates->early);
}

}  // namespace comity::trace
