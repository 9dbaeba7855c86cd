// SPDX-License-Identifier: Apache-2.0
#include "sched/slot_matching.h"

#include <limits>

#include "base/check.h"

namespace comity::sched {
namespace {

constexpr double kFar = std::numeric_limits<double>::infinity();

// The Hungarian method with columns that take several jobs. A column is opened when the one before it is full: until
// then it costs everybody more than that one, so that no shortest path ends there.
class Matching {
 public:
  Matching(const std::vector<double>& times, const std::vector<MachinePool>& pools)
      : times_(times), pools_(pools), jobs_(times.size() / pools.size()), u_(jobs_, 0), column_of_(jobs_, kNone) {
    for (std::uint32_t s = 0; s < pools.size(); ++s) {
      if (pools[s].machines > 0) columns_.push_back({s, 1, 0, {}});
    }
  }

  std::vector<Slot> run() {
    for (std::size_t i = 0; i < jobs_; ++i) insert(i);
    std::vector<Slot> slots(jobs_);
    for (std::size_t i = 0; i < jobs_; ++i) {
      if (column_of_[i] != kNone) slots[i] = {columns_[column_of_[i]].pool, columns_[column_of_[i]].from_end};
    }
    return slots;
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  struct Column {
    std::uint32_t pool = 0;
    std::uint32_t from_end = 1;
    double v = 0;  // potential
    std::vector<std::size_t> jobs;
  };

  [[nodiscard]] double cost(std::size_t job, const Column& c) const {
    const double time = times_[job * pools_.size() + c.pool];
    return time < 0 ? kFar : c.from_end * time + pools_[c.pool].delay;
  }
  [[nodiscard]] bool full(const Column& c) const { return c.jobs.size() == pools_[c.pool].machines; }

  // Shortest distances from `job` at `base` to the columns that are not done.
  void reach(std::size_t job, double base) {
    for (std::size_t b = 0; b < columns_.size(); ++b) {
      if (done_[b]) continue;
      const double there = base + cost(job, columns_[b]) - u_[job] - columns_[b].v;
      if (there < distance_[b]) {
        distance_[b] = there;
        from_[b] = job;
      }
    }
  }
  [[nodiscard]] std::size_t nearest() const {
    std::size_t best = kNone;
    for (std::size_t b = 0; b < columns_.size(); ++b) {
      if (!done_[b] && distance_[b] < kFar && (best == kNone || distance_[b] < distance_[best])) best = b;
    }
    return best;
  }

  void insert(std::size_t job) {
    distance_.assign(columns_.size(), kFar);
    from_.assign(columns_.size(), kNone);
    done_.assign(columns_.size(), false);
    reach(job, 0);
    std::size_t end = nearest();
    for (; end != kNone && full(columns_[end]); end = nearest()) {
      done_[end] = true;
      for (const std::size_t other : columns_[end].jobs) reach(other, distance_[end]);
    }
    if (end == kNone) return;  // it can run nowhere
    const double length = distance_[end];
    u_[job] += length;
    for (std::size_t b = 0; b < columns_.size(); ++b) {
      if (!done_[b]) continue;
      columns_[b].v -= length - distance_[b];
      for (const std::size_t other : columns_[b].jobs) u_[other] += length - distance_[b];
    }
    augment(job, end);
  }
  void augment(std::size_t job, std::size_t end) {
    for (std::size_t to = end;;) {
      const std::size_t mover = from_[to];
      const std::size_t left = column_of_[mover];
      columns_[to].jobs.push_back(mover);
      column_of_[mover] = to;
      if (mover == job) break;
      std::erase(columns_[left].jobs, mover);
      to = left;
    }
    const Column& c = columns_[end];
    if (full(c)) columns_.push_back({c.pool, c.from_end + 1, 0, {}});
  }

  const std::vector<double>& times_;
  const std::vector<MachinePool>& pools_;
  std::size_t jobs_;
  std::vector<double> u_;  // potential, by job
  std::vector<std::size_t> column_of_;
  std::vector<Column> columns_;
  std::vector<double> distance_;
  std::vector<std::size_t> from_;  // the job that moves there
  std::vector<bool> done_;
};

}  // namespace

std::vector<Slot> match_slots(const std::vector<double>& times, const std::vector<MachinePool>& pools) {
  if (times.empty()) return {};
  COMITY_CHECK(!pools.empty() && times.size() % pools.size() == 0);
  return Matching(times, pools).run();
}

}  // namespace comity::sched
