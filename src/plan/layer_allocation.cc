// SPDX-License-Identifier: Apache-2.0
#include "plan/layer_allocation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

#include "base/check.h"

namespace comity::plan {
namespace {

double real(std::int64_t v) { return static_cast<double>(v); }

std::vector<std::size_t> by_capacity(std::span<const std::int64_t> capacities) {
  std::vector<std::size_t> out(capacities.size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  std::stable_sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) { return capacities[a] > capacities[b]; });
  return out;
}

// Puts the first `count` of `order` into k pipelines so that none lacks anything.
class Packer {
 public:
  Packer(std::span<const std::int64_t> capacities, const std::vector<std::size_t>& order, std::int64_t need,
         std::int64_t pipelines, std::uint64_t& states)
      : capacities_(capacities), order_(order), states_(states) {
    lacks_.assign(static_cast<std::size_t>(pipelines), need);
    where_.resize(order.size());
  }
  bool run(std::size_t count) {
    seen_.clear();
    count_ = count;
    left_ = 0;
    for (std::size_t i = 0; i < count; ++i) left_ += capacities_[order_[i]];
    return place(0);
  }
  [[nodiscard]] Grouping grouping() const {
    Grouping out;
    out.pipelines.resize(lacks_.size());
    for (std::size_t i = 0; i < count_; ++i) out.pipelines[where_[i]].push_back(order_[i]);
    return out;
  }

 private:
  bool place(std::size_t i) {
    std::int64_t lack = 0;
    for (const std::int64_t l : lacks_) lack += std::max<std::int64_t>(l, 0);
    if (lack == 0) {
      count_ = i;
      return true;
    }
    if (i == count_ || left_ < lack || states_ == 0) return false;
    // Pipelines are alike: what they lack, sorted, is the state.
    std::vector<std::int64_t> state;
    for (const std::int64_t l : lacks_) state.push_back(std::max<std::int64_t>(l, 0));
    std::sort(state.begin(), state.end());
    if (!seen_.emplace(i, state).second) return false;
    --states_;
    const std::int64_t capacity = capacities_[order_[i]];
    left_ -= capacity;
    std::set<std::int64_t, std::greater<>> tried;
    for (const std::int64_t l : lacks_)
      if (l > 0) tried.insert(l);
    for (const std::int64_t lacking : tried) {
      const auto p = static_cast<std::size_t>(std::find(lacks_.begin(), lacks_.end(), lacking) - lacks_.begin());
      lacks_[p] -= capacity;
      where_[i] = p;
      if (place(i + 1)) return true;
      lacks_[p] += capacity;
    }
    left_ += capacity;
    return false;
  }

  std::span<const std::int64_t> capacities_;
  const std::vector<std::size_t>& order_;
  std::uint64_t& states_;
  std::vector<std::int64_t> lacks_;
  std::vector<std::size_t> where_;
  std::set<std::pair<std::size_t, std::vector<std::int64_t>>> seen_;
  std::size_t count_ = 0;
  std::int64_t left_ = 0;
};

}  // namespace

std::vector<std::int64_t> water_fill(std::span<const double> powers, std::span<const std::int64_t> capacities,
                                     std::int64_t layers) {
  const std::size_t n = powers.size();
  COMITY_CHECK(n == capacities.size());
  const std::int64_t room = std::accumulate(capacities.begin(), capacities.end(), std::int64_t{0});
  const bool each_one = std::all_of(capacities.begin(), capacities.end(), [](std::int64_t c) { return c >= 1; });
  if (n == 0 || room < layers || layers < static_cast<std::int64_t>(n) || !each_one) return {};
  double high = 0;
  for (std::size_t i = 0; i < n; ++i) high = std::max(high, real(capacities[i]) / powers[i]);
  double low = 0;
  const auto level = [&](std::size_t i, double lambda) {
    return std::clamp(lambda * powers[i], 1.0, real(capacities[i]));
  };
  for (int step = 0; step < 40; ++step) {
    const double lambda = (low + high) / 2;
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += level(i, lambda);
    (sum < real(layers) ? low : high) = lambda;
  }
  // Whole layers: rounded down, then one by one to where the time grows to least.
  std::vector<std::int64_t> out;
  std::int64_t left = layers;
  for (std::size_t i = 0; i < n; ++i) {
    out.push_back(static_cast<std::int64_t>(std::floor(level(i, low))));
    left -= out.back();
  }
  for (; left > 0; --left) {
    std::size_t best = n;
    for (std::size_t i = 0; i < n; ++i) {
      if (out[i] == capacities[i]) continue;
      if (best == n || real(out[i] + 1) / powers[i] < real(out[best] + 1) / powers[best]) best = i;
    }
    ++out[best];
  }
  return out;
}

