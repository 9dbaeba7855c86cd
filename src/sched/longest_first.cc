// SPDX-License-Identifier: Apache-2.0
// longest_first, called lpjf (longest pending job first) in the simulator of Tiresias. In order of waiting time, which
// is the order of eligible times, the head starts; nothing passes a job that does not fit. In the simulator a job that
// starts is taken out of the list that is being walked, so that the next one in line is passed over and tried again at
// the next event only (longest_first.walk = artifact); with `every` nobody is, and the policy is fifo.
// Cost of a pass: O(started x shapes).
#include <optional>

#include "sched/param.h"
#include "sched/policies.h"
#include "sched/walk.h"

namespace comity::sched {
namespace {

class LongestFirst : public Policy {
 public:
  explicit LongestFirst(bool every) : every_(every) {}

  void decide(Pass& pass, std::uint32_t group) override {
    fronts_.clear();
    for (const ShapeId shape : pass.state().active(group)) {
      const cluster::OrderedQueue& queue = pass.state().shape(shape).queue;
      fronts_.push_back({queue.front(), &queue, shape});
    }
    bool tried = true;  // the next in line is tried, not passed over
    for (std::size_t best = least_front(fronts_); best < fronts_.size(); best = least_front(fronts_)) {
      const std::uint32_t job = fronts_[best].entry->job;
      // One that a start has brought to a limit is no longer in line.
      const bool in_line = pass.state().in_line(JobId(job));
      if (in_line && tried && (!pass.fits(fronts_[best].shape) || !pass.start(job))) return;
      if (in_line) tried = every_ || !tried;
      go_on(best);
    }
  }

 private:
  struct Front {
    std::optional<QueueEntry> entry;
    const cluster::OrderedQueue* queue;
    ShapeId shape;
  };
  // To the next job of the shape; the present one may have left the queue.
  void go_on(std::size_t i) {
    Front& front = fronts_[i];
    const QueueEntry* next = front.queue->empty() ? nullptr : front.queue->after(*front.entry);
    if (next == nullptr) return drop_at(fronts_, i);
    front.entry = *next;
  }

  bool every_;
  std::vector<Front> fronts_;
};

}  // namespace

void add_longest_first(std::vector<PolicyInfo>& list) {
  Param walk = make_choice(
      "longest_first.walk", {"artifact", "every"},
      "artifact: after each start the next job in line is passed over until the next event; every: nobody is");
  list.push_back({"longest_first",
                  "The job that waits longest first, as the simulator of Tiresias walks its list.",
                  "Tiresias: lpjf",
                  false,
                  false,
                  {walk},
                  [](const Params& params) -> std::unique_ptr<Policy> {
                    return std::make_unique<LongestFirst>(params.text("longest_first.walk") == "every");
                  }});
}

}  // namespace comity::sched
