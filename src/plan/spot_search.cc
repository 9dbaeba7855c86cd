// SPDX-License-Identifier: Apache-2.0
#include "plan/spot_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace comity::plan {
namespace {

constexpr double kHour = 3600;
constexpr double kEqual = 1 - 1e-9;  // choices nearer than this count as equally good

double real(std::int64_t v) { return static_cast<double>(v); }

}  // namespace

bool better_spot(const SpotQuestion& q, const SpotChoice& a, const SpotChoice& b) {
  const std::pair<double, double> cost_first{a.expected_cost, a.expected_h};
  const std::pair<double, double> other_cost{b.expected_cost, b.expected_h};
  if (q.goal == SpotGoal::kCheapest) return cost_first < other_cost;
  return std::pair{a.expected_h, a.expected_cost} < std::pair{b.expected_h, b.expected_cost};
}

SpotSearch::SpotSearch(const SpotQuestion& question, SpotArchitecture architecture)
    : q_(question), architecture_(architecture) {
  for (std::size_t i = 0; i < q_.instances.size(); ++i) {
    const Instance& one = q_.instances[i];
    if (one.tflops > 0 && one.limit > 0 && (!spot() || one.spot > 0)) order_.push_back(i);
  }
  std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
    return q_.instances[a].tflops / price_of(a) > q_.instances[b].tflops / price_of(b);
  });
  tabulate();
}

void SpotSearch::tabulate() {
  const auto n = static_cast<std::size_t>(q_.max_machines);
  for (std::size_t depth = 0; depth <= order_.size(); ++depth) {
    std::vector<double> tflops;
    std::vector<double> prices;
    double rate = order_.size() > depth ? std::numeric_limits<double>::infinity() : 0;
    for (std::size_t d = depth; d < order_.size(); ++d) {
      const Instance& one = q_.instances[order_[d]];
      const auto count = static_cast<std::size_t>(std::min(one.limit, q_.max_machines));
      tflops.insert(tflops.end(), count, one.tflops);
      prices.insert(prices.end(), count, price_of(order_[d]));
      rate = std::min(rate, spot() ? one.revocations / kHour : 0);
    }
    std::sort(tflops.rbegin(), tflops.rend());
    std::sort(prices.begin(), prices.end());
    std::vector<double> most(1, 0.0);
    std::vector<double> least(1, 0.0);
    for (std::size_t k = 0; k < std::min(n, tflops.size()); ++k) {
      most.push_back(most.back() + tflops[k]);
      least.push_back(least.back() + prices[k]);
    }
    most_tflops_.push_back(std::move(most));
    least_price_.push_back(std::move(least));
    least_rate_.push_back(rate);
  }
  for (std::size_t k = 0; k <= 2 * n; ++k)
    loss_.push_back(std::pow(std::max(1.0, static_cast<double>(k)), q_.scaling - 1));
}

double SpotSearch::price_of(std::size_t instance) const {
  const Instance& one = q_.instances[instance];
  return spot() ? one.spot : one.on_demand;
}

std::optional<SpotChoice> SpotSearch::run() {
  each_kind_alone();
  SpotChoice choice;
  choice.architecture = architecture_;
  const auto clear = [&] {
    choice.spot.assign(q_.instances.size(), 0);
    choice.on_demand.assign(q_.instances.size(), 0);
  };
  clear();
  anchor_ = 0;
  if (!spot()) {
    descend(0, choice, 0);
    return best_;
  }
  // Every kind of machine may be the anchor, those without a GPU too.
  for (anchor_ = 0; anchor_ < q_.instances.size(); ++anchor_) {
    if (q_.instances[anchor_].limit < 1) continue;
    clear();
    if (!anchors_each()) choice.on_demand[anchor_] = 1;
    descend(0, choice, anchors_each() ? 0 : 1);
  }
  return best_;
}

void SpotSearch::offer(const SpotChoice& choice) {
  const bool any = std::any_of(choice.spot.begin(), choice.spot.end(), [](std::int64_t n) { return n > 0; });
  if (spot() && !any) return;
  const SpotChoice done = evaluate_spot(q_, choice);
  if (meets(q_, done) && (!best_ || better_spot(q_, done, *best_))) best_ = done;
}

SpotSearch::Held SpotSearch::held(std::size_t depth, const SpotChoice& choice) const {
  Held out;
  for (std::size_t i = 0; i < q_.instances.size(); ++i) {
    const Instance& one = q_.instances[i];
    const std::int64_t n = choice.spot[i] + choice.on_demand[i];
    if (n == 0) continue;
    out.tflops += real(n) * one.tflops;
    out.price += real(choice.spot[i]) * one.spot + real(choice.on_demand[i]) * one.on_demand;
    out.rate += real(choice.spot[i]) * one.revocations / kHour;
    if (one.tflops > 0) out.trains += n;
    if (choice.spot[i] > 0) out.write_s = std::max(out.write_s, q_.checkpoint_gb / one.nic_gb_s);
    out.writers = anchors_each() ? std::max(out.writers, choice.spot[i]) : out.writers + choice.spot[i];
  }
  // Anchors that are still to come may have FLOP/s of their own.
  if (anchors_each())
    out.tflops += real(static_cast<std::int64_t>(order_.size() - depth)) * q_.instances[anchor_].tflops;
  return out;
}

