// SPDX-License-Identifier: Apache-2.0
#include "sched/astraea_ltgf.h"

#include <algorithm>
#include <numeric>

namespace comity::sched::astraea {

Usage& Usage::operator+=(const Usage& o) {
  weighted += o.weighted;
  utilized += o.utilized;
  deserved += o.deserved;
  return *this;
}

void Window::close() {
  history_.push_back(open_);
  open_ = {};
  if (history_.size() > buckets_) history_.pop_front();
  closed_ = {};
  for (const Usage& bucket : history_) closed_ += bucket;
}

void Window::advance(const Rates& rates, double from, double to) {
  // Whole windows that lie further back than any bucket change nothing.
  from = std::max(from, to - kBucket * static_cast<double>(buckets_ + 1));
  while (from < to) {
    const double hour = (std::floor(from / kBucket) + 1) * kBucket;
    add(rates.over(std::min(hour, to) - from));
    if (hour <= to) close();
    from = hour;
  }
}

Usage Window::recent() const {
  Usage sum = closed_;
  if (history_.size() == buckets_) {  // the oldest makes room for the open one
    sum = {};
    for (std::size_t i = 1; i < history_.size(); ++i) sum += history_[i];
  }
  return sum += open_;
}

void Entitlement::advance(double quota, std::uint64_t jobs, double seconds) {
  if (jobs == 0) return;
  const double share = quota / static_cast<double>(jobs);
  for (Line& line : lines_) line.sum += std::min(static_cast<double>(line.gpus), share) * seconds;
}

double Entitlement::of(std::uint32_t gpus) {
  for (const Line& line : lines_) {
    if (line.gpus == gpus) return line.sum;
  }
  lines_.push_back({gpus, 0});
  return 0;
}

std::vector<double> quotas(double capacity, const std::vector<double>& shares, bool whole) {
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  std::vector<double> out;
  out.reserve(shares.size());
  for (const double share : shares) {
    const double quota = capacity * (share / sum);
    out.push_back(whole ? std::floor(quota) : quota);
  }
  return out;
}

void Lifetimes::count(Histogram& histogram, double duration) const {
  constexpr double kMostBins = 4096;
  const auto bin = static_cast<std::size_t>(std::min(std::floor(duration / lease_), kMostBins));
  if (histogram.size() <= bin) histogram.resize(bin + 1);
  ++histogram[bin];
}
void Lifetimes::add(std::uint32_t gpus, double duration) {
  count(all_, duration);
  count(by_gpus_[gpus], duration);
}
double Lifetimes::ends_in_next_lease(std::uint32_t gpus, double executed) const {
  constexpr std::size_t kFewBins = 5;
  const auto it = by_gpus_.find(gpus);
  const Histogram& h = it == by_gpus_.end() || it->second.size() < kFewBins ? all_ : it->second;
  const double bin = std::floor(executed / lease_);
  if (bin >= static_cast<double>(h.size())) return 1;
  const auto i = static_cast<std::ptrdiff_t>(bin);
  const auto longer = std::accumulate(h.begin() + i, h.end(), std::uint64_t{0});
  return longer == 0 ? 1 : static_cast<double>(h[static_cast<std::size_t>(i)]) / static_cast<double>(longer);
}

void TenantPick::add(double quota, double used, const Usage& usage, bool has_jobs) {
  rows_.push_back(
      {quota, used, usage.utilized, usage.weighted + quota * lease_, used / quota, usage.of_quota(), has_jobs});
}

bool TenantPick::poorer(const Row& a, const Row& b) const {
  return a.part != b.part ? a.part < b.part : fair_ties_ && a.key < b.key;
}

std::size_t TenantPick::next() const {
  constexpr double kFifth = 0.2;
  std::size_t poorest = kNobody;
  std::size_t least = kNobody;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (!rows_[i].open) continue;
    if (poorest == kNobody || poorer(rows_[i], rows_[poorest])) poorest = i;
    if (least == kNobody || rows_[i].key < rows_[least].key) least = i;
  }
  return poorest != kNobody && rows_[poorest].part < kFifth ? poorest : least;
}

void TenantPick::grant(std::size_t tenant, double gpus) {
  Row& row = rows_[tenant];
  row.used += gpus;
  row.utilized += gpus * lease_;
  row.key = row.utilized / row.weighted;
  row.part = row.used / row.quota;
}

}  // namespace comity::sched::astraea
