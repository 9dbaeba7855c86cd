// SPDX-License-Identifier: Apache-2.0
#include "sched/fair_share.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace comity::sched {

FairShareTree::FairShareTree() : nodes_(1) {}

FairShareTree::Id FairShareTree::add(Id parent, double share, bool is_user) {
  COMITY_CHECK(parent < nodes_.size() && !nodes_[parent].is_user);
  const auto id = static_cast<Id>(nodes_.size());
  nodes_.emplace_back();
  nodes_[id].parent = parent;
  nodes_[id].share = share;
  nodes_[id].is_user = is_user;
  nodes_[parent].children.push_back(id);
  if (is_user) ++users_;
  return id;
}

void FairShareTree::decay(double factor) {
  for (Node& node : nodes_) node.own *= factor;
}

void FairShareTree::sum_up() {
  for (Node& node : nodes_) node.usage = node.own;
  for (std::size_t i = nodes_.size(); i-- > 1;) nodes_[nodes_[i].parent].usage += nodes_[i].usage;
}

double FairShareTree::shares_below(Id id) const {
  double sum = 0;
  for (const Id child : nodes_[id].children) sum += nodes_[child].share;
  return sum;
}

void FairShareTree::fair_tree() {
  sum_up();
  for (Id id = 0; id < nodes_.size(); ++id) {
    const double shares = shares_below(id);
    for (const Id child : nodes_[id].children) {
      Node& c = nodes_[child];
      const double s = shares > 0 ? c.share / shares : 0;
      const double u = nodes_[id].usage > 0 ? c.usage / nodes_[id].usage : 0;
      c.level = u > 0 ? s / u : std::numeric_limits<double>::infinity();
      if (c.share <= 0) c.level = 0;
    }
  }
  place_ = last_ = users_;
  rank(nodes_[kRoot].children, false);
}

// `tied`: the best of these share the rank that was given last.
void FairShareTree::rank(std::vector<Id> siblings, bool tied) {
  std::sort(siblings.begin(), siblings.end(), [&](Id a, Id b) {
    const Node& x = nodes_[a];
    const Node& y = nodes_[b];
    if (x.level != y.level) return x.level > y.level;
    return x.is_user != y.is_user ? x.is_user : a < b;
  });
  for (std::size_t i = 0; i < siblings.size();) {
    const double level = nodes_[siblings[i]].level;
    std::vector<Id> merged;
    for (; i < siblings.size() && nodes_[siblings[i]].level == level; ++i) {
      Node& node = nodes_[siblings[i]];
      if (!node.is_user) {
        merged.insert(merged.end(), node.children.begin(), node.children.end());
        continue;
      }
      if (!tied) last_ = place_;
      tied = true;
      node.factor = static_cast<double>(last_) / static_cast<double>(users_);
      --place_;
    }
    if (!merged.empty()) rank(std::move(merged), tied);
    tied = false;
  }
}

void FairShareTree::classic(double dampening) {
  sum_up();
  classic(dampening, nodes_[kRoot].usage);
}

void FairShareTree::classic(double dampening, double total) {
  sum_up();
  for (Id id = 0; id < nodes_.size(); ++id) {
    const double shares = shares_below(id);
    for (const Id child : nodes_[id].children) {
      Node& c = nodes_[child];
      const double s = shares > 0 ? c.share / shares : 0;
      const double actual = total > 0 ? c.usage / total : 0;
      c.normal = nodes_[id].normal * s;
      c.effective = id == kRoot ? actual : actual + (nodes_[id].effective - actual) * s;
      c.factor = c.normal > 0 ? std::exp2(-c.effective / c.normal / dampening) : 0;
    }
  }
}

}  // namespace comity::sched
