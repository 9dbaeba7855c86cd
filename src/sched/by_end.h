// SPDX-License-Identifier: Apache-2.0
// Running jobs of a group in the order of their expected ends, kept from pass to pass: jobs that ended are dropped when
// met, jobs that started since are inserted. O(running) a pass, O(log running) search a start.
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
  // Brings the list up to date with the running jobs of `group`. A job that runs longer than it said counts as ending
  // at the next possible instant.
  void refresh(const State& state, std::uint32_t group) {
    std::size_t out = 0;
    for (const Entry& entry : list_) {
      if (!state.ended(JobId(entry.job)) && state.job(JobId(entry.job)).status == cluster::JobStatus::kRunning &&
          end_of(state, entry.job) == entry.end)
        list_[out++] = entry;
    }
    list_.resize(out);
    if (out == count_in_group(state, group)) return;
    rebuild(state, group);
  }
  void add(const State& state, std::uint32_t job) {
    const Entry entry{end_of(state, job), job, state.job(JobId(job)).gpus};
    list_.insert(std::upper_bound(list_.begin(), list_.end(), entry, less), entry);
  }
  [[nodiscard]] const std::vector<Entry>& list() const { return list_; }

 private:
  static bool less(const Entry& a, const Entry& b) { return a.end != b.end ? a.end < b.end : a.job < b.job; }
  static Time end_of(const State& state, std::uint32_t job) {
    return state.running()[state.job(JobId(job)).slot].expected_end;
  }
  static std::size_t count_in_group(const State& state, std::uint32_t group) {
    if (state.groups() == 1) return state.running().size();
    std::size_t n = 0;
    for (const cluster::Running& r : state.running()) n += state.shape(state.job(r.job).shape).where.group == group;
    return n;
  }
  void rebuild(const State& state, std::uint32_t group) {
    list_.clear();
    for (const cluster::Running& r : state.running()) {
      const Job& job = state.job(r.job);
      if (state.shape(job.shape).where.group == group) list_.push_back({r.expected_end, r.job.value, job.gpus});
    }
    std::sort(list_.begin(), list_.end(), less);
  }

  std::vector<Entry> list_;
};

}  // namespace comity::sched
