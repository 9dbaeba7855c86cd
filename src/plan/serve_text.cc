// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "plan/serve.h"

namespace comity::plan {
namespace {

double real(std::int64_t v) { return static_cast<double>(v); }

}  // namespace

Fields fields(const ServePlan& plan) {
  const ServeOutcome& o = plan.outcome;
  return {words("allocator", allocator_name(plan.allocator)),
          number("pipelines", "", real(plan.pipelines)),
          number("value", "", plan.value),
          words("exact", plan.exact ? "yes" : "no"),
          number("imbalance", "", plan.imbalance),
          number("slowest_layer_power", "1/s", plan.slowest_layer_power),
          number("idle_token_s", "s", plan.idle_route.seconds),
          number("tokens_per_s", "1/s", o.tokens_per_s),
          number("mean_s", "s", o.mean_s),
          number("p50_s", "s", o.p50_s),
          number("p95_s", "s", o.p95_s),
          number("first_token_s", "s", o.first_token_s),
          number("hops", "", o.hops),
          number("finished", "", real(o.finished))};
}

FieldRows node_rows(const ServeQuestion& question, const ServePlan& plan) {
  FieldRows out;
  for (std::size_t v = 0; v < plan.nodes.size(); ++v) {
    const ServedNode& n = plan.nodes[v];
    out.push_back({words("node", question.nodes[v].name), number("pipeline", "", real(n.pipeline)),
                   number("from", "", real(n.from)), number("to", "", real(n.to)),
                   number("capacity", "", real(question.nodes[v].capacity)),
                   number("layer_s", "s", question.nodes[v].layer_s), number("busy", "", n.busy)});
  }
  return out;
}

std::string explain(const ServeQuestion& question, const ServePlan& plan) {
  std::string out = fmt::format("{}: ", allocator_name(plan.allocator));
  out += plan.allocator == Allocator::kPetals ? std::string("each node chose its blocks by itself.")
                                              : fmt::format("{} pipelines, Z = {:.3g}.", plan.pipelines, plan.value);
  for (std::size_t v = 0; v < plan.nodes.size(); ++v) {
    const ServedNode& n = plan.nodes[v];
    if (n.from == n.to) {
      out += fmt::format("\n{}: not used.", question.nodes[v].name);
      continue;
    }
    out += fmt::format("\n{}: layers {} to {}{}, busy {:.0f} %.", question.nodes[v].name, n.from, n.to - 1,
                       n.pipeline >= 0 ? fmt::format(" of pipeline {}", n.pipeline) : "", 100 * n.busy);
  }
  out += fmt::format("\nA token alone takes {:.0f} ms over {} nodes.", 1000 * plan.idle_route.seconds,
                     plan.idle_route.hops.size());
  const ServeOutcome& o = plan.outcome;
  if (o.finished > 0)
    out += fmt::format(
        " {} requests: {:.1f} tokens/s, a request takes {:.2f} s in the middle and {:.2f} s at the 95th "
        "percentile.",
        o.finished, o.tokens_per_s, o.p50_s, o.p95_s);
  return out;
}

}  // namespace comity::plan
