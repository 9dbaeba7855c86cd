// SPDX-License-Identifier: Apache-2.0
// Free GPUs of a cluster, and where a job would go. Nodes of one (group, GPU type, GPUs a node) form a NodeClass
// (under `count`: of one group and type, whatever their size);
// within it nodes are kept in sets by number of free GPUs, so that a placement is a few bit scans whatever the size
// of the cluster. Placement rules (n = GPUs a node of the class):
//   count         nodes are ignored: a job fits when free GPUs >= g
//   bestfit       g <= n: the node with least free >= g, ties lowest index; g > n: floor(g/n) wholly free nodes,
//                 lowest index first, the remainder best fit among the others
//   firstfit      g <= n: the first node by index with free >= g; g > n: as bestfit with the remainder first fit
//   consolidated  fewest nodes, then least left over, then lowest index; may gather partly free nodes for a gang;
//                 never spreads a job that fits one node
//   lucid         as bestfit, but the remainder of a gang goes to the node with most free (Lucid's simulator)
//   buddy         as bestfit, but on a node the GPUs start at a multiple of the next power of two
// A shape nodes x gpus takes that many distinct nodes with >= gpus free, least free first, ties lowest index. A job
// takes one class: of those where it fits the one that is left with fewest free GPUs, then the first by type name.
// A small pool (nodes with small = true) takes single-node jobs that fit one of its slots, and is tried first.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "cluster/node_set.h"
#include "cluster/spec.h"
#include "profile/job_request.h"

namespace comity::cluster {

using profile::Shape;

// GPUs of one node given to a job: bit i = GPU i.
struct Part {
  NodeId node;
  std::uint64_t gpus = 0;
};

// Where a job runs. `parts` is empty under Placement::kCount.
struct Allocation {
  std::uint32_t node_class = 0;
  std::uint32_t gpus = 0;  // taken from the class (a slot of a small pool counts whole)
  std::vector<Part> parts;
};

class Pool {
 public:
  static constexpr std::uint32_t kAnyType = 0xffffffffU;

  // Which classes a job may use. Indices into groups() and types().
  struct Where {
    std::uint32_t group = 0;
    std::uint32_t type = kAnyType;
    friend constexpr auto operator<=>(const Where&, const Where&) = default;
  };
  enum class Pools { kAny, kMain, kSmall };  // which pools to try
  // `avoid`: only classes that jobs at that place may not use.

  // Under a rule other than kCount nodes have at most 64 GPUs (checked by check_spec).
  Pool(const ClusterSpec& spec, Placement rule);
  [[nodiscard]] static Status check_spec(const ClusterSpec& spec, Placement rule);

  // O(GPUs a node) for one class. Does not change the pool.
  [[nodiscard]] bool fits(const Shape& shape, Where where, Pools pools = Pools::kAny,
                          const Where* avoid = nullptr) const;
  // The allocation the rule gives, or false. `out` is overwritten. O(parts).
  [[nodiscard]] bool place(const Shape& shape, Where where, Allocation& out, Pools pools = Pools::kAny,
                           const Where* avoid = nullptr) const;
  // Whether the job would fit if every node that is up were empty.
  [[nodiscard]] bool could_fit(const Shape& shape, Where where) const;

