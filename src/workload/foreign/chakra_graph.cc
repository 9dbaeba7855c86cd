// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "workload/foreign/chakra.h"
#include "workload/foreign/refusal.h"

namespace comity::workload {

namespace {

// Ids to indices by binary search: half the memory of a hash table, and most files are sorted already.
class Index {
 public:
  explicit Index(const ChakraTrace& trace) : ids_(trace.id), order_(trace.nodes()) {
    std::iota(order_.begin(), order_.end(), 0U);
    if (!std::is_sorted(ids_.begin(), ids_.end()))
      std::sort(order_.begin(), order_.end(), [&](auto a, auto b) { return ids_[a] < ids_[b]; });
  }
  // The first id that two nodes have, or nothing.
  [[nodiscard]] std::optional<std::uint64_t> twice() const {
    for (std::size_t i = 1; i < order_.size(); ++i)
      if (ids_[order_[i]] == ids_[order_[i - 1]]) return ids_[order_[i]];
    return {};
  }
  [[nodiscard]] std::optional<std::uint32_t> find(std::uint64_t id) const {
    const auto at =
        std::lower_bound(order_.begin(), order_.end(), id, [&](auto node, auto wanted) { return ids_[node] < wanted; });
    return at != order_.end() && ids_[*at] == id ? std::optional(*at) : std::nullopt;
  }

 private:
  const std::vector<std::uint64_t>& ids_;
  std::vector<std::uint32_t> order_;
};

void drop(ChakraGraph& graph, std::uint64_t id) {
  ++graph.dangling;
  if (id == 0) ++graph.dangling_zero;
  std::vector<std::uint64_t>& some = graph.some_absent;
  if (some.size() < 8 && std::find(some.begin(), some.end(), id) == some.end()) some.push_back(id);
}

void resolve(const ChakraTrace& trace, const Index& index, ChakraGraph& graph) {
  std::vector<std::uint32_t> own;
  for (std::size_t node = 0; node < trace.nodes(); ++node) {
    own.clear();
    for (const auto& list : {trace.ctrl_of(node), trace.data_of(node)})
      for (const std::uint64_t id : list) {
        if (const auto parent = index.find(id))
          own.push_back(*parent);
        else
          drop(graph, id);
      }
    std::sort(own.begin(), own.end());
    const auto end = std::unique(own.begin(), own.end());
    graph.duplicate += static_cast<std::uint64_t>(own.end() - end);
    graph.parents.insert(graph.parents.end(), own.begin(), end);
    graph.parent_end.push_back(graph.parents.size());
  }
}

// Depth first over parents without recursion: converters write chains of more than a thousand nodes.
void find_cycle(const ChakraTrace& trace, ChakraGraph& graph) {
  enum : std::uint8_t { kNew, kOpen, kDone };
  std::vector<std::uint8_t> state(trace.nodes(), kNew);
  struct Step {
    std::uint32_t node;
    std::uint64_t next;
  };
  std::vector<Step> path;
  for (std::uint32_t root = 0; root < trace.nodes(); ++root) {
    if (state[root] != kNew) continue;
    path.push_back({root, 0});
    state[root] = kOpen;
    while (!path.empty()) {
      Step& top = path.back();
      const auto parents = graph.parents_of(top.node);
      if (top.next == parents.size()) {
        state[top.node] = kDone;
        path.pop_back();
        continue;
      }
      const std::uint32_t parent = parents[top.next++];
      if (state[parent] == kOpen) {
        auto from = std::find_if(path.begin(), path.end(), [&](const Step& s) { return s.node == parent; });
        for (; from != path.end(); ++from) graph.cycle.push_back(trace.id[from->node]);
        return;
      }
      if (state[parent] == kNew) {
        state[parent] = kOpen;
        path.push_back({parent, 0});
      }
    }
  }
}

}  // namespace

std::span<const std::uint32_t> ChakraGraph::parents_of(std::size_t node) const {
  const std::size_t begin = node == 0 ? 0 : parent_end[node - 1];
  return {parents.data() + begin, parent_end[node] - begin};
}

Result<ChakraGraph> chakra_graph(const ChakraTrace& trace, const std::string& name) {
  const Index index(trace);
  if (const auto id = index.twice())
    return refuse({.file = name, .line = 0, .field = {}}, fmt::format("two nodes have the id {}", *id),
                  "ids are unique in a trace: merge or renumber what wrote it");
  ChakraGraph graph;
  graph.parent_end.reserve(trace.nodes());
  resolve(trace, index, graph);
  find_cycle(trace, graph);
  return graph;
}

Result<ChakraStatistics> chakra_statistics(const ChakraTrace& trace, const std::string& name) {
  const auto graph = chakra_graph(trace, name);
  if (!graph) return fail(graph.error());
  ChakraStatistics s;
  s.nodes = trace.nodes();
  s.ctrl = trace.ctrl.size();
  s.data = trace.data.size();
  s.attributes = trace.attrs.size();
  s.dangling = graph->dangling;
  s.dangling_zero = graph->dangling_zero;
  s.cyclic = !graph->cycle.empty();
  for (std::size_t i = 0; i < trace.nodes(); ++i) {
    ++s.by_type[static_cast<std::size_t>(trace.type[i])];
    s.duration_us += trace.duration_us[i];
    if (trace.boolean(i, "is_cpu_op").value_or(false)) ++s.cpu_nodes;
    if (trace.type[i] != NodeType::kCollective) continue;
    const auto bytes = trace.integer(i, "comm_size");
    if (!bytes || !trace.integer(i, "comm_type")) continue;
    ++s.typed_collectives;
    if (*bytes > 0) s.collective_bytes += static_cast<std::uint64_t>(*bytes);
  }
  return s;
}

}  // namespace comity::workload
