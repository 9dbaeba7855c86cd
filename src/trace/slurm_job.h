// SPDX-License-Identifier: Apache-2.0
// One record of Slurm's accounting (sacct), whatever the form it was printed in, and what becomes of it.
//
//   GPUs      the allocation's gres/gpu; where only typed counts are there (gres/gpu:a100), their sum
//   shape     nodes x GPUs a node where the nodes divide the GPUs, else the GPUs in all. It is what Slurm allocated: a
//   job
//             that asked for GPUs alone may have been spread over more nodes than it needed
//   run time  ElapsedRaw, else Elapsed, else End - Start (the first two leave suspended time out)
//   arrival   Submit, or Eligible where that is later: until then (dependency, --begin, hold, limit of an array) no
//   policy
//             could have started the job. Recorded wait: Start - arrival, where not negative
//   estimate  the time limit, where there is one
//   tenant    account. Partition and QOS are left out: as a resource group, a partition would make every job wait for
//             nodes that the cluster of the replay doesn't name; partitions may also overlap, groups may not
//   GPU type  what was asked for (ReqTRES gres/gpu:a100), not what was given: only that binds the scheduler
//
// No job of a trace, counted by reason: waiting, running, ended before it started, without GPUs, revoked (its sibling
// ran on another cluster of a federation), steps. Shards (gres/shard) are no GPUs here.
#pragma once

#include <cstdint>
#include <string_view>

#include "trace/format.h"

namespace comity::trace {

struct Tres {
  std::int64_t gpus = 0;
  std::int64_t nodes = 0;
  std::string_view gpu_type{};  // where all GPUs are of one named type
};

// "billing=4,cpu=4,gres/gpu:a100=4,gres/gpu=4,mem=100M,node=1". False: a count that is no number.
[[nodiscard]] bool parse_tres(std::string_view text, Tres& tres);
// The older AllocGRES: "gpu:4", "gpu:tesla:2,gpu:k80:2", "gpu", all nodes together. Slurm 18 to 20 printed the number
// of the plugin in place of its name, which for gpu is 7696487.
[[nodiscard]] bool parse_gres(std::string_view text, Tres& tres);

struct SlurmJob {
  std::string_view id{};  // "123", "123_4", "123+1"
  std::string_view state{};
  std::string_view user{}, account{}, name{}, gpu_type{};
  Time submit = -1, eligible = -1, start = -1, end = -1, elapsed = -1, limit = -1;  // -1: not known
  std::int64_t gpus = 0, nodes = 0;
  bool has_start = false, has_end = false;  // whether the output says them at all
};

// Problem::field has the name that sacct --parsable2 gives it.
[[nodiscard]] Decoder::Outcome slurm_record(const SlurmJob& job, Record& record, Problem& problem);

}  // namespace comity::trace
