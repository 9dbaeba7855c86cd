// SPDX-License-Identifier: Apache-2.0
// tiresias against the rules R1 and R2 of the review read literally: plain lists that are walked, re-ordered and sorted
// whole at every event, by GPU count.
#include <algorithm>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "sched/gittins.h"
#include "twin/replay.h"

namespace comity::twin {
namespace {

constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kTotal = 8;  // GPUs

struct PlainJob {
  std::int64_t submit = 0, duration = 0, gpus = 0;
  std::int64_t executed = 0, end = -1, preemptions = 0;
  std::size_t queue = 0;
  std::int64_t level = 0;
  bool runs = false;
};
using Jobs = std::vector<PlainJob>;
using List = std::vector<std::size_t>;

class Plain {
 public:
  explicit Plain(Jobs& jobs) : jobs_(jobs) {}
  virtual ~Plain() = default;

  void run() {
    std::size_t next = 0;
    std::size_t ended = 0;
    std::int64_t now = 0;
    while (ended < jobs_.size()) {
      std::int64_t to = next < jobs_.size() ? jobs_[next].submit : kFar;
      for (const PlainJob& j : jobs_) {
        if (j.runs) to = std::min(to, now + j.duration - j.executed);
      }
      if (jump_ >= now) to = std::min(to, jump_);
      for (PlainJob& j : jobs_) {
        if (j.runs) j.executed += to - now;
      }
      now = to;
      for (std::size_t i = 0; i < jobs_.size(); ++i) {
        if (!jobs_[i].runs || jobs_[i].executed < jobs_[i].duration) continue;
        jobs_[i].runs = false;
        jobs_[i].end = now;
        leave(i);
        ++ended;
      }
      for (; next < jobs_.size() && jobs_[next].submit == now; ++next) arrive(next);
      pass();
      jump_ = next_jump(now);
    }
  }

 protected:
  virtual void arrive(std::size_t i) = 0;
  virtual void leave(std::size_t i) = 0;
  virtual void pass() = 0;
  virtual std::int64_t next_jump(std::int64_t now) = 0;

  void walk(const List& order) {
    std::int64_t free = kTotal;
    for (const std::size_t i : order) {
      const bool fits = jobs_[i].gpus <= free;
      if (fits) free -= jobs_[i].gpus;
      if (!fits && jobs_[i].runs) ++jobs_[i].preemptions;
      jobs_[i].runs = fits;
    }
  }

  Jobs& jobs_;
  std::int64_t jump_ = kFar;
};

class PlainDlas : public Plain {
 public:
  PlainDlas(Jobs& jobs, bool by_gpu, bool running_first, bool exact, List limits)
      : Plain(jobs),
        by_gpu_(by_gpu),
        running_first_(running_first),
        exact_(exact),
        limits_(std::move(limits)),
        queues_(limits_.size() + 1) {}

 private:
  void arrive(std::size_t i) override { queues_[0].push_back(i); }
  void leave(std::size_t i) override { std::erase(queues_[jobs_[i].queue], i); }
  std::int64_t factor(const PlainJob& j) const { return by_gpu_ ? j.gpus : 1; }
  std::int64_t limit(const PlainJob& j) const { return static_cast<std::int64_t>(limits_[j.queue]); }

  void pass() override {
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      PlainJob& j = jobs_[i];
      if (!j.runs || j.queue == limits_.size() || j.executed * factor(j) < limit(j)) continue;
      std::erase(queues_[j.queue], i);
      queues_[++j.queue].push_back(i);
    }
    List order;
    for (const List& queue : queues_) order.insert(order.end(), queue.begin(), queue.end());
    walk(order);
    for (List& queue : queues_) {
      if (running_first_)
        std::stable_partition(queue.begin(), queue.end(), [&](std::size_t i) { return jobs_[i].runs; });
    }
  }
  std::int64_t next_jump(std::int64_t now) override {
    std::int64_t first = kFar;
    for (const PlainJob& j : jobs_) {
      if (!j.runs || j.queue == limits_.size()) continue;
      const std::int64_t left = limit(j) - j.executed * (exact_ ? factor(j) : 1);
      first = std::min(first, std::max(now + 1, now + (left + factor(j) - 1) / factor(j)));
    }
    return first;
  }

  bool by_gpu_;
  bool running_first_;
  bool exact_;
  List limits_;
  std::vector<List> queues_;
};

class PlainGittins : public Plain {
 public:
  PlainGittins(Jobs& jobs, const std::vector<double>& samples, std::int64_t quantum, bool artifact)
      : Plain(jobs), table_(samples, static_cast<double>(quantum)), artifact_(artifact), u_(quantum) {}

