// SPDX-License-Identifier: Apache-2.0
// How the bandwidth that a collective reaches falls with the size of its messages: figures of SimAI's astra-sim fork
// (inputs/ratio/{nic,nvlink,ata}_ratio.csv), taken from nccl-tests. Rows: 16 MiB, 32 MiB ... 16 GiB; columns: 1, 2, 4,
// 8, 16, 32, 64, 128 nodes, then several 16-GPU groups. 0: not measured.
#include <array>

#include "workload/foreign/simai.h"

namespace comity::workload {

namespace {

constexpr std::size_t kRows = 11;
constexpr std::size_t kColumns = 9;
constexpr double kFirstBytes = 16777216;
using Table = std::array<std::array<double, kColumns>, kRows>;

constexpr Table kNic = {{
    {0.45, 0.32, 0.24, 0.13, 0.05, 0.044, 0.021, 0.0087, 0.86},
    {0.55, 0.47, 0.38, 0.24, 0.11, 0.052, 0.042, 0.021225, 0.92},
    {0.65, 0.5, 0.53, 0.39, 0.21, 0.106, 0.051, 0.04405, 0.94},
    {0.69, 0.67, 0.67, 0.54, 0.38, 0.205, 0.107, 0.0533, 0.94},
    {0.73, 0.85, 0.77, 0.69, 0.57, 0.387, 0.209, 0.1027, 0.94},
    {0.76, 0.89, 0.85, 0.78, 0.73, 0.562, 0.384, 0.1902, 0.95},
    {0.77, 0.92, 0.93, 0.9, 0.76, 0.74, 0.563, 0.314575, 0.96},
    {0.78, 0.94, 0.94, 0.94, 0.92, 0.758, 0.745, 0.553525, 0.96},
    {0.79, 0.95, 0.95, 0.95, 0.95, 0.923, 0.755, 0.740175, 0.96},
    {0.8, 0.95, 0.96, 0.96, 0.96, 0.953, 0.914, 0.7648, 0.96},
    {0.81, 0.96, 0.96, 0.96, 0.96, 0.957, 0.958, 0.919175, 0.96},
}};

constexpr Table kNvlink = {{
    {0.45, 0.55, 0.34, 0.16, 0.08, 0, 0, 0, 0.86},
    {0.55, 0.68, 0.6, 0.34, 0.16, 0, 0, 0, 0.92},
    {0.65, 0.74, 0.71, 0.62, 0.33, 0, 0, 0, 0.94},
    {0.69, 0.8, 0.74, 0.7, 0.65, 0, 0, 0, 0.94},
    {0.73, 0.84, 0.79, 0.78, 0.72, 0, 0, 0, 0.94},
    {0.76, 0.86, 0.86, 0.82, 0.75, 0, 0, 0, 0.95},
    {0.77, 0.87, 0.87, 0.86, 0.83, 0, 0, 0, 0.96},
    {0.78, 0.87, 0.87, 0.87, 0.86, 0, 0, 0, 0.96},
    {0.79, 0.88, 0.88, 0.88, 0.87, 0, 0, 0, 0.96},
    {0.8, 0.88, 0.88, 0.88, 0.88, 0, 0, 0, 0.96},
    {0.81, 0.88, 0.88, 0.88, 0.88, 0, 0, 0, 0.96},
}};

constexpr Table kAllToAll = {{
    {0.44, 0.52, 0.67, 0.64, 0.62, 0, 0, 0, 0.86},
    {0.51, 0.63, 0.68, 0.67, 0.66, 0, 0, 0, 0.92},
    {0.6, 0.72, 0.83, 0.82, 0.66, 0, 0, 0, 0.94},
    {0.65, 0.76, 0.9, 0.85, 0.72, 0, 0, 0, 0.94},
    {0.7, 0.79, 0.92, 0.87, 0.75, 0, 0, 0, 0.94},
    {0.71, 0.8, 0.94, 0.89, 0.81, 0, 0, 0, 0.95},
    {0.74, 0.81, 0.94, 0.92, 0.85, 0, 0, 0, 0.96},
    {0.76, 0.81, 0.95, 0.93, 0.88, 0, 0, 0, 0.96},
    {0.77, 0.8, 0.95, 0.94, 0.89, 0, 0, 0, 0.96},
    {0.78, 0.8, 0.95, 0.94, 0.9, 0, 0, 0, 0.96},
    {0.78, 0.8, 0.95, 0.94, 0.9, 0, 0, 0, 0.96},
}};

std::size_t column(std::int64_t nodes) {
  switch (nodes) {
    case 1: return 0;
    case 2: return 1;
    case 4: return 2;
    case 8: return 3;
    case 32: return 5;
    case 64: return 6;
    case 128: return 7;
    case 9: return 8;   // the column of several groups
    default: return 4;  // 16, and every number without a column
  }
}

}  // namespace

std::optional<float> simai_ratio(SimaiRatio which, double bytes, std::int64_t nodes) {
  if (bytes == 0) return 1.0F;
  const Table& table = which == SimaiRatio::kNic ? kNic : which == SimaiRatio::kNvlink ? kNvlink : kAllToAll;
  const std::size_t c = column(nodes);
  const auto cell = [&](std::size_t row) { return table[row][c] == 0 ? 1.0 : table[row][c]; };
  const double last = cell(kRows - 1);
  if (bytes < kFirstBytes) return static_cast<float>(cell(0) / last);
  double low = kFirstBytes;
  for (std::size_t row = 0; row + 1 < kRows; ++row, low *= 2) {
    const double high = low * 2;
    if (bytes > high) continue;
    const double value = cell(row) + (cell(row + 1) - cell(row)) * (bytes - low) / (high - low);
    return static_cast<float>(value / last);
  }
  return {};
}

}  // namespace comity::workload
