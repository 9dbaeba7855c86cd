// SPDX-License-Identifier: Apache-2.0
// An estimate as table, JSON (comity.iteration/1) and page.
#pragma once

#include <string>
#include <vector>

#include "base/table.h"
#include "cli/execution_options.h"
#include "workload/estimate.h"

namespace comity::cli {

[[nodiscard]] std::string estimate_json(const StepInputs& in, const workload::Estimate& e, const std::string& cost,
                                        const std::vector<std::string>& used);
[[nodiscard]] Table breakdown_table(const workload::Breakdown& breakdown);
[[nodiscard]] Table memory_table(const std::vector<workload::StageMemory>& stages);
// The two or three sentences above the tables.
[[nodiscard]] std::string estimate_text(const StepInputs& in, const workload::Estimate& e);
[[nodiscard]] std::string estimate_page(const StepInputs& in, const workload::Estimate& e, const std::string& line,
                                        const std::string& json, const std::string& timeline);

}  // namespace comity::cli
