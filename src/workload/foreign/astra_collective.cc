// SPDX-License-Identifier: Apache-2.0
#include "workload/foreign/astra_collective.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <queue>

#include <fmt/format.h>

#include "base/check.h"
#include "workload/foreign/astra_steps.h"
#include "workload/foreign/refusal.h"

namespace comity::workload {

namespace {

constexpr double kBytesPerNs = 1073741824.0 / 1e9;  // of 1 GB/s, which are 2^30 B
constexpr std::uint64_t kGroupDelay = 10;           // a communicator group's, whatever the endpoint delay
constexpr std::uint64_t kSteps = 300'000'000;       // that are followed rank by rank
constexpr std::uint64_t kChunks = 1'000'000;
constexpr double kLongestNs = 1e16;  // of a message; a run over this is refused (astra_run.cc)
constexpr std::uint64_t kTooLong = 1'000'000'000'000'000'000;

std::uint64_t whole_ns(double ns) { return static_cast<std::uint64_t>(std::min(ns, kLongestNs)); }

// a x b, at most kTooLong.
std::uint64_t times(std::uint64_t a, std::uint64_t b) { return b != 0 && a > kTooLong / b ? kTooLong : a * b; }

tl::unexpected<Error> too_long() {
  return fail(Code::kInput, "takes over 10^18 ns", "bandwidths are GB/s, latencies ns, sizes bytes");
}

std::int64_t hops(const AstraDimension& d, std::int64_t distance) {
  switch (d.topology) {
    case AstraTopology::kRing: return std::min(distance, d.npus - distance);
    case AstraTopology::kSwitch: return 2;
    default: return 1;
  }
}

std::uint64_t link_ns(const AstraDimension& d, std::int64_t distance, std::uint64_t bytes) {
  const double link = static_cast<double>(hops(d, distance)) * d.latency_ns;
  return whole_ns(link + static_cast<double>(bytes) / (d.bandwidth_gib_s * kBytesPerNs));
}

std::uint64_t message_of(ChakraCollective type, std::uint64_t chunk, std::uint64_t n) {
  return type == ChakraCollective::kAllGather ? chunk : chunk / n;
}

std::uint64_t steps_of(ChakraCollective type, std::uint64_t n) {
  switch (type) {
    case ChakraCollective::kAllReduce: return 2 * (n - 1);
    case ChakraCollective::kAllToAll: return n * (n - 1) / 2;  // every message is passed on from rank to rank
    default: return n - 1;
  }
}

bool reduces(ChakraCollective type) {
  return type == ChakraCollective::kAllReduce || type == ChakraCollective::kReduceScatter;
}

bool equal(std::span<const std::uint64_t> values) {
  return std::all_of(values.begin(), values.end(), [&](auto v) { return v == values.front(); });
}

}  // namespace

Result<std::uint64_t> astra_send_ns(const AstraNetwork& network, std::int64_t from, std::int64_t to,
                                    std::uint64_t bytes) {
  const AstraDimension* way = nullptr;
  std::int64_t distance = 0;
  std::int64_t a = from;
  std::int64_t b = to;
  for (const AstraDimension& d : network.dimensions) {
    if (a % d.npus != b % d.npus) {
      if (way != nullptr)
        return fail(Code::kInput, fmt::format("ranks {} and {} differ in more than one dimension", from, to),
                    "the analytical network has no way between them: send through a rank on both lines");
      way = &d;
      distance = std::abs(a % d.npus - b % d.npus);
    }
    a /= d.npus;
    b /= d.npus;
  }
  if (way == nullptr) return fail(Code::kInput, fmt::format("rank {} sends to itself", from));
  return link_ns(*way, distance, bytes);
}

std::uint64_t AstraCollectives::hop_ns(const AstraDimension& dimension, std::int64_t distance,
                                       std::uint64_t bytes) const {
  return link_ns(dimension, distance, bytes);
}

// A write and two reads, each cut to whole nanoseconds.
std::uint64_t AstraCollectives::reduce_ns(std::uint64_t bytes) const {
  return 3 * whole_ns(static_cast<double>(bytes) / (system_.local_mem_gb_s.value_or(1) * 1e9) * 1e9);
}

Result<AstraCollectives::Chunks> AstraCollectives::chunks(const AstraCall& call) const {
  const auto splits = static_cast<std::uint64_t>(system_.splits);
  const auto total = static_cast<std::uint64_t>(network_.npus());
  std::uint64_t size = call.bytes;
  std::uint64_t chunk = size / splits;
  if (call.type != ChakraCollective::kAllGather && chunk < total) {  // a byte a rank at least
    chunk = total;
    size = splits * chunk;
  }
  if (chunk == 0)
    return fail(Code::kInput, fmt::format("{} B are too few for {} chunks", call.bytes, splits),
                "lower preferred-dataset-splits");
  const std::uint64_t count = (size + chunk - 1) / chunk;  // a rest is a whole chunk, as in the simulator
  if (count > kChunks) return fail(Code::kInput, fmt::format("{} chunks, at most {} are followed", count, kChunks));
  return Chunks{chunk, count};
}

Result<std::vector<AstraImplementation>> AstraCollectives::implementations(ChakraCollective type) const {
  const AstraSystem& s = system_;
  const bool custom = type == ChakraCollective::kAllReduce   ? !s.custom_all_reduce.empty()
                      : type == ChakraCollective::kAllGather ? !s.custom_all_gather.empty()
                      : type == ChakraCollective::kAllToAll  ? !s.custom_all_to_all.empty()
                                                             : !s.custom_reduce_scatter.empty();
  if (custom || !s.per_node_custom.empty())
    return fail(Code::kInput, "custom collectives have no closed form",
                "name a native algorithm in the system file, or use ASTRA-sim itself");
  std::vector<AstraImplementation> list = type == ChakraCollective::kAllReduce   ? s.all_reduce
                                          : type == ChakraCollective::kAllGather ? s.all_gather
                                          : type == ChakraCollective::kAllToAll  ? s.all_to_all
                                                                                 : s.reduce_scatter;
  if (list.size() != network_.dimensions.size())
    return fail(Code::kInput,
                fmt::format("the system file has {} algorithms for {}, the network {} dimensions", list.size(),
                            collective_name(type), network_.dimensions.size()),
                "give one algorithm a dimension");
  for (AstraImplementation& i : list) {
    if (i.algorithm < AstraAlgorithm::kOneRing) continue;
    if (list.size() > 1)
      return fail(Code::kInput, "an algorithm over all dimensions at once (one...) has no closed form",
                  "the analytical network has no way between ranks that differ in two dimensions");
    i.algorithm = i.algorithm == AstraAlgorithm::kOneRing     ? AstraAlgorithm::kRing
                  : i.algorithm == AstraAlgorithm::kOneDirect ? AstraAlgorithm::kDirect
                                                              : AstraAlgorithm::kHalvingDoubling;
  }
  return list;
}

Result<std::vector<AstraCollectives::Phase>> AstraCollectives::phases(const AstraCall& call,
                                                                      std::uint64_t bytes) const {
  const auto list = implementations(call.type);
  if (!list) return fail(list.error());
  std::vector<std::size_t> active;
  for (std::size_t d = 0; d < network_.dimensions.size(); ++d)
    if (call.dimensions[d] && network_.dimensions[d].npus > 1) active.push_back(d);
  std::vector<Phase> out;
  std::uint64_t left = bytes;
  const auto add = [&](std::size_t d, ChakraCollective type) {
    out.push_back({(*list)[d], type, d, left});
    const auto n = static_cast<std::uint64_t>(network_.dimensions[d].npus);
    if (type == ChakraCollective::kReduceScatter) left /= n;
    if (type == ChakraCollective::kAllGather) left *= n;
  };
  if (call.type == ChakraCollective::kAllReduce && system_.local_bw_aware && active.size() > 1) {
    for (std::size_t i = 0; i + 1 < active.size(); ++i) add(active[i], ChakraCollective::kReduceScatter);
    add(active.back(), ChakraCollective::kAllReduce);
    for (std::size_t i = active.size() - 1; i-- > 0;) add(active[i], ChakraCollective::kAllGather);
    return out;
  }
  if (call.type == ChakraCollective::kAllGather) std::reverse(active.begin(), active.end());
  for (const std::size_t d : active) add(d, call.type);
  return out;
}

std::uint64_t AstraCollectives::ring_ns(const Phase& phase) const {
  const AstraDimension& d = network_.dimensions[phase.dimension];
  const auto n = static_cast<std::uint64_t>(d.npus);
  const std::uint64_t message = message_of(phase.type, phase.bytes, n);
  const std::uint64_t steps = steps_of(phase.type, n);
  const std::uint64_t reductions = reduces(phase.type) ? times(n - 1, reduce_ns(message)) : 0;
  return times(steps, hop_ns(d, 1, message)) + times(steps + 1, delay()) + reductions;
}

std::uint64_t AstraCollectives::direct_ns(const Phase& phase) const {
  const AstraDimension& d = network_.dimensions[phase.dimension];
  const auto n = static_cast<std::uint64_t>(d.npus);
  const std::uint64_t message = message_of(phase.type, phase.bytes, n);
  const auto window = static_cast<std::uint64_t>(phase.implementation.window);
  astra::DirectSteps steps;
  if (reduces(phase.type))
    steps.kind = phase.type == ChakraCollective::kAllReduce ? astra::DirectSteps::Kind::kAllReduce
                                                            : astra::DirectSteps::Kind::kReduceScatter;
  steps.n = n;
  steps.window = window == 0 ? n - 1 : std::min(window, n - 1);
  steps.delay = delay();
  steps.reduce_ns = reduces(phase.type) ? reduce_ns(message) : 0;
  steps.message_ns = [&](std::uint64_t k) { return hop_ns(d, static_cast<std::int64_t>(k), message); };
  // Not even one message at a time takes longer.
  if (times(2 * n, hop_ns(d, d.npus / 2, message) + delay() + steps.reduce_ns) >= kTooLong) return kTooLong;
  return astra::direct_finish(steps);
}

Result<std::uint64_t> AstraCollectives::halving_ns(const Phase& phase) const {
  const AstraDimension& d = network_.dimensions[phase.dimension];
  const auto n = static_cast<std::uint64_t>(d.npus);
  if (phase.type == ChakraCollective::kAllToAll)
    return fail(Code::kInput, "halvingDoubling does no all-to-all", "ASTRA-sim stops here, too: ring or direct");
  if (!std::has_single_bit(n))
    return fail(Code::kInput, fmt::format("halvingDoubling of {} NPUs", n), "it wants a power of two");
  const bool gather = phase.type == ChakraCollective::kAllGather;
  const auto levels = static_cast<std::uint64_t>(std::countr_zero(n));
  const std::uint64_t steps = phase.type == ChakraCollective::kAllReduce ? 2 * levels : levels;
  std::uint64_t message = gather ? phase.bytes : phase.bytes / 2;
  std::uint64_t offset = gather ? n / 2 : 1;
  bool growing = gather;
  std::uint64_t total = delay();
  for (std::uint64_t step = 0; step < steps; ++step) {
    // Messages 2 .. levels reduce what came before them; the size is that of the message to come.
    if (step > 0 && step < levels && reduces(phase.type)) total += reduce_ns(message);
    total += hop_ns(d, static_cast<std::int64_t>(offset), message) + delay();
    offset = growing ? offset / 2 : offset * 2;
    message = growing ? message * 2 : message / 2;
    if (offset == n && phase.type == ChakraCollective::kAllReduce) {
      growing = true;
      offset /= 2;
      message *= 2;
    }
  }
  return total;
}

Result<std::uint64_t> AstraCollectives::phase_ns(const Phase& phase) {
  const auto found = known_.find(phase.key());
  if (found != known_.end()) return found->second;
  Result<std::uint64_t> ns = 0;
  switch (phase.implementation.algorithm) {
    case AstraAlgorithm::kRing: ns = ring_ns(phase); break;
    case AstraAlgorithm::kDirect: ns = direct_ns(phase); break;
    case AstraAlgorithm::kHalvingDoubling: ns = halving_ns(phase); break;
    default:
      return fail(Code::kInput, "doubleBinaryTree as one of several dimensions' phases has no closed form",
                  "use it for all-reduce of one dimension, or ring, direct, halvingDoubling");
  }
  if (ns && *ns >= kTooLong) return too_long();
  if (ns) known_.emplace(phase.key(), *ns);
  return ns;
}

// One rank's chunks through the queues of the dimensions, `active_chunks` of a dimension at a time, first come first
// served: a chunk waits again for each of its phases.
std::uint64_t AstraCollectives::queued_ns(const std::vector<Phase>& phases, const std::vector<std::uint64_t>& spans,
                                          std::uint64_t chunks) const {
  const auto active = static_cast<std::uint64_t>(system_.active_chunks);
  if (phases.size() == 1) return (chunks + active - 1) / active * spans[0];
  struct Queue {
    std::deque<std::size_t> waiting;
    std::uint64_t running = 0;
  };
  std::vector<Queue> queues(network_.dimensions.size());
  std::vector<std::size_t> phase_of(chunks, 0);
  using Event = std::tuple<std::uint64_t, std::uint64_t, std::size_t>;  // time, order, chunk
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  std::uint64_t order = 0;
  std::uint64_t now = 0;
  const auto start = [&](std::size_t dimension) {
    Queue& q = queues[dimension];
    while (q.running < active && !q.waiting.empty()) {
      const std::size_t chunk = q.waiting.front();
      q.waiting.pop_front();
      ++q.running;
      events.emplace(now + spans[phase_of[chunk]], order++, chunk);
    }
  };
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) queues[phases[0].dimension].waiting.push_back(chunk);
  start(phases[0].dimension);
  while (!events.empty()) {
    const std::size_t chunk = std::get<2>(events.top());
    now = std::get<0>(events.top());
    events.pop();
    const std::size_t from = phases[phase_of[chunk]].dimension;
    --queues[from].running;
    if (++phase_of[chunk] < phases.size()) queues[phases[phase_of[chunk]].dimension].waiting.push_back(chunk);
    start(from);
    if (phase_of[chunk] < phases.size()) start(phases[phase_of[chunk]].dimension);
  }
  return now;
}

