// SPDX-License-Identifier: Apache-2.0
// lucid under --compat lucid against a plain simulator that looks at every job at every second, as Lucid's own does it:
// same starts and ends of every job. And pairs of jobs worked out by hand.
#include <algorithm>
#include <array>
#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "trace/reader.h"
#include "trace/test_files.h"
#include "twin/replay.h"

namespace comity::twin {
namespace {

struct Kind {
  std::string model;
  double memory = 0;
  int score = 0;
};

struct TickJob {
  std::int64_t submit = 0, duration = 0, gpus = 0;
  std::size_t kind = 0;
  double remain = 0, rate = 1;
  std::int64_t start = -1, end = -1, measured = -1;
  bool done = false;  // it ended while it was measured
  bool alone = true;
  std::vector<std::pair<std::size_t, std::uint32_t>> nodes = {};  // node, mask of GPUs
};

// How fast kinds run together: [kind that joins][kind that is joined].
using Speeds = std::vector<std::vector<profile::PairSpeeds>>;

class Nodes {
 public:
  explicit Nodes(std::size_t nodes) : users_(nodes) {}

  bool place(TickJob& job) {
    std::vector<std::size_t> order;
    for (std::size_t n = 0; n < users_.size(); ++n) {
      if (free(n) > 0) order.push_back(n);
    }
    std::vector<std::pair<std::size_t, std::int64_t>> take;
    if (job.gpus <= 8) {
      std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return free(a) < free(b); });
      const auto it = std::find_if(order.begin(), order.end(), [&](auto n) { return free(n) >= job.gpus; });
      if (it == order.end()) return false;
      take = {{*it, job.gpus}};
    } else {
      std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return free(a) > free(b); });
      std::int64_t left = job.gpus;
      for (std::size_t k = 0; k < order.size() && left > 0; ++k) {
        const std::int64_t want = std::min<std::int64_t>(left, 8);
        if (free(order[k]) < want) return false;
        take.emplace_back(order[k], want);
        left -= want;
      }
      if (left > 0) return false;
    }
    job.nodes.clear();
    for (auto [n, gpus] : take) {
      std::uint32_t mask = 0;
      for (std::size_t g = 0; g < 8 && gpus > 0; ++g) {
        if (users_[n][g] > 0) continue;
        mask |= 1U << g;
        --gpus;
      }
      job.nodes.emplace_back(n, mask);
    }
    add(job, 1);
    return true;
  }
  void add(const TickJob& job, int by) {
    for (const auto& [n, mask] : job.nodes) {
      for (std::size_t g = 0; g < 8; ++g) users_[n][g] += (mask >> g & 1) != 0 ? by : 0;
    }
  }

 private:
  [[nodiscard]] std::int64_t free(std::size_t n) const { return std::count(users_[n].begin(), users_[n].end(), 0); }
  std::vector<std::array<int, 8>> users_;
};

class TickSimulator {
 public:
  TickSimulator(std::vector<TickJob>& jobs, const std::vector<Kind>& kinds, const Speeds& speeds)
      : jobs_(jobs), kinds_(kinds), speeds_(speeds) {}

  void measure(std::size_t nodes, std::int64_t limit, std::int64_t widest) {
    Nodes pool(nodes);
    List waiting;
    List running;
    std::size_t next = 0;
    for (std::int64_t now = 0; next < jobs_.size() || !waiting.empty() || !running.empty(); ++now) {
      std::erase_if(running, [&](std::size_t i) {
        if (jobs_[i].end != now) return false;
        pool.add(jobs_[i], -1);
        return true;
      });
      for (; next < jobs_.size() && jobs_[next].submit == now; ++next) {
        if (jobs_[next].gpus <= widest) waiting.push_back(next);
      }
      std::stable_sort(waiting.begin(), waiting.end(), [&](auto a, auto b) { return jobs_[a].gpus < jobs_[b].gpus; });
      while (!waiting.empty() && pool.place(jobs_[waiting.front()])) {
        TickJob& job = jobs_[waiting.front()];
        job.measured = now;
        job.done = job.duration <= limit;
        job.end = now + std::min(job.duration, limit);
        running.push_back(waiting.front());
        waiting.erase(waiting.begin());
      }
    }
  }

