// SPDX-License-Identifier: Apache-2.0
// The columns of Comity's own CSV, in the order in which they are written: the reader and the writer share them, so a
// field has a place in both or in none.
#pragma once

#include <array>

#include "trace/csv_decoder.h"

namespace comity::trace {

inline constexpr std::array<NamedColumn, 35> kComityColumns = {{{"job_id", Field::kId},
                                                                {"submit_s", Field::kSubmit, true},
                                                                {"duration_s", Field::kDuration, true},
                                                                {"gpus", Field::kGpus},
                                                                {"nodes", Field::kNodes},
                                                                {"gpus_per_node", Field::kGpusPerNode},
                                                                {"user", Field::kUser},
                                                                {"tenant", Field::kTenant},
                                                                {"group", Field::kGroup},
                                                                {"gpu_type", Field::kGpuType},
                                                                {"estimate_s", Field::kEstimate},
                                                                {"wait_s", Field::kWait},
                                                                {"name", Field::kName},
                                                                {"model", Field::kModel},
                                                                {"dataset", Field::kDataset},
                                                                {"batch_size", Field::kBatchSize},
                                                                {"iterations", Field::kIterations},
                                                                {"gpu_utilization", Field::kGpuUtilization},
                                                                {"memory_mb", Field::kMemory},
                                                                {"memory_utilization", Field::kMemoryUtilization},
                                                                {"speed", Field::kSpeed},
                                                                {"mixed_precision", Field::kMixedPrecision},
                                                                {"gpu_milli", Field::kGpuMilli},
                                                                {"gpu_models", Field::kGpuModels},
                                                                {"cpu_milli", Field::kCpuMilli},
                                                                {"host_memory_mb", Field::kHostMemory},
                                                                {"class", Field::kClass},
                                                                {"deadlines", Field::kDeadlines},
                                                                {"priority", Field::kPriority},
                                                                {"share", Field::kShare},
                                                                {"status", Field::kStatus},
                                                                {"command", Field::kCommand},
                                                                {"directory", Field::kDirectory},
                                                                {"duration_basis", Field::kDurationBasis},
                                                                {"declared_gpus", Field::kDeclaredGpus}}};

}  // namespace comity::trace
