// SPDX-License-Identifier: Apache-2.0
#include "plan/hetero.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "plan/hetero_cost.h"
#include "plan/space.h"
#include "workload/kernels.h"

namespace comity::plan {
namespace {

using workload::Recompute;

constexpr double kTera = 1e12;
constexpr double kNever = std::numeric_limits<double>::infinity();

double real(std::int64_t v) { return static_cast<double>(v); }

Status check(const HeteroQuestion& q) {
  const auto wrong = [](std::string field, std::string message, std::string hint) {
    return fail({.code = Code::kUsage,
                 .message = std::move(message),
                 .file = {},
                 .line = 0,
                 .field = std::move(field),
                 .hint = std::move(hint),
                 .cause = {}});
  };
  if (q.clusters.empty() || q.clusters.size() > 4)
    return wrong("clusters", fmt::format("must be between 1 and 4, not {}", q.clusters.size()), "join equal ones");
  for (std::size_t i = 0; i < q.clusters.size(); ++i) {
    const HeteroCluster& c = q.clusters[i];
    if (c.gpus < 1 || c.gpus > (1 << 20))
      return wrong(fmt::format("clusters[{}].gpus", i), "must be between 1 and 1048576", "");
    if (c.system.networks.empty())
      return wrong(fmt::format("clusters[{}].system", i), "has no network", "name a machine of the library");
  }
  if (q.base.batch < 1) return wrong("batch", "must be at least one sequence", "");
  if (q.microbatches.empty()) return wrong("microbatches", "is empty", "give the sequences of a micro-batch to try");
  if (q.model.layers < 1 || q.model.heads < 1) return wrong("model", "has no layers or heads", "");
  return {};
}

// tp that a cluster can use.
std::vector<std::int64_t> tensor_degrees(const HeteroQuestion& q, std::size_t cluster) {
  std::vector<std::int64_t> out;
  const HeteroCluster& c = q.clusters[cluster];
  for (std::int64_t tp = 1; tp <= std::min({q.max_tp, c.system.joined_gpus(), c.gpus}); tp *= 2)
    if (q.model.heads % tp == 0 && c.gpus % tp == 0) out.push_back(tp);
  return out;
}

class Planner {
 public:
  explicit Planner(const HeteroQuestion& question) : q_(question) {
    for (std::size_t c = 0; c < q_.clusters.size(); ++c) tensor_.push_back(tensor_degrees(q_, c));
    flops_ = workload::model_flops(q_.model, real(q_.base.batch), q_.base.tokens(q_.model), false);
  }

  std::optional<HeteroPlan> run() {
    for (const Recompute recompute : {Recompute::kNone, Recompute::kFull}) {
      for (const std::int64_t b : q_.microbatches) {
        if (b < 1 || q_.base.batch % b != 0) continue;
        pipelines_across(b, recompute);
        if (q_.clusters.size() > 1 && one_nic() && !q_.even_layers) replicas_across(b, recompute);
      }
    }
    return best_;
  }
  [[nodiscard]] std::uint64_t evaluated() const { return evaluated_; }

 private:
  [[nodiscard]] bool one_nic() const {
    return std::all_of(q_.clusters.begin(), q_.clusters.end(),
                       [&](const HeteroCluster& c) { return c.nic == q_.clusters.front().nic; });
  }
  void keep(HeteroPlan plan) {
    if (best_ && best_->step_s <= plan.step_s) return;
    best_ = std::move(plan);
  }

