// SPDX-License-Identifier: Apache-2.0
#include "twin/fill.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/rng.h"
#include "sim/fingerprint.h"

namespace comity::twin {
namespace {

using cluster::FragmentationSum;
using cluster::ShareAllocation;
using cluster::SharePlacer;
using cluster::SharePool;
using cluster::ShareRequest;
using cluster::TaskMix;

constexpr std::uint64_t kDrawStream = 0x64726177;

void shuffle(std::vector<std::uint32_t>& list, Rng& rng) {
  for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[rng.below(i)]);
}

// What is the same for all runs.
struct Experiment {
  const PodList* pods;
  const ShareNodes* nodes;
  const FillOptions* options;
  PodShapes shapes;
  TaskMix mix;
  std::int64_t capacity;
};

// Writes the points that have been reached.
class Curve {
 public:
  Curve(FillRun& run, std::int64_t capacity, double target)
      : run_(run), capacity_(capacity), points_(static_cast<std::size_t>(std::floor(target * 100 + 1e-9)) + 1) {
    for (auto* curve : {&run.allocation, &run.fragmentation, &run.idle_lost}) curve->reserve(points_);
  }
  void reach(std::int64_t arrived, const SharePool& pool, const FragmentationSum& fragmentation) {
    while (run_.allocation.size() < points_ &&
           arrived * 100 >= static_cast<std::int64_t>(run_.allocation.size()) * capacity_)
      add(pool, fragmentation);
  }
  // Rounding may leave the last point just out of reach.
  void finish(const SharePool& pool, const FragmentationSum& fragmentation) {
    while (run_.allocation.size() < points_) add(pool, fragmentation);
  }

 private:
  void add(const SharePool& pool, const FragmentationSum& fragmentation) {
    const auto capacity = static_cast<double>(capacity_);
    const auto idle = static_cast<double>(pool.gpu_milli_free());
    const double lost = fragmentation.gpu_milli();
    run_.allocation.push_back((capacity - idle) / capacity);
    run_.fragmentation.push_back(lost / capacity);
    run_.idle_lost.push_back(idle > 0 ? lost / idle : 1);
  }
  FillRun& run_;
  std::int64_t capacity_;
  std::size_t points_;
};

Status check_sums(const FillRun& run, const SharePool& pool, const FragmentationSum& kept, const TaskMix& mix) {
  const FragmentationSum afresh(pool, mix);
  const bool whole = run.arrived == run.placed + run.refused &&
                     pool.gpu_milli() - pool.gpu_milli_free() == run.placed_gpu_milli && kept.exact() == afresh.exact();
  if (whole) return {};
  return fail(
      Code::kFailed,
      fmt::format("{}, seed {}: sums are broken: {} arrived, {} placed, {} refused; {} GPU given "
                  "out, {} placed; fragmentation {} kept, {} counted",
                  cluster::share_rule_name(run.rule), run.seed, run.arrived, run.placed, run.refused,
                  pool.gpu_milli() - pool.gpu_milli_free(), run.placed_gpu_milli, kept.exact(), afresh.exact()));
}

Result<FillRun> run_one(const Experiment& e, cluster::ShareRule rule, std::uint64_t seed) {
  const std::int64_t begin = steady_ns();
  auto arrivals = draw_arrivals(*e.pods, e.capacity, e.options->target, e.options->draw, seed);
  if (!arrivals) return fail(arrivals.error());
  FillRun run;
  run.rule = rule;
  run.seed = seed;
  SharePool pool(e.nodes->nodes);
  FragmentationSum fragmentation(pool, e.mix);
  SharePlacer placer(pool, e.mix, e.shapes.shapes,
                     {.rule = rule,
                      .scores = e.options->scores,
                      .ties = e.options->ties,
                      .seed = seed,
                      .stream = static_cast<std::uint64_t>(rule)});
  sim::Fingerprint fingerprint;
  Curve curve(run, e.capacity, e.options->target);
  curve.reach(0, pool, fragmentation);
  ShareAllocation where;
  for (const std::uint32_t pod : *arrivals) {
    const ShareRequest& request = e.pods->pods[pod].request;
    run.arrived_gpu_milli += request.total_gpu_milli();
    const bool placed = placer.place(e.shapes.of_pod[pod], where);
    if (placed) {
      pool.take(request, where);
      fragmentation.refresh(where.node.index());
      run.placed_gpu_milli += request.total_gpu_milli();
      ++run.placed;
    } else {
      ++run.refused;
    }
    fingerprint.add(static_cast<Time>(run.arrived++), placed ? 1 : 0,
                    placed ? std::uint64_t{where.node.value} << 32 | where.gpus : pod);
    curve.reach(run.arrived_gpu_milli, pool, fragmentation);
  }
  curve.finish(pool, fragmentation);
  if (auto status = check_sums(run, pool, fragmentation, e.mix); !status) return fail(status.error());
  run.cpu_allocation =
      pool.cpu_milli() > 0 ? 1 - static_cast<double>(pool.cpu_milli_free()) / static_cast<double>(pool.cpu_milli()) : 0;
  run.fingerprint = fingerprint.value();
  run.wall_s = static_cast<double>(steady_ns() - begin) * 1e-9;
  return run;
}

}  // namespace

