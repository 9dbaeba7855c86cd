// SPDX-License-Identifier: Apache-2.0
// Quasi-shortest-service first (Helios, SC'21): order (estimate x GPUs, eligible time, id); the head blocks, or is
// skipped with qssf.blocking=skip. Nothing is preempted. The estimates are those that the replay is told to give; the
// paper learns them. Cost of a pass: O(started x shapes).
#include "sched/qssf.h"

#include "sched/policies.h"
#include "sched/walk.h"

namespace comity::sched {

std::int64_t rank_by_service(const Job& job, const ShapeClass& shape) {
  const std::int64_t us = std::max<Time>(0, job.estimate - job.executed) / kMicrosecond;
  return us > kMaxTime / std::max<std::int64_t>(shape.gpus, 1) ? kMaxTime : us * shape.gpus;
}

namespace {

class Qssf : public Policy {
 public:
  explicit Qssf(bool skip) : skip_(skip) {}

  void decide(Pass& pass, std::uint32_t group) override {
    if (pass.state().active(group).empty()) return;
    walk_.begin(pass.state(), group, [&](ShapeId shape) { return !skip_ || pass.fits(shape); });
    while (const QueueEntry* entry = walk_.next()) {
      if (pass.fits(walk_.shape()) && pass.start(entry->job)) continue;
      if (!skip_) return;
      walk_.skip_shape();
    }
  }
  [[nodiscard]] cluster::RankFn rank() const override { return rank_by_service; }

 private:
  bool skip_;
  Walk walk_;
};

}  // namespace

void add_qssf(std::vector<PolicyInfo>& list) {
  Param blocking;
  blocking.name = "qssf.blocking";
  blocking.type = Param::Type::kChoice;
  blocking.fallback = "head";
  blocking.choices = {"head", "skip"};
  blocking.doc =
      "head: the job of least service blocks the others until it fits; skip: what does not fit is passed over";
  list.push_back({"qssf",
                  "Least estimated GPU time first.",
                  "Helios, SC'21",
                  false,
                  true,
                  {blocking},
                  [](const Params& params) -> std::unique_ptr<Policy> {
                    return std::make_unique<Qssf>(params.text("qssf.blocking") == "skip");
                  }});
}

}  // namespace comity::sched