  void allocate(const Allocation& a);  // the GPUs must be free (checked)
  void release(const Allocation& a);   // the GPUs must be taken (checked)
  void set_up(NodeId node, bool up);   // a node that is down offers nothing; its GPUs may still be held
  // Takes nodes out of sight for good: the pool as jobs see it that may not use them. What others do there is followed
  // by allocate() and release() as before. Under `count` as many GPUs are set aside.
  void hide(const std::vector<NodeId>& nodes);

  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }  // all nodes, up or down
  [[nodiscard]] std::int64_t free_gpus() const;                       // on nodes that are up
  [[nodiscard]] std::int64_t free_gpus(Where where) const;
  [[nodiscard]] std::int64_t up_gpus(Where where) const;
  [[nodiscard]] Placement rule() const { return rule_; }
  [[nodiscard]] const std::vector<std::string>& groups() const { return groups_; }
  [[nodiscard]] const std::vector<std::string>& types() const { return types_; }
  [[nodiscard]] std::size_t nodes() const { return node_.size(); }
  [[nodiscard]] bool is_up(NodeId node) const { return node_[node.index()].up; }
  [[nodiscard]] std::uint64_t free_mask(NodeId node) const { return node_[node.index()].free; }
  [[nodiscard]] std::uint32_t free_count(NodeId node) const { return node_[node.index()].free_count; }
  // Nodes of a class that are up and have exactly `free` GPUs free.
  [[nodiscard]] std::uint32_t nodes_with(std::uint32_t c, std::uint32_t free) const {
    return classes_[c].by_free[free].size();
  }
  [[nodiscard]] std::uint32_t node_gpus(NodeId node) const { return node_[node.index()].gpus; }
  [[nodiscard]] std::size_t classes() const { return classes_.size(); }
  [[nodiscard]] bool has_small() const { return has_small_; }
  [[nodiscard]] bool class_is_small(std::uint32_t c) const { return classes_[c].small; }
  [[nodiscard]] std::uint32_t class_gpus(std::uint32_t c) const { return classes_[c].gpus; }  // a node
  [[nodiscard]] std::uint32_t class_type(std::uint32_t c) const { return classes_[c].where.type; }
  [[nodiscard]] std::int64_t class_free(std::uint32_t c) const { return classes_[c].free; }
  [[nodiscard]] std::uint32_t class_of(NodeId node) const { return node_[node.index()].node_class; }
  // Whether `where` could use class c.
  [[nodiscard]] bool allows(Where where, std::uint32_t c) const { return allows(where, classes_[c]); }
  [[nodiscard]] std::int64_t class_up_gpus(std::uint32_t c) const { return classes_[c].up_gpus; }

 private:
  struct Node {
    std::uint64_t free = 0;
    std::uint32_t gpus = 0;
    std::uint32_t node_class = 0;
    std::uint32_t index = 0;      // within the class
    std::uint8_t free_count = 0;  // bits of `free`
    bool up = true;
    bool hidden = false;
  };
  struct Class {
    Where where;
    std::uint32_t gpus = 0;  // a node
    bool small = false;
    std::int64_t free = 0;  // on nodes that are up
    std::uint32_t up_nodes = 0;
    std::int64_t up_gpus = 0;
    std::vector<std::uint32_t> nodes;  // NodeId by index in the class
    std::vector<NodeSet> by_free;      // [free] -> nodes, only nodes that are up
    std::uint64_t levels = 0;          // bit f (f < 64): by_free[f] not empty; f = 64 is tested apart
  };

  [[nodiscard]] static bool allows(Where where, const Class& c) {
    return c.where.group == where.group && (where.type == kAnyType || c.where.type == where.type);
  }
  [[nodiscard]] bool class_fits(const Class& c, const Shape& shape) const;
  [[nodiscard]] bool class_place(std::uint32_t index, const Shape& shape, Allocation& out) const;
  [[nodiscard]] bool place_one(const Class& c, std::uint32_t g, std::uint32_t above, Allocation& out) const;
  [[nodiscard]] bool place_freest(const Class& c, std::uint32_t g, std::uint32_t above, Allocation& out) const;
  [[nodiscard]] bool place_gang(const Class& c, std::uint32_t g, Allocation& out) const;
  [[nodiscard]] bool place_consolidated(const Class& c, std::uint32_t g, Allocation& out) const;
  [[nodiscard]] bool place_nodes(const Class& c, const Shape& shape, Allocation& out) const;
  [[nodiscard]] bool place_buddy(const Class& c, std::uint32_t g, std::uint32_t above, Allocation& out) const;
  [[nodiscard]] std::uint32_t next_level(const Class& c, std::uint32_t from) const;
  void take(const Class& c, std::uint32_t index, std::uint32_t g, Allocation& out) const;
  void move(Class& c, const Node& node, std::uint32_t from, std::uint32_t to);
  [[nodiscard]] bool usable(const Class& c, const Shape& shape, Where where, Pools pools,
                            const Where* avoid = nullptr) const;

  Placement rule_;
  std::uint64_t capacity_ = 0;
  bool has_small_ = false;
  bool hides_ = false;
  std::vector<std::string> groups_;
  std::vector<std::string> types_;
  std::vector<Node> node_;
  std::vector<Class> classes_;
};

}  // namespace comity::cluster