  void pipelines_across(std::int64_t b, Recompute recompute) {
    for (const std::int64_t dp : divisors(q_.base.batch / b)) {
      std::vector<std::size_t> order(q_.clusters.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::vector<std::int64_t> tp(q_.clusters.size(), 1);
      each_tensor_degrees(0, tp, [&] {
        std::vector<ClusterCost> costs;
        std::vector<std::int64_t> stages;
        std::int64_t all = 0;
        for (std::size_t c = 0; c < q_.clusters.size(); ++c) {
          const std::int64_t gpus = q_.clusters[c].gpus;
          if (gpus % (tp[c] * dp) != 0) return;
          stages.push_back(gpus / (tp[c] * dp));
          all += stages.back();
        }
        if (all > q_.model.layers) return;
        for (std::size_t c = 0; c < q_.clusters.size(); ++c)
          costs.push_back(cluster_cost(q_, c, {tp[c], dp, all}, b, recompute));
        std::sort(order.begin(), order.end());
        do pipeline(order, stages, costs, dp, b, recompute);
        while (std::next_permutation(order.begin(), order.end()));
      });
    }
  }
  template <class Leaf>
  void each_tensor_degrees(std::size_t cluster, std::vector<std::int64_t>& tp, const Leaf& leaf) {
    if (cluster == tp.size()) {
      leaf();
      return;
    }
    for (const std::int64_t degree : tensor_[cluster]) {
      tp[cluster] = degree;
      each_tensor_degrees(cluster + 1, tp, leaf);
    }
  }

  // The stages of one pipeline, in order, and what fills it beside their own time.
  std::vector<SplitStage> stages_of(const std::vector<std::size_t>& clusters, const std::vector<ClusterCost>& costs,
                                    std::int64_t m, double& transfers) const {
    std::vector<SplitStage> out;
    const std::size_t p = clusters.size();
    for (std::size_t i = 0; i < p; ++i) {
      const ClusterCost& cost = costs[clusters[i]];
      SplitStage s;
      s.kind = clusters[i];
      s.in_flight = static_cast<double>(std::min<std::int64_t>(m, static_cast<std::int64_t>(p - i)));
      s.capacity_bytes = cost.capacity_bytes;
      if (i == 0) {
        s.extra_s += cost.embedding_s;
        s.extra_bytes += cost.first_bytes;
      }
      if (i + 1 == p) {
        s.extra_s += cost.head_s;
        s.extra_bytes += cost.last_bytes;
      } else {
        const double hop = clusters[i] == clusters[i + 1] ? cost.transfer_s : cross_transfer_s(q_, cost);
        s.extra_s += 2 * cost.exposed * hop;
        transfers += 2 * (1 - cost.exposed) * hop;
      }
      out.push_back(s);
    }
    return out;
  }

  void pipeline(const std::vector<std::size_t>& order, const std::vector<std::int64_t>& stages,
                const std::vector<ClusterCost>& costs, std::int64_t dp, std::int64_t b, Recompute recompute) {
    std::vector<std::size_t> clusters;
    for (const std::size_t c : order) clusters.insert(clusters.end(), static_cast<std::size_t>(stages[c]), c);
    const std::int64_t m = q_.base.batch / (b * dp);
    if (best_ && least_s(stages, costs, m) >= best_->step_s) return;
    std::vector<LayerPrefix> kinds;
    for (const ClusterCost& cost : costs) kinds.push_back(cost.prefix);
    double transfers = 0;
    const std::vector<SplitStage> parts = stages_of(clusters, costs, m, transfers);
    ++evaluated_;
    const auto split = q_.even_layers
                           ? fixed_split(kinds, parts, q_.model.layers, {})
                           : split_layers(kinds, parts, q_.model.layers, real(m), best_ ? best_->step_s : kNever);
    if (!split) return;
    HeteroPlan plan;
    plan.microbatch = b;
    plan.recompute = recompute;
    plan.pipeline_s = split->total_s(real(m)) + transfers;
    describe(plan, clusters, parts, kinds, costs, *split, m);
    plan.step_s = plan.pipeline_s + plan.sync_s + plan.optimizer_s;
    keep(std::move(plan));
  }
  // All stages equally long, nothing but layers, and the first micro-batch through the fastest stages alone: no split
  // is shorter.
  [[nodiscard]] double least_s(const std::vector<std::int64_t>& stages, const std::vector<ClusterCost>& costs,
                               std::int64_t m) const {
    double speed = 0;
    double fastest = kNever;
    for (std::size_t c = 0; c < costs.size(); ++c) {
      speed += real(stages[c]) / costs[c].prefix.seconds.back();
      fastest = std::min(fastest, costs[c].prefix.seconds.back());
    }
    return real(m - 1) / speed + fastest;
  }
  void describe(HeteroPlan& plan, const std::vector<std::size_t>& clusters, const std::vector<SplitStage>& parts,
                const std::vector<LayerPrefix>& kinds, const std::vector<ClusterCost>& costs, const LayerSplit& split,
                std::int64_t m) const {
    std::int64_t from = 0;
    for (std::size_t i = 0; i < clusters.size(); ++i) {
      const std::size_t c = clusters[i];
      const std::int64_t to = from + split.layers[i];
      const auto part = [&](const std::vector<double>& prefix) {
        return prefix[static_cast<std::size_t>(to)] - prefix[static_cast<std::size_t>(from)];
      };
      const LayerPrefix& k = kinds[c];
      const double bytes = part(k.weight_bytes) + parts[i].extra_bytes + parts[i].in_flight * part(k.activation_bytes);
      const bool end = i == 0 || i + 1 == clusters.size();
      plan.stages.push_back({c, costs[c].execution.tp, costs[c].execution.dp, split.layers[i], split.seconds[i], bytes,
                             costs[c].capacity_bytes, m});
      plan.sync_s = std::max(plan.sync_s, exposed_sync_s(q_, c, costs[c], split.layers[i], end, split.seconds[i]));
      plan.optimizer_s = std::max(plan.optimizer_s, optimizer_s(q_, c, costs[c], split.layers[i], end));
      from = to;
    }
  }

  // One way for a cluster to hold whole pipelines.
  struct Replica {
    ClusterCost cost;
    LayerSplit split;
    std::vector<SplitStage> parts;
    std::int64_t dp = 1;
    double fill_s = 0;
    [[nodiscard]] double rate() const { return real(dp) / split.longest_s; }  // micro-batches a second
  };
  std::vector<Replica> replicas_of(std::size_t cluster, std::int64_t b, Recompute recompute) {
    std::vector<Replica> out;
    const std::int64_t gpus = q_.clusters[cluster].gpus;
    for (const std::int64_t tp : tensor_[cluster]) {
      for (const std::int64_t pp : divisors(gpus / tp)) {
        if (pp > q_.model.layers) continue;
        Replica r;
        r.dp = gpus / tp / pp;
        r.cost = cluster_cost(q_, cluster, {tp, r.dp, pp}, b, recompute);
        std::vector<LayerPrefix> kinds(q_.clusters.size());
        std::vector<ClusterCost> costs(q_.clusters.size());
        kinds[cluster] = r.cost.prefix;
        costs[cluster] = r.cost;
        double transfers = 0;
        r.parts = stages_of(std::vector<std::size_t>(static_cast<std::size_t>(pp), cluster), costs, pp, transfers);
        ++evaluated_;
        const auto split = split_layers(kinds, r.parts, q_.model.layers, 64);
        if (!split) continue;
        r.split = *split;
        r.fill_s = split->sum_s - split->longest_s + transfers;
        out.push_back(std::move(r));
      }
    }
    return out;
  }
  void replicas_across(std::int64_t b, Recompute recompute) {
    std::vector<std::vector<Replica>> ways;
    for (std::size_t c = 0; c < q_.clusters.size(); ++c) {
      ways.push_back(replicas_of(c, b, recompute));
      if (ways.back().empty()) return;
    }
    std::vector<std::size_t> chosen(ways.size(), 0);
    choose(ways, chosen, 0, 0, b, recompute);
  }
  // Every combination of ways, but for those too slow even if the clusters still open took their fastest.
  void choose(const std::vector<std::vector<Replica>>& ways, std::vector<std::size_t>& chosen, std::size_t cluster,
              double rate, std::int64_t b, Recompute recompute) {
    if (cluster == ways.size()) {
      replicas(ways, chosen, b, recompute);
      return;
    }
    double rest = 0;
    for (std::size_t c = cluster + 1; c < ways.size(); ++c) {
      double most = 0;
      for (const Replica& r : ways[c]) most = std::max(most, r.rate());
      rest += most;
    }
    for (chosen[cluster] = 0; chosen[cluster] < ways[cluster].size(); ++chosen[cluster]) {
      const double now = rate + ways[cluster][chosen[cluster]].rate();
      if (best_ && real(q_.base.batch / b) / (now + rest) >= best_->step_s) continue;
      choose(ways, chosen, cluster + 1, now, b, recompute);
    }
  }
  void replicas(const std::vector<std::vector<Replica>>& ways, const std::vector<std::size_t>& chosen, std::int64_t b,
                Recompute recompute) {
    std::vector<std::int64_t> dp;
    std::vector<double> fill;
    std::vector<double> each;
    for (std::size_t c = 0; c < ways.size(); ++c) {
      const Replica& r = ways[c][chosen[c]];
      dp.push_back(r.dp);
      fill.push_back(r.fill_s);
      each.push_back(r.split.longest_s);
    }
    const std::vector<std::int64_t> m = share_microbatches(dp, fill, each, q_.base.batch / b);
    HeteroPlan plan;
    plan.replicas_across = true;
    plan.microbatch = b;
    plan.recompute = recompute;
    for (std::size_t c = 0; c < ways.size(); ++c) {
      plan.pipeline_s = std::max(plan.pipeline_s, m[c] > 0 ? fill[c] + real(m[c]) * each[c] : 0);
    }
    if (best_ && plan.pipeline_s >= best_->step_s) return;
    for (std::size_t c = 0; c < ways.size(); ++c) {
      const Replica& r = ways[c][chosen[c]];
      std::vector<LayerPrefix> kinds(ways.size());
      std::vector<ClusterCost> costs(ways.size());
      kinds[c] = r.cost.prefix;
      costs[c] = r.cost;
      describe(plan, std::vector<std::size_t>(r.split.layers.size(), c), r.parts, kinds, costs, r.split, m[c]);
    }
    plan.sync_s += cross_sync_s(ways, chosen);
    plan.step_s = plan.pipeline_s + plan.sync_s + plan.optimizer_s;
    keep(std::move(plan));
  }
  // After each cluster's own reduction one copy of the gradients crosses between clusters, over all GPUs that hold a
  // part of it, and nothing hides it.
  [[nodiscard]] double cross_sync_s(const std::vector<std::vector<Replica>>& ways,
                                    const std::vector<std::size_t>& chosen) const {
    double longest = 0;
    for (std::size_t c = 0; c < ways.size(); ++c) {
      const double parameters = workload::parameters(q_.model).total / real(q_.clusters[c].gpus);
      longest = std::max(longest, parameters * real(ways[c][chosen[c]].cost.execution.gradient_bytes));
    }
    const double n = real(static_cast<std::int64_t>(ways.size()));
    return 2 * (n - 1) / n * longest / (std::max(1e-9, q_.cross_gb_s) * 1e9) + 2 * (n - 1) * q_.cross_latency_us * 1e-6;
  }

  const HeteroQuestion& q_;
  std::vector<std::vector<std::int64_t>> tensor_;
  double flops_ = 0;
  std::optional<HeteroPlan> best_;
  std::uint64_t evaluated_ = 0;
};

// What each cluster does by itself, with the whole batch.
double alone_tflops(const HeteroQuestion& q) {
  double out = 0;
  for (const HeteroCluster& c : q.clusters) {
    HeteroQuestion one = q;
    one.clusters = {c};
    one.alone = false;
    const auto plan = Planner(one).run();
    if (!plan) return 0;
    out += workload::model_flops(q.model, real(q.base.batch), q.base.tokens(q.model), false) / plan->step_s / kTera;
  }
  return out;
}

}  // namespace

std::vector<std::int64_t> share_microbatches(const std::vector<std::int64_t>& replicas,
                                             const std::vector<double>& fill_s, const std::vector<double>& each_s,
                                             std::int64_t total) {
  std::vector<std::int64_t> out(replicas.size(), 0);
  std::int64_t shared = 0;
  const auto end = [&](std::size_t c, std::int64_t m) { return fill_s[c] + real(m) * each_s[c]; };
  // Rounds in the order of their ends: the first end at which enough is done is the least.
  while (shared < total) {
    std::size_t first = 0;
    for (std::size_t c = 1; c < out.size(); ++c)
      if (end(c, out[c] + 1) < end(first, out[first] + 1)) first = c;
    ++out[first];
    shared += replicas[first];
  }
  for (std::size_t c = 0; c < out.size(); ++c) {
    const std::int64_t spare = std::min(out[c], (shared - total) / replicas[c]);
    out[c] -= spare;
    shared -= spare * replicas[c];
  }
  return out;
}

Result<HeteroPlan> plan_hetero(const HeteroQuestion& question) {
  if (const Status status = check(question); !status.has_value()) return fail(status.error());
  Planner planner(question);
  std::optional<HeteroPlan> plan = planner.run();
  if (!plan)
    return fail(Code::kInput, "no way to spread the model over these clusters fits in their memory",
                "use more GPUs, ZeRO (zero = 1), or a batch that more replicas divide");
  plan->evaluated = planner.evaluated();
  std::int64_t gpus = 0;
  for (std::size_t c = 0; c < question.clusters.size(); ++c) {
    const HeteroCluster& cluster = question.clusters[c];
    gpus += cluster.gpus;
    plan->layer_bound += real(cluster.gpus) * layer_flops(question, c) / kTera;
    plan->peak_bound += real(cluster.gpus) * workload::peak_flops(cluster.system, question.base.datatype) / kTera;
  }
  const auto& q = question;
  plan->tflops =
      workload::model_flops(q.model, real(q.base.batch), q.base.tokens(q.model), false) / plan->step_s / kTera;
  plan->tflops_per_gpu = plan->tflops / real(gpus);
  if (question.alone) plan->alone_bound = alone_tflops(question);
  if (!question.even_layers) {
    HeteroQuestion even = question;
    even.even_layers = true;
    const auto other = Planner(even).run();
    plan->even_step_s = other ? other->step_s : 0;
  }
  return *plan;
}

}  // namespace comity::plan
