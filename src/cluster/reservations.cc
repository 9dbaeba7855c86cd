// SPDX-License-Identifier: Apache-2.0
#include "cluster/reservations.h"

#include <algorithm>

namespace comity::cluster {
namespace {

// Names that no job of the trace has admit nobody, so they are left out.
std::vector<std::uint32_t> known(const std::vector<std::string>& texts, const profile::NameTable& names) {
  std::vector<std::uint32_t> list;
  for (const std::string& text : texts) {
    const std::uint32_t name = names.find(text);
    if (name != profile::kNoName) list.push_back(name);
  }
  return list;
}

bool has(const std::vector<std::uint32_t>& list, std::uint32_t name) {
  return name != profile::kNoName && std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

Reservations::Reservations(const ClusterSpec& spec, const profile::NameTable& names) {
  for (const ReservationSpec& r : spec.reservations) {
    Window w;
    w.start = r.start;
    w.end = r.end;
    for (const std::uint32_t node : r.nodes) w.nodes.emplace_back(node);
    w.tenants = known(r.tenants, names);
    w.users = known(r.users, names);
    windows_.push_back(std::move(w));
  }
}

bool Reservations::Window::admits(std::uint32_t user, std::uint32_t tenant) const {
  return has(users, user) || has(tenants, tenant);
}

Reservations::Mask Reservations::barred(std::uint32_t user, std::uint32_t tenant, Time length, Time now) const {
  Mask mask = 0;
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    const Window& w = windows_[i];
    if (now < w.end && length > w.start - now && !w.admits(user, tenant)) mask |= Mask{1} << i;
  }
  return mask;
}

Time Reservations::next_change(std::uint32_t user, std::uint32_t tenant, Time length, Time now) const {
  Time next = kNever;
  for (const Window& w : windows_) {
    if (now >= w.end || w.admits(user, tenant)) continue;
    next = std::min(next, length > w.start - now ? w.end : w.start - length + 1);
  }
  return next;
}

std::vector<NodeId> Reservations::nodes(Mask mask) const {
  std::vector<NodeId> all;
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    if ((mask >> i & 1) != 0) all.insert(all.end(), windows_[i].nodes.begin(), windows_[i].nodes.end());
  }
  return all;
}

}  // namespace comity::cluster
