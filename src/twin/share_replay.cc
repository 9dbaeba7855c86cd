// SPDX-License-Identifier: Apache-2.0
#include "twin/share_replay.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>
#include <optional>
#include <queue>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "math/quantile.h"
#include "sim/fingerprint.h"
#include "twin/fill.h"

namespace comity::twin {
namespace {

using cluster::FragmentationSum;
using cluster::ShareAllocation;
using cluster::SharePlacer;
using cluster::SharePool;
using cluster::TaskMix;

enum Channel : std::size_t { kGiven, kLost, kNodes, kWaiting };
enum Kind : std::uint32_t { kPlaced, kLeft, kRejected };

struct Shared {
  const PodList* pods;
  const ShareNodes* nodes;
  const ShareReplayOptions* options;
  PodShapes shapes;
  std::vector<bool> shape_fits;      // on an empty node
  std::vector<std::uint32_t> order;  // by arrival, then place in the list
  TaskMix mix;
};

class Replayer {
 public:
  Replayer(const Shared& shared, cluster::ShareRule rule)
      : s_(shared),
        pool_(shared.nodes->nodes),
        fragmentation_(pool_, shared.mix),
        placer_(pool_, shared.mix, shared.shapes.shapes,
                {.rule = rule,
                 .scores = shared.options->scores,
                 .ties = shared.options->ties,
                 .seed = shared.options->seed,
                 .stream = static_cast<std::uint64_t>(rule)}),
        where_(shared.pods->pods.size()),
        series_({"gpus_given", "gpus_lost", "nodes_in_use", "pods_waiting"}, first_arrival(shared)),
        failed_(shared.shapes.shapes.size(), 0) {
    run_.rule = rule;
    run_.pods = shared.pods->pods.size();
  }

  Result<ShareReplayRun> run() {
    const std::int64_t begin = steady_ns();
    std::size_t next = 0;
    Time now = first_arrival(s_);
    while (next < s_.order.size() || !ends_.empty()) {
      if (++steps_ % 1024 == 0 && interrupted()) {
        run_.partial = true;
        break;
      }
      now = std::min(next < s_.order.size() ? pod(s_.order[next]).arrival : kNever,
                     ends_.empty() ? kNever : ends_.top().first);
      const bool freed = leave(now);
      const std::size_t old = waiting_.size();
      for (; next < s_.order.size() && pod(s_.order[next]).arrival == now; ++next) arrive(now, s_.order[next]);
      place_waiting(now, freed ? 0 : old);
      record(now);
    }
    finish(now);
    if (auto status = check(); !status) return fail(status.error());
    run_.wall_s = static_cast<double>(steady_ns() - begin) * 1e-9;
    return std::move(run_);
  }

 private:
  static Time first_arrival(const Shared& s) { return s.pods->pods[s.order.front()].arrival; }
  [[nodiscard]] const Pod& pod(std::uint32_t i) const { return s_.pods->pods[i]; }

  bool leave(Time now) {
    bool any = false;
    for (; !ends_.empty() && ends_.top().first == now; ends_.pop()) {
      const std::uint32_t i = ends_.top().second;
      pool_.release(pod(i).request, where_[i]);
      const std::size_t node = where_[i].node.index();
      fragmentation_.refresh(node);
      if (pool_.running(node) == 0) --in_use_;
      fingerprint_.add(now, kLeft, i);
      ++run_.finished;
      any = true;
    }
    return any;
  }

  void arrive(Time now, std::uint32_t i) {
    if (s_.shape_fits[s_.shapes.of_pod[i]]) {
      waiting_.push_back(i);
      return;
    }
    ++run_.rejected;
    fingerprint_.add(now, kRejected, i);
  }

  // Tries those from `from` on in order. A shape that did not fit does not fit later in the same pass: room only
  // shrinks.
  void place_waiting(Time now, std::size_t from) {
    ++pass_;
    std::size_t kept = from;
    for (std::size_t w = from; w < waiting_.size(); ++w) {
      const std::uint32_t i = waiting_[w];
      const std::uint32_t shape = s_.shapes.of_pod[i];
      if (failed_[shape] == pass_ || !placer_.place(shape, where_[i])) {
        failed_[shape] = pass_;
        waiting_[kept++] = i;
        continue;
      }
      const std::size_t node = where_[i].node.index();
      if (pool_.running(node) == 0) ++in_use_;
      pool_.take(pod(i).request, where_[i]);
      fragmentation_.refresh(node);
      ends_.emplace(now + pod(i).run, i);
      const Time wait = now - pod(i).arrival;
      waits_.push_back(to_seconds(wait));
      run_.waited += wait > 0 ? 1 : 0;
      fingerprint_.add(now, kPlaced, std::uint64_t{i} << 32 | where_[i].node.value);
    }
    waiting_.resize(kept);
  }

