// SPDX-License-Identifier: Apache-2.0
// Runs one trace a rank: a node is issued when all that it waits for is done and its unit is free (one operation of
// the CPU, of the GPU and of the network at a time; receives wait beside), lowest id first.
#include <algorithm>
#include <array>
#include <deque>
#include <queue>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "base/json_document.h"
#include "base/text.h"
#include "workload/foreign/astra.h"
#include "workload/foreign/astra_collective.h"
#include "workload/foreign/refusal.h"

namespace comity::workload {

namespace {

enum class Unit : std::uint8_t { kCpu, kGpu, kNetwork, kNone };
constexpr std::uint64_t kNotHere = ~std::uint64_t{0};
constexpr std::uint64_t kLongestRun = 10'000'000'000'000'000;
constexpr std::uint64_t kMaxNodeUs = 1'000'000'000'000;  // eleven days

struct RankState {
  ChakraGraph graph;
  std::vector<std::uint64_t> child_end;  // who waits for node i
  std::vector<std::uint32_t> children;
  std::vector<std::uint32_t> waits;                                        // parents that are not done
  std::array<std::set<std::pair<std::uint64_t, std::uint32_t>>, 4> ready;  // of a unit: (id, node)
  std::array<bool, 4> busy{};
  std::uint64_t done = 0;
  std::map<std::string, std::vector<std::int64_t>, std::less<>> groups;  // that the trace itself names
};

// Communicators: members, and the collectives that some have come to.
struct Communicator {
  std::vector<std::int64_t> ranks;
  std::vector<bool> dimensions;  // empty: a group
  struct Pending {
    ChakraCollective type = ChakraCollective::kAllReduce;
    std::uint64_t bytes = 0;
    std::uint64_t come = 0;
    std::vector<std::uint64_t> starts;
    std::vector<std::uint32_t> nodes;
  };
  std::deque<Pending> pending;
  std::uint64_t first = 0;          // number of pending.front()
  std::vector<std::uint64_t> next;  // which one member i comes to next
};

class Run {
 public:
  Run(std::span<const ChakraTrace> traces, const AstraSystem& system, const AstraNetwork& network,
      const AstraGroups& groups, const std::string& prefix)
      : traces_(traces),
        system_(system),
        network_(network),
        groups_(groups),
        prefix_(prefix),
        collectives_(system, network),
        states_(traces.size()),
        unit_(traces.size()) {}

  Result<AstraEstimate> run() {
    if (auto ok = prepare(); !ok) return fail(ok.error());
    out_.ranks.resize(traces_.size());
    for (std::size_t r = 0; r < traces_.size(); ++r)
      if (auto ok = issue(r); !ok) return fail(ok.error());
    while (!events_.empty()) {
      const auto [time, order, rank, node] = events_.top();
      events_.pop();
      now_ = time;
      if (now_ > kLongestRun) return wrong(rank, node, "the run is at 10^16 ns", "are its times and sizes right?");
      finish(rank, node);
      if (auto ok = issue(rank); !ok) return fail(ok.error());
    }
    return result();
  }

 private:
  [[nodiscard]] std::string file(std::size_t rank) const { return fmt::format("{}.{}.et", prefix_, rank); }
  [[nodiscard]] tl::unexpected<Error> wrong(std::size_t rank, std::uint32_t node, std::string message,
                                            std::string hint = {}) const {
    return refuse({.file = file(rank), .line = 0, .field = {}},
                  fmt::format("{}: {}", traces_[rank].label(node), message), std::move(hint));
  }

  Status prepare() {
    for (std::size_t r = 0; r < traces_.size(); ++r) {
      if (traces_[r].nodes() == 0)
        return refuse({.file = file(r), .line = 0, .field = {}}, "the trace has no nodes: no work");
      auto graph = chakra_graph(traces_[r], file(r));
      if (!graph) return fail(graph.error());
      if (!graph->cycle.empty())
        return refuse({.file = file(r), .line = 0, .field = {}},
                      fmt::format("nodes wait for each other: {}", fmt::join(graph->cycle, " waits for ")),
                      "no order runs a cycle: mend what wrote the trace");
      if (graph->dangling > 0)
        note(fmt::format("{}: {} dependencies on absent nodes dropped ({}{})", file(r), graph->dangling,
                         fmt::join(graph->some_absent, ", "), graph->some_absent.size() == 8 ? ", ..." : ""));
      if (auto ok = prepare_rank(r, std::move(*graph)); !ok) return ok;
    }
    return {};
  }

