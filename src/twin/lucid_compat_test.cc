// SPDX-License-Identifier: Apache-2.0
// srtf, tiresias and qssf of Lucid's simulator against a plain simulator that looks at every job at every second, as
// rules R6 and R7 of the review say it: same starts, ends and preemptions of every job.
#include <algorithm>
#include <array>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "twin/replay.h"

namespace comity::twin {
namespace {

struct TickJob {
  std::int64_t submit = 0, duration = 0, gpus = 0;
  std::int64_t remain = 0, attained = 0, priority = -1;
  std::int64_t start = -1, end = -1, preemptions = 0;
  bool runs = false;
  std::vector<std::pair<std::size_t, std::int64_t>> nodes;  // node, GPUs
};

class TickSimulator {
 public:
  TickSimulator(std::vector<TickJob>& jobs, std::size_t nodes) : jobs_(jobs), free_(nodes, 8) {}

  void run(const std::string& policy) {
    std::size_t next = 0;
    std::size_t ended = 0;
    for (std::int64_t now = 0; ended < jobs_.size(); ++now) {
      ended += end_jobs(now, policy == "qssf");
      fresh_ = 0;
      for (; next < jobs_.size() && jobs_[next].submit == now; ++next, ++fresh_) {
        jobs_[next].remain = jobs_[next].duration;
        waiting_.push_back(next);
      }
      if (policy == "qssf") qssf(now);
      if (policy == "srtf") select(now, order_by_remaining());
      if (policy == "tiresias" && now % 60 == 0) select(now, order_by_queue());
    }
  }

 private:
  using List = std::vector<std::size_t>;

  std::size_t end_jobs(std::int64_t now, bool when_due) {
    std::size_t ended = 0;
    for (const std::size_t i : List(running_)) {
      TickJob& job = jobs_[i];
      if (when_due ? job.start + job.duration == now : job.remain == 0) {
        job.end = now;
        release(job);
        std::erase(running_, i);
        ++ended;
      } else {
        --job.remain;
        job.attained += job.gpus;
      }
    }
    return ended;
  }

  List order_by_remaining() const {
    List all = waiting_;
    all.insert(all.end(), running_.begin(), running_.end());
    std::stable_sort(all.begin(), all.end(),
                     [&](std::size_t a, std::size_t b) { return jobs_[a].remain < jobs_[b].remain; });
    return all;
  }
  List order_by_queue() const {
    List all = running_;
    all.insert(all.end(), waiting_.begin(), waiting_.end());
    std::stable_sort(all.begin(), all.end(), [&](std::size_t a, std::size_t b) {
      const bool x = jobs_[a].attained > 18000;
      const bool y = jobs_[b].attained > 18000;
      return x != y ? y : jobs_[a].submit < jobs_[b].submit;
    });
    return all;
  }

  void select(std::int64_t now, const List& order) {
    std::int64_t quota = static_cast<std::int64_t>(free_.size()) * 8;
    List out;
    List in;
    for (const std::size_t i : order) {
      if (jobs_[i].gpus <= quota) {
        quota -= jobs_[i].gpus;
        if (!jobs_[i].runs) in.push_back(i);
      } else if (jobs_[i].runs) {
        out.push_back(i);
      }
    }
    for (const std::size_t i : out) {
      jobs_[i].remain += jobs_[i].gpus <= 8 ? 40 : 60;
      ++jobs_[i].preemptions;
      release(jobs_[i]);
      std::erase(running_, i);
      waiting_.push_back(i);
    }
    for (const std::size_t i : in) start(now, i);
  }

  void qssf(std::int64_t now) {
    const auto by = [&](auto key) {
      std::stable_sort(waiting_.begin(), waiting_.end(),
                       [&](std::size_t a, std::size_t b) { return key(jobs_[a]) < key(jobs_[b]); });
    };
    by([](const TickJob& j) { return j.gpus; });
    if (waiting_.size() > fresh_) {
      for (const std::size_t i : waiting_) jobs_[i].priority = jobs_[i].duration * jobs_[i].gpus;
      by([](const TickJob& j) { return j.priority; });
    }
    for (const std::size_t i : List(waiting_)) {
      if (!start(now, i)) return;
    }
  }

