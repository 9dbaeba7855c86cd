// SPDX-License-Identifier: Apache-2.0
// Published measurements of training set-ups, and what the estimator says of them.
//
// A file is CSV with a header; which kind it is shows from its columns: Korthikanti's iteration times, the scaling
// tables of Narayanan et al. and Megatron-Core, Llama 3's table 4, and lists of (id, metric, value) whose set-ups stand
// in the program's own table (data/measured/setups.toml, each with its source) because the file does not say them. What
// a source leaves open is filled by one rule: micro-batch the best of {1, 2, 4, 8} and virtual stages the best of {1,
// 2, 3, 4} that fit in memory.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "workload/estimate.h"

namespace comity::workload {

enum class Metric : std::uint8_t {
  kStepSeconds,
  kSc21Tflops,    // TFLOP/s a GPU, 96 B s l h^2 (...) with recomputation counted
  kModelTflops,   // TFLOP/s a GPU, attention in full
  kCausalTflops,  // TFLOP/s a GPU, attention at half
  kMfuPercent,    // of the peak, attention in full
  kCausalMfuPercent,
  kMoeForwardMs,  // one mixture-of-experts block
  kMoeBackwardMs,
};
[[nodiscard]] std::string_view metric_unit(Metric metric);

struct MeasuredCase {
  std::string id;
  std::string gpu;  // A100, H100, H800
  Model model;
  std::vector<Execution> candidates;
  Metric metric = Metric::kStepSeconds;
  double value = 0;
  std::string skipped;  // why it is not predicted; empty: it is
};

// Errors (kInput) name file, line and field.
[[nodiscard]] Result<std::vector<MeasuredCase>> read_measured(const std::string& path);

struct Prediction {
  double value = 0;  // in the case's unit
  Execution execution;
  Estimate estimate;
};
// Of the fastest candidate that fits (of all, where none does).
[[nodiscard]] Prediction predict(const MeasuredCase& measured, const System& system, CostModel cost);

// Efficiencies of `start` fitted on the cases: least squares of the relative errors, each constant held near where it
// starts by a prior of the stated width (so that a fit on two rows does not run away).
struct Fit {
  System system;
  double error = 0;  // mean absolute relative error on the cases
  std::size_t estimates = 0;
};
[[nodiscard]] Fit calibrate(const System& start, const std::vector<MeasuredCase>& cases, CostModel cost);

}  // namespace comity::workload
