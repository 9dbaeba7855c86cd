// SPDX-License-Identifier: Apache-2.0
// IceFrog (TPDS 36(6) 2025), a reconstruction from its abstract (docs/systems/icefrog.md): jobs may have their first
// layers frozen, which makes a step shorter and costs some progress (profile/freezing.h). At multiples of
// icefrog.round (60 s, counted from the first submission):
//   shares   GPUs are given out step by step, each to the job that gains most effective progress for its remaining work
//            and GPU: (speed(g') - speed(g)) / (g' - g) / remaining; at most icefrog.most times what it asked for
//   depth    for each number of GPUs the depth with the most effective progress whose penalty is allowed
//   keep     a job that would grow keeps its GPUs where the restart costs more than the growth saves
// A job whose GPUs change loses icefrog.restart, less than a round so that all get on; a depth changes for nothing.
// speed = effective rate over the rate with the GPUs asked for and nothing frozen. A model without a layer table never
// freezes and has speed (g / asked)^0.9. Cost of a round: O(waiting + GPUs log GPUs).
#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <set>
#include <tuple>

#include "profile/freezing.h"
#include "sched/param.h"
#include "sched/policies.h"
#include "sched/ticks.h"

namespace comity::sched {
namespace {

constexpr int kBins = 64;  // of progress, for which the depth is worked out once
constexpr double kElsewhere = 0.9;
constexpr double kNewSpeed = 0.01;  // a running job is told of another speed beyond this

struct Settings {
  Time round = 0;
  Time restart = 0;
  bool freeze = true;
  bool powers = true;
  std::int64_t most = 2;
  profile::FreezingSettings freezing;
};

// Effective progress of jobs by model, GPUs and progress so far.
class Speeds {
 public:
  explicit Speeds(const Settings& set) : set_(set) {
    for (const profile::LayerTable& table : profile::layer_tables()) models_.emplace_back(table, set.freezing);
  }
  static constexpr int kNoModel = -1;
  int model_of(const State& state, JobId id) {
    const profile::Attributes* a = state.attributes(id);
    if (a == nullptr || a->model == profile::kNoName) return kNoModel;
    const auto [it, added] = known_.try_emplace(a->model, kNoModel);
    if (!added) return it->second;
    const profile::LayerTable* table = profile::find_layers(state.names()[a->model]);
    if (table != nullptr) it->second = static_cast<int>(table - profile::layer_tables().data());
    return it->second;
  }
  double of(int model, std::uint32_t asked, std::uint32_t gpus, double progress) {
    if (gpus == asked && !set_.freeze) return 1;
    if (model == kNoModel) return std::pow(static_cast<double>(gpus) / asked, kElsewhere);
    const profile::Freezing& f = models_[static_cast<std::size_t>(model)];
    return choice(model, gpus, progress).rate / f.rate(0, asked);
  }
  // Share of the layers that are frozen.
  double frozen(int model, std::uint32_t gpus, double progress) {
    if (model == kNoModel) return 0;
    return static_cast<double>(choice(model, gpus, progress).depth) / models_[static_cast<std::size_t>(model)].layers();
  }

 private:
  const profile::Freezing::Choice& choice(int model, std::uint32_t gpus, double progress) {
    const int bin = std::clamp(static_cast<int>(progress * kBins), 0, kBins - 1);
    const auto [it, added] = choices_.try_emplace({model, bin, gpus});
    if (!added) return it->second;
    const profile::Freezing& f = models_[static_cast<std::size_t>(model)];
    it->second = set_.freeze ? f.best(gpus, f.gradients_at(static_cast<double>(bin) / kBins))
                             : profile::Freezing::Choice{0, f.rate(0, gpus)};
    return it->second;
  }

  const Settings& set_;
  std::vector<profile::Freezing> models_;
  std::map<std::uint32_t, int> known_;  // by name
  std::map<std::tuple<int, int, std::uint32_t>, profile::Freezing::Choice> choices_;
};

class IceFrog : public Policy {
 public:
  explicit IceFrog(const Settings& set) : set_(set) {}

  void decide(Pass& pass, std::uint32_t group) override {
    if (asked_.size() <= group) asked_.resize(group + 1, 0);
    const Time next = ticks_.next(pass.now(), set_.round);
    if (next == pass.now()) play_round(pass, group);
    if (pass.state().live() == 0) return;
    const Time wake = ticks_.next(pass.now() + 1, set_.round);
    if (wake != asked_[group]) pass.wake_at(wake);
    asked_[group] = wake;
  }
  [[nodiscard]] std::vector<std::pair<std::string, double>> figures() const override {
    return {{"rounds", rounds_},
            {"frozen_share", shares_ > 0 ? frozen_ / shares_ : 0},
            {"jobs_without_layers", static_cast<double>(without_.size())}};
  }

