// SPDX-License-Identifier: Apache-2.0
// The order of DualPipe (DeepSeek-V3, 2024), which is long enough for a file of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "workload/pipeline.h"

namespace comity::workload {

[[nodiscard]] std::vector<Op> dualpipe_order(const PipelineShape& shape, std::int64_t rank);

}  // namespace comity::workload
