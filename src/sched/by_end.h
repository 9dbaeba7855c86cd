// SPDX-License-Identifier: Apache-2.0
// Running jobs of a group in the order of their expected ends, kept from pass to pass. It must be refreshed at the
// start of each pass and told of each start. O(running) for a job that left, O(log running) search for one that starts.
#pragma once

#include <algorithm>
#include <vector>

#include "sched/policy.h"

namespace comity::sched {

class ByEnd {
 public:
  struct Entry {
    Time end;
    std::uint32_t job;
    std::uint32_t gpus;
  };
  void refresh(const State& state) {
    for (const JobId gone : state.left())
      std::erase_if(list_, [&](const Entry& entry) { return entry.job == gone.value; });
  }
  void add(const State& state, std::uint32_t job) {
    const Job& j = state.job(JobId(job));
    const Entry entry{state.running()[j.slot].expected_end, job, j.gpus};
    list_.insert(std::upper_bound(list_.begin(), list_.end(), entry, less), entry);
  }
  [[nodiscard]] const std::vector<Entry>& list() const { return list_; }

 private:
  static bool less(const Entry& a, const Entry& b) { return a.end != b.end ? a.end < b.end : a.job < b.job; }

  std::vector<Entry> list_;
};

}  // namespace comity::sched
