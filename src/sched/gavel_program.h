// SPDX-License-Identifier: Apache-2.0
// The programs of Gavel (Narayanan et al., OSDI 2020): which part of its time each job should spend on each GPU type.
//   m, j    jobs and GPU types; jobs that are alike are one class and get the same
//   s, w    a job's GPUs and weight
//   N_j     GPUs of a type
//   T_mj    progress a second of job m on type j; 0 = does not run there
//   X_mj    part of its time on it: 0 <= X, sum_j X_mj <= 1, sum_m s_m X_mj <= N_j
// Objectives:
//   max_min      max min_m s_m sum_j T_mj X_mj / (w_m P_m), P_m = sum_j T_mj x_j at an equal share x_j = N_j / jobs,
//                divided by sum_j x_j where that is above 1 (Gavel's own program divides always: artifact_normaliser)
//   finish_time  min max_m (t_m + r_m / sum_j T_mj X_mj) / (i_m + r_m / I_m): t since submission, r work left, i how
//                long its work so far takes alone on its share, I = sum_j T_mj N_j / (jobs s_m), divided in the same
//                way; by bisection to 0.1 %
//   makespan     the least M for which sum_j T_mj X_mj >= r_m / M: bisection of [100, 10^6] s (further if need be)
//                until 1.05 low >= high
//   cost         max sum s T X / sum s price_j X (a linear-fractional program, after Charnes and Cooper)
// Water filling (max_min): the classes that cannot rise are fixed, the others raised further, until all are fixed (see
// gavel_max_min.cc): lexicographic max-min. At most classes x log(classes) programs, mostly a few, each of classes x
// types variables and 2 classes + types rows; where all use one type a closed form takes their place, O(n log n).
#pragma once

#include <cstdint>
#include <vector>

namespace comity::sched {

struct GavelClass {
  double jobs = 1;
  double gpus = 1;
  double weight = 1;
  std::vector<double> speed;  // by type
  double age_s = 0;           // t
  double left_s = 0;          // r, at speed 1
  double isolated_s = 0;      // i
};

enum class GavelObjective : std::uint8_t { kMaxMin, kFinishTime, kMakespan, kCost };

struct GavelSettings {
  GavelObjective objective = GavelObjective::kMaxMin;
  bool water_filling = false;
  bool artifact_normaliser = false;
  bool always_programs = false;  // also where a closed form does: one type for all
};

struct GavelPlan {
  std::vector<double> x;  // [class * types + type]; all 0 where the program has no solution
  double value = 0;       // of the objective
  int programs = 0;       // that were solved
};

// `gpus` and `price` by type. Classes that run on no type that has GPUs get nothing and count for nothing.
[[nodiscard]] GavelPlan plan_gavel(const std::vector<GavelClass>& classes, const std::vector<double>& gpus,
                                   const std::vector<double>& price, const GavelSettings& settings);

// P_m, by class.
[[nodiscard]] std::vector<double> equal_share_speed(const std::vector<GavelClass>& classes,
                                                    const std::vector<double>& gpus, bool artifact);
// I_m, by class.
[[nodiscard]] std::vector<double> isolated_speed(const std::vector<GavelClass>& classes,
                                                 const std::vector<double>& gpus);
// s_m / (w_m P_m), by class: what the throughput of a job is multiplied by in max_min. 0 where it cannot run.
[[nodiscard]] std::vector<double> share_factors(const std::vector<GavelClass>& classes, const std::vector<double>& gpus,
                                                bool artifact);

}  // namespace comity::sched