  bool start(std::int64_t now, std::size_t i) {
    TickJob& job = jobs_[i];
    if (!place(job)) return false;
    job.runs = true;
    if (job.start < 0) job.start = now;
    std::erase(waiting_, i);
    running_.push_back(i);
    return true;
  }

  bool place(TickJob& job) {
    List nodes;
    for (std::size_t n = 0; n < free_.size(); ++n) {
      if (free_[n] > 0) nodes.push_back(n);
    }
    if (job.gpus <= 8) {
      std::stable_sort(nodes.begin(), nodes.end(), [&](std::size_t a, std::size_t b) { return free_[a] < free_[b]; });
      const auto it = std::find_if(nodes.begin(), nodes.end(), [&](std::size_t n) { return free_[n] >= job.gpus; });
      if (it == nodes.end()) return false;
      job.nodes = {{*it, job.gpus}};
    } else {
      std::stable_sort(nodes.begin(), nodes.end(), [&](std::size_t a, std::size_t b) { return free_[a] > free_[b]; });
      job.nodes.clear();
      std::int64_t left = job.gpus;
      for (std::size_t k = 0; k < nodes.size() && left > 0; ++k) {
        const std::int64_t want = std::min<std::int64_t>(left, 8);
        if (free_[nodes[k]] < want) break;
        job.nodes.emplace_back(nodes[k], want);
        left -= want;
      }
      if (left > 0) return false;
    }
    for (const auto& [n, gpus] : job.nodes) free_[n] -= gpus;
    return true;
  }
  void release(TickJob& job) {
    for (const auto& [n, gpus] : job.nodes) free_[n] += gpus;
    job.runs = false;
  }

  std::vector<TickJob>& jobs_;
  std::vector<std::int64_t> free_;
  List waiting_;
  List running_;
  std::size_t fresh_ = 0;
};

struct Case {
  std::size_t nodes = 1;
  std::int64_t origin = 0;
  std::vector<TickJob> jobs;
};

Case random_case(std::int64_t longest, std::int64_t shortest) {
  Case c;
  c.nodes = *rc::gen::inRange<std::size_t>(1, 5);
  c.origin = *rc::gen::inRange(0, 200);
  const auto count = *rc::gen::inRange(1, 30);
  const std::int64_t gap = *rc::gen::element(1, 20, 400);
  std::int64_t at = 0;
  for (int i = 0; i < count; ++i) {
    TickJob job;
    if (i > 0) at += *rc::gen::inRange<std::int64_t>(0, gap);
    job.submit = at;
    // Few lengths, so that ties are common.
    job.duration = *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(shortest, longest),
                                   rc::gen::element(shortest, std::int64_t{60}, longest / 2));
    job.gpus = *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(1, 8 * static_cast<std::int64_t>(c.nodes) + 1),
                               rc::gen::element(std::int64_t{1}, std::int64_t{4}, std::int64_t{8}));
    c.jobs.push_back(job);
  }
  return c;
}

RunResult replay_of(const Case& c, const std::string& policy, const std::string& compat, trace::Trace& trace) {
  for (const TickJob& job : c.jobs) {
    trace::Row row;
    row.id = static_cast<std::int64_t>(trace.rows.size());
    row.request.shape.gpus = static_cast<std::uint32_t>(job.gpus);
    row.submit = (c.origin + job.submit) * kSecond;
    row.duration = job.duration * kSecond;
    trace.rows.push_back(row);
  }
  ReplayOptions options;
  options.cluster = *cluster::parse_nodes(std::to_string(c.nodes) + "x8");
  options.placement = cluster::Placement::kLucid;
  options.detail = true;
  const Workload workload(trace, Ties::kFile);
  auto result = replay(workload, **sched::find_policy(policy, compat), sched::all_params(), options);
  EXPECT_TRUE(result.has_value());
  return result ? std::move(*result) : RunResult{};
}