std::vector<std::uint64_t> AstraCollectives::together(std::span<const std::uint64_t> starts, std::uint64_t span) {
  if (!equal(starts)) approximate_ = true;
  const std::uint64_t last = *std::max_element(starts.begin(), starts.end());
  return std::vector<std::uint64_t>(starts.size(), last + span);
}

Result<std::vector<std::uint64_t>> AstraCollectives::ring(const AstraCall& call, Chunks chunks, std::uint64_t delay_ns,
                                                          std::span<const std::uint64_t> starts) {
  const std::uint64_t n = call.ranks.size();
  const std::uint64_t message = message_of(call.type, chunks.bytes, n);
  astra::RingSteps ring;
  for (std::size_t i = 0; i < n; ++i) {
    const auto edge = astra_send_ns(network_, call.ranks[i], call.ranks[(i + 1) % n], message);
    if (!edge) return fail(edge.error());
    ring.edge_ns.push_back(*edge);
  }
  ring.steps = steps_of(call.type, n);
  ring.reduced = reduces(call.type) ? n - 1 : 0;
  ring.reduce_ns = reduce_ns(message);
  ring.delay = delay_ns;
  const auto active = static_cast<std::uint64_t>(system_.active_chunks);
  const bool even = equal(ring.edge_ns);
  const std::uint64_t edge = *std::max_element(ring.edge_ns.begin(), ring.edge_ns.end());
  const std::uint64_t one =
      times(ring.steps, edge) + times(ring.steps + 1, delay_ns) + times(ring.reduced, ring.reduce_ns);
  const std::uint64_t span = times((chunks.count + active - 1) / active, one);
  if (span >= kTooLong) return too_long();
  if ((equal(starts) && even) || ring.steps > kSteps / n / chunks.count) {
    if (!even) approximate_ = true;
    return together(starts, span);
  }
  return astra::chunk_by_chunk(starts, chunks.count, active, [&](const std::vector<std::uint64_t>& begin) {
    return astra::ring_finish(ring, begin);
  });
}