  void run(std::size_t nodes, double memory) {
    Nodes pool(nodes);
    memory_ = memory;
    std::size_t next = 0;
    std::size_t ended = 0;
    for (std::int64_t now = 0; ended < jobs_.size(); ++now) {
      for (const std::size_t i : List(running_)) {
        if (jobs_[i].remain > 0) {
          jobs_[i].remain -= jobs_[i].rate;
          continue;
        }
        jobs_[i].end = now;
        ++ended;
        if (!jobs_[i].alone) recover(i);
        pool.add(jobs_[i], -1);
        std::erase(running_, i);
      }
      for (; next < jobs_.size() && jobs_[next].submit <= now; ++next) {
        if (jobs_[next].done) {
          ++ended;
          continue;
        }
        jobs_[next].remain = static_cast<double>(jobs_[next].duration);
        waiting_.push_back(next);
      }
      std::stable_sort(waiting_.begin(), waiting_.end(), [&](auto a, auto b) { return service(a) < service(b); });
      for (const std::size_t i : List(waiting_)) start(i, pool, now);
    }
  }
  std::uint64_t shared = 0;
  std::uint64_t slowed_survivors = 0;

 private:
  using List = std::vector<std::size_t>;

  [[nodiscard]] std::int64_t service(std::size_t i) const { return jobs_[i].duration * jobs_[i].gpus; }

  // The first in order of starting that runs on the same GPUs, which may be the one that ends.
  void recover(std::size_t ends) {
    for (const std::size_t i : running_) {
      if (jobs_[i].nodes != jobs_[ends].nodes) continue;
      jobs_[i].alone = true;
      jobs_[i].rate = 1;
      if (i == ends) {
        slowed_survivors += static_cast<std::uint64_t>(std::count_if(
            running_.begin(), running_.end(), [&](auto j) { return j != i && jobs_[j].nodes == jobs_[i].nodes; }));
      }
      return;
    }
  }

  [[nodiscard]] bool suits(std::size_t i, std::size_t with) const {
    const Kind& a = kinds_[jobs_[i].kind];
    const Kind& b = kinds_[jobs_[with].kind];
    return jobs_[with].alone && jobs_[with].gpus == jobs_[i].gpus && b.memory < memory_ - a.memory &&
           a.score + b.score <= 2 && service(i) <= 2 * service(with);
  }

  void start(std::size_t i, Nodes& pool, std::int64_t now) {
    TickJob& job = jobs_[i];
    auto it = running_.end();
    if (job.gpus <= 8) it = std::find_if(running_.begin(), running_.end(), [&](auto j) { return suits(i, j); });
    if (it != running_.end()) {
      TickJob& other = jobs_[*it];
      job.alone = other.alone = false;
      job.rate = speeds_[job.kind][other.kind].first;
      other.rate = speeds_[job.kind][other.kind].second;
      job.nodes = other.nodes;
      pool.add(job, 1);
      ++shared;
    } else if (!pool.place(job)) {
      return;
    }
    job.start = now;
    std::erase(waiting_, i);
    running_.push_back(i);
  }

  std::vector<TickJob>& jobs_;
  const std::vector<Kind>& kinds_;
  const Speeds& speeds_;
  double memory_ = 0;
  List waiting_;
  List running_;
};

profile::Colocation table_of(const std::vector<Kind>& kinds, const Speeds& speeds) {
  std::string pairs = "model1,dataset1,batchsize1,amp1,speed1,model2,dataset2,batchsize2,amp2,speed2\n";
  std::string scores = "model,dataset,batchsize,amp,label\n";
  for (std::size_t a = 0; a < kinds.size(); ++a) {
    scores += kinds[a].model + ",d,32,0," + std::to_string(kinds[a].score) + "\n";
    for (std::size_t b = a; b < kinds.size(); ++b) {
      pairs += kinds[a].model + ",d,32,0," + std::to_string(speeds[a][b].first) + "," + kinds[b].model + ",d,32,0," +
               std::to_string(speeds[a][b].second) + "\n";
    }
  }
  profile::Colocation table;
  LineReader first(*memory_source(pairs), "pairs");
  EXPECT_TRUE(table.read_pairs(first).has_value());
  LineReader second(*memory_source(scores), "scores");
  EXPECT_TRUE(table.read_scores(second).has_value());
  return table;
}