 private:
  struct Candidate {
    std::uint32_t job = 0;
    std::uint32_t asked = 1;
    std::uint32_t now = 0;   // GPUs that it holds
    std::uint32_t gpus = 0;  // and gets
    int model = Speeds::kNoModel;
    double remaining_s = 0;
    double progress = 0;
  };
  struct Step {
    double gain = 0;
    std::size_t who = 0;
    std::uint32_t gpus = 0;
    friend bool operator<(const Step& a, const Step& b) {  // the least is on top of the queue last
      return a.gain != b.gain ? a.gain < b.gain : a.who > b.who;
    }
  };

  double speed(const Candidate& c, std::uint32_t gpus) { return speeds_.of(c.model, c.asked, gpus, c.progress); }

  void play_round(Pass& pass, std::uint32_t group) {
    gather(pass, group);
    if (all_.empty()) return;
    ++rounds_;
    share(static_cast<std::uint32_t>(pass.state().pool().up_gpus({.group = group, .type = Pool::kAnyType})));
    for (Candidate& c : all_) keep_if_better(c);
    give_up(pass);
    take(pass);
  }

  Candidate candidate(const State& state, JobId id, Time now) {
    const cluster::Job& j = state.job(id);
    Candidate c;
    c.job = id.value;
    c.asked = std::max<std::uint32_t>(1, j.gpus);
    if (j.status == cluster::JobStatus::kRunning) c.now = state.running()[j.slot].gpus;
    c.model = speeds_.model_of(state, id);
    if (c.model == Speeds::kNoModel) without_.insert(c.job);
    const Time left = std::max<Time>(state.remaining_estimate(id, now), kSecond);
    c.remaining_s = to_seconds(left);
    c.progress = 1 - static_cast<double>(left) / static_cast<double>(std::max(left, j.estimate));
    return c;
  }
  void gather(Pass& pass, std::uint32_t group) {
    const State& state = pass.state();
    all_.clear();
    for (const cluster::Running& run : state.running()) {
      if (state.shape(state.job(run.job).shape).where.group == group)
        all_.push_back(candidate(state, run.job, pass.now()));
    }
    for (const ShapeId id : state.active(group)) {
      const cluster::OrderedQueue& queue = state.shape(id).queue;
      for (auto c = queue.begin(); !queue.at_end(c); queue.advance(c))
        all_.push_back(candidate(state, JobId(queue.at(c).job), pass.now()));
    }
    std::sort(all_.begin(), all_.end(), [](const Candidate& a, const Candidate& b) { return a.job < b.job; });
  }

  // The step after `gpus`, or none (0 GPUs).
  Step step_after(std::size_t who, std::uint32_t gpus) {
    const Candidate& c = all_[who];
    const std::uint32_t next = gpus == 0 ? 1 : set_.powers ? gpus * 2 : gpus + 1;
    if (next > std::max<std::int64_t>(1, set_.most * c.asked)) return {};
    const double gain = speed(c, next) - (gpus == 0 ? 0 : speed(c, gpus));
    return {gain / (next - gpus) / c.remaining_s, who, next};
  }
  void share(std::uint32_t total) {
    steps_.clear();
    for (std::size_t i = 0; i < all_.size(); ++i) steps_.push_back(step_after(i, 0));
    if (steps_.size() > total) {  // each holds one GPU at least
      std::nth_element(steps_.begin(), steps_.begin() + total, steps_.end(),
                       [](const Step& a, const Step& b) { return b < a; });
      steps_.resize(total);
    }
    std::priority_queue<Step> queue(std::less<Step>(), std::move(steps_));
    std::uint32_t free = total;
    while (!queue.empty() && free > 0) {
      const Step step = queue.top();
      queue.pop();
      Candidate& c = all_[step.who];
      if (step.gain <= 0 || step.gpus - c.gpus > free) continue;
      free -= step.gpus - c.gpus;
      c.gpus = step.gpus;
      const Step next = step_after(step.who, c.gpus);
      if (next.gpus != 0) queue.push(next);
    }
    steps_ = {};
  }
  void keep_if_better(Candidate& c) {
    if (c.now == 0 || c.gpus <= c.now) return;
    const double grown = c.remaining_s / speed(c, c.gpus) + to_seconds(set_.restart);
    if (grown >= c.remaining_s / speed(c, c.now)) c.gpus = c.now;
  }

  // A restart takes as long whatever the speed: what it adds to the work (a time at speed 1) is less at a lower one.
  Time restart(double speed) const { return static_cast<Time>(static_cast<double>(set_.restart) * speed); }

