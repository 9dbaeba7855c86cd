// SPDX-License-Identifier: Apache-2.0
#include "sched/chronus_program.h"

#include <algorithm>

#include "math/linear_program.h"

namespace comity::sched::chronus {
namespace {

using math::LinearProgram;

// The choices of a job that could be met at all.
bool possible(const LeaseJob& job, const Choice& c) { return c.within >= job.needs && c.within >= 0; }

class Program {
 public:
  Program(std::vector<LeaseJob>& jobs, const std::vector<std::int64_t>& capacity, double scale)
      : jobs_(jobs), capacity_(capacity) {
    for (const LeaseJob& job : jobs_) add(job, scale);
    add_capacities();
  }
  [[nodiscard]] static std::size_t variables(const std::vector<LeaseJob>& jobs) {
    std::size_t n = 0;
    for (const LeaseJob& job : jobs) {
      for (const Choice& c : job.choices)
        if (possible(job, c)) n += static_cast<std::size_t>(c.within) + 1;
    }
    return n;
  }

  ProgramResult solve(const PlanLimits& limits) {
    ProgramResult result;
    result.asked = true;
    const math::Solution s = math::solve(program_, {.nodes = limits.nodes}, start_);
    result.nodes = s.nodes;
    result.proved = s.status == math::SolveStatus::kOptimal;
    result.bound = s.found() ? s.bound : math::kInfinity;
    if (s.found()) read(s.values);
    return result;
  }

 private:
  struct Row {
    std::size_t job;
    int choice;
    int first;  // X[.,0]; then one for each lease
    int within;
    int met;  // S
  };

  void add(const LeaseJob& job, double scale) {
    const auto index = static_cast<std::size_t>(&job - jobs_.data());
    std::vector<LinearProgram::Term> one;
    for (std::size_t k = 0; k < job.choices.size(); ++k) {
      const Choice& c = job.choices[k];
      if (!possible(job, c)) continue;
      const bool chosen = job.choice == static_cast<int>(k);
      Row row{index, static_cast<int>(k), program_.variables(), c.within, 0};
      std::vector<LinearProgram::Term> needs;
      for (int t = 0; t < c.within; ++t) {
        const int x = program_.add_integer(t == 0 ? scale * job.gpus : 0, 0, 1);
        needs.push_back({x, 1});
        start_.push_back(chosen && job.runs[static_cast<std::size_t>(t)] != 0 ? 1 : 0);
      }
      row.met = program_.add_integer(c.value, 0, 1);
      start_.push_back(chosen ? 1 : 0);
      needs.push_back({row.met, -static_cast<double>(job.needs)});
      program_.add_row(0, 0, needs);
      one.push_back({row.met, 1});
      rows_.push_back(row);
    }
    program_.add_row(1, 1, one);
  }
  void add_capacities() {
    int last = 0;
    for (const Row& row : rows_) last = std::max(last, row.within);
    for (int t = 0; t < last; ++t) {
      std::vector<LinearProgram::Term> terms;
      for (const Row& row : rows_) {
        if (t < row.within) terms.push_back({row.first + t, static_cast<double>(jobs_[row.job].gpus)});
      }
      const std::size_t at = std::min(static_cast<std::size_t>(t), capacity_.size() - 1);
      program_.add_row(-math::kInfinity, static_cast<double>(capacity_[at]), terms);
    }
  }
  void read(const std::vector<double>& values) {
    constexpr double kHalf = 0.5;
    for (const Row& row : rows_) {
      if (values[static_cast<std::size_t>(row.met)] < kHalf) continue;
      LeaseJob& job = jobs_[row.job];
      job.choice = row.choice;
      job.runs.assign(static_cast<std::size_t>(row.within), 0);
      for (int t = 0; t < row.within; ++t)
        job.runs[static_cast<std::size_t>(t)] = values[static_cast<std::size_t>(row.first + t)] > kHalf ? 1 : 0;
    }
  }

  std::vector<LeaseJob>& jobs_;
  const std::vector<std::int64_t>& capacity_;
  LinearProgram program_{math::Sense::kMaximise};
  std::vector<Row> rows_;
  std::vector<double> start_;
};

}  // namespace

ProgramResult solve_program(std::vector<LeaseJob>& jobs, const std::vector<std::int64_t>& capacity, double scale,
                            const PlanLimits& limits) {
  if (Program::variables(jobs) > limits.variables) return {};
  return Program(jobs, capacity, scale).solve(limits);
}

}  // namespace comity::sched::chronus