double PipelineValue::of(std::int64_t pipelines, std::int64_t nodes) const {
  const double k = real(pipelines);
  const double gain = std::pow(k, alpha);
  return compute_s > 0 ? gain / (compute_s + real(nodes) / k * rtt_s) : gain / real(nodes);
}

std::int64_t Grouping::nodes() const {
  std::int64_t out = 0;
  for (const auto& p : pipelines) out += static_cast<std::int64_t>(p.size());
  return out;
}

std::optional<Grouping> fewest_nodes(std::span<const std::int64_t> capacities, std::int64_t need,
                                     std::int64_t pipelines, std::uint64_t& states) {
  const std::vector<std::size_t> order = by_capacity(capacities);
  std::int64_t sum = 0;
  for (std::size_t s = 0; s < order.size(); ++s) {
    sum += capacities[order[s]];
    if (sum < pipelines * need || static_cast<std::int64_t>(s) + 1 < pipelines) continue;
    Packer packer(capacities, order, need, pipelines, states);
    if (packer.run(s + 1)) return packer.grouping();
    if (states == 0) return std::nullopt;
  }
  return std::nullopt;
}

Grouping best_grouping(std::span<const std::int64_t> capacities, std::int64_t need, const PipelineValue& value,
                       std::uint64_t most_states) {
  Grouping best = greedy_grouping(capacities, need, value);
  const std::int64_t room = std::accumulate(capacities.begin(), capacities.end(), std::int64_t{0});
  bool exact = true;
  for (std::int64_t k = 1; k <= room / std::max<std::int64_t>(1, need); ++k) {
    std::uint64_t states = most_states;
    std::optional<Grouping> now = fewest_nodes(capacities, need, k, states);
    exact = exact && states > 0;
    if (!now) continue;
    now->value = value.of(k, now->nodes());
    if (now->value >= best.value) best = *now;
  }
  best.exact = exact;
  return best;
}

Grouping greedy_grouping(std::span<const std::int64_t> capacities, std::int64_t need, const PipelineValue& value) {
  Grouping out;
  std::vector<std::size_t> rest = by_capacity(capacities);
  std::int64_t left = std::accumulate(capacities.begin(), capacities.end(), std::int64_t{0});
  while (left >= need && !rest.empty()) {
    std::vector<std::size_t> pipeline;
    std::int64_t lack = need;
    while (lack > 0) {
      // Look ahead: the last one in the order that is enough, else the largest.
      const auto enough =
          std::find_if(rest.rbegin(), rest.rend(), [&](std::size_t v) { return capacities[v] >= lack; });
      const auto taken = enough == rest.rend() ? rest.begin() : enough.base() - 1;
      pipeline.push_back(*taken);
      lack -= capacities[*taken];
      left -= capacities[*taken];
      rest.erase(taken);
    }
    out.pipelines.push_back(std::move(pipeline));
  }
  if (!out.pipelines.empty()) out.value = value.of(static_cast<std::int64_t>(out.pipelines.size()), out.nodes());
  return out;
}

}  // namespace comity::plan