  Status prepare_rank(std::size_t r, ChakraGraph graph) {
    RankState& s = states_[r];
    const ChakraTrace& t = traces_[r];
    s.graph = std::move(graph);
    std::vector<std::uint64_t> begin(t.nodes() + 1, 0);
    for (const std::uint32_t p : s.graph.parents) ++begin[p + 1];
    for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
    s.child_end.assign(begin.begin(), begin.end() - 1);
    s.children.resize(s.graph.parents.size());
    s.waits.resize(t.nodes());
    unit_[r].resize(t.nodes());
    for (std::uint32_t i = 0; i < t.nodes(); ++i) {
      const auto parents = s.graph.parents_of(i);
      for (const std::uint32_t p : parents) s.children[s.child_end[p]++] = i;
      s.waits[i] = static_cast<std::uint32_t>(parents.size());
      unit_[r][i] = unit_of(r, i);
      if (t.duration_us[i] > kMaxNodeUs) return wrong(r, i, fmt::format("lasts {} us", t.duration_us[i]));
      if (t.type[i] == NodeType::kMetadata) read_groups(r, i);
      if (s.waits[i] == 0) make_ready(r, i);
    }
    return {};
  }

  [[nodiscard]] bool on_cpu(std::size_t r, std::uint32_t node) const {
    return traces_[r].boolean(node, "is_cpu_op").value_or(false);
  }

  Unit unit_of(std::size_t r, std::uint32_t node) const {
    switch (traces_[r].type[node]) {
      case NodeType::kCompute: return on_cpu(r, node) ? Unit::kCpu : Unit::kGpu;
      case NodeType::kCollective:
      case NodeType::kSend: return on_cpu(r, node) ? Unit::kCpu : Unit::kNetwork;
      default: return Unit::kNone;
    }
  }

  // A METADATA node lists process groups: '[[{"pg_name": "0", "ranks": [...]}, ...]]' in quotes and brackets.
  void read_groups(std::size_t r, std::uint32_t node) {
    const std::string_view text = traces_[r].strings[traces_[r].inputs[node].values];
    const std::size_t begin = text.find("[{");
    const std::size_t end = text.rfind("}]");
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return;
    const auto table = parse_json(fmt::format("{{\"groups\": {}}}", text.substr(begin, end + 2 - begin)), file(r));
    if (!table) {
      note(fmt::format("{}: {} lists no process groups that can be read", file(r), traces_[r].label(node)));
      return;
    }
    const auto* list = std::get_if<TomlArray>(&table->begin()->second.v);
    for (const TomlValue& item : list == nullptr ? TomlArray() : *list) {
      const auto* group = std::get_if<TomlTable>(&item.v);
      if (group == nullptr) continue;
      TomlReader reader(*group, file(r), "groups");
      const std::string name = reader.text("pg_name", {});
      std::vector<std::int64_t> ranks = reader.integers("ranks", 0, static_cast<std::int64_t>(traces_.size()) - 1);
      if (!name.empty()) states_[r].groups[name] = std::move(ranks);
    }
  }

  void note(std::string text) {
    constexpr std::size_t kNotes = 20;
    if (out_.notes.size() < kNotes)
      out_.notes.push_back(std::move(text));
    else if (out_.notes.size() == kNotes)
      out_.notes.emplace_back("... and more");
  }

  void make_ready(std::size_t r, std::uint32_t node) {
    states_[r].ready[static_cast<std::size_t>(unit_[r][node])].emplace(traces_[r].id[node], node);
  }

  void at(std::uint64_t time, std::size_t r, std::uint32_t node) { events_.emplace(time, order_++, r, node); }

  void finish(std::size_t r, std::uint32_t node) {
    RankState& s = states_[r];
    ++s.done;
    s.busy[static_cast<std::size_t>(unit_[r][node])] = false;
    out_.ranks[r].finish_ns = now_;
    const std::size_t begin = node == 0 ? 0 : s.child_end[node - 1];
    for (std::size_t i = begin; i < s.child_end[node]; ++i)
      if (--s.waits[s.children[i]] == 0) make_ready(r, s.children[i]);
  }

  Status issue(std::size_t r) {
    RankState& s = states_[r];
    for (std::size_t u = 0; u < s.ready.size(); ++u) {
      const bool shared = static_cast<Unit>(u) != Unit::kNone;
      while (!s.ready[u].empty() && !(shared && s.busy[u])) {
        const std::uint32_t node = s.ready[u].begin()->second;
        s.ready[u].erase(s.ready[u].begin());
        s.busy[u] = shared;
        if (auto ok = begin(r, node); !ok) return ok;
      }
    }
    return {};
  }

