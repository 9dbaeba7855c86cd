// SPDX-License-Identifier: Apache-2.0
// Jobs matched to machines and to places in their lists, as AlloX (Le et al., EuroSys 2020) does: the sum of completion
// times on unrelated machines is least in a matching of least cost, where job i as the k-th last of a machine of pool s
// costs
//   k x p_is + d_s        p_is = how long it takes there, d_s = until such a machine is free
// since k - 1 jobs wait for it. Machines of a pool are alike.
#pragma once

#include <cstdint>
#include <vector>

namespace comity::sched {

struct MachinePool {
  std::uint32_t machines = 0;
  double delay = 0;  // d_s
};

struct Slot {
  static constexpr std::uint32_t kNone = 0xffffffffU;
  std::uint32_t pool = kNone;  // kNone: it can run nowhere
  std::uint32_t from_end = 0;  // k, from 1
};

// A slot for each job. `times` = p_is by [job * pools + pool], below 0 = not there. Exact: successive shortest paths,
// O(jobs^2 x columns), columns = (pool, k) with somebody at k or k - 1: about jobs / machines + pools.
[[nodiscard]] std::vector<Slot> match_slots(const std::vector<double>& times, const std::vector<MachinePool>& pools);

}  // namespace comity::sched
