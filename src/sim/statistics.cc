// SPDX-License-Identifier: Apache-2.0
#include "sim/statistics.h"

#include <algorithm>
#include <utility>

namespace comity::sim {

double TimeWeighted::integral(Time until) const {
  COMITY_CHECK(until >= last_);
  CompensatedSum sum = area_;
  sum.add(value_ * static_cast<double>(until - last_));
  return sum.value() * 1e-9;
}

double TimeWeighted::mean(Time until) const {
  return until <= start_ ? value_ : integral(until) / to_seconds(until - start_);
}

BinnedSeries::BinnedSeries(std::vector<std::string> names, Time origin, Time width, std::size_t bins)
    : names_(std::move(names)),
      channels_(names_.size()),
      bins_(std::max<std::size_t>(bins + bins % 2, 2)),
      origin_(origin),
      width_(width),
      bin_end_(origin + width),
      end_(origin) {
  COMITY_CHECK(width > 0);
  closed_.resize(channels_.size() * bins_);
  for (Channel& c : channels_) {
    c.last = origin;
  }
}

void BinnedSeries::advance(Time t) {
  COMITY_CHECK(t <= kMaxTime && origin_ >= -kMaxTime);
  while (t >= bin_end_) {
    close_bin();
  }
}

void BinnedSeries::close_bin() {
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    Channel& c = channels_[i];
    c.current.add(c.value * static_cast<double>(bin_end_ - c.last));
    c.last = bin_end_;
    closed_[i * bins_ + open_].add(c.current);
    c.current = {};
  }
  if (++open_ == bins_) {
    double_width();
  }
  bin_end_ = bin_begin(open_) + width_;
}

void BinnedSeries::double_width() {
  const std::size_t half = bins_ / 2;
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    CompensatedSum* row = closed_.data() + i * bins_;
    for (std::size_t b = 0; b < half; ++b) {
      CompensatedSum merged = row[2 * b];
      merged.add(row[2 * b + 1]);
      row[b] = merged;
    }
    std::fill(row + half, row + bins_, CompensatedSum{});
  }
  width_ *= 2;
  open_ = half;
}

void BinnedSeries::finish(Time end) {
  if (end >= bin_end_) {
    advance(end);
  }
  for (Channel& c : channels_) {
    COMITY_CHECK(end >= c.last);
    c.current.add(c.value * static_cast<double>(end - c.last));
    c.last = end;
  }
  end_ = end;
}

std::size_t BinnedSeries::size() const { return static_cast<std::size_t>((end_ - origin_ + width_ - 1) / width_); }

Time BinnedSeries::bin_end(std::size_t bin) const { return std::min(bin_begin(bin) + width_, end_); }

CompensatedSum BinnedSeries::area(std::size_t channel, std::size_t bin) const {
  COMITY_CHECK(channel < channels_.size() && bin < bins_);
  return bin == open_ ? channels_[channel].current : closed_[channel * bins_ + bin];
}

double BinnedSeries::integral(std::size_t channel, std::size_t bin) const { return area(channel, bin).value() * 1e-9; }

double BinnedSeries::mean(std::size_t channel, std::size_t bin) const {
  return area(channel, bin).value() / static_cast<double>(bin_end(bin) - bin_begin(bin));
}

double BinnedSeries::total(std::size_t channel) const {
  CompensatedSum sum;
  for (std::size_t b = 0; b <= open_; ++b) {
    sum.add(area(channel, b));
  }
  return sum.value() * 1e-9;
}

std::vector<double> BinnedSeries::means(std::size_t channel) const {
  std::vector<double> result(size());
  for (std::size_t b = 0; b < result.size(); ++b) {
    result[b] = mean(channel, b);
  }
  return result;
}

std::vector<double> BinnedSeries::begins_seconds() const {
  std::vector<double> result(size());
  for (std::size_t b = 0; b < result.size(); ++b) {
    result[b] = to_seconds(bin_begin(b));
  }
  return result;
}

}  // namespace comity::sim
