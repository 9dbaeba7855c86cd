// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <tuple>

#include "base/rng.h"
#include "plan/serve_network.h"

namespace comity::plan {
namespace {

double real(std::int64_t v) { return static_cast<double>(v); }

// A token that reaches a hop of its request's route. Ties by order of making.
struct Arrival {
  double time = 0;
  std::uint64_t number = 0;
  std::size_t request = 0;
  std::size_t hop = 0;
  friend bool operator>(const Arrival& a, const Arrival& b) {
    return std::tie(a.time, a.number) > std::tie(b.time, b.number);
  }
};

struct Request {
  double arrived = 0;
  double first_token = -1;
  Route route;
  std::int64_t tokens = 0;  // come back so far
  double done = 0;
};

class Simulation {
 public:
  Simulation(const ServeQuestion& question, std::vector<ServedNode>& nodes)
      : q_(question),
        nodes_(nodes),
        network_(question, nodes),
        free_at_(nodes.size(), 0),
        busy_(nodes.size(), 0),
        waiting_(nodes.size(), 0) {}

  ServeOutcome run() {
    Rng rng(q_.seed);
    double time = 0;
    for (std::int64_t i = 0; i < q_.requests; ++i) {
      time += rng.exponential(1 / q_.arrivals_per_s);
      requests_.push_back({time, -1, {}, 0, 0});
      push(time, requests_.size() - 1, kStart);
    }
    while (!events_.empty()) {
      const Arrival event = events_.top();
      events_.pop();
      event.hop == kStart ? start(event) : pass(event);
    }
    return outcome();
  }

 private:
  static constexpr std::size_t kStart = ~std::size_t{0};

  void push(double time, std::size_t request, std::size_t hop) { events_.push({time, number_++, request, hop}); }

  void start(const Arrival& event) {
    Request& r = requests_[event.request];
    r.route = network_.route(waiting_);
    for (const RouteHop& h : r.route.hops) ++waiting_[h.node];
    push(event.time + q_.nodes[r.route.hops.front().node].client_rtt_s / 2, event.request, 0);
  }
  void pass(const Arrival& event) {
    Request& r = requests_[event.request];
    const RouteHop& hop = r.route.hops[event.hop];
    const ServeNode& node = q_.nodes[hop.node];
    const double prompt = node.prefill_layer_s > 0 ? node.prefill_layer_s : node.layer_s / 10;
    const double each = r.tokens == 0 ? prompt * real(q_.prompt_tokens) + node.layer_s : node.layer_s;
    const double seconds = each * real(hop.to - hop.from);
    const double end = std::max(event.time, free_at_[hop.node]) + seconds;
    free_at_[hop.node] = end;
    busy_[hop.node] += seconds;
    if (event.hop + 1 < r.route.hops.size()) {
      push(end + network_.link_s(hop.node, r.route.hops[event.hop + 1].node), event.request, event.hop + 1);
      return;
    }
    const double back = end + node.client_rtt_s / 2;
    if (++r.tokens == 1) r.first_token = back;
    if (r.tokens < q_.output_tokens) {
      push(back + q_.nodes[r.route.hops.front().node].client_rtt_s / 2, event.request, 0);
      return;
    }
    r.done = back;
    for (const RouteHop& h : r.route.hops) --waiting_[h.node];
  }

  ServeOutcome outcome() {
    ServeOutcome out;
    std::vector<double> times;
    double last = 0;
    for (const Request& r : requests_) {
      times.push_back(r.done - r.arrived);
      out.mean_s += times.back();
      out.first_token_s += r.first_token - r.arrived;
      out.hops += static_cast<double>(r.route.hops.size());
      last = std::max(last, r.done);
    }
    if (times.empty()) return out;
    const double n = static_cast<double>(times.size());
    out.mean_s /= n;
    out.first_token_s /= n;
    out.hops /= n;
    out.finished = static_cast<std::int64_t>(times.size());
    out.tokens_per_s = n * real(q_.output_tokens) / last;
    std::sort(times.begin(), times.end());
    const auto rank = [&](double p) { return times[static_cast<std::size_t>(std::ceil(p * n)) - 1]; };
    out.p50_s = rank(0.5);
    out.p95_s = rank(0.95);
    for (std::size_t v = 0; v < nodes_.size(); ++v) nodes_[v].busy = busy_[v] / last;
    return out;
  }

  const ServeQuestion& q_;
  std::vector<ServedNode>& nodes_;
  ServeNetwork network_;
  std::vector<double> free_at_;
  std::vector<double> busy_;
  std::vector<std::int64_t> waiting_;
  std::vector<Request> requests_;
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> events_;
  std::uint64_t number_ = 0;
};

}  // namespace

double round_trip_s(const ServeQuestion& question, std::size_t a, std::size_t b) {
  return question.rtt_s.empty() ? question.default_rtt_s : question.rtt_s[a][b];
}

std::vector<double> hosting_power(const ServeQuestion& question, const std::vector<ServedNode>& nodes) {
  std::vector<double> out(static_cast<std::size_t>(question.layers), 0.0);
  for (std::size_t v = 0; v < nodes.size(); ++v) {
    const double held = real(nodes[v].to - nodes[v].from);
    for (std::int64_t l = nodes[v].from; l < nodes[v].to; ++l)
      out[static_cast<std::size_t>(l)] += 1 / (question.nodes[v].layer_s * held);
  }
  return out;
}

ServeNetwork::ServeNetwork(const ServeQuestion& question, const std::vector<ServedNode>& nodes)
    : q_(question), links_(nodes.size(), std::vector<double>(nodes.size(), 0)) {
  const double hop = q_.allocator == Allocator::kPetals ? q_.petals_hop_s : 0;
  for (std::size_t v = 0; v < nodes.size(); ++v) {
    const double client = q_.nodes[v].client_rtt_s / 2 + hop;
    spans_.push_back({nodes[v].from, nodes[v].to, q_.nodes[v].layer_s, client, client - hop, 0});
    for (std::size_t u = 0; u < nodes.size(); ++u) links_[u][v] = u == v ? 0 : round_trip_s(q_, u, v) / 2 + hop;
  }
}

Route ServeNetwork::route(const std::vector<std::int64_t>& waiting) const {
  std::vector<HostedSpan> spans = spans_;
  for (std::size_t v = 0; v < spans.size(); ++v) spans[v].layer_s *= 1 + q_.overload * real(waiting[v]);
  return quickest_route(spans, links_, q_.layers, q_.allocator == Allocator::kPetals);
}

ServeOutcome simulate_serve(const ServeQuestion& question, std::vector<ServedNode>& nodes) {
  return Simulation(question, nodes).run();
}

}  // namespace comity::plan
