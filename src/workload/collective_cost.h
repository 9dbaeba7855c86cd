// SPDX-License-Identifier: Apache-2.0
// The time of one collective operation in closed form.
//
// `bytes` as nccl-tests counts them: all-reduce, broadcast, reduce: the buffer; all-gather: the gathered total;
// reduce-scatter: the total input; all-to-all: one rank's buffer; point to point: the message. Group: n ranks, of which
// per_node share the innermost network (n = per_node x nodes).
#pragma once

#include <cstdint>
#include <string_view>

#include "workload/system.h"

namespace comity::workload {

enum class Collective : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kReduce,
  kPointToPoint
};
enum class CostModel : std::uint8_t { kNccl, kAlphaBeta };

struct Group {
  std::int64_t ranks = 1;
  std::int64_t per_node = 1;
  // GPUs of a node that send over the same NICs at the same time in other groups, this one included: each has
  // 1/sharing of what the node's NICs carry beyond its own.
  std::int64_t groups_on_nic = 1;
  [[nodiscard]] std::int64_t nodes() const { return (ranks + per_node - 1) / per_node; }
};

// Seconds; 0 for one rank or no bytes. Pure arithmetic, no allocation.
[[nodiscard]] double collective_s(CostModel model, const System& system, Collective op, double bytes,
                                  const Group& group);

}  // namespace comity::workload