struct Case {
  std::size_t nodes = 3;
  std::vector<TickJob> jobs;
  std::vector<Kind> kinds;
  Speeds speeds;
};

void fill_trace(const Case& c, trace::Trace& trace) {
  for (const Kind& kind : c.kinds) {
    profile::Attributes& a = trace.attributes.emplace_back();
    a.model = trace.names.intern(kind.model);
    a.dataset = trace.names.intern("d");
    a.batch_size = 32;
    a.mixed_precision = 0;
    a.memory_mb = kind.memory;
  }
  for (const TickJob& job : c.jobs) {
    trace::Row row;
    row.id = static_cast<std::int64_t>(trace.rows.size());
    row.request.shape.gpus = static_cast<std::uint32_t>(job.gpus);
    row.request.attributes = static_cast<std::uint32_t>(job.kind);
    row.submit = job.submit * kSecond;
    row.duration = job.duration * kSecond;
    trace.rows.push_back(row);
  }
}

RunResult replay_of(const Case& c, const std::string& compat, const std::map<std::string, std::string>& sets = {}) {
  trace::Trace trace;
  fill_trace(c, trace);
  const profile::Colocation table = table_of(c.kinds, c.speeds);
  ReplayOptions options;
  options.cluster = *cluster::parse_nodes(std::to_string(c.nodes) + "x8");
  options.placement = cluster::Placement::kLucid;
  options.detail = true;
  options.colocation = &table;
  Params params = sched::all_params();
  for (const auto& [name, value] : sets) EXPECT_TRUE(params.set(name, value).has_value());
  const Workload workload(trace, Ties::kFile);
  auto result = replay(workload, **sched::find_policy("lucid", compat), params, options);
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().text());
  return result ? std::move(*result) : RunResult{};
}

// Speeds are 64ths, so that taking them off a thousand times is exact.
Case random_case() {
  Case c;
  c.nodes = *rc::gen::inRange<std::size_t>(3, 6);
  const auto kinds = *rc::gen::inRange<std::size_t>(1, 5);
  for (std::size_t k = 0; k < kinds; ++k)
    c.kinds.push_back(
        {"m" + std::to_string(k), static_cast<double>(*rc::gen::element(1000, 9000, 20000)), *rc::gen::inRange(0, 3)});
  c.speeds.assign(kinds, std::vector<profile::PairSpeeds>(kinds));
  for (std::size_t a = 0; a < kinds; ++a) {
    for (std::size_t b = 0; b <= a; ++b) {
      c.speeds[a][b] = {*rc::gen::inRange(20, 70) / 64.0, *rc::gen::inRange(20, 70) / 64.0};
      if (a != b) c.speeds[b][a] = {c.speeds[a][b].second, c.speeds[a][b].first};
    }
  }
  const auto count = *rc::gen::inRange(1, 40);
  const std::int64_t gap = *rc::gen::element(1, 20, 200);
  const std::int64_t widest = 8 * (static_cast<std::int64_t>(c.nodes) - 2);
  std::int64_t at = 0;
  for (int i = 0; i < count; ++i) {
    TickJob job;
    if (i > 0) at += *rc::gen::inRange<std::int64_t>(0, gap);
    job.submit = at;
    job.duration =
        *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(1, 900), rc::gen::element<std::int64_t>(30, 80, 81, 400));
    job.gpus = *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(1, widest + 1), rc::gen::element<std::int64_t>(1, 4, 8));
    job.kind = *rc::gen::inRange<std::size_t>(0, kinds);
    c.jobs.push_back(job);
  }
  return c;
}

