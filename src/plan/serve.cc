// SPDX-License-Identifier: Apache-2.0
#include "plan/serve.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "plan/serve_network.h"
#include "plan/swarm.h"
#include "workload/kernels.h"

namespace comity::plan {
namespace {

double real(std::int64_t v) { return static_cast<double>(v); }

Status check(const ServeQuestion& q) {
  const auto wrong = [](std::string field, std::string message, std::string hint) {
    return fail({.code = Code::kUsage,
                 .message = std::move(message),
                 .file = {},
                 .line = 0,
                 .field = std::move(field),
                 .hint = std::move(hint),
                 .cause = {}});
  };
  if (q.nodes.empty() || q.nodes.size() > 256)
    return wrong("nodes", fmt::format("must be between 1 and 256, not {}", q.nodes.size()), "");
  if (q.layers < 1 || q.layers > 4096) return wrong("layers", "must be between 1 and 4096", "");
  for (std::size_t i = 0; i < q.nodes.size(); ++i) {
    const ServeNode& n = q.nodes[i];
    const auto at = [&](const char* field) { return fmt::format("nodes[{}].{}", i, field); };
    if (n.capacity < 0) return wrong(at("capacity"), "must not be negative", "");
    if (!(n.layer_s > 0)) return wrong(at("layer_s"), "must be above 0", "");
    if (!(n.client_rtt_s >= 0)) return wrong(at("client_rtt_s"), "must not be negative", "");
  }
  if (!q.rtt_s.empty()) {
    const auto row = [&](const std::vector<double>& r) { return r.size() == q.nodes.size(); };
    if (q.rtt_s.size() != q.nodes.size() || !std::all_of(q.rtt_s.begin(), q.rtt_s.end(), row))
      return wrong("rtt_s", "must have a row and a column for each node", "or leave it out for default_rtt_s");
  }
  if (q.reserve_first < 0 || q.reserve_last < 0) return wrong("reserve_first", "must not be negative", "");
  if (!(q.arrivals_per_s > 0)) return wrong("arrivals_per_s", "must be above 0", "");
  if (q.requests < 0 || q.requests > 100'000) return wrong("requests", "must be between 0 and 100000", "");
  if (q.output_tokens < 1 || q.output_tokens > 100'000)
    return wrong("output_tokens", "must be between 1 and 100000", "");
  return {};
}

class Allocation {
 public:
  Allocation(const ServeQuestion& question, ServePlan& plan) : q_(question), plan_(plan) {
    plan_.nodes.assign(q_.nodes.size(), {});
    plan_.allocator = q_.allocator;
  }

  [[nodiscard]] bool pipelines() {
    const std::int64_t ends = std::max(q_.reserve_first, q_.reserve_last);
    std::vector<std::size_t> able;  // nodes that can be anywhere in a pipeline
    std::vector<std::int64_t> capacities;
    for (std::size_t i = 0; i < q_.nodes.size(); ++i) {
      if (q_.nodes[i].capacity <= ends) continue;
      able.push_back(i);
      capacities.push_back(q_.nodes[i].capacity);
    }
    // A node that is first and last has both reserves; a layer more of room for each pipeline is the price of one rule.
    const std::int64_t need = q_.layers + q_.reserve_first + q_.reserve_last;
    const PipelineValue value = value_of();
    const Grouping found = q_.allocator == Allocator::kDynamic ? best_grouping(capacities, need, value)
                                                               : greedy_grouping(capacities, need, value);
    plan_.exact = found.exact;
    plan_.value = found.value;
    for (const std::vector<std::size_t>& group : found.pipelines) {
      std::vector<std::size_t> nodes;
      for (const std::size_t i : group) nodes.push_back(able[i]);
      if (fill(in_order(nodes), plan_.pipelines)) ++plan_.pipelines;
    }
    if (plan_.pipelines > 0) replicate();
    return plan_.pipelines > 0;
  }

  [[nodiscard]] bool petals() {
    std::vector<SwarmServer> joining;
    std::vector<std::size_t> who;
    for (std::size_t i = 0; i < q_.nodes.size(); ++i) {
      const ServeNode& n = q_.nodes[i];
      if (n.capacity < 1) continue;
      const std::int64_t blocks = std::min(n.capacity, q_.layers);
      who.push_back(i);
      joining.push_back(
          {0, blocks,
           server_throughput(1 / n.layer_s, network_rps(n.up_bps, n.down_bps, q_.hidden), blocks, n.relayed)});
    }
    const std::vector<SwarmServer> swarm = grow_swarm(joining, q_.layers, q_.balance_quality, 20, q_.seed);
    for (std::size_t s = 0; s < swarm.size(); ++s)
      plan_.nodes[who[s]] = {swarm[s].from, swarm[s].from + swarm[s].blocks, -1, 0};
    const std::vector<double> held = block_throughputs(swarm, q_.layers);
    return *std::min_element(held.begin(), held.end()) > 0;
  }

 private:
  [[nodiscard]] PipelineValue value_of() const {
    PipelineValue out;
    out.alpha = q_.alpha;
    if (!q_.latency_value) return out;
    double sum = 0;
    for (const ServeNode& n : q_.nodes) sum += n.layer_s;
    out.compute_s = real(q_.layers) * sum / static_cast<double>(q_.nodes.size());
    out.rtt_s = q_.default_rtt_s;
    return out;
  }
  // The largest first, where the embedding is, the second last; between them each time the nearest one.
  [[nodiscard]] std::vector<std::size_t> in_order(std::vector<std::size_t> nodes) const {
    std::stable_sort(nodes.begin(), nodes.end(),
                     [&](std::size_t a, std::size_t b) { return q_.nodes[a].capacity > q_.nodes[b].capacity; });
    if (nodes.size() < 4) {
      if (nodes.size() == 3) std::swap(nodes[1], nodes[2]);
      return nodes;
    }
    std::vector<std::size_t> out = {nodes[0]};
    const std::size_t last = nodes[1];
    nodes.erase(nodes.begin(), nodes.begin() + 2);
    while (!nodes.empty()) {
      const auto nearest = std::min_element(nodes.begin(), nodes.end(), [&](std::size_t a, std::size_t b) {
        return round_trip_s(q_, out.back(), a) < round_trip_s(q_, out.back(), b);
      });
      out.push_back(*nearest);
      nodes.erase(nearest);
    }
    out.push_back(last);
    return out;
  }
  bool fill(const std::vector<std::size_t>& nodes, std::int64_t pipeline) {
    std::vector<double> powers;
    std::vector<std::int64_t> capacities;
    for (const std::size_t v : nodes) {
      powers.push_back(1 / q_.nodes[v].layer_s);
      capacities.push_back(std::min(q_.nodes[v].capacity, q_.layers + q_.reserve_first + q_.reserve_last));
    }
    capacities.front() -= q_.reserve_first;
    capacities.back() -= q_.reserve_last;
    const std::vector<std::int64_t> layers = water_fill(powers, capacities, q_.layers);
    if (layers.empty()) return false;
    std::int64_t from = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      plan_.nodes[nodes[i]] = {from, from + layers[i], pipeline, 0};
      from += layers[i];
    }
    return true;
  }
  // Nodes that are left over, the largest first, take the layers around the least served one.
  void replicate() {
    std::vector<std::size_t> rest;
    for (std::size_t i = 0; i < q_.nodes.size(); ++i)
      if (plan_.nodes[i].from == plan_.nodes[i].to && q_.nodes[i].capacity > 0) rest.push_back(i);
    std::stable_sort(rest.begin(), rest.end(),
                     [&](std::size_t a, std::size_t b) { return q_.nodes[a].capacity > q_.nodes[b].capacity; });
    const std::int64_t ends = std::max(q_.reserve_first, q_.reserve_last);
    for (const std::size_t v : rest) {
      const std::int64_t blocks = std::min(q_.nodes[v].capacity - ends, q_.layers);
      if (blocks < 1) continue;
      const std::int64_t from = choose_start(hosting_power(q_, plan_.nodes), blocks);
      plan_.nodes[v] = {from, from + blocks, -1, 0};
    }
  }

  const ServeQuestion& q_;
  ServePlan& plan_;
};

}  // namespace

ServeNode serve_node(std::string name, const workload::Model& model, const workload::System& system,
                     std::int64_t gpus) {
  double active = workload::attention_parameters(model);
  double held = active;
  const double expert = model.has_moe() ? workload::mlp_parameters(model, model.moe.ffn) : 0;
  const double dense = workload::mlp_parameters(model, model.has_moe() ? model.moe.shared_ffn : model.ffn);
  active += dense + expert * real(model.moe.top_k);
  held += dense + expert * real(model.moe.experts);
  const double n = real(gpus);
  ServeNode out;
  out.name = std::move(name);
  out.capacity = static_cast<std::int64_t>(0.8 * system.memory_gib * 1073741824.0 * n / (2 * held));
  const double read = 2 * active / (system.memory_gb_s * 1e9 * system.memory_efficiency * n);
  const double compute = 2 * active / (workload::peak_flops(system, workload::Datatype::kBf16) * n);
  out.layer_s = std::max(read, compute);
  out.prefill_layer_s = compute / system.gemm.max_efficiency;
  return out;
}

std::string allocator_name(Allocator allocator) {
  switch (allocator) {
    case Allocator::kDynamic: return "parallax";
    case Allocator::kGreedy: return "parallax-greedy";
    case Allocator::kPetals: return "petals";
  }
  return "parallax";
}

Result<ServePlan> plan_serve(const ServeQuestion& question) {
  if (const Status status = check(question); !status.has_value()) return fail(status.error());
  ServePlan plan;
  Allocation allocation(question, plan);
  const bool holds = question.allocator == Allocator::kPetals ? allocation.petals() : allocation.pipelines();
  if (!holds) {
    std::int64_t room = 0;
    for (const ServeNode& n : question.nodes) room += n.capacity;
    return fail(Code::kInput,
                fmt::format("{} nodes with room for {} layers hold no whole model of {}", question.nodes.size(), room,
                            question.layers),
                "add nodes, or weights of fewer bytes");
  }
  const std::vector<double> power = hosting_power(question, plan.nodes);
  const double mean = std::accumulate(power.begin(), power.end(), 0.0) / static_cast<double>(power.size());
  double squares = 0;
  for (const double p : power) squares += (p - mean) * (p - mean);
  plan.imbalance = std::sqrt(squares / static_cast<double>(power.size())) / mean;
  plan.slowest_layer_power = *std::min_element(power.begin(), power.end());
  const std::vector<std::int64_t> idle(question.nodes.size(), 0);
  plan.idle_route = ServeNetwork(question, plan.nodes).route(idle);
  plan.outcome = simulate_serve(question, plan.nodes);
  return plan;
}

std::vector<ServePlan> compare_serve(const ServeQuestion& question) {
  std::vector<ServePlan> out;
  for (const Allocator allocator : {Allocator::kDynamic, Allocator::kGreedy, Allocator::kPetals}) {
    ServeQuestion q = question;
    q.allocator = allocator;
    if (const auto plan = plan_serve(q); plan.has_value()) out.push_back(*plan);
  }
  return out;
}

}  // namespace comity::plan