// Expected over plain time is at least e^(r R) (1 + sqrt(r C / 2))^2 whatever the interval (e^x - 1 >= x + x^2/2, then
// the means of C/tau and r tau/2), and more machines only raise r and C.
double SpotSearch::least_stretch(const Held& held, std::size_t depth, std::int64_t more) const {
  const double rate = held.rate + (more > 0 ? real(more) * least_rate_[depth] : 0);
  if (rate <= 0) return 1;
  const std::int64_t writers = anchors_each() ? held.writers : held.writers + more;
  const double write = std::max(held.write_s, real(writers) * q_.checkpoint_gb / q_.instances[anchor_].nic_gb_s);
  const double root = 1 + std::sqrt(rate * write / 2);
  return std::exp(std::min(600.0, rate * q_.restart_s)) * root * root;
}

bool SpotSearch::hopeless(std::size_t depth, const SpotChoice& choice, std::int64_t machines) const {
  const Held now = held(depth, choice);
  const std::vector<double>& most = most_tflops_[depth];
  const double per_price = depth < order_.size() ? price_of(order_[depth]) / q_.instances[order_[depth]].tflops : 0;
  const auto more_at_most =
      std::min<std::int64_t>(q_.max_machines - machines, static_cast<std::int64_t>(most.size()) - 1);
  // For each number of machines still to be added: the fastest of them for time, the cheapest for money.
  for (std::int64_t more = 0; more <= more_at_most; ++more) {
    const auto k = static_cast<std::size_t>(more);
    const double tflops = now.tflops + most[k];
    if (tflops <= 0) continue;
    const double loss = loss_[static_cast<std::size_t>(now.trains + more)];
    const double stretch = least_stretch(now, depth, more) / loss;
    const double hours = q_.work_tflop / tflops / kHour * stretch;
    if (q_.deadline_h > 0 && hours * kEqual > q_.deadline_h) continue;
    // Cost is (price + p) / (tflops + f), p at least f x the least price per FLOP: least at one end of f.
    double cost = hours * (now.price + most[k] * per_price);
    if (now.tflops > 0) cost = std::min(cost, q_.work_tflop / now.tflops / kHour * stretch * now.price);
    cost = std::max(cost, hours * (now.price + least_price_[depth][k]));
    if (q_.budget > 0 && cost * kEqual > q_.budget) continue;
    if (!best_) return false;
    if (q_.goal == SpotGoal::kCheapest ? cost < best_->expected_cost * kEqual : hours < best_->expected_h * kEqual)
      return false;
  }
  return true;
}

// Good choices to begin with, so that the bound has something to compare with.
void SpotSearch::each_kind_alone() {
  SpotChoice choice;
  choice.architecture = architecture_;
  for (anchor_ = 0; anchor_ < (spot() ? q_.instances.size() : 1); ++anchor_) {
    for (const std::size_t i : order_) {
      for (std::int64_t n = 1; n <= std::min(q_.instances[i].limit, q_.max_machines - (spot() ? 1 : 0)); ++n) {
        choice.spot.assign(q_.instances.size(), 0);
        choice.on_demand.assign(q_.instances.size(), 0);
        (spot() ? choice.spot : choice.on_demand)[i] = n;
        if (spot()) ++choice.on_demand[anchor_];
        if (choice.spot[anchor_] + choice.on_demand[anchor_] <= q_.instances[anchor_].limit) offer(choice);
      }
    }
  }
}

void SpotSearch::descend(std::size_t depth, SpotChoice& choice, std::int64_t machines) {
  if (gave_up_ || ++nodes_ > q_.max_nodes) {
    gave_up_ = true;
    return;
  }
  if (hopeless(depth, choice, machines)) return;
  if (depth == order_.size()) {
    if (machines > 0) offer(choice);
    return;
  }
  const std::size_t i = order_[depth];
  std::vector<std::int64_t>& counts = spot() ? choice.spot : choice.on_demand;
  const std::int64_t held = spot() ? choice.on_demand[i] : 0;
  const std::int64_t most = std::min(q_.instances[i].limit - held, q_.max_machines - machines);
  for (std::int64_t n = std::max<std::int64_t>(most, 0); n >= 0; --n) {
    const std::int64_t anchor = anchors_each() && n > 0 ? 1 : 0;
    if (machines + n + anchor > q_.max_machines) continue;
    if (choice.on_demand[anchor_] + anchor + (anchor_ == i ? n : choice.spot[anchor_]) > q_.instances[anchor_].limit &&
        anchor > 0)
      continue;
    counts[i] = n;
    choice.on_demand[anchor_] += anchor;
    descend(depth + 1, choice, machines + n + anchor);
    choice.on_demand[anchor_] -= anchor;
  }
  counts[i] = 0;
}

}  // namespace comity::plan
