// SPDX-License-Identifier: Apache-2.0
#include "sched/auction.h"

#include <algorithm>
#include <cmath>

namespace comity::sched {

void Auction::run(const std::vector<Bid>& bids, std::uint32_t offered, std::vector<Award>& awards) {
  std::uint64_t wanted = 0;
  for (const Bid& bid : bids) wanted += bid.gpus;
  offered = static_cast<std::uint32_t>(std::min<std::uint64_t>(offered, wanted));  // more is of no use
  const std::size_t n = bids.size();
  const std::size_t width = std::size_t{offered} + 1;
  awards.assign(n, {});
  before_.resize((n + 1) * width);
  behind_.resize((n + 1) * width);
  std::fill_n(before_.begin(), width, 0.0);
  std::fill_n(behind_.begin() + static_cast<std::ptrdiff_t>(n * width), width, 0.0);
  const auto step = [&](const double* from, double* to, const Bid& bid) {
    for (std::size_t c = 0; c < width; ++c)
      to[c] = c >= bid.gpus ? std::max(from[c], from[c - bid.gpus] + bid.gain) : from[c];
  };
  for (std::size_t i = 0; i < n; ++i) step(&before_[i * width], &before_[(i + 1) * width], bids[i]);
  for (std::size_t i = n; i-- > 0;) step(&behind_[(i + 1) * width], &behind_[i * width], bids[i]);
  optimum_ = behind_[offered];
  std::size_t left = offered;
  for (std::size_t i = 0; i < n; ++i) {  // from the first on, so that the earlier of two equal bids wins
    const Bid& bid = bids[i];
    if (bid.gpus > left || behind_[(i + 1) * width + left - bid.gpus] + bid.gain < behind_[i * width + left]) continue;
    left -= bid.gpus;
    double without = 0;
    for (std::size_t c = 0; c < width; ++c)
      without = std::max(without, before_[i * width + c] + behind_[(i + 1) * width + offered - c]);
    awards[i] = {true, std::min(1.0, std::exp(optimum_ - bid.gain - without))};
  }
}

}  // namespace comity::sched