  [[nodiscard]] std::uint64_t recorded_ns(std::size_t r, std::uint32_t node) const {
    const std::uint64_t us = traces_[r].duration_us[node];
    return us == 0 ? 1 : us * 1000;  // the simulator replays nothing in less than 1 ns
  }

  void replay(std::size_t r, std::uint32_t node) {
    const std::uint64_t ns = recorded_ns(r, node);
    if (!on_cpu(r, node)) out_.ranks[r].compute_ns += ns;
    at(now_ + ns, r, node);
  }

  Status begin(std::size_t r, std::uint32_t node) {
    const NodeType type = traces_[r].type[node];
    if (type == NodeType::kInvalid || type == NodeType::kMetadata) {
      at(now_, r, node);
      return {};
    }
    if (system_.replay_only || unit_[r][node] == Unit::kCpu) {
      replay(r, node);
      return {};
    }
    switch (type) {
      case NodeType::kCompute: return compute(r, node);
      case NodeType::kCollective: return collective(r, node);
      case NodeType::kSend:
      case NodeType::kReceive: return message(r, node);
      default:
        return wrong(r, node, fmt::format("{} is not modelled", node_type_name(type)),
                     "traces of remote memory need ASTRA-sim itself");
    }
  }

  Status compute(std::size_t r, std::uint32_t node) {
    if (!system_.roofline) {
      replay(r, node);
      return {};
    }
    if (!system_.local_mem_gb_s || !system_.peak_tflops)
      return wrong(r, node, "roofline-enabled needs local-mem-bw and peak-perf in the system file");
    const auto operations = static_cast<double>(traces_[r].integer(node, "num_ops").value_or(0));
    const auto bytes = static_cast<double>(traces_[r].integer(node, "tensor_size").value_or(0));
    std::uint64_t ns = 0;
    if (bytes > 0 && operations > 0) {  // else the simulator passes over it
      const double reached =
          std::min(*system_.local_mem_gb_s * 1e9 * (operations / bytes), *system_.peak_tflops * 1e12);
      const double real = operations / reached * 1e9;
      if (!(real < 1e16)) return wrong(r, node, "takes over 10^16 ns");
      ns = static_cast<std::uint64_t>(real);
    }
    out_.ranks[r].compute_ns += ns;
    at(now_ + ns, r, node);
    return {};
  }

  Status message(std::size_t r, std::uint32_t node) {
    const bool send = traces_[r].type[node] == NodeType::kSend;
    const auto peer = traces_[r].integer(node, send ? "comm_dst" : "comm_src");
    const auto bytes = traces_[r].integer(node, "comm_size");
    if (!peer || *peer < 0 || *peer >= static_cast<std::int64_t>(traces_.size()) ||
        *peer == static_cast<std::int64_t>(r))
      return wrong(r, node, fmt::format("{} names no other rank", send ? "comm_dst" : "comm_src"));
    if (!bytes || *bytes < 1 || *bytes > (std::int64_t{1} << 42))
      return wrong(r, node, "comm_size is missing, 0 or over 2^42");
    const auto other = static_cast<std::size_t>(*peer);
    const Channel key{send ? r : other, send ? other : r, traces_[r].integer(node, "comm_tag").value_or(0), *bytes};
    if (send) {
      const auto ns = astra_send_ns(network_, static_cast<std::int64_t>(r), *peer, static_cast<std::uint64_t>(*bytes));
      if (!ns) return wrong(r, node, ns.error().message, ns.error().hint);
      at(now_ + *ns, r, node);
      auto& receives = receives_[key];
      if (receives.empty()) {
        arrivals_[key].push_back(now_ + *ns);
      } else {
        at(now_ + *ns, other, receives.front());
        receives.pop_front();
      }
      return {};
    }
    auto& arrivals = arrivals_[key];
    if (arrivals.empty()) {
      receives_[key].push_back(node);
    } else {
      at(std::max(now_, arrivals.front()), r, node);
      arrivals.pop_front();
    }
    return {};
  }

