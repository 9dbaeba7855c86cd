// SPDX-License-Identifier: Apache-2.0
#include "workload/collective/alpha_beta.h"
#include "workload/collective/nccl.h"
#include "workload/collective_cost.h"

namespace comity::workload {

double collective_s(CostModel model, const System& system, Collective op, double bytes, const Group& group) {
  return model == CostModel::kNccl ? nccl_s(system, op, bytes, group) : alpha_beta_s(system, op, bytes, group);
}

}  // namespace comity::workload
