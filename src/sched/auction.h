// SPDX-License-Identifier: Apache-2.0
// Partial allocation auction of identical GPUs among bidders that want all of theirs or nothing (Cole, Gkatzelis and
// Goel, EC 2013, as Themis, NSDI 2020, uses it). With
//   F    GPUs on offer       g_i  what bidder i asks for       w_i = ln(V_i with them / V_i without) >= 0
// the winners X maximise the product of all valuations V, i.e. sum over X of w_i subject to sum over X of g_i <= F: a
// knapsack, solved exactly. What the presence of i costs the others is its hidden payment: i keeps only the part
//   c_i = exp((OPT - w_i) - OPT without i)   in (0, 1]
// of what it won. For a proportional-fair allocation over divisible goods this makes it best to bid the truth.
// O(bidders x F) time and memory.
#pragma once

#include <cstdint>
#include <vector>

namespace comity::sched {

struct Bid {
  std::uint32_t gpus = 0;
  double gain = 0;  // w
};
struct Award {
  bool won = false;
  double part = 0;  // c, 0 for who lost
};

class Auction {
 public:
  // Awards in the order of the bids. Ties: the earlier bid wins.
  void run(const std::vector<Bid>& bids, std::uint32_t offered, std::vector<Award>& awards);
  [[nodiscard]] double optimum() const { return optimum_; }

 private:
  std::vector<double> before_;  // [i][c]: best gain of bids < i with at most c GPUs
  std::vector<double> behind_;  // [i][c]: of bids >= i
  double optimum_ = 0;
};

}  // namespace comity::sched
