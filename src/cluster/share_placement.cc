// SPDX-License-Identifier: Apache-2.0
#include "cluster/share_placement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"

namespace comity::cluster {
namespace {

constexpr double kNoFit = -std::numeric_limits<double>::infinity();
constexpr double kPoints = 100;

}  // namespace

const std::vector<ShareRuleInfo>& share_rules() {
  static const std::vector<ShareRuleInfo> rules = {
      {ShareRule::kFgd, "fgd", "where the expected fragmentation grows least"},
      {ShareRule::kBestFit, "bestfit", "where least CPU and GPU stay behind"},
      {ShareRule::kPacking, "packing", "GPUs in use first, then nodes in use, then idle nodes"},
      {ShareRule::kClustering, "clustering", "beside requests of the same kind"},
      {ShareRule::kDotProduct, "dotprod", "the smallest product of free and asked-for resources"},
      {ShareRule::kRandom, "random", "any node and GPU that fits"},
  };
  return rules;
}

Result<ShareRule> parse_share_rule(const std::string& name) {
  std::vector<std::string> names;
  for (const ShareRuleInfo& info : share_rules()) {
    if (info.name == name) return info.rule;
    names.push_back(info.name);
  }
  const std::string near = nearest(name, names);
  return fail_option(
      "--rules", fmt::format("no placement rule {}", printable(name)),
      near.empty() ? fmt::format("one of {}", fmt::join(names, ", ")) : fmt::format("did you mean {}?", near));
}

const std::string& share_rule_name(ShareRule rule) {
  for (const ShareRuleInfo& info : share_rules()) {
    if (info.rule == rule) return info.name;
  }
  COMITY_CHECK(false);
}

std::uint32_t whole_gpus(const Residual& left, std::uint32_t count) {
  std::uint32_t mask = 0;
  for (std::size_t i = 0; i < left.gpus && count > 0; ++i) {
    if (left.gpu_milli[i] != kGpuMilli) continue;
    mask |= 1U << i;
    --count;
  }
  COMITY_CHECK(count == 0);
  return mask;
}

std::uint32_t tightest_gpu(const Residual& left, std::uint32_t milli) {
  std::size_t best = kShareGpus;
  for (std::size_t i = 0; i < left.gpus; ++i) {
    if (left.gpu_milli[i] >= milli && (best == kShareGpus || left.gpu_milli[i] < left.gpu_milli[best])) best = i;
  }
  COMITY_CHECK(best < kShareGpus);
  return static_cast<std::uint32_t>(best);
}

SharePlacer::SharePlacer(const SharePool& pool, const TaskMix& mix, std::vector<ShareRequest> shapes,
                         const SharePlacerOptions& options)
    : pool_(pool), mix_(mix), shapes_(std::move(shapes)), options_(options), rng_(options.seed, options.stream) {
  if (pool.size() > 0 && shapes_.size() <= kKeptScores / pool.size()) kept_.resize(shapes_.size() * pool.size());
}

SharePlacer::Score SharePlacer::fgd(std::size_t node, const ShareRequest& request) const {
  const Residual& left = pool_.left(node);
  const std::int64_t before = mix_.fragmentation(left);
  const auto scored = [&](std::uint32_t mask) {
    Residual after = left;
    after.take(request, mask);
    const auto fall = static_cast<double>(before - mix_.fragmentation(after));
    if (options_.scores == ShareScores::kExact) return fall;
    const double gpus = mix_.weight() > 0 ? fall / static_cast<double>(mix_.weight()) / kGpuMilli : 0;
    return std::floor(kPoints / (1 + std::exp(-gpus)));
  };
  if (request.gpus == 0) return {scored(0), 0, 0};
  if (!request.shares()) return {scored(whole_gpus(left, request.gpus)), 0, 0};
  Score best{kNoFit, 0, 0};
  for (std::uint32_t i = 0; i < left.gpus; ++i) {
    if (left.gpu_milli[i] < request.gpu_milli) continue;
    // GPUs with as much left as an earlier one give the same score, and the first of equals is taken.
    const auto* const end = left.gpu_milli.begin() + i;
    if (std::find(left.gpu_milli.begin(), end, left.gpu_milli[i]) != end) continue;
    const double value = scored(1U << i);
    if (value > best.value) best = {value, 0, i};
  }
  return best;
}

double SharePlacer::bestfit(const Residual& left, const ShareRequest& request) const {
  const double cpu = pool_.largest_cpu_milli() > 0 ? static_cast<double>(left.cpu_milli - request.cpu_milli) /
                                                         static_cast<double>(pool_.largest_cpu_milli())
                                                   : 0;
  const double gpu = pool_.largest_gpu_milli() > 0
                         ? static_cast<double>(left.total_gpu_milli() - request.total_gpu_milli()) /
                               static_cast<double>(pool_.largest_gpu_milli())
                         : 0;
  return kPoints * (1 - (cpu + gpu) / 2);
}

double SharePlacer::dot_product(const Residual& left, const ShareRequest& request) const {
  const auto part = [](std::int64_t free, std::int64_t asked, std::int64_t largest) {
    if (largest == 0) return 0.0;
    return static_cast<double>(free) / static_cast<double>(largest) * static_cast<double>(asked) /
           static_cast<double>(largest);
  };
  const double product = part(left.cpu_milli, request.cpu_milli, pool_.largest_cpu_milli()) +
                         part(left.total_gpu_milli(), request.total_gpu_milli(), pool_.largest_gpu_milli());
  return kPoints * (1 - product / 2);
}

double SharePlacer::packing(const Residual& left, const ShareRequest& request) const {
  if (request.gpus == 0) return 0;
  const std::uint32_t idle = left.gpus_with(kGpuMilli);
  // Three bands: nodes wholly free below 100/3, free GPUs of nodes in use up to 50, GPUs in use above.
  if (idle == left.gpus) return std::floor(kPoints / 3) - idle;
  if (request.shares()) {
    const std::uint16_t milli = left.gpu_milli[tightest_gpu(left, request.gpu_milli)];
    const double tenths = options_.scores == ShareScores::kExact ? milli / 100.0 : std::floor(milli / 100.0);
    if (milli < kGpuMilli) return kPoints - tenths;
    return kPoints / 2 - 1;
  }
  return kPoints / 2 - request.gpus;
}

double SharePlacer::clustering(std::size_t node, const ShareRequest& request) const {
  if (request.gpus == 0) return 0;
  const double largest = static_cast<double>(pool_.largest_gpu_milli());
  const double fullness = (largest - static_cast<double>(pool_.left(node).total_gpu_milli())) / largest;
  const bool same = pool_.of_kind(node, share_kind(request)) > 0;
  const std::uint32_t kinds = pool_.kinds(node);
  const int band = same ? (kinds == 1 ? 3 : 2) : (kinds == 0 ? 1 : 0);
  return kPoints / 4 * (fullness + band);
}

SharePlacer::Score SharePlacer::score(std::size_t node, const ShareRequest& request) const {
  const Residual& left = pool_.left(node);
  if (!left.fits(request)) return {kNoFit, 0, 0};
  if (options_.rule == ShareRule::kFgd) return fgd(node, request);
  Score s{0, 0, request.shares() ? tightest_gpu(left, request.gpu_milli) : 0};
  switch (options_.rule) {
    case ShareRule::kBestFit: s.value = bestfit(left, request); break;
    case ShareRule::kDotProduct: s.value = dot_product(left, request); break;
    case ShareRule::kPacking: s.value = packing(left, request); break;
    case ShareRule::kClustering: s.value = clustering(node, request); break;
    case ShareRule::kFgd:
    case ShareRule::kRandom: break;
  }
  if (options_.scores == ShareScores::kWhole) s.value = std::floor(s.value);
  return s;
}

std::uint32_t SharePlacer::random_gpu(const Residual& left, std::uint32_t milli) {
  std::uint64_t pick = rng_.below(left.gpus_with(milli));
  for (std::uint32_t i = 0; i < left.gpus; ++i) {
    if (left.gpu_milli[i] >= milli && pick-- == 0) return i;
  }
  COMITY_CHECK(false);
}

bool SharePlacer::place(std::size_t shape, ShareAllocation& out) {
  const ShareRequest& request = shapes_[shape];
  double best = kNoFit;
  best_.clear();
  Score* const row = kept_.empty() ? nullptr : kept_.data() + shape * pool_.size();
  std::uint32_t gpu = 0;  // of the first best node
  for (std::size_t node = 0; node < pool_.size(); ++node) {
    Score fresh;
    Score& s = row != nullptr ? row[node] : fresh;
    if (s.version != pool_.version(node)) {
      s = score(node, request);
      s.version = pool_.version(node);
    }
    if (s.value < best || s.value == kNoFit) continue;
    if (s.value > best) {
      best = s.value;
      best_.clear();
      gpu = s.gpu;
    }
    best_.push_back(static_cast<std::uint32_t>(node));
  }
  if (best_.empty()) return false;
  const bool draw = options_.rule == ShareRule::kRandom || options_.ties == ShareTies::kRandom;
  const std::uint32_t node = best_[draw && best_.size() > 1 ? rng_.below(best_.size()) : 0];
  const Residual& left = pool_.left(node);
  out.node = NodeId(node);
  out.gpus = 0;
  if (request.gpus == 0) return true;
  if (!request.shares()) {
    out.gpus = whole_gpus(left, request.gpus);
    return true;
  }
  if (options_.rule == ShareRule::kRandom)
    gpu = random_gpu(left, request.gpu_milli);
  else if (node != best_.front())
    gpu = row != nullptr ? row[node].gpu : score(node, request).gpu;
  out.gpus = 1U << gpu;
  return true;
}

}  // namespace comity::cluster
