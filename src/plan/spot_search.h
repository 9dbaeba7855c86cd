// SPDX-License-Identifier: Apache-2.0
// Branch and bound over counts of machines for one architecture (plan/spot.h).
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "plan/spot.h"

namespace comity::plan {

// By the question's goal; ties by the other of time and cost.
[[nodiscard]] bool better_spot(const SpotQuestion& question, const SpotChoice& a, const SpotChoice& b);

class SpotSearch {
 public:
  SpotSearch(const SpotQuestion& question, SpotArchitecture architecture);
  // The best choice that meets deadline and budget.
  [[nodiscard]] std::optional<SpotChoice> run();
  [[nodiscard]] std::uint64_t nodes() const { return nodes_; }
  [[nodiscard]] bool gave_up() const { return gave_up_; }

 private:
  void descend(std::size_t depth, SpotChoice& choice, std::int64_t machines);
  void offer(const SpotChoice& choice);
  // Whether nothing below this node can be better than the best found, or meet the deadline and the budget.
  [[nodiscard]] bool hopeless(std::size_t depth, const SpotChoice& choice, std::int64_t machines) const;
  // What is chosen so far, as the bound sees it.
  struct Held {
    double tflops = 0;
    double price = 0;
    double rate = 0;     // interruptions a second
    double write_s = 0;  // of the slowest machine's own NIC
    std::int64_t trains = 0;
    std::int64_t writers = 0;
  };
  [[nodiscard]] Held held(std::size_t depth, const SpotChoice& choice) const;
  [[nodiscard]] double least_stretch(const Held& held, std::size_t depth, std::int64_t more) const;
  void tabulate();
  void each_kind_alone();
  [[nodiscard]] bool spot() const { return architecture_ != SpotArchitecture::kOnDemand; }
  [[nodiscard]] double price_of(std::size_t instance) const;
  // The first machine of each kind brings an anchor along.
  [[nodiscard]] bool anchors_each() const { return architecture_ == SpotArchitecture::kTiering; }

  const SpotQuestion& q_;
  SpotArchitecture architecture_;
  std::vector<std::size_t> order_;  // of the search: most FLOP/s per price first
  // Of the kinds open at a depth, with k more machines: the most TFLOP/s and the least price together.
  std::vector<std::vector<double>> most_tflops_;
  std::vector<std::vector<double>> least_price_;
  std::vector<double> least_rate_;  // of one machine
  std::vector<double> loss_;        // n^(scaling - 1)
  std::size_t anchor_ = 0;
  std::optional<SpotChoice> best_;
  std::uint64_t nodes_ = 0;
  bool gave_up_ = false;
};

}  // namespace comity::plan
