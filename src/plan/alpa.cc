// SPDX-License-Identifier: Apache-2.0
// alpa_search() of plan/parallelism.h.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "plan/parallelism.h"
#include "plan/space.h"
#include "workload/kernels.h"

namespace comity::plan {
namespace {

using workload::Execution;
using workload::LayerCosts;
using workload::PassTimes;

constexpr double kNever = std::numeric_limits<double>::infinity();

// The best way to run k layers (with or without the ends of the model) on one submesh.
struct StageCost {
  double time_s = kNever;  // one micro-batch, forward and backward
  std::int64_t tp = 1;
};

class Search {
 public:
  explicit Search(const ParallelismQuestion& q) : q_(q), layers_(q.model.layers) {
    for (std::int64_t n = 1; n <= std::min(q.system.joined_gpus(), q.gpus); n *= 2) meshes_.push_back(n);
    for (std::int64_t n = 2 * q.system.joined_gpus(); n <= q.gpus; n += q.system.joined_gpus()) meshes_.push_back(n);
  }

  Result<AlpaPlan> run() {
    AlpaPlan best;
    best.iteration_s = kNever;
    for (const std::int64_t microbatch : divisors(q_.base.batch)) {
      microbatch_ = microbatch;
      costs_.clear();
      search(best);
    }
    best.evaluations = evaluations_;
    if (best.iteration_s == kNever) return fail(Code::kInput, "no cut into stages fits in memory", "take more GPUs");
    return best;
  }

 private:
  // A micro-batch here is what all replicas of a stage take together.
  void search(AlpaPlan& best) {
    const double m = static_cast<double>(q_.base.batch / microbatch_);
    std::vector<double> bounds;
    for (std::int64_t k = 1; k <= layers_; ++k)
      for (const std::int64_t mesh : meshes_)
        for (const bool first : {false, true})
          for (const bool last : {false, true}) {
            const double t = cost(k, mesh, first, last).time_s;
            if (t < kNever) bounds.push_back(t);
          }
    std::sort(bounds.begin(), bounds.end());
    bounds.erase(std::unique(bounds.begin(), bounds.end(), [](double a, double b) { return b < a * 1.001; }),
                 bounds.end());
    for (const double bound : bounds) {
      if ((m - 1) * bound >= best.iteration_s) break;
      std::vector<Cut> cuts;
      const double sum = programme(bound, cuts);
      if (sum == kNever || sum + (m - 1) * bound >= best.iteration_s) continue;
      best.iteration_s = sum + (m - 1) * bound;
      best.microbatch = microbatch_;
      best.stage_layers.clear();
      best.stage_gpus.clear();
      best.stage_tp.clear();
      for (const Cut& cut : cuts) {
        best.stage_layers.push_back(cut.layers);
        best.stage_gpus.push_back(cut.gpus);
        best.stage_tp.push_back(cut.tp);
      }
    }
  }

  struct Cut {
    std::int64_t layers;
    std::int64_t gpus;
    std::int64_t tp;
  };
  // Least sum of stage times over all cuts of the layers that use exactly all GPUs, no stage above `bound`.
  double programme(double bound, std::vector<Cut>& cuts) {
    const auto at = [&](std::int64_t k, std::int64_t g) { return static_cast<std::size_t>(k * (q_.gpus + 1) + g); };
    std::vector<double> sum(static_cast<std::size_t>((layers_ + 1) * (q_.gpus + 1)), kNever);
    std::vector<Cut> by(sum.size(), Cut{0, 0, 0});
    sum[at(0, 0)] = 0;
    for (std::int64_t k = 1; k <= layers_; ++k)  // layers placed, from the front
      for (std::int64_t from = 0; from < k; ++from)
        for (const std::int64_t mesh : meshes_) {
          const StageCost stage = cost(k - from, mesh, from == 0, k == layers_);
          if (stage.time_s > bound) continue;
          for (std::int64_t g = mesh; g <= q_.gpus; ++g) {
            const double s = sum[at(from, g - mesh)] + stage.time_s;
            if (s >= sum[at(k, g)]) continue;
            sum[at(k, g)] = s;
            by[at(k, g)] = {k - from, mesh, stage.tp};
          }
        }
    const double total = sum[at(layers_, q_.gpus)];
    if (total == kNever) return total;
    std::int64_t g = q_.gpus;
    for (std::int64_t k = layers_; k > 0;) {
      const Cut cut = by[at(k, g)];
      cuts.push_back(cut);
      k -= cut.layers;
      g -= cut.gpus;
    }
    std::reverse(cuts.begin(), cuts.end());
    return total;
  }

  StageCost cost(std::int64_t k, std::int64_t mesh, bool first, bool last) {
    const auto key = std::make_tuple(k, mesh, first, last);
    if (const auto found = costs_.find(key); found != costs_.end()) return found->second;
    StageCost best;
    for (const std::int64_t tp : divisors(std::min(mesh, q_.system.joined_gpus()))) {
      if (mesh % tp != 0 || q_.model.heads % tp != 0) continue;
      const std::int64_t dp = mesh / tp;
      if (microbatch_ % dp != 0) continue;
      ++evaluations_;
      const double t = stage_s(k, tp, dp, first, last);
      if (t < best.time_s) best = {t, tp};
    }
    costs_.emplace(key, best);
    return best;
  }
  double stage_s(std::int64_t k, std::int64_t tp, std::int64_t dp, bool first, bool last) const {
    Execution e = q_.base;
    e.tp = tp;
    e.pp = 1;
    e.dp = dp;
    e.microbatch = microbatch_ / dp;
    e.sequence_parallel = tp > 1;
    e.zero = dp > 1 ? 1 : 0;
    const LayerCosts layers = workload::layer_costs(q_.model, e, q_.system, q_.cost, layout_of(e, q_.system));
    PassTimes pass;
    pass.add(layers.dense, static_cast<double>(k));
    if (first) pass.add(layers.embedding, 1);
    if (last) pass.add(layers.head, 1);
    const double parameters = static_cast<double>(k) * (workload::attention_parameters(q_.model) +
                                                        workload::mlp_parameters(q_.model, q_.model.ffn)) +
                              (first || last ? static_cast<double>(q_.model.vocab * q_.model.hidden) : 0);
    const double bytes = parameters / static_cast<double>(tp) * (6 + 12.0 / static_cast<double>(dp)) +
                         pass.activation_bytes + pass.working_bytes;
    if (bytes > q_.system.memory_gib * 1073741824.0) return kNever;
    return pass.all_forward() + pass.all_backward();
  }

  const ParallelismQuestion& q_;
  std::int64_t layers_;
  std::int64_t microbatch_ = 1;
  std::vector<std::int64_t> meshes_;
  std::map<std::tuple<std::int64_t, std::int64_t, bool, bool>, StageCost> costs_;
  std::uint64_t evaluations_ = 0;
};

}  // namespace

Result<AlpaPlan> alpa_search(const ParallelismQuestion& question) {
  if (question.gpus > 4096 || question.model.layers > 512)
    return fail(Code::kUsage, "Alpa's search is for at most 4,096 GPUs and 512 layers",
                "its dynamic programme grows with layers^2 x GPUs");
  return Search(question).run();
}

}  // namespace comity::plan