TEST(LucidSharing, IsTheTickingSimulator) {
  EXPECT_TRUE(rc::check([] {
    Case c = random_case();
    const RunResult r = replay_of(c, "lucid");
    TickSimulator reference(c.jobs, c.kinds, c.speeds);
    reference.measure(2, 80, 4);
    reference.run(c.nodes - 2, 24576);
    for (std::size_t i = 0; i < c.jobs.size(); ++i) {
      const JobOutcome& o = r.detail.front().jobs[i];
      RC_ASSERT(o.first_start == (c.jobs[i].done ? c.jobs[i].measured : c.jobs[i].start) * kSecond);
      RC_ASSERT(o.end == c.jobs[i].end * kSecond);
    }
    RC_ASSERT(r.shared == reference.shared);
    RC_CLASSIFY(reference.shared > 0);
    RC_CLASSIFY(reference.slowed_survivors > 0, "a survivor keeps its speed");
  }));
}

Case pair_of(std::int64_t first, std::int64_t second) {
  Case c;
  c.kinds = {{"a", 5000, 1}, {"b", 6000, 1}};
  c.speeds = {{{}, {0.5, 0.8}}, {{0.8, 0.5}, {}}};  // a beside b: .5, b beside a: .8
  c.jobs.resize(2);
  c.jobs[0] = {.submit = 0, .duration = first, .gpus = 8, .kind = 0};
  c.jobs[1] = {.submit = 100, .duration = second, .gpus = 8, .kind = 1};
  return c;
}
std::vector<double> ends(const RunResult& r) {
  std::vector<double> list;
  for (const JobOutcome& o : r.detail.front().jobs) list.push_back(to_seconds(o.end));
  return list;
}
using Ends = std::vector<double>;

// By hand: b joins a at 100. a has 900 s to do, b 400, which take b 500 s at .8; a does 250 of its own meanwhile, and
// the 650 that are left alone, at speed 1: its end is 600 + 650. In the simulator b needs one tick more (a end at 601,
// a having done 250.5 s: the rest takes 650 ticks).
TEST(LucidSharing, APairByHand) {
  const std::map<std::string, std::string> sets = {{"lucid.profile_nodes", "0"}};
  EXPECT_EQ(ends(replay_of(pair_of(1000, 400), "", sets)), (Ends{1250, 600}));
  EXPECT_EQ(ends(replay_of(pair_of(1000, 400), "lucid", sets)), (Ends{601 + 650 + 1, 601}));
  EXPECT_EQ(replay_of(pair_of(1000, 400), "", sets).shared, 1U);
}

// By hand: a has 100 s to do when b joins, done at 300; b has done 160 of its 380 by then. Alone it needs 220 s more;
// in the simulator it keeps its speed of .8, though it is alone: 220 / .8 = 275 s from 300 on, and a tick.
TEST(LucidSharing, InTheSimulatorTheOneThatCameLaterStaysSlow) {
  const std::map<std::string, std::string> sets = {{"lucid.profile_nodes", "0"}};
  EXPECT_EQ(ends(replay_of(pair_of(200, 380), "", sets)), (Ends{300, 520}));
  EXPECT_EQ(ends(replay_of(pair_of(200, 380), "lucid", sets)), (Ends{301, 300 + 275 + 1}));
}

TEST(LucidSharing, SwitchedOffNobodyShares) {
  const RunResult r = replay_of(pair_of(1000, 400), "", {{"lucid.profile_nodes", "2"}, {"lucid.share", "false"}});
  EXPECT_EQ(r.shared, 0U);
  EXPECT_EQ(ends(r), (Ends{1000, 1400}));
}

