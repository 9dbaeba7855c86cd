// SPDX-License-Identifier: Apache-2.0
// Slurm's two fair-share factors over a tree of accounts whose leaves are users (slurm.schedmd.com: fair_tree,
// classic_fair_share). With S_x the shares of x over those of itself and its siblings, U_x its usage:
//   Fair Tree  level share LF_x = S_x / (U_x / usage of its parent), infinite without usage. The tree is walked depth
//              first, siblings by LF descending; users are ranked as they are met, F = rank / number of users, the
//              first one 1. Ties: users share a rank; a user ties with the first of a tied account; tied accounts are
//              merged.
//   classic    F = 2^-(E / N / d), N = the product of S from the root down, d = the dampening factor,
//              E_x = A_x + (E_parent - A_x) S_x with A_x = usage of x / total usage; E = A on the first tier.
// Usage decays with a half-life: multiply by 2^-(t / half-life), see decay(). O(nodes log nodes) for the factors.
#pragma once

#include <cstdint>
#include <vector>

namespace comity::sched {

class FairShareTree {
 public:
  using Id = std::uint32_t;
  static constexpr Id kRoot = 0;

  FairShareTree();
  // `parent` is an account (or kRoot); share >= 0.
  Id add_account(Id parent, double share) { return add(parent, share, false); }
  Id add_user(Id parent, double share) { return add(parent, share, true); }

  void charge(Id user, double amount) { nodes_[user].own += amount; }
  void decay(double factor);
  [[nodiscard]] double usage(Id user) const { return nodes_[user].own; }
  [[nodiscard]] std::size_t users() const { return users_; }

  // Recomputes factor() of every user.
  void fair_tree();
  void classic(double dampening);
  // The same where `total` (more than the sum of the users') was used by all, others included.
  void classic(double dampening, double total);
  [[nodiscard]] double factor(Id user) const { return nodes_[user].factor; }

 private:
  struct Node {
    Id parent = kRoot;
    double share = 1;
    bool is_user = false;
    double own = 0;    // usage charged here
    double usage = 0;  // with all below
    double level = 0;  // Fair Tree's LF
    double factor = 1;
    double normal = 1;     // classic: N
    double effective = 0;  // classic: E
    std::vector<Id> children;
  };
  Id add(Id parent, double share, bool is_user);
  void sum_up();
  [[nodiscard]] double shares_below(Id id) const;
  void rank(std::vector<Id> siblings, bool tied);

  std::vector<Node> nodes_;  // a parent stands before its children
  std::size_t users_ = 0;
  std::size_t place_ = 0;  // of rank(): the rank that is given next, and the one of the last user
  std::size_t last_ = 0;
};

}  // namespace comity::sched