Result<std::vector<std::uint64_t>> AstraCollectives::tree(const Phase& phase, std::uint64_t chunks,
                                                          std::span<const std::uint64_t> starts) {
  if (phase.type != ChakraCollective::kAllReduce)
    return fail(Code::kInput, fmt::format("doubleBinaryTree does no {}", collective_name(phase.type)),
                "it is for all-reduce: ring, direct or halvingDoubling");
  if (!std::has_single_bit(starts.size()))
    return fail(Code::kInput, fmt::format("doubleBinaryTree of {} NPUs", starts.size()), "it wants a power of two");
  const AstraDimension& d = network_.dimensions[phase.dimension];
  astra::TreeSteps tree;
  tree.delay = delay();
  tree.reduce_ns = reduce_ns(phase.bytes);
  tree.message_ns = [&](std::size_t a, std::size_t b) {
    return hop_ns(d, static_cast<std::int64_t>(a > b ? a - b : b - a), phase.bytes);
  };
  const std::uint64_t level = hop_ns(d, d.npus / 2, phase.bytes) + tree.delay + tree.reduce_ns;
  if (times(chunks, times(128, level)) >= kTooLong) return too_long();
  std::uint64_t& built = trees_[phase.dimension];
  return astra::chunk_by_chunk(starts, chunks, static_cast<std::uint64_t>(system_.active_chunks),
                               [&](const std::vector<std::uint64_t>& begin) {
                                 tree.root_first = built++ % 2 == 1;
                                 return astra::tree_finish(tree, begin);
                               });
}