// The jobs of a trace, their kinds as the tables have them, and the speeds as the simulator takes them.
Case case_of(const Workload& work, const profile::Colocation& table) {
  Case c;
  c.nodes = 56;
  std::map<std::uint32_t, std::size_t> known;
  std::vector<std::uint32_t> ids;
  const trace::Trace& trace = work.trace();
  for (std::size_t i = 0; i < work.size(); ++i) {
    const trace::Row& row = work.row(i);
    const profile::Attributes& a = trace.attributes[row.request.attributes];
    const std::string& model = trace.names[a.model];
    const std::uint32_t id = table.find(model, trace.names[a.dataset], a.batch_size, a.mixed_precision);
    const auto [it, made] = known.try_emplace(id, c.kinds.size());
    if (made) {
      c.kinds.push_back({model, a.memory_mb, table.score(id)});
      ids.push_back(id);
    }
    TickJob& job = c.jobs.emplace_back();
    job.submit = (row.submit - work.row(0).submit) / kSecond;
    job.duration = row.duration / kSecond;
    job.gpus = static_cast<std::int64_t>(row.request.shape.total());
    job.kind = it->second;
  }
  const auto outside = [&](std::size_t k) {
    const std::string& m = c.kinds[k].model;
    return m == "NeuMF" || m == "ResNet50" || m == "BERT" || m == "Transformer";
  };
  c.speeds.assign(ids.size(), std::vector<profile::PairSpeeds>(ids.size()));
  for (std::size_t x = 0; x < ids.size(); ++x) {
    for (std::size_t y = 0; y < ids.size(); ++y) {
      const bool shares = c.kinds[x].score + c.kinds[y].score <= 2 && !outside(x) && !outside(y);
      EXPECT_TRUE(!shares || table.speeds(ids[x], ids[y], c.speeds[x][y])) << "a pair that was not measured";
    }
  }
  return c;
}

// Published run of Lucid's simulator (simulator.py -e Philly, 56 nodes, oracle estimates): average JCT 6178.14, average
// queue 169.42, which counts the wait for the measuring nodes beside that in the main queue, though it is part of it.
TEST(LucidSharing, AWeekOfPhillyIsTheSimulators) {
  const std::string path = trace::shared_trace("philly_week_cap2d_lucid.csv.gz");
  COMITY_NEED_TRACE(path);
  auto trace = trace::read_trace(path, {});
  auto table = profile::read_colocation(trace::shared_trace("lucid/colocate_info.csv"),
                                        trace::shared_trace("lucid/single_data.csv"));
  ASSERT_TRUE(trace.has_value() && table.has_value());
  const Workload work(*trace, Ties::kFile);
  Case c = case_of(work, *table);
  TickSimulator reference(c.jobs, c.kinds, c.speeds);
  reference.measure(2, 80, 4);
  reference.run(54, 24576);
  ReplayOptions options;
  options.cluster = *cluster::parse_nodes("56x8");
  options.placement = cluster::Placement::kLucid;
  options.detail = true;
  options.colocation = &*table;
  const auto r = replay(work, **sched::find_policy("lucid", "lucid"), sched::all_params(), options);
  ASSERT_TRUE(r.has_value());
  double jct = 0;
  double queue = 0;
  std::size_t late = 0;
  for (std::size_t i = 0; i < c.jobs.size(); ++i) {
    const TickJob& job = c.jobs[i];
    const JobOutcome& o = r->detail.front().jobs[i];
    jct += static_cast<double>(job.end - job.submit);
    queue += static_cast<double>(job.measured >= 0 ? job.measured - job.submit : 0);
    queue += to_seconds(job.done ? 0 : o.first_start - work.row(i).submit);
    late += o.end - work.row(0).submit == job.end * kSecond ? 0 : 1;
  }
  const auto n = static_cast<double>(c.jobs.size());
  EXPECT_NEAR(jct / n, 6178.14, 0.006);
  EXPECT_NEAR(r->avg_jct_s, 6178.14, 0.006);
  EXPECT_NEAR(queue / n, 169.42, 0.006);
  EXPECT_EQ(r->shared, reference.shared);
  EXPECT_LE(late, 10U);  // speeds like .983 taken off a thousand times, and rounding
  RecordProperty("late", static_cast<int>(late));
}

}  // namespace
}  // namespace comity::twin