  // Those that lose GPUs, and new speeds of those that keep theirs.
  void give_up(Pass& pass) {
    for (Candidate& c : all_) {
      if (c.now == 0 || c.gpus > c.now) continue;
      if (c.gpus == c.now) {
        tell_speed(pass, c);
      } else if (c.gpus == 0 || !change(pass, c)) {
        pass.preempt(c.job, restart(speed(c, c.now)));
      } else {
        count(c, c.gpus);
      }
    }
  }
  // Those that gain GPUs: who runs grows, who waits starts with what is left of its share.
  void take(Pass& pass) {
    for (Candidate& c : all_) {
      if (c.now == 0 || c.gpus <= c.now) continue;
      if (!change(pass, c)) {
        tell_speed(pass, c);
      } else {
        count(c, c.gpus);
      }
    }
    for (Candidate& c : all_) {
      if (c.now != 0) continue;
      for (std::uint32_t gpus = c.gpus; gpus > 0; gpus /= 2) {
        if (!pass.start_sized(c.job, {0, gpus}, where(pass, c), speed(c, gpus))) continue;
        count(c, gpus);
        break;
      }
    }
  }
  bool change(Pass& pass, const Candidate& c) {
    const double next = speed(c, c.gpus);
    return pass.resize(c.job, {0, c.gpus}, where(pass, c), next, restart(next));
  }
  void tell_speed(Pass& pass, const Candidate& c) {
    const double now = pass.state().running()[pass.job(c.job).slot].speed;
    const double wanted = speed(c, c.now);
    if (std::abs(wanted - now) > kNewSpeed * now) pass.set_speed(c.job, wanted);
    count(c, c.now);
  }
  void count(const Candidate& c, std::uint32_t gpus) {
    frozen_ += speeds_.frozen(c.model, gpus, c.progress);
    ++shares_;
  }
  static const Pool::Where& where(const Pass& pass, const Candidate& c) {
    return pass.state().shape(pass.job(c.job).shape).where;
  }

  const Settings set_;
  Speeds speeds_{set_};
  Ticks ticks_;
  std::vector<Time> asked_;  // wake-ups, by group
  std::vector<Candidate> all_;
  std::vector<Step> steps_;
  std::set<std::uint32_t> without_;
  double rounds_ = 0;
  double frozen_ = 0;
  double shares_ = 0;
};

std::vector<Param> params() {
  using enum Param::Type;
  return {
      make_param("icefrog.round", kTime, "s", "60", 1, 86'400, "how often GPUs are shared out"),
      make_param("icefrog.restart", kTime, "s", "30", 0, 86'400, "work added when a job's GPUs change"),
      make_param("icefrog.freeze", kBool, "", "true", 0, 0, "false: no layer is frozen"),
      make_param("icefrog.penalty", kReal, "", "0.05", 0, 1, "most frozen penalty"),
      make_param("icefrog.eta", kReal, "", "1", 0, 1000, "scale of the frozen penalty"),
      make_param("icefrog.cached", kBool, "", "false", 0, 0,
                 "true: outputs of frozen layers are kept, so that their forward passes fall away"),
      make_param("icefrog.most", kInt, "", "2", 1, 1024, "most GPUs of a job, times what it asked for"),
      make_choice("icefrog.steps", {"power_of_two", "any"}, "numbers of GPUs that a job may have"),
  };
}

Status check(const Params& p, const cluster::ClusterSpec&) {
  if (p.time("icefrog.restart") < p.time("icefrog.round")) return {};
  return fail_option("--set icefrog.restart", "is no less than icefrog.round",
                     "jobs that change hands each round would never get on");
}

}  // namespace

void add_icefrog(std::vector<PolicyInfo>& list) {
  list.push_back({"icefrog",
                  "GPUs go where layers that may be frozen gain most progress.",
                  "IceFrog, TPDS 36(6) 2025 (reconstruction)",
                  true,
                  true,
                  params(),
                  [](const Params& p) -> std::unique_ptr<Policy> {
                    Settings s;
                    s.round = p.time("icefrog.round");
                    s.restart = p.time("icefrog.restart");
                    s.freeze = p.boolean("icefrog.freeze");
                    s.freezing.most_penalty = p.real("icefrog.penalty");
                    s.freezing.eta = p.real("icefrog.eta");
                    s.freezing.cached = p.boolean("icefrog.cached");
                    s.most = p.integer("icefrog.most");
                    s.powers = p.text("icefrog.steps") == "power_of_two";
                    return std::make_unique<IceFrog>(s);
                  },
                  {},
                  check});
}

}  // namespace comity::sched