void same_as_ticks(const std::string& policy, std::int64_t longest, std::int64_t shortest) {
  Case c = random_case(longest, shortest);
  trace::Trace trace;
  const RunResult r = replay_of(c, policy, "lucid", trace);
  TickSimulator(c.jobs, c.nodes).run(policy);
  std::uint64_t preemptions = 0;
  for (std::size_t i = 0; i < c.jobs.size(); ++i) {
    const JobOutcome& o = r.detail.front().jobs[i];
    RC_ASSERT(o.first_start == (c.origin + c.jobs[i].start) * kSecond);
    RC_ASSERT(o.end == (c.origin + c.jobs[i].end) * kSecond);
    RC_ASSERT(static_cast<std::int64_t>(o.preemptions) == c.jobs[i].preemptions);
    preemptions += o.preemptions;
  }
  RC_CLASSIFY(preemptions > 0);
}

TEST(LucidCompat, SrtfIsTheTickingSimulator) {
  EXPECT_TRUE(rc::check([] { same_as_ticks("srtf", 300, 0); }));
}
TEST(LucidCompat, TiresiasIsTheTickingSimulator) {
  EXPECT_TRUE(rc::check([] { same_as_ticks("tiresias", 7000, 0); }));
}
TEST(LucidCompat, QssfIsTheTickingSimulator) {
  EXPECT_TRUE(rc::check([] { same_as_ticks("qssf", 300, 1); }));
}

std::vector<Time> ends(const std::string& policy, const std::string& compat, std::size_t nodes,
                       const std::vector<std::array<std::int64_t, 3>>& jobs) {  // submit, duration, GPUs
  Case c;
  c.nodes = nodes;
  for (const auto& [submit, duration, gpus] : jobs) {
    TickJob& job = c.jobs.emplace_back();
    job.submit = submit;
    job.duration = duration;
    job.gpus = gpus;
  }
  trace::Trace trace;
  const RunResult r = replay_of(c, policy, compat, trace);
  std::vector<Time> list;
  for (const JobOutcome& o : r.detail.front().jobs) list.push_back(o.end / kSecond);
  return list;
}
using Ends = std::vector<Time>;

// By hand: preempted at 10 with 90 s to go, to which 40 s (60 s) come; each end is a second late.
TEST(LucidCompat, SrtfPaysForPreemptionAndEndsASecondLate) {
  EXPECT_EQ(ends("srtf", "", 1, {{0, 100, 8}, {10, 20, 8}}), (Ends{120, 30}));
  EXPECT_EQ(ends("srtf", "lucid", 1, {{0, 100, 8}, {10, 20, 8}}), (Ends{31 + 90 + 40 + 1, 31}));
  EXPECT_EQ(ends("srtf", "lucid", 2, {{0, 100, 16}, {10, 20, 16}}), (Ends{31 + 90 + 60 + 1, 31}));
}

// By hand: 5 GPUs x 3,600 s are 18,000 GPU s, which is not more than 18,000; a minute later the job sinks.
TEST(LucidCompat, TiresiasDecidesOnWholeMinutesAndSinksAboveTheThreshold) {
  EXPECT_EQ(ends("tiresias", "lucid", 1, {{0, 100, 8}, {10, 20, 8}}), (Ends{101, 120 + 21}));
  EXPECT_EQ(ends("tiresias", "lucid", 1, {{0, 5000, 5}, {10, 20, 5}}), (Ends{3720 + 1340 + 40 + 1, 3660 + 21}));
}

// By hand: of two jobs that come together the narrow one goes first, as long as nobody older waits.
TEST(LucidCompat, QssfTriesNewJobsByGpus) {
  EXPECT_EQ(ends("qssf", "", 1, {{0, 1000, 1}, {0, 10, 8}}), (Ends{1010, 10}));
  EXPECT_EQ(ends("qssf", "lucid", 1, {{0, 1000, 1}, {0, 10, 8}}), (Ends{1000, 1010}));
  EXPECT_EQ(ends("qssf", "lucid", 1, {{0, 5, 8}, {1, 1000, 1}, {1, 10, 8}}), (Ends{5, 1015, 15}));
}

}  // namespace
}  // namespace comity::twin
