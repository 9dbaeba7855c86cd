// SPDX-License-Identifier: Apache-2.0
// Reservations and maintenance windows (review section 5, item 6): nodes set aside from `start` to `end` for some
// tenants and users, or for nobody. A job that is not admitted may use such a node only if it says that it ends by the
// start, or once the window is over. Which reservations bar a waiting job therefore changes at two kinds of instants,
// which are computed, not polled: when the time that is left gets shorter than the job, and at the end of a window.
// O(reservations) a question; at most kMost reservations.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "cluster/spec.h"
#include "profile/job_request.h"

namespace comity::cluster {

class Reservations {
 public:
  static constexpr std::size_t kMost = 32;
  using Mask = std::uint32_t;  // bit r = reservation r

  Reservations(const ClusterSpec& spec, const profile::NameTable& names);

  [[nodiscard]] bool empty() const { return windows_.empty(); }
  // The reservations whose nodes a job that takes `length` may not use now.
  [[nodiscard]] Mask barred(std::uint32_t user, std::uint32_t tenant, Time length, Time now) const;
  // The first instant after `now` at which barred() of that job, still waiting, may differ; kNever = none.
  [[nodiscard]] Time next_change(std::uint32_t user, std::uint32_t tenant, Time length, Time now) const;
  // Nodes of any reservation of the mask.
  [[nodiscard]] std::vector<NodeId> nodes(Mask mask) const;

 private:
  struct Window {
    Time start = 0;
    Time end = 0;
    std::vector<NodeId> nodes;
    std::vector<std::uint32_t> tenants;  // names; who is admitted
    std::vector<std::uint32_t> users;

    [[nodiscard]] bool admits(std::uint32_t user, std::uint32_t tenant) const;
  };
  std::vector<Window> windows_;
};

}  // namespace comity::cluster
