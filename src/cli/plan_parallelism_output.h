// SPDX-License-Identifier: Apache-2.0
// The best ways to spread a model, as table, JSON (comity.plan/1) and page.
#pragma once

#include <string>

#include "base/table.h"
#include "cli/step_timeline.h"
#include "plan/parallelism.h"

namespace comity::cli {

// What was found, and what it is compared with.
struct ParallelismAnswer {
  plan::ParallelismPlan plan;
  double wall_s = 0;
  StepTimeline timeline;  // of the best
  Result<plan::Candidate> megatron = fail(Code::kInput, "not asked");
  Result<plan::AlpaPlan> alpa = fail(Code::kInput, "not asked");
};

[[nodiscard]] Table candidates_table(const std::vector<plan::Candidate>& list);
[[nodiscard]] std::string plan_json(const plan::ParallelismQuestion& q, const ParallelismAnswer& a);
[[nodiscard]] std::string plan_page(const plan::ParallelismQuestion& q, const ParallelismAnswer& a,
                                    const std::string& line, const std::string& json);
void print_answer(const plan::ParallelismQuestion& q, const ParallelismAnswer& a, const Globals& globals);

}  // namespace comity::cli
