// SPDX-License-Identifier: Apache-2.0
// Policies that walk one ordered list and never take a GPU back.
//   fifo  order (eligible time, id); nothing may pass the head
//   fit   the same order; what does not fit is skipped (Tiresias calls it fjf)
//   sjf   order (estimate, eligible time, id); the head blocks, or is skipped with sjf.blocking=skip
//   qssf  order (estimate x GPUs, eligible time, id), quasi-shortest-service first (Helios, SC'21); qssf.blocking as
//   for
//         sjf. The estimates are those that the replay is told to give; the paper learns them.
#include "sched/param.h"
#include "sched/policies.h"
#include "sched/service.h"
#include "sched/walk.h"

namespace comity::sched {
namespace {

std::int64_t rank_by_estimate(const Job& job, const ShapeClass&) { return job.estimate - job.executed; }

class ListPolicy : public Policy {
 public:
  ListPolicy(bool skip, cluster::RankFn order) : skip_(skip), rank_(order) {}

  void decide(Pass& pass, std::uint32_t group) override {
    if (pass.state().active(group).empty()) return;
    if (group >= blocked_since_.size()) blocked_since_.resize(group + 1, kNotBlocked);
    if (blocked_since_[group] == pass.state().changes()) return;  // only newcomers, and they stand behind the head
    if (!skip_) return start_heads(pass, group);
    walk_.begin(pass.state(), group, [&](ShapeId shape) { return pass.fits(shape); });
    while (const QueueEntry* entry = walk_.next()) {
      if (!pass.fits(walk_.shape()) || !pass.start(entry->job)) walk_.skip_shape();
    }
  }
  [[nodiscard]] cluster::RankFn rank() const override { return rank_; }

 private:
  void start_heads(Pass& pass, std::uint32_t group) {
    ShapeId shape = 0;
    while (const QueueEntry* head = first_in_line(pass.state(), group, shape)) {
      if (pass.start(head->job)) continue;
      if (rank_ == cluster::rank_by_arrival) blocked_since_[group] = pass.state().changes();
      return;
    }
  }

  static constexpr std::uint64_t kNotBlocked = ~std::uint64_t{0};
  bool skip_;
  cluster::RankFn rank_;
  std::vector<std::uint64_t> blocked_since_;  // by group: State::changes() when the head was found not to fit
  Walk walk_;
};

}  // namespace

void add_list_policies(std::vector<PolicyInfo>& list) {
  list.push_back({"fifo",
                  "First come, first served; nothing passes the head of the queue.",
                  "classic",
                  false,
                  false,
                  {},
                  [](const Params&) -> std::unique_ptr<Policy> {
                    return std::make_unique<ListPolicy>(false, cluster::rank_by_arrival);
                  }});
  list.push_back({"fit",
                  "First come, first served among the jobs that fit now.",
                  "classic (Tiresias: fjf)",
                  false,
                  false,
                  {},
                  [](const Params&) -> std::unique_ptr<Policy> {
                    return std::make_unique<ListPolicy>(true, cluster::rank_by_arrival);
                  }});
  Param blocking =
      make_choice("sjf.blocking", {"head", "skip"},
                  "head: the shortest job blocks the others until it fits; skip: jobs that do not fit are passed over");
  list.push_back({"sjf",
                  "Shortest job first by estimate.",
                  "classic",
                  false,
                  true,
                  {blocking},
                  [](const Params& params) -> std::unique_ptr<Policy> {
                    return std::make_unique<ListPolicy>(params.text("sjf.blocking") == "skip", rank_by_estimate);
                  }});
}

void add_qssf(std::vector<PolicyInfo>& list) {
  Param blocking = make_choice(
      "qssf.blocking", {"head", "skip"},
      "head: the job of least service blocks the others until it fits; skip: what does not fit is passed over");
  list.push_back({"qssf",
                  "Least estimated GPU time first.",
                  "Helios, SC'21",
                  false,
                  true,
                  {blocking},
                  [](const Params& params) -> std::unique_ptr<Policy> {
                    return std::make_unique<ListPolicy>(params.text("qssf.blocking") == "skip", rank_by_service);
                  }});
}

}  // namespace comity::sched
