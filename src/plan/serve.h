// SPDX-License-Identifier: Apache-2.0
// Serving one model on unequal nodes over slow links, after Parallax (arXiv 2509.26182) and Petals;
// docs/systems/parallax-petals.md says what of them is here. Nodes are grouped into pipelines (layer_allocation.h) or
// choose blocks one by one (swarm.h), requests take the quickest way by load (serve_route.h), and a small simulation of
// requests, token by token, says what comes of it.
//
// The simulation: requests arrive at random, each prompt and each token passes its route's nodes in turn, a node takes
// one at a time in order of arrival (no batches), and a token starts when the one before has come back. Events =
// requests x tokens x hops, each O(log).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/fields.h"
#include "plan/layer_allocation.h"
#include "plan/serve_route.h"
#include "workload/model.h"
#include "workload/system.h"

namespace comity::plan {

struct ServeNode {
  std::string name;
  std::int64_t capacity = 0;   // layers that it can hold
  double layer_s = 0.001;      // one layer, one token
  double prefill_layer_s = 0;  // one layer, one token of a prompt; 0: a tenth of layer_s
  double client_rtt_s = 0.05;  // round trip to the requests' source
  double up_bps = 1e8;         // Petals: what bounds a server's throughput beside its GPU
  double down_bps = 1e8;
  bool relayed = false;  // behind a NAT
};
// A node of `gpus` GPUs of `system`: capacity from 80 % of the memory (weights of 2 bytes), seconds of a layer from
// reading its weights once or 2 FLOP a parameter, whichever takes longer.
[[nodiscard]] ServeNode serve_node(std::string name, const workload::Model& model, const workload::System& system,
                                   std::int64_t gpus);

enum class Allocator : std::uint8_t { kDynamic, kGreedy, kPetals };
[[nodiscard]] std::string allocator_name(Allocator allocator);

struct ServeQuestion {
  std::vector<ServeNode> nodes;
  std::int64_t layers = 0;
  std::int64_t hidden = 4096;              // Petals' network bound
  std::vector<std::vector<double>> rtt_s;  // between nodes; empty: default_rtt_s
  double default_rtt_s = 0.02;
  std::int64_t reserve_first = 0;  // layers' worth of memory that the embedding takes
  std::int64_t reserve_last = 0;   // and the head
  Allocator allocator = Allocator::kDynamic;
  double alpha = 2;               // of Z
  bool latency_value = false;     // Z = k^alpha / (T_comp + (s/k) RTT) instead of k^2 / s
  double overload = 0.25;         // of a node's layer time that each request on it adds when routes are chosen
  double balance_quality = 0.75;  // Petals
  double petals_hop_s = 0.018;    // Petals' estimate of a hop beside half of the round trip
  std::int64_t requests = 200;
  double arrivals_per_s = 1;
  std::int64_t prompt_tokens = 128;
  std::int64_t output_tokens = 64;
  std::uint64_t seed = 1;
};

struct ServedNode {
  std::int64_t from = 0;  // layers [from, to)
  std::int64_t to = 0;
  std::int64_t pipeline = -1;  // -1: a replica of the least served layers, or Petals
  double busy = 0;             // share of the simulated time
};

struct ServeOutcome {
  double tokens_per_s = 0;
  double mean_s = 0;  // of a request
  double p50_s = 0;
  double p95_s = 0;
  double first_token_s = 0;  // mean
  double hops = 0;           // mean, of a route
  std::int64_t finished = 0;
};

struct ServePlan {
  Allocator allocator = Allocator::kDynamic;
  std::int64_t pipelines = 0;
  double value = 0;  // Z
  bool exact = true;
  std::vector<ServedNode> nodes;   // as in the question
  double imbalance = 0;            // coefficient of variation of the layers' hosting power (1/s)
  double slowest_layer_power = 0;  // requests' tokens a second that the least served layer can take
  Route idle_route;                // of a token when nobody else is there
  ServeOutcome outcome;
};

// Errors: kUsage for impossible numbers, kInput where the nodes together hold too few layers.
[[nodiscard]] Result<ServePlan> plan_serve(const ServeQuestion& question);
// The three allocators on the same requests; those that cannot hold the model are left out.
[[nodiscard]] std::vector<ServePlan> compare_serve(const ServeQuestion& question);

[[nodiscard]] ServeOutcome simulate_serve(const ServeQuestion& question, std::vector<ServedNode>& nodes);

[[nodiscard]] Fields fields(const ServePlan& plan);
[[nodiscard]] FieldRows node_rows(const ServeQuestion& question, const ServePlan& plan);
[[nodiscard]] std::string explain(const ServeQuestion& question, const ServePlan& plan);

}  // namespace comity::plan
