// SPDX-License-Identifier: Apache-2.0
#include "plan/spot.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "plan/spot_search.h"

namespace comity::plan {
namespace {

constexpr double kHour = 3600;
constexpr double kLeastInterval = 1;        // s: however little a checkpoint costs
constexpr double kMostInterruptions = 5e7;  // of a simulation in all

double real(std::int64_t v) { return static_cast<double>(v); }

Status check(const SpotQuestion& q) {
  const auto wrong = [](std::string field, std::string message, std::string hint) {
    return fail({.code = Code::kUsage,
                 .message = std::move(message),
                 .file = {},
                 .line = 0,
                 .field = std::move(field),
                 .hint = std::move(hint),
                 .cause = {}});
  };
  if (q.instances.empty() || q.instances.size() > 64)
    return wrong("instances", fmt::format("must be between 1 and 64, not {}", q.instances.size()), "");
  for (std::size_t i = 0; i < q.instances.size(); ++i) {
    const Instance& one = q.instances[i];
    const auto at = [&](const char* field) { return fmt::format("instances[{}].{}", i, field); };
    if (!(one.tflops >= 0)) return wrong(at("tflops"), "must not be negative", "");
    if (!(one.on_demand > 0)) return wrong(at("on_demand"), "must be a price above 0", "");
    if (!(one.spot >= 0)) return wrong(at("spot"), "must be a price, or 0 where there is none", "");
    if (!(one.nic_gb_s > 0)) return wrong(at("nic_gb_s"), "must be above 0", "");
    if (!(one.revocations >= 0)) return wrong(at("revocations"), "must not be negative", "");
    if (one.limit < 0 || one.limit > 4096) return wrong(at("limit"), "must be between 0 and 4096", "");
  }
  if (!(q.work_tflop > 0)) return wrong("work_tflop", "must be above 0", "6 x parameters x tokens / 10^12");
  if (!(q.scaling > 0 && q.scaling <= 1)) return wrong("scaling", "must be above 0 and at most 1", "");
  if (q.max_machines < 1) return wrong("max_machines", "must be at least 1", "");
  if (q.goal == SpotGoal::kFastest && !(q.budget > 0))
    return wrong("budget", "is needed to look for the fastest", "or look for the cheapest within a deadline");
  return {};
}

}  // namespace

std::string architecture_name(SpotArchitecture architecture) {
  switch (architecture) {
    case SpotArchitecture::kOnDemand: return "on-demand";
    case SpotArchitecture::kSingleAnchor: return "single-anchor";
    case SpotArchitecture::kTiering: return "tiering";
  }
  return "on-demand";
}

std::int64_t SpotChoice::machines() const {
  return std::accumulate(spot.begin(), spot.end(), std::int64_t{0}) +
         std::accumulate(on_demand.begin(), on_demand.end(), std::int64_t{0});
}

double flopp(const Instance& instance, bool spot) {
  const double price = spot && instance.spot > 0 ? instance.spot : instance.on_demand;
  return instance.tflops / price;
}

SpotChoice evaluate_spot(const SpotQuestion& q, SpotChoice c) {
  c.tflops = 0;
  c.price_per_h = 0;
  double rate = 0;
  double slowest = 0;      // seconds of the slowest machine's own write
  double anchor_gb_s = 0;  // of the anchor, the slowest of them
  std::int64_t widest = 0;
  std::int64_t trains = 0;
  for (std::size_t i = 0; i < q.instances.size(); ++i) {
    const Instance& one = q.instances[i];
    const double spot = real(c.spot[i]);
    const double fixed = real(c.on_demand[i]);
    c.tflops += (spot + fixed) * one.tflops;
    c.price_per_h += spot * one.spot + fixed * one.on_demand;
    rate += spot * one.revocations / kHour;
    if (one.tflops > 0) trains += c.spot[i] + c.on_demand[i];
    if (c.spot[i] > 0) slowest = std::max(slowest, q.checkpoint_gb / one.nic_gb_s);
    if (c.on_demand[i] > 0) anchor_gb_s = anchor_gb_s > 0 ? std::min(anchor_gb_s, one.nic_gb_s) : one.nic_gb_s;
    widest = std::max(widest, c.spot[i]);
  }
  const std::int64_t all = std::accumulate(c.spot.begin(), c.spot.end(), std::int64_t{0});
  if (trains > 0) c.tflops *= std::pow(real(trains), q.scaling - 1);
  // A tier's machines are one kind and share one anchor; a single anchor takes all.
  const std::int64_t writers = c.architecture == SpotArchitecture::kTiering ? widest : all;
  c.interruptions = {rate, 0, q.restart_s};
  if (all > 0 && anchor_gb_s > 0)
    c.interruptions.write_s = std::max(slowest, real(writers) * q.checkpoint_gb / anchor_gb_s);
  const double infinity = std::numeric_limits<double>::infinity();
  c.plain_h = c.tflops > 0 ? q.work_tflop / c.tflops / kHour : infinity;
  const double work_s = c.plain_h * kHour;
  c.interval_s = rate > 0
                     ? (q.interval_s > 0 ? q.interval_s : std::max(kLeastInterval, best_interval_s(c.interruptions)))
                     : work_s;
  c.expected_h = c.plain_h;
  if (rate > 0 && c.tflops > 0) c.expected_h = expected_time_s(c.interruptions, work_s, c.interval_s) / kHour;
  c.expected_cost = c.expected_h * c.price_per_h;
  return c;
}

bool meets(const SpotQuestion& q, const SpotChoice& c) {
  if (!std::isfinite(c.expected_cost)) return false;
  return (q.deadline_h <= 0 || c.expected_h <= q.deadline_h) && (q.budget <= 0 || c.expected_cost <= q.budget);
}

Result<SpotPlan> plan_spot(const SpotQuestion& question) {
  if (const Status status = check(question); !status.has_value()) return fail(status.error());
  SpotPlan plan;
  plan.by_flopp.resize(question.instances.size());
  std::iota(plan.by_flopp.begin(), plan.by_flopp.end(), std::size_t{0});
  std::stable_sort(plan.by_flopp.begin(), plan.by_flopp.end(), [&](std::size_t a, std::size_t b) {
    return flopp(question.instances[a], true) > flopp(question.instances[b], true);
  });
  const SpotChoice* best = nullptr;
  for (const SpotArchitecture architecture :
       {SpotArchitecture::kOnDemand, SpotArchitecture::kSingleAnchor, SpotArchitecture::kTiering}) {
    SpotSearch search(question, architecture);
    const std::optional<SpotChoice> found = search.run();
    plan.evaluated += search.nodes();
    if (search.gave_up()) plan.exact = false;
    if (found) plan.by_architecture.push_back(*found);
  }
  double on_demand = 0;
  for (const SpotChoice& c : plan.by_architecture) {
    if (c.architecture == SpotArchitecture::kOnDemand) on_demand = c.expected_cost;
    if (best == nullptr || better_spot(question, c, *best)) best = &c;
  }
  if (best == nullptr) {
    SpotQuestion free = question;
    free.deadline_h = 0;
    free.budget = 0;
    free.goal = SpotGoal::kCheapest;
    SpotSearch search(free, SpotArchitecture::kOnDemand);
    const std::optional<SpotChoice> any = search.run();
    return fail(
        Code::kInput, "no choice of machines meets the deadline and the budget",
        any ? fmt::format("the cheapest on demand takes {:.1f} h and costs {:.2f}", any->expected_h, any->expected_cost)
            : "no machine can be had at all: look at the limits");
  }
  plan.best = *best;
  if (on_demand > 0) plan.saving = 1 - plan.best.expected_cost / on_demand;
  return plan;
}

SpotTrial simulate_spot(const SpotQuestion& question, const SpotChoice& choice, std::int64_t runs, std::uint64_t seed) {
  SpotTrial out;
  double squares = 0;
  for (std::int64_t i = 0; i < runs; ++i) {
    const InterruptedRun run = simulate_run(choice.interruptions, choice.plain_h * kHour, choice.interval_s, seed,
                                            static_cast<std::uint64_t>(i));
    const double hours = run.time_s / kHour;
    ++out.runs;
    out.mean_h += hours;
    squares += hours * hours;
    out.mean_interruptions += real(run.interruptions);
    if (question.deadline_h > 0 && hours > question.deadline_h) out.late_share += 1;
    if (out.mean_interruptions > kMostInterruptions) break;
  }
  const double n = std::max(1.0, real(out.runs));
  out.mean_h /= n;
  out.deviation_h = std::sqrt(std::max(0.0, squares / n - out.mean_h * out.mean_h));
  out.mean_cost = out.mean_h * choice.price_per_h;
  out.mean_interruptions /= n;
  out.late_share /= n;
  return out;
}

}  // namespace comity::plan
