// SPDX-License-Identifier: Apache-2.0
#include "plan/serve_route.h"

#include <algorithm>
#include <limits>

namespace comity::plan {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kClient = std::numeric_limits<std::size_t>::max();

// The best way to have layers 0 .. l - 1 done, the last of them on a node that was entered at `from`.
struct Reached {
  double seconds = kInfinity;
  std::int64_t from = 0;
  std::size_t before = kClient;  // node before this one
};

}  // namespace

Route quickest_route(const std::vector<HostedSpan>& nodes, const std::vector<std::vector<double>>& link_s,
                     std::int64_t layers, bool to_the_end) {
  const std::size_t n = nodes.size();
  std::vector<std::vector<Reached>> best(static_cast<std::size_t>(layers) + 1, std::vector<Reached>(n));
  // At a border every node may be entered; it is left at any later border, or at its span's end only.
  for (std::int64_t l = 0; l < layers; ++l) {
    for (std::size_t v = 0; v < n; ++v) {
      const HostedSpan& node = nodes[v];
      if (l < node.from || l >= node.to) continue;
      double start = l == 0 ? node.entry_s : kInfinity;
      std::size_t before = kClient;
      for (std::size_t u = 0; u < n && l > 0; ++u) {
        if (u == v || best[static_cast<std::size_t>(l)][u].seconds == kInfinity) continue;
        const double t = best[static_cast<std::size_t>(l)][u].seconds + link_s[u][v];
        if (t >= start) continue;
        start = t;
        before = u;
      }
      if (start == kInfinity) continue;
      start += node.penalty_s;
      const std::int64_t end = std::min(node.to, layers);
      for (std::int64_t to = to_the_end ? end : l + 1; to <= end; ++to) {
        const double t = start + static_cast<double>(to - l) * node.layer_s;
        Reached& there = best[static_cast<std::size_t>(to)][v];
        if (t < there.seconds) there = {t, l, before};
      }
    }
  }
  Route out;
  std::size_t last = kClient;
  out.seconds = kInfinity;
  for (std::size_t v = 0; v < n; ++v) {
    const double t = best[static_cast<std::size_t>(layers)][v].seconds + nodes[v].return_s;
    if (t >= out.seconds) continue;
    out.seconds = t;
    last = v;
  }
  for (std::int64_t l = layers; last != kClient && l > 0;) {
    const Reached& r = best[static_cast<std::size_t>(l)][last];
    out.hops.insert(out.hops.begin(), {last, r.from, l});
    last = r.before;
    l = r.from;
  }
  return out;
}

}  // namespace comity::plan
