// SPDX-License-Identifier: Apache-2.0
// The nodes of a served model as routes and the simulation see them (plan/serve.h).
#pragma once

#include <vector>

#include "plan/serve.h"

namespace comity::plan {

[[nodiscard]] double round_trip_s(const ServeQuestion& question, std::size_t a, std::size_t b);
// Tokens a second that a layer's nodes can take together, each spending itself on all layers that it holds.
[[nodiscard]] std::vector<double> hosting_power(const ServeQuestion& question, const std::vector<ServedNode>& nodes);

class ServeNetwork {
 public:
  ServeNetwork(const ServeQuestion& question, const std::vector<ServedNode>& nodes);
  // The quickest way when waiting[v] requests are on node v.
  [[nodiscard]] Route route(const std::vector<std::int64_t>& waiting) const;
  [[nodiscard]] double link_s(std::size_t a, std::size_t b) const { return links_[a][b]; }  // one way

 private:
  const ServeQuestion& q_;
  std::vector<HostedSpan> spans_;
  std::vector<std::vector<double>> links_;
};

}  // namespace comity::plan
