// SPDX-License-Identifier: Apache-2.0
// The auction against all subsets of the bidders.
#include "sched/auction.h"

#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace comity::sched {
namespace {

double best_of_all(const std::vector<Bid>& bids, std::uint32_t offered, std::size_t leave_out) {
  double best = 0;
  for (std::uint32_t set = 0; set < (1U << bids.size()); ++set) {
    std::uint32_t gpus = 0;
    double gain = 0;
    for (std::size_t i = 0; i < bids.size(); ++i) {
      if ((set >> i & 1) == 0) continue;
      gpus += i == leave_out ? offered + 1 : bids[i].gpus;
      gain += bids[i].gain;
    }
    if (gpus <= offered) best = std::max(best, gain);
  }
  return best;
}

TEST(Auction, ChoosesTheBestSubsetAndChargesWhatTheOthersLose) {
  EXPECT_TRUE(rc::check([] {
    const auto n = *rc::gen::inRange<std::size_t>(0, 9);
    const auto offered = *rc::gen::inRange<std::uint32_t>(0, 20);
    std::vector<Bid> bids(n);
    for (Bid& b : bids) b = {*rc::gen::inRange<std::uint32_t>(1, 9), *rc::gen::inRange(0, 100) / 37.0};
    Auction auction;
    std::vector<Award> awards;
    auction.run(bids, offered, awards);
    std::uint32_t gpus = 0;
    double gain = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (!awards[i].won) continue;
      gpus += bids[i].gpus;
      gain += bids[i].gain;
    }
    const double best = best_of_all(bids, offered, n);
    RC_ASSERT(gpus <= offered);
    RC_ASSERT(std::abs(gain - best) < 1e-9);
    for (std::size_t i = 0; i < n; ++i) {
      const double part = awards[i].won ? std::exp(best - bids[i].gain - best_of_all(bids, offered, i)) : 0;
      RC_ASSERT(std::abs(awards[i].part - part) < 1e-9);
      RC_ASSERT(awards[i].part <= 1);
    }
  }));
}

TEST(Auction, WhoIsInNobodysWayPaysNothing) {
  Auction auction;
  std::vector<Award> awards;
  auction.run({{4, 0.7}, {4, 0.1}}, 8, awards);
  EXPECT_EQ(awards[0].part, 1);
  EXPECT_EQ(awards[1].part, 1);
  auction.run({{4, 0.7}, {4, 0.1}}, 4, awards);
  EXPECT_TRUE(awards[0].won && !awards[1].won);
  EXPECT_NEAR(awards[0].part, std::exp(-0.1), 1e-12);
}

}  // namespace
}  // namespace comity::sched
