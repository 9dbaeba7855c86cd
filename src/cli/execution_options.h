// SPDX-License-Identifier: Apache-2.0
// Model, execution and machine as commands take them: files or names, and flags that replace single values of the
// execution.
#pragma once

#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/command_words.h"
#include "workload/collective_cost.h"
#include "workload/execution.h"

namespace comity::cli {

struct ExecutionArgs {
  std::string model;
  std::string execution;
  std::string system;
  std::string cost = "nccl";
  std::string schedule;
  std::string recompute;
  std::string datatype;
  std::int64_t tp = 0, pp = 0, dp = 0, cp = 0, ep = 0;
  std::int64_t virtual_stages = 0, microbatch = 0, batch = 0, sequence = 0;
  std::int64_t zero = -1;
};

void add_execution_options(CLI::App* sub, const std::shared_ptr<ExecutionArgs>& args);
void say_execution_options(CommandWords& words, const ExecutionArgs& args);

struct StepInputs {
  workload::Model model;
  workload::Execution execution;
  workload::System system;
  workload::CostModel cost = workload::CostModel::kNccl;
};
// As in the library workload, with a hint where the file is JSON, as Calculon's are.
[[nodiscard]] Result<workload::System> load_machine(const std::string& name_or_file);
[[nodiscard]] Result<workload::Execution> load_execution(const std::string& file);
[[nodiscard]] Result<workload::CostModel> parse_cost(const std::string& name);  // nccl, alpha_beta
[[nodiscard]] Result<StepInputs> load_step(const ExecutionArgs& args);
// With a model and an execution from elsewhere.
[[nodiscard]] Result<StepInputs> load_step(const ExecutionArgs& args, workload::Model model,
                                           workload::Execution execution);

// An error where a figure that would be printed is none: absurd rates make a step last for ever. `inputs` names what
// it was computed from.
[[nodiscard]] Status check_seconds(double seconds, const std::string& inputs);

}  // namespace comity::cli
