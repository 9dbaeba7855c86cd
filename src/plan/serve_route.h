// SPDX-License-Identifier: Apache-2.0
// The quickest way of a token through nodes that hold layers: Parallax's second phase (a dynamic programme over a DAG
// whose vertices are layers on nodes and whose edges are round trips) and Petals' client, which has to use a server to
// the end of its span. O(L n^2), L layers, n nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace comity::plan {

struct HostedSpan {
  std::int64_t from = 0;  // layers [from, to); empty: the node takes no part
  std::int64_t to = 0;
  double layer_s = 0;    // of one token, with the node's load
  double entry_s = 0;    // from the client to this node
  double return_s = 0;   // from this node to the client
  double penalty_s = 0;  // for using the node at all (a full cache)
};

struct RouteHop {
  std::size_t node = 0;
  std::int64_t from = 0;
  std::int64_t to = 0;
};

struct Route {
  std::vector<RouteHop> hops;  // empty: no node holds some layer
  double seconds = 0;
};

// link_s[a][b]: from node a to node b. to_the_end: a node that is entered computes all layers up to its span's end.
[[nodiscard]] Route quickest_route(const std::vector<HostedSpan>& nodes, const std::vector<std::vector<double>>& link_s,
                                   std::int64_t layers, bool to_the_end);

}  // namespace comity::plan
