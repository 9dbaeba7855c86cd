// SPDX-License-Identifier: Apache-2.0
// What preemptive policies share that keep an order of their own and choose the running set by GPU count
// (sched/quota.h): who arrived, who left, when a pass is due, preempting, placing. A pass is made only when something
// changed in the group or the instant that the policy asked for has come; wake-ups that were overtaken by events are
// passed over, so that the number of passes does not depend on what else wakes the world.
#pragma once

#include <memory>
#include <vector>

#include "sched/quota.h"
#include "sched/waiting_order.h"

namespace comity::sched {

class QuotaPolicy : public Policy {
 public:
  [[nodiscard]] bool follows_queues() const override { return true; }
  void decide(Pass& pass, std::uint32_t group) final;

 protected:
  using Key = WaitingOrder::Key;
  struct Group {
    std::vector<Ranked> running;  // in order
    WaitingOrder waiting;
    std::vector<std::uint32_t> arrivals;  // since the last pass, in the order in which they came
    std::int64_t gpus = 0;                // on nodes that are up, at the last pass
    bool changed = false;                 // something happened since the last pass
    Time rank_due = 0;                    // the first instant at which a running job may rank otherwise
    Time wake = kNever;                   // when a pass is due even if nothing happens
    Time asked = kNever;                  // the wake-up that the world has been asked for and not yet given
    std::int64_t first = 0;               // ties in front of all others count down from here,
    std::int64_t last = 0;                // those behind all others up from here
  };

  // The first instant from `now` on at which a pass may be made.
  [[nodiscard]] virtual Time allowed(Time now) { return now; }
  // Ranks the running jobs of the group as of now and puts them in order; may move waiting ones as well. Arrivals come
  // after it. Whether settle() has to be called even if nobody is started or preempted.
  virtual bool rank_all(Pass& pass, Group& group) = 0;
  // The place of a job that joins the waiting ones; it may have run before (its node failed, it was held).
  [[nodiscard]] virtual Key place_arrival(const Job& job, std::uint32_t id, Group& group) = 0;
  [[nodiscard]] virtual Time preemption_cost(std::uint32_t gpus) const = 0;
  // After the decisions: losers() have been preempted and need a place among the waiting ones; those of chosen() that
  // are fresh have just started, and may get a new place among the running ones.
  virtual void settle(Pass& pass, Group& group, std::vector<Ranked>& chosen, std::vector<Ranked>& losers) = 0;
  // When the next pass is due if nothing happens, or kNever.
  [[nodiscard]] virtual Time next_pass(Pass& pass, Group& group) = 0;
  // A job of the group ended (or was cancelled or stopped).
  virtual void job_ended(Pass&, Group&, const Ranked&) {}

  // Among the waiting ones; a job that a limit keeps from its list joins when it is let in.
  // Puts a list in order that nearly is: O(list + by how much its entries are out of place).
  static void sort(std::vector<Ranked>& list);
  static void insert(const Pass& pass, Group& group, std::uint32_t job, Key key) {
    if (pass.state().in_line(JobId(job))) group.waiting.insert(job, pass.job(job).shape, key);
  }

 private:
  [[nodiscard]] Group& group_at(std::uint32_t id);
  void note_left(Pass& pass, Group& group);
  void note_changes(const State& state);
  void make_pass(Pass& pass, Group& group, std::uint32_t group_id);
  void carry_out(Pass& pass, Group& group);
  static void ask(Pass& pass, Group& group);

  std::vector<std::unique_ptr<Group>> groups_;
  std::size_t seen_ = 0;  // of State::queue_changes() in this round of groups
  Quota quota_;
};

}  // namespace comity::sched