 private:
  void arrive(std::size_t i) override { list_.push_back(i); }
  void leave(std::size_t i) override { std::erase(list_, i); }
  void pass() override {
    for (const std::size_t i : list_) {
      PlainJob& j = jobs_[i];
      const std::int64_t attained = artifact_ && !j.runs ? j.executed : j.executed * j.gpus;
      const auto level = static_cast<std::int64_t>(table_.at(static_cast<double>(attained)).level);
      j.level = artifact_ ? level : -level;
    }
    std::stable_sort(list_.begin(), list_.end(),
                     [&](std::size_t a, std::size_t b) { return jobs_[a].level < jobs_[b].level; });
    walk(list_);
  }
  std::int64_t next_jump(std::int64_t now) override {
    u_ += now;
    return u_ > now ? u_ : kFar;
  }

  sched::GittinsTable table_;
  bool artifact_;
  std::int64_t u_;
  List list_;
};

Jobs random_jobs() {
  Jobs jobs;
  const auto count = *rc::gen::inRange(1, 40);
  const std::int64_t gap = *rc::gen::element(2, 10, 60);
  std::int64_t at = 0;
  for (int i = 0; i < count; ++i) {
    PlainJob job;
    if (i > 0) at += *rc::gen::inRange<std::int64_t>(0, gap);
    job.submit = at;
    job.duration = *rc::gen::inRange<std::int64_t>(1, 200);
    job.gpus = *rc::gen::inRange<std::int64_t>(1, kTotal + 1);
    jobs.push_back(job);
  }
  return jobs;
}

void same(const Jobs& jobs, const std::vector<std::pair<std::string, std::string>>& sets,
          const std::vector<double>& samples = {}) {
  trace::Trace trace;
  for (const PlainJob& job : jobs) {
    trace::Row row;
    row.id = static_cast<std::int64_t>(trace.rows.size());
    row.request.shape.gpus = static_cast<std::uint32_t>(job.gpus);
    row.submit = job.submit * kSecond;
    row.duration = job.duration * kSecond;
    trace.rows.push_back(row);
  }
  Params params = sched::all_params();
  for (const auto& [name, value] : sets) RC_ASSERT(params.set("tiresias." + name, value).has_value());
  RC_ASSERT(params.load("tiresias.samples", samples).has_value());
  ReplayOptions options;
  options.cluster = *cluster::parse_nodes("2x4");
  options.placement = cluster::Placement::kCount;
  options.detail = true;
  const Workload workload(trace, Ties::kFile);
  const auto r = replay(workload, **sched::find_policy("tiresias"), params, options);
  RC_ASSERT(r.has_value());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    RC_ASSERT(r->detail.front().jobs[i].end == jobs[i].end * kSecond);
    RC_ASSERT(static_cast<std::int64_t>(r->detail.front().jobs[i].preemptions) == jobs[i].preemptions);
  }
  RC_CLASSIFY(r->preemptions > 0);
}

TEST(Tiresias, QueuesAreRuleR1) {
  EXPECT_TRUE(rc::check([] {
    Jobs jobs = random_jobs();
    const bool by_gpu = *rc::gen::arbitrary<bool>();
    const bool running_first = *rc::gen::arbitrary<bool>();
    const bool exact = *rc::gen::arbitrary<bool>();
    const List limits = *rc::gen::container<List>(3, rc::gen::inRange<std::size_t>(5, 400));
    const auto queues = *rc::gen::inRange<std::size_t>(1, 5);
    PlainDlas(jobs, by_gpu, running_first, exact, List(limits.begin(), limits.begin() + queues - 1)).run();
    const std::string text =
        std::to_string(limits[0]) + "," + std::to_string(limits[1]) + "," + std::to_string(limits[2]);
    same(jobs, {{"variant", by_gpu ? "dlas_gpu" : "dlas"},
                {"order", running_first ? "running_first" : "fifo"},
                {"jump", exact ? "exact" : "artifact"},
                {"queues", std::to_string(queues)},
                {"limits", text}});
  }));
}

TEST(Tiresias, GittinsIsRuleR2) {
  EXPECT_TRUE(rc::check([] {
    Jobs jobs = random_jobs();
    const bool artifact = *rc::gen::arbitrary<bool>();
    const auto quantum = *rc::gen::inRange<std::int64_t>(1, 300);
    const auto whole = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 1500)));
    const std::vector<double> samples(whole.begin(), whole.end());
    PlainGittins(jobs, samples, quantum, artifact).run();
    same(jobs,
         {{"variant", "gittins"},
          {"gittins_order", artifact ? "artifact" : "high_first"},
          {"quantum", std::to_string(quantum)}},
         samples);
  }));
}

}  // namespace
}  // namespace comity::twin
