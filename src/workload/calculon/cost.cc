// SPDX-License-Identifier: Apache-2.0
#include "workload/calculon/cost.h"

#include <fmt/format.h>

#include "workload/calculon/batch.h"

namespace comity::workload::calculon {
namespace {

tl::unexpected<Error> refuse(std::string field, std::string message) {
  return fail(Error{Code::kInput, std::move(message), {}, 0, std::move(field), {}, {}});
}

Status check_networks(const Execution& exe, const System& sys) {
  struct Use {
    const char* field;
    std::int64_t ranks, net;
  };
  const Use uses[] = {{"tensor_par_net", exe.tensor_par, exe.tensor_par_net},
                      {"pipeline_par_net", exe.pipeline_par, exe.pipeline_par_net},
                      {"data_par_net", exe.data_par, exe.data_par_net}};
  for (const Use& use : uses)
    if (use.net >= static_cast<std::int64_t>(sys.networks.size()))
      return refuse(use.field, fmt::format("the system has no network {}", use.net));
  for (std::size_t tier = 0; tier < sys.networks.size(); ++tier) {
    std::int64_t ranks = 1;
    const char* field = nullptr;
    for (const Use& use : uses) {
      if (use.ranks == 1 || use.net != static_cast<std::int64_t>(tier)) continue;
      ranks *= use.ranks;
      field = use.field;
    }
    if (field == nullptr) continue;
    const Network& net = sys.networks[tier];
    if (ranks > net.size)
      return refuse(field, fmt::format("network {} joins {} processors, not {}", tier, net.size, ranks));
    if (net.must_be_filled && net.size % ranks != 0)
      return refuse(field, fmt::format("network {} of {} processors is not filled by {}", tier, net.size, ranks));
  }
  return {};
}

Status check(const Application& app, const Execution& exe, const System& sys) {
  if (auto status = check_networks(exe, sys); !status) return status;
  const auto type = static_cast<std::size_t>(exe.datatype);
  if (sys.matrix[type].flops == 0 || sys.vector[type].flops == 0)
    return refuse("datatype", "the system does not have this type");
  const std::int64_t t = exe.tensor_par;
  if (app.hidden % t != 0 || app.feedforward % t != 0 || app.attn_heads % t != 0)
    return refuse("tensor_par", "does not divide hidden, feedforward and attn_heads");
  if (exe.tensor_par_overlap != TensorParOverlap::kNone && app.attn_heads * app.attn_size % t != 0)
    return refuse("tensor_par", "does not divide attn_heads x attn_size");
  if (exe.tensor_par_comm_type != TensorParComm::kAr && exe.microbatch_size * app.seq_size % t != 0)
    return refuse("tensor_par", "does not divide microbatch_size x seq_size");
  const std::int64_t blocks = (app.num_blocks + exe.pipeline_par - 1) / exe.pipeline_par;
  if (exe.pipeline_interleaving > blocks || blocks % exe.pipeline_interleaving != 0)
    return refuse("pipeline_interleaving", fmt::format("does not divide the {} blocks of a processor", blocks));
  if ((exe.weight_offload || exe.activations_offload || exe.optimizer_offload) && blocks <= 2)
    return refuse("weight_offload", "offloading needs three blocks a processor or more");
  return {};
}

}  // namespace

Result<Breakdown> evaluate(const Application& app, const Execution& exe, const System& sys) {
  if (auto status = check(app, exe, sys); !status) return fail(status.error());
  const Machine machine(exe, sys);
  return Batch(app, exe, machine).run();
}

}  // namespace comity::workload::calculon
