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
  // Groups of the same shape that send from a node at the same time, this one included. A node has a NIC for each of
  // its GPUs: up to that many senders (per_node x groups_on_nic) have one each, more share them evenly.
  std::int64_t groups_on_nic = 1;
  [[nodiscard]] std::int64_t nodes() const { return (ranks + per_node - 1) / per_node; }
};

// Seconds; 0 for one rank or no bytes, never less for more bytes. Pure arithmetic, no allocation: under 100 ns
// (kAlphaBeta) and 500 ns (kNccl). collective/nccl.h has the table that kNccl chooses from.
[[nodiscard]] double collective_s(CostModel model, const System& system, Collective op, double bytes,
                                  const Group& group);

}  // namespace comity::workload
