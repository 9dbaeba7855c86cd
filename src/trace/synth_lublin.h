// SPDX-License-Identifier: Apache-2.0
// The workload model of Lublin and Feitelson, "The workload on parallel supercomputers: modeling the characteristics of
// rigid jobs", Journal of Parallel and Distributed Computing 63(11), 2003, with the constants of the program that its
// authors publish in the Parallel Workloads Archive (m_lublin99.c) and under its names. A processor is a GPU here.
//
//   size      1 with probability serial_prob; else round(2^x), x from (ulow, umed) with probability uprob and from
//             (umed, uhi) otherwise, uniform in either; x is rounded first with probability pow2_prob (of all jobs)
//   run time  exp(y) seconds, whole; y from Gamma(a1, b1) with probability p = pa size + pb (kept within 0 and 1), else
//             from Gamma(a2, b2); drawn again above too_much_time
//   arrivals  a gap is exp(z) seconds of a day without rhythm, z from Gamma(aarr arar, barr), drawn again above
//             too_much_arrive_time. Half hour i of the day passes w_i times as fast, where w_i is the share of
//             Gamma(anum, bnum) in half hour i (the day is taken from half hour 11 to the next), with mean 1.
//
// Gamma(a, b) has mean a b. Three sets of these parameters: batch jobs and interactive jobs, whose two streams make
// a mixed trace, and one fitted to all jobs alike. The first instant is midnight.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/params.h"
#include "base/result.h"
#include "trace/trace.h"

namespace comity::trace {

enum class LublinJobs { kMixed, kBatch, kInteractive, kAll };

// Every parameter of the model as CLASS.NAME (batch.a1, interactive.umed, all.aarr, ...), with its range.
[[nodiscard]] std::vector<Param> lublin_params();

struct LublinOptions {
  std::uint64_t jobs = 10'000;
  // Size of the machine. ulow, umed and uhi are for 128: umed and uhi of a class move by log2(gpus / 128) where they
  // are at their defaults (and stay in order: uhi >= ulow, umed in the middle where it would fall below ulow). No job
  // is larger: one that would be gets all of it, or its greatest power of two.
  std::uint64_t gpus = 128;
  LublinJobs which = LublinJobs::kMixed;
  Params params{lublin_params()};
  std::uint64_t seed = 1;
};
// Jobs in order of submission, numbered from 0; the tenant is the class, where there are classes. O(jobs).
// Errors (kUsage) name the option or parameter.
[[nodiscard]] Result<Trace> synth_lublin(const LublinOptions& options);

// w_i for the half hours of a day from midnight; their mean is 1.
[[nodiscard]] std::array<double, 48> lublin_day(double anum, double bnum);

}  // namespace comity::trace
