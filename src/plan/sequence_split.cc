// SPDX-License-Identifier: Apache-2.0
#include "plan/sequence_split.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace comity::plan {
namespace {

double real(std::int64_t v) { return static_cast<double>(v); }

}  // namespace

std::vector<double> equal_cost_borders(const TokenCost& cost, double tokens, std::int64_t pieces) {
  COMITY_CHECK(pieces >= 1 && tokens > 0 && cost.linear >= 0 && cost.quadratic >= 0);
  COMITY_CHECK(cost.linear + cost.quadratic > 0);
  const double whole = cost.of(0, tokens);
  std::vector<double> out;
  for (std::int64_t i = 0; i <= pieces; ++i) {
    const double part = whole * real(i) / real(pieces);
    // The root without a difference of near-equal numbers, so that quadratic = 0 is no special case.
    const double root = std::sqrt(cost.linear * cost.linear + 2 * cost.quadratic * part);
    const double sum = cost.linear + root;
    out.push_back(sum > 0 ? 2 * part / sum : 0);
  }
  out.back() = tokens;
  return out;
}

std::vector<std::int64_t> token_borders(const TokenCost& cost, std::int64_t tokens, std::int64_t pieces) {
  COMITY_CHECK(pieces >= 1 && tokens >= pieces);
  const std::vector<double> exact = equal_cost_borders(cost, real(tokens), pieces);
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i <= pieces; ++i) {
    const auto nearest = static_cast<std::int64_t>(std::llround(exact[static_cast<std::size_t>(i)]));
    // Room for one token in each piece before and behind.
    const std::int64_t least = i == 0 ? 0 : out.back() + 1;
    out.push_back(i == 0 ? 0 : std::clamp(nearest, least, tokens - (pieces - i)));
  }
  return out;
}

std::vector<double> offload_ratios(std::span<const double> bytes, std::span<const double> budgets, bool keep_last) {
  COMITY_CHECK(bytes.size() == budgets.size());
  std::vector<double> out;
  for (std::size_t i = 0; i < bytes.size(); ++i) out.push_back(bytes[i] > 0 ? std::min(1.0, budgets[i] / bytes[i]) : 1);
  if (keep_last && !out.empty()) out.back() = 0;
  return out;
}

std::vector<double> resident_bytes(std::span<const double> bytes, std::span<const double> ratios) {
  COMITY_CHECK(bytes.size() == ratios.size());
  std::vector<double> out;
  double held = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    held += bytes[i] - (i > 0 ? ratios[i - 1] * bytes[i - 1] : 0);
    out.push_back(held);
  }
  return out;
}

double sequence_bubble(std::int64_t stages, std::int64_t pieces) { return real(stages - 1) / real(pieces); }

std::vector<MultiplexedStage> multiplexed_partition(std::int64_t stages, std::int64_t pieces) {
  std::vector<MultiplexedStage> out;
  if (stages < 1 || pieces < stages) return out;
  for (std::int64_t i = 0; i < stages; ++i) {
    MultiplexedStage s;
    s.pieces = pieces;
    s.left_pieces = stages - 1 - i;
    s.steady_from = stages - 1 - i;
    s.steady_to = pieces - i;
    s.right_from = pieces - i;
    s.left_stages_from = i;
    s.left_stages_to = stages;
    s.right_stages_from = 0;
    s.right_stages_to = i + 1;
    out.push_back(s);
  }
  return out;
}

std::vector<std::vector<Span>> sequence_pipeline(const std::vector<std::vector<double>>& seconds, double hop_s,
                                                 bool reversed) {
  const std::size_t p = seconds.size();
  const std::size_t n = p > 0 ? seconds.front().size() : 0;
  std::vector<std::vector<Span>> out(p, std::vector<Span>(n));
  for (std::size_t step = 0; step < n; ++step) {
    const std::size_t k = reversed ? n - 1 - step : step;
    for (std::size_t hop = 0; hop < p; ++hop) {
      const std::size_t i = reversed ? p - 1 - hop : hop;
      double start = 0;
      if (step > 0) start = out[i][reversed ? k + 1 : k - 1].end_s;
      if (hop > 0) start = std::max(start, out[reversed ? i + 1 : i - 1][k].end_s + hop_s);
      out[i][k] = {start, start + seconds[i][k]};
    }
  }
  return out;
}

}  // namespace comity::plan