  // Members of rank r's communicator for a collective, or what is wrong.
  Result<std::size_t> communicator(std::size_t r, std::uint32_t node) {
    std::string name = traces_[r].text(node, "pg_name");
    if (name.empty()) name = traces_[r].text(node, "comm_group");
    std::vector<std::int64_t> ranks;
    std::vector<bool> dimensions;
    if (name.empty() || name == "0") {
      dimensions = traces_[r].booleans(node, "involved_dim").value_or(std::vector<bool>());
      dimensions.resize(network_.dimensions.size(), dimensions.empty());
      ranks = line(static_cast<std::int64_t>(r), dimensions);
    } else {
      const auto id = parse_int(name);
      const auto given = id ? groups_.find(*id) : groups_.end();
      const auto own = states_[r].groups.find(name);
      if (given == groups_.end() && own == states_[r].groups.end())
        return wrong(r, node, fmt::format("communicator group \"{}\" is not known", printable(name)),
                     "give the communicator groups (JSON: {\"id\": [ranks]})");
      ranks = given != groups_.end() ? given->second : own->second;
      if (ranks.empty() || ranks.size() == traces_.size()) {
        dimensions.assign(network_.dimensions.size(), true);
        ranks = line(0, dimensions);
      }
      if (std::find(ranks.begin(), ranks.end(), static_cast<std::int64_t>(r)) == ranks.end())
        return wrong(r, node, fmt::format("rank {} is no member of group \"{}\"", r, printable(name)));
      if (*std::max_element(ranks.begin(), ranks.end()) >= static_cast<std::int64_t>(traces_.size()))
        return wrong(r, node, fmt::format("group \"{}\" has a rank that the network has not", printable(name)));
    }
    const auto [found, added] = known_.try_emplace({ranks, dimensions}, communicators_.size());
    if (added) {
      Communicator c;
      c.next.resize(ranks.size());
      c.ranks = std::move(ranks);
      c.dimensions = std::move(dimensions);
      communicators_.push_back(std::move(c));
    }
    return found->second;
  }

  // The ranks that differ from r in `dimensions` only, innermost first.
  std::vector<std::int64_t> line(std::int64_t r, const std::vector<bool>& dimensions) const {
    std::vector<std::int64_t> out = {0};
    std::int64_t stride = 1;
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
      const std::int64_t n = network_.dimensions[d].npus;
      const std::size_t size = out.size();
      if (dimensions[d]) {
        for (std::int64_t i = 1; i < n; ++i)
          for (std::size_t k = 0; k < size; ++k) out.push_back(out[k] + i * stride);
      } else {
        for (std::int64_t& member : out) member += r / stride % n * stride;
      }
      stride *= n;
    }
    return out;
  }

  Status collective(std::size_t r, std::uint32_t node) {
    const auto type = traces_[r].integer(node, "comm_type");
    const auto bytes = traces_[r].integer(node, "comm_size");
    if (!type || *type < 0 || *type > 9)
      return wrong(r, node, "comm_type is missing or none of the schema's", "0 all-reduce ... 9 barrier");
    const auto kind = static_cast<ChakraCollective>(*type);
    if (kind == ChakraCollective::kBroadcast) {  // replayed, as the simulator does
      at(now_ + recorded_ns(r, node), r, node);
      return {};
    }
    if (kind != ChakraCollective::kAllReduce && kind != ChakraCollective::kAllGather &&
        kind != ChakraCollective::kReduceScatter && kind != ChakraCollective::kAllToAll)
      return wrong(r, node, fmt::format("{} is not modelled", collective_name(kind)),
                   "ASTRA-sim does all_reduce, all_gather, reduce_scatter, all_to_all and replays broadcast");
    if (!bytes || *bytes < 1 || *bytes > (std::int64_t{1} << 42))
      return wrong(r, node, "comm_size is missing, 0 or over 2^42", "a collective of 0 B would take 0 s");
    const auto index = communicator(r, node);
    if (!index) return fail(index.error());
    return join(r, node, communicators_[*index], kind, static_cast<std::uint64_t>(*bytes));
  }

  Status join(std::size_t r, std::uint32_t node, Communicator& c, ChakraCollective kind, std::uint64_t bytes) {
    const auto member = static_cast<std::size_t>(
        std::find(c.ranks.begin(), c.ranks.end(), static_cast<std::int64_t>(r)) - c.ranks.begin());
    const std::uint64_t number = c.next[member]++ - c.first;
    if (number == c.pending.size()) {
      Communicator::Pending p;
      p.type = kind;
      p.bytes = bytes;
      p.starts.assign(c.ranks.size(), kNotHere);
      p.nodes.resize(c.ranks.size());
      c.pending.push_back(std::move(p));
    }
    Communicator::Pending& p = c.pending[number];
    if (p.type != kind || p.bytes != bytes)
      return wrong(r, node,
                   fmt::format("{} of {} B, where other ranks of the group do {} of {} B", collective_name(kind), bytes,
                               collective_name(p.type), p.bytes),
                   "the members of a group do the same collectives in the same order");
    p.starts[member] = now_;
    p.nodes[member] = node;
    ++out_.ranks[r].collectives;
    if (++p.come < c.ranks.size()) return {};
    const auto ends = collectives_.finish({kind, bytes, c.ranks, c.dimensions}, p.starts);
    if (!ends) return wrong(r, node, ends.error().message, ends.error().hint);
    for (std::size_t i = 0; i < ends->size(); ++i) at((*ends)[i], static_cast<std::size_t>(c.ranks[i]), p.nodes[i]);
    c.pending.pop_front();  // members come in order, so that the first to be complete is the first
    ++c.first;
    return {};
  }

