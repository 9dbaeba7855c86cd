// SPDX-License-Identifier: Apache-2.0
#include "plan/hetero_cost.h"

#include <algorithm>
#include <cmath>

#include "workload/kernels.h"

namespace comity::plan {
namespace {

using workload::Collective;
using workload::Execution;
using workload::Model;
using workload::PassTimes;

constexpr double kGiga = 1e9;
constexpr double kGibi = 1073741824.0;

double real(std::int64_t v) { return static_cast<double>(v); }

double layer_parameters(const Model& m, std::int64_t layer, std::int64_t tp, std::int64_t ep) {
  double split = workload::attention_parameters(m);
  double whole = real(m.hidden) * (m.rms_norm ? 2 : 4);
  if (m.is_moe_layer(layer)) {
    split += workload::mlp_parameters(m, m.moe.ffn) * real(m.moe.experts) / real(ep);
    if (m.moe.shared_ffn > 0) split += workload::mlp_parameters(m, m.moe.shared_ffn);
    whole += real(m.hidden * m.moe.experts);
  } else {
    split += workload::mlp_parameters(m, m.ffn);
  }
  return split / real(tp) + whole;
}

double both(const PassTimes& pass) { return pass.all_forward() + pass.all_backward(); }

// Weights, gradients and optimizer of one parameter, on a GPU of dp replicas.
double state_bytes(const Execution& e) {
  const double shards = real(e.dp);
  const double element = e.datatype == workload::Datatype::kFp32 ? 4 : 2;
  return element / (e.zero >= 3 ? shards : 1) + real(e.gradient_bytes) / (e.zero >= 2 ? shards : 1) +
         12 / (e.zero >= 1 ? shards : 1);
}

double sync_s(const HeteroQuestion& q, std::size_t cluster, const Execution& e, double parameters) {
  if (e.dp == 1) return 0;
  const workload::System& system = q.clusters[cluster].system;
  const workload::Group group = workload::layout_of(e, system).dp;
  const auto time = [&](Collective op, double bytes) {
    return workload::collective_s(q.cost, system, op, bytes, group);
  };
  const double gradient = parameters * real(e.gradient_bytes);
  if (e.zero == 0) return time(Collective::kAllReduce, gradient);
  return time(Collective::kReduceScatter, gradient) + time(Collective::kAllGather, 2 * parameters);
}

}  // namespace

ClusterCost cluster_cost(const HeteroQuestion& q, std::size_t cluster, const ClusterDegrees& degrees,
                         std::int64_t microbatch, workload::Recompute recompute) {
  const HeteroCluster& c = q.clusters[cluster];
  ClusterCost out;
  Execution& e = out.execution;
  e = q.base;
  e.tp = degrees.tp;
  e.dp = degrees.dp;
  e.pp = std::max<std::int64_t>(2, degrees.pp);  // with neighbours: the transfer is wanted
  e.cp = 1;
  e.ep = degrees.dp % std::max<std::int64_t>(1, q.base.ep) == 0 ? q.base.ep : 1;
  e.microbatch = microbatch;
  e.recompute = recompute;
  e.sequence_parallel = e.tp > 1;
  const workload::LayerCosts costs =
      workload::layer_costs(q.model, e, c.system, q.cost, workload::layout_of(e, c.system));
  const double state = state_bytes(e);
  LayerPrefix& p = out.prefix;
  p = {{0}, {0}, {0}};
  for (std::int64_t l = 0; l < q.model.layers; ++l) {
    const PassTimes& pass = q.model.is_moe_layer(l) ? costs.moe : costs.dense;
    const double parameters = layer_parameters(q.model, l, e.tp, e.ep);
    out.layer_parameters = std::max(out.layer_parameters, parameters);
    p.seconds.push_back(p.seconds.back() + both(pass));
    p.weight_bytes.push_back(p.weight_bytes.back() + state * parameters);
    p.activation_bytes.push_back(p.activation_bytes.back() + pass.activation_bytes);
    out.backward_share = pass.all_backward() / both(pass);
  }
  out.embedding_s = both(costs.embedding);
  out.head_s = both(costs.head);
  out.end_parameters = real(q.model.vocab) * real(q.model.hidden) / real(e.tp);
  out.first_bytes = state * out.end_parameters;
  out.last_bytes = state * out.end_parameters + costs.head.working_bytes + costs.head.activation_bytes;
  out.transfer_s = workload::stage_transfer_s(q.model, e, c.system, q.cost);
  out.exposed = c.system.pp_exposed;
  out.capacity_bytes = c.system.memory_gib * kGibi - std::max(costs.dense.working_bytes, costs.moe.working_bytes);
  return out;
}

double exposed_sync_s(const HeteroQuestion& q, std::size_t cluster, const ClusterCost& cost, std::int64_t layers,
                      bool end, double stage_s) {
  const double parameters = real(layers) * cost.layer_parameters + (end ? cost.end_parameters : 0);
  const double sync = sync_s(q, cluster, cost.execution, parameters);
  if (!cost.execution.dp_overlap) return sync;
  // Weights that come back are hidden behind the next forward pass, gradients behind the backward pass.
  const double share = real(layers - 1) / real(std::max<std::int64_t>(1, layers));
  const double window = stage_s * (cost.execution.zero > 0 ? 1 : cost.backward_share);
  return sync * (1 - share) + std::max(0.0, share * (sync - window));
}

double optimizer_s(const HeteroQuestion& q, std::size_t cluster, const ClusterCost& cost, std::int64_t layers,
                   bool end) {
  const workload::System& system = q.clusters[cluster].system;
  const Execution& e = cost.execution;
  const double parameters = real(layers) * cost.layer_parameters + (end ? cost.end_parameters : 0);
  const double updated = e.zero >= 1 ? parameters / real(e.dp) : parameters;
  const double rate = system.optimizer_gb_s > 0 ? system.optimizer_gb_s : system.memory_gb_s * system.memory_efficiency;
  return updated * (real(e.gradient_bytes) + 26) / (rate * kGiga);
}

double cross_transfer_s(const HeteroQuestion& q, const ClusterCost& cost) {
  const Execution& e = cost.execution;
  const double bytes = 2 * real(e.microbatch * e.tokens(q.model) * q.model.hidden) / real(e.tp);
  return bytes / (std::max(1e-9, q.cross_gb_s) * kGiga) + q.cross_latency_us * 1e-6;
}

double layer_flops(const HeteroQuestion& q, std::size_t cluster) {
  const HeteroCluster& c = q.clusters[cluster];
  // Of one layer and sequence: what the model has without its ends.
  workload::Model bare = q.model;
  bare.vocab = 0;
  const double flops = workload::model_flops(bare, 1, q.base.tokens(q.model), false);
  double best = 0;
  for (std::int64_t tp = 1; tp <= std::min(q.max_tp, c.system.joined_gpus()); tp *= 2) {
    if (q.model.heads % tp != 0) continue;
    for (const std::int64_t b : q.microbatches) {
      const ClusterCost cost = cluster_cost(q, cluster, {tp, 1, 1}, b, workload::Recompute::kNone);
      best = std::max(best, flops * real(b) / (cost.prefix.seconds.back() * real(tp)));
    }
  }
  return best;
}

}  // namespace comity::plan