Result<std::vector<std::uint64_t>> AstraCollectives::finish(const AstraCall& call,
                                                            std::span<const std::uint64_t> starts) {
  COMITY_CHECK(call.ranks.size() == starts.size() && !starts.empty());
  if (system_.shared_bus)
    return fail(Code::kInput, "model-shared-bus has no closed form", "set it to 0, or use ASTRA-sim itself");
  if (reduces(call.type) && !system_.local_mem_gb_s)
    return fail(Code::kInput, fmt::format("{} needs local-mem-bw", collective_name(call.type)),
                "the system file says no memory bandwidth: ASTRA-sim would divide by 0");
  if (call.ranks.size() == 1) return std::vector<std::uint64_t>(starts.begin(), starts.end());
  const auto chunks = this->chunks(call);
  if (!chunks) return fail(chunks.error());
  if (call.dimensions.empty()) return ring(call, *chunks, kGroupDelay, starts);
  const auto phases = this->phases(call, chunks->bytes);
  if (!phases) return fail(phases.error());
  if (phases->size() == 1) {
    const Phase& phase = phases->front();
    if (phase.implementation.algorithm == AstraAlgorithm::kDoubleBinaryTree) return tree(phase, chunks->count, starts);
    if (phase.implementation.algorithm == AstraAlgorithm::kRing) return ring(call, *chunks, delay(), starts);
  }
  std::vector<std::uint64_t> spans;
  if (phases->size() > 1 && call.type == ChakraCollective::kAllReduce && system_.local_bw_aware && chunks->count > 1)
    queue_table_ = true;
  std::uint64_t longest = 0;
  for (const Phase& phase : *phases) {
    const auto ns = phase_ns(phase);
    if (!ns) return fail(ns.error());
    spans.push_back(*ns);
    longest += std::min(*ns, kTooLong / 32);
  }
  if (times(longest, chunks->count) >= kTooLong) return too_long();
  return together(starts, queued_ns(*phases, spans, chunks->count));
}

}  // namespace comity::workload
