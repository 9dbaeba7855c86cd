// SPDX-License-Identifier: Apache-2.0
// Megatron-LM's command line, both ways: read one and get its estimate, write one for a plan.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workload/execution.h"
#include "workload/model.h"

namespace comity::workload {

struct MegatronRun {
  Model model;
  Execution execution;
  std::vector<std::string> ignored;  // options that say nothing about cost, or that are not known
};

// Words as a shell would cut them: quotes, backslashes, "\" at the end of a line, comments (#). What stands before the
// first "--" option (torchrun, python, the script) is passed over; --nproc-per-node and --nnodes among it count the
// GPUs, and so does `gpus` when positive; without either there is one replica. Errors (kInput) name the option.
[[nodiscard]] Result<MegatronRun> parse_megatron(std::string_view command, std::int64_t gpus, const std::string& file);

// Options for pretrain_gpt.py of Megatron-Core, one group a line, ready to follow torchrun. What Megatron-LM can't run
// (ZB-H1, ZB-H2, DualPipe) is an error (kInput).
[[nodiscard]] Result<std::string> megatron_command(const Model& model, const Execution& execution);

}  // namespace comity::workload