PodShapes pod_shapes(const PodList& pods) {
  PodShapes out;
  std::map<ShareRequest, std::uint32_t> index;
  out.of_pod.reserve(pods.pods.size());
  for (const Pod& pod : pods.pods) {
    const auto [it, fresh] = index.try_emplace(pod.request, static_cast<std::uint32_t>(out.shapes.size()));
    if (fresh) out.shapes.push_back(pod.request);
    out.of_pod.push_back(it->second);
  }
  return out;
}

Result<std::vector<std::uint32_t>> draw_arrivals(const PodList& pods, std::int64_t gpu_milli, double target, Draw draw,
                                                 std::uint64_t seed) {
  const double wanted = target * static_cast<double>(gpu_milli);
  std::vector<std::uint32_t> list;
  std::int64_t asked = 0;
  Rng rng(seed, kDrawStream);
  const auto milli = [&](std::uint32_t pod) { return pods.pods[pod].request.total_gpu_milli(); };
  if (draw == Draw::kInflate) {
    for (std::uint32_t i = 0; i < pods.pods.size(); ++i) list.push_back(i);
    asked = pods.gpu_milli();
    shuffle(list, rng);
    for (; static_cast<double>(asked) > wanted; list.pop_back()) asked -= milli(list.back());
  }
  while (static_cast<double>(asked) < wanted) {
    const auto pod = static_cast<std::uint32_t>(rng.below(pods.pods.size()));
    if (static_cast<double>(asked + milli(pod)) > wanted) break;
    if (list.size() == kPods)
      return fail(Code::kInput, fmt::format("more than {} pods would arrive", kPods), "lower --target");
    asked += milli(pod);
    list.push_back(pod);
  }
  shuffle(list, rng);
  return list;
}

Result<FillResult> fill(const PodList& pods, const ShareNodes& nodes, const FillOptions& options) {
  if (nodes.gpu_milli() == 0) return fail(Code::kInput, fmt::format("{}: no node has a GPU", nodes.path));
  if (pods.gpu_milli() == 0) return fail(Code::kInput, fmt::format("{}: no pod asks for a GPU", pods.path));
  if (auto status = SharePool::check(nodes.nodes); !status) return fail(status.error());
  std::vector<ShareRequest> requests;
  requests.reserve(pods.pods.size());
  for (const Pod& pod : pods.pods) requests.push_back(pod.request);
  const Experiment e{&pods, &nodes, &options, pod_shapes(pods), TaskMix(requests, options.mix), nodes.gpu_milli()};
  const std::size_t total = options.rules.size() * options.seeds;
  std::vector<std::optional<Result<FillRun>>> slots(total);
  std::atomic<std::size_t> next{0};
  std::mutex drawing;
  std::size_t done = 0;
  Progress progress("placing", "runs", total, options.quiet);
  const auto work = [&] {
    for (std::size_t i = next++; i < total && !interrupted(); i = next++) {
      slots[i] = run_one(e, options.rules[i / options.seeds], options.seed + i % options.seeds);
      const std::lock_guard lock(drawing);
      progress.update(++done);
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t t = 1; t < std::min(options.threads, total); ++t) threads.emplace_back(work);
  work();
  for (std::thread& t : threads) t.join();
  FillResult result;
  result.classes = e.mix.classes().size();
  result.mix_coverage = static_cast<double>(e.mix.weight()) / static_cast<double>(pods.pods.size());
  for (auto& slot : slots) {
    result.partial = result.partial || !slot;
    if (!slot) continue;
    if (!*slot) return fail(slot->error());
    result.runs.push_back(std::move(**slot));
  }
  return result;
}

}  // namespace comity::twin