  Result<AstraEstimate> result() {
    std::string stuck;
    for (std::size_t r = 0; r < traces_.size() && stuck.size() < 300; ++r)
      if (states_[r].done < traces_[r].nodes()) stuck += (stuck.empty() ? "" : "; ") + blocked(r);
    if (!stuck.empty())
      return refuse({.file = prefix_, .line = 0, .field = {}}, fmt::format("the run ends before its work: {}", stuck),
                    "a rank waits for a collective or message that no other rank comes to");
    for (AstraRank& rank : out_.ranks) {
      rank.exposed_ns = rank.finish_ns - std::min(rank.finish_ns, rank.compute_ns);
      out_.iteration_ns = std::max(out_.iteration_ns, rank.finish_ns);
    }
    if (out_.iteration_ns == 0)
      return refuse({.file = prefix_, .line = 0, .field = {}},
                    "the traces take no time: no node computes or communicates");
    out_.approximate = collectives_.approximate();
    if (out_.approximate)
      note(
          "collectives of several dimensions, or direct ones, whose ranks begin apart are taken to begin with the "
          "last");
    if (collectives_.queue_table())
      note(
          "all-reduce of several chunks over several dimensions: with one queue a dimension ASTRA-sim reads behind its "
          "table of queues there, so that its own figure may differ");
    return std::move(out_);
  }

  [[nodiscard]] std::string blocked(std::size_t r) const {
    for (const Communicator& c : communicators_)
      for (const Communicator::Pending& p : c.pending)
        for (std::size_t i = 0; i < c.ranks.size(); ++i)
          if (c.ranks[i] == static_cast<std::int64_t>(r) && p.starts[i] != kNotHere)
            return fmt::format("rank {} at {}, to which {} of {} ranks came", r, traces_[r].label(p.nodes[i]), p.come,
                               c.ranks.size());
    for (const auto& [key, nodes] : receives_)
      if (std::get<1>(key) == r && !nodes.empty())
        return fmt::format("rank {} at {}, {} B with tag {} from rank {}", r, traces_[r].label(nodes.front()),
                           std::get<3>(key), std::get<2>(key), std::get<0>(key));
    return fmt::format("rank {} with {} of {} nodes done", r, states_[r].done, traces_[r].nodes());
  }

  using Channel = std::tuple<std::size_t, std::size_t, std::int64_t, std::int64_t>;    // from, to, tag, bytes
  using Event = std::tuple<std::uint64_t, std::uint64_t, std::size_t, std::uint32_t>;  // time, order, rank, node

  std::span<const ChakraTrace> traces_;
  const AstraSystem& system_;
  const AstraNetwork& network_;
  const AstraGroups& groups_;
  const std::string& prefix_;
  AstraCollectives collectives_;
  std::vector<RankState> states_;
  std::vector<std::vector<Unit>> unit_;
  std::map<std::pair<std::vector<std::int64_t>, std::vector<bool>>, std::size_t> known_;
  std::deque<Communicator> communicators_;
  std::map<Channel, std::deque<std::uint64_t>> arrivals_;
  std::map<Channel, std::deque<std::uint32_t>> receives_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t order_ = 0;
  std::uint64_t now_ = 0;
  AstraEstimate out_;
};

}  // namespace

Result<AstraEstimate> astra_unaware(std::span<const ChakraTrace> traces, const AstraSystem& system,
                                    const AstraNetwork& network, const AstraGroups& groups, const std::string& prefix) {
  if (static_cast<std::int64_t>(traces.size()) != network.npus())
    return refuse({.file = prefix, .line = 0, .field = {}},
                  fmt::format("{} traces for {} NPUs of the network", traces.size(), network.npus()),
                  "npus_count of the network file is the number of PREFIX.rank.et files");
  auto done = Run(traces, system, network, groups, prefix).run();
  if (done) done->notes.insert(done->notes.begin(), system.notes.begin(), system.notes.end());
  return done;
}

}  // namespace comity::workload