  void record(Time now) {
    const double gpu = cluster::kGpuMilli;
    series_.set(kGiven, now, static_cast<double>(pool_.gpu_milli() - pool_.gpu_milli_free()) / gpu);
    series_.set(kLost, now, fragmentation_.gpu_milli() / gpu);
    series_.set(kNodes, now, static_cast<double>(in_use_));
    series_.set(kWaiting, now, static_cast<double>(waiting_.size()));
  }

  void finish(Time now) {
    series_.finish(now);
    run_.makespan_s = to_seconds(now - first_arrival(s_));
    const double capacity = static_cast<double>(pool_.gpu_milli()) / cluster::kGpuMilli;
    if (run_.makespan_s > 0) {
      run_.allocation = series_.total(kGiven) / run_.makespan_s / capacity;
      run_.fragmentation = series_.total(kLost) / run_.makespan_s / capacity;
      run_.nodes_in_use = series_.total(kNodes) / run_.makespan_s;
    }
    if (!waits_.empty()) {
      run_.mean_wait_s = math::mean(waits_);
      run_.max_wait_s = *std::max_element(waits_.begin(), waits_.end());
      run_.p99_wait_s = math::quantile(waits_, 0.99);
    }
    run_.series = series_;
    run_.fingerprint = fingerprint_.value();
  }

  [[nodiscard]] Status check() const {
    if (run_.partial) return {};
    const bool whole = run_.pods == run_.finished + run_.rejected && pool_.gpu_milli_free() == pool_.gpu_milli() &&
                       pool_.cpu_milli_free() == pool_.cpu_milli() && pool_.memory_mib_free() == pool_.memory_mib() &&
                       in_use_ == 0;
    if (whole) return {};
    return fail(Code::kFailed,
                fmt::format("{}: sums are broken: {} pods, {} finished, {} rejected; {} of {} GPU free at the end",
                            cluster::share_rule_name(run_.rule), run_.pods, run_.finished, run_.rejected,
                            pool_.gpu_milli_free(), pool_.gpu_milli()));
  }

  using End = std::pair<Time, std::uint32_t>;

  const Shared& s_;
  ShareReplayRun run_{.series = sim::BinnedSeries({})};
  SharePool pool_;
  FragmentationSum fragmentation_;
  SharePlacer placer_;
  std::vector<ShareAllocation> where_;
  sim::BinnedSeries series_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::vector<std::uint32_t> waiting_;
  std::vector<std::uint64_t> failed_;  // [shape]: the pass in which it did not fit
  std::vector<double> waits_;
  sim::Fingerprint fingerprint_;
  std::uint64_t pass_ = 0;
  std::uint64_t steps_ = 0;
  std::size_t in_use_ = 0;
};

Shared share(const PodList& pods, const ShareNodes& nodes, const ShareReplayOptions& options) {
  std::vector<cluster::ShareRequest> requests;
  requests.reserve(pods.pods.size());
  for (const Pod& p : pods.pods) requests.push_back(p.request);
  Shared s{&pods, &nodes, &options, pod_shapes(pods), {}, {}, TaskMix(requests, options.mix)};
  const SharePool empty(nodes.nodes);
  for (const cluster::ShareRequest& shape : s.shapes.shapes) {
    bool fits = false;
    for (std::size_t n = 0; n < empty.size() && !fits; ++n) fits = empty.left(n).fits(shape);
    s.shape_fits.push_back(fits);
  }
  s.order.resize(pods.pods.size());
  std::iota(s.order.begin(), s.order.end(), 0U);
  std::stable_sort(s.order.begin(), s.order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return pods.pods[a].arrival < pods.pods[b].arrival; });
  return s;
}

}  // namespace

Result<std::vector<ShareReplayRun>> share_replay(const PodList& pods, const ShareNodes& nodes,
                                                 const ShareReplayOptions& options) {
  if (!pods.timed)
    return fail(Code::kInput, fmt::format("{}: the pods have no times", pods.path),
                "columns creation_time and deletion_time are needed; --mode fill does without");
  if (nodes.gpu_milli() == 0) return fail(Code::kInput, fmt::format("{}: no node has a GPU", nodes.path));
  if (auto status = SharePool::check(nodes.nodes); !status) return fail(status.error());
  const Shared shared = share(pods, nodes, options);
  std::vector<std::optional<Result<ShareReplayRun>>> slots(options.rules.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < slots.size() && !interrupted(); i = next++)
      slots[i] = Replayer(shared, options.rules[i]).run();
  };
  std::vector<std::thread> threads;
  for (std::size_t t = 1; t < std::min(options.threads, slots.size()); ++t) threads.emplace_back(work);
  work();
  for (std::thread& t : threads) t.join();
  std::vector<ShareReplayRun> runs;
  for (auto& slot : slots) {
    if (!slot) continue;  // interrupted before it began
    if (!*slot) return fail(slot->error());
    runs.push_back(std::move(**slot));
  }
  return runs;
}

}  // namespace comity::twin
