// SPDX-License-Identifier: Apache-2.0
// The draws against the distributions that they are drawn from, worked out here another way, and against a public
// trace that the authors' program made.
#include "trace/synth_lublin.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "trace/test_files.h"
#include "trace/writer.h"

namespace comity::trace {
namespace {

std::string as_csv(const Trace& trace) {
  std::string out;
  append_csv_header(out, needed_columns(trace));
  for (std::size_t i = 0; i < trace.rows.size(); ++i) append_csv_row(out, needed_columns(trace), trace, i);
  return out;
}

// P(a, x) by the series x^a e^-x / Gamma(a+1) (1 + x/(a+1) + ...), which converges for every x.
double gamma_cdf(double x, double shape, double scale) {
  const double z = x / scale;
  if (z <= 0) return 0;
  double term = 1;
  double sum = 1;
  for (int n = 1; n < 20'000 && term > sum * 1e-17; ++n) {
    term *= z / (shape + n);
    sum += term;
  }
  return std::min(1.0, sum * std::exp(shape * std::log(z) - z - std::lgamma(shape + 1)));
}

// Kolmogorov and Smirnov's distance of a sample from a distribution, both without and with each sample counted.
double ks_distance(std::vector<double> sample, const std::function<double(double)>& cdf) {
  std::sort(sample.begin(), sample.end());
  const double n = static_cast<double>(sample.size());
  double most = 0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double f = cdf(sample[i]);
    most = std::max({most, std::abs(f - static_cast<double>(i) / n), std::abs(f - static_cast<double>(i + 1) / n)});
  }
  return most;
}

double ks_distance(std::vector<double> a, std::vector<double> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  double most = 0;
  for (const std::vector<double>* at : {&a, &b}) {
    for (const double x : *at) {
      const auto share = [x](const std::vector<double>& v) {
        return static_cast<double>(std::upper_bound(v.begin(), v.end(), x) - v.begin()) / static_cast<double>(v.size());
      };
      most = std::max(most, std::abs(share(a) - share(b)));
    }
  }
  return most;
}

struct Sample {
  std::vector<double> sizes, runs, gaps;
};
Sample take(const Trace& trace) {
  Sample s;
  for (std::size_t i = 0; i < trace.rows.size(); ++i) {
    s.sizes.push_back(static_cast<double>(trace.rows[i].request.shape.total()));
    s.runs.push_back(to_seconds(trace.rows[i].duration));
    if (i > 0) s.gaps.push_back(to_seconds(trace.rows[i].submit - trace.rows[i - 1].submit));
  }
  return s;
}

Trace draw(LublinOptions options) {
  auto trace = synth_lublin(options);
  EXPECT_TRUE(trace) << trace.error().text();
  return trace ? std::move(*trace) : Trace{};
}

// The shares of all sizes of batch jobs on 128 processors, by cutting the line of logarithms at every size.
TEST(SynthLublin, SizesHaveTheirShares) {
  const double serial = .2927, pow2 = .6686, low = 1.2, med = 5, high = 7, prob = .875;
  const auto below = [&](double x) {  // P(two-stage uniform < x)
    if (x <= low) return 0.0;
    if (x <= med) return prob * (x - low) / (med - low);
    return std::min(1.0, prob + (1 - prob) * (x - med) / (high - med));
  };
  std::map<std::uint64_t, double> share = {{1, serial}};
  for (int k = 1; k <= 7; ++k) share[1U << k] += pow2 * (below(k + .5) - below(k - .5));
  for (std::uint64_t n = 2; n <= 128; ++n) {
    const double size = static_cast<double>(n);
    share[n] += (1 - serial - pow2) * (below(std::log2(size + .5)) - below(std::log2(size - .5)));
  }
  LublinOptions options;
  options.jobs = 200'000;
  options.which = LublinJobs::kBatch;
  std::map<std::uint64_t, double> seen;
  for (const Row& row : draw(options).rows) seen[row.request.shape.total()] += 1;
  double chi2 = 0;
  double sum = 0;
  for (const auto& [size, p] : share) {
    const double mean = p * 200'000;
    if (mean > 0) chi2 += (seen[size] - mean) * (seen[size] - mean) / mean;
    sum += p;
  }
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_LT(chi2, 128 + 5 * std::sqrt(2 * 128.0));
  EXPECT_EQ(seen.rbegin()->first, 128U);
}

// Run times of jobs of one size: the mixture of two Gammas in the logarithm, cut off at 12.
TEST(SynthLublin, RunTimesFollowTheirSize) {
  struct Case {
    LublinJobs which;
    double a1, b1, a2, b2, pa, pb;
  };
  for (const Case& c : {Case{LublinJobs::kBatch, 6.57, .823, 639.1, .0156, -.003, .6986},
                        Case{LublinJobs::kInteractive, 3.8351, .6605, 7.073, .6856, -.0118, .9156},
                        Case{LublinJobs::kAll, 4.2, .94, 312, .03, -.0054, .78}}) {
    LublinOptions options;
    options.jobs = 100'000;
    options.which = c.which;
    const Trace trace = draw(options);
    for (const std::uint64_t size : {1U, 8U, 32U}) {
      std::vector<double> runs;
      for (const Row& row : trace.rows) {
        if (row.request.shape.total() == size) runs.push_back(to_seconds(row.duration));
      }
      ASSERT_GT(runs.size(), 500U) << size;
      const double p = c.pa * static_cast<double>(size) + c.pb;
      const auto mixed = [&](double y) { return p * gamma_cdf(y, c.a1, c.b1) + (1 - p) * gamma_cdf(y, c.a2, c.b2); };
      // Whole seconds: a value of n stands for [n, n + 1), so the step at n is compared with both of its ends.
      std::map<double, std::size_t> count;
      for (const double r : runs) ++count[r];
      double reached = 0;
      double most = 0;
      for (const auto& [n, times] : count) {
        most = std::max(most, std::abs(reached / static_cast<double>(runs.size()) - mixed(std::log(n)) / mixed(12)));
        reached += static_cast<double>(times);
        most =
            std::max(most, std::abs(reached / static_cast<double>(runs.size()) - mixed(std::log(n + 1)) / mixed(12)));
      }
      EXPECT_LT(most, 1.95 / std::sqrt(static_cast<double>(runs.size()))) << size;  // one in a thousand
    }
  }
}

// With the rhythm taken out, the gaps are exp(Gamma): so many half hours' worth of weight lie between two arrivals.
TEST(SynthLublin, GapsAreGammaInTheirLogarithm) {
  LublinOptions options;
  options.jobs = 50'000;
  options.which = LublinJobs::kAll;
  const Trace trace = draw(options);
  const std::array<double, 48> day = lublin_day(8.1737, 3.9631);
  std::array<double, 49> before{};
  for (std::size_t i = 0; i < 48; ++i) before[i + 1] = before[i] + day[i];
  const auto work = [&](Time t) {
    const double halves = to_seconds(t) / 1800;
    const double whole = std::floor(halves);
    const auto i = static_cast<std::size_t>(std::fmod(whole, 48));
    return std::floor(halves / 48) * 48 + before[i] + (halves - whole) * day[i];
  };
  std::vector<double> logs;
  for (std::size_t i = 1; i < trace.rows.size(); ++i) {
    const double gap = 1800 * (work(trace.rows[i].submit) - work(trace.rows[i - 1].submit));
    if (gap > 60) logs.push_back(std::log(gap));  // submits are whole seconds: short gaps are too coarse
  }
  const double shape = 10.2303 * 1.0225, scale = .4871;
  const double low = gamma_cdf(std::log(60), shape, scale);
  const double high = gamma_cdf(13, shape, scale);
  const double distance =
      ks_distance(logs, [&](double x) { return (gamma_cdf(x, shape, scale) - low) / (high - low); });
  EXPECT_LT(distance, 1.95 / std::sqrt(static_cast<double>(logs.size())));
}

// Erlang's closed form where the shape is whole: P(a, x) = 1 - e^-x sum_{k<a} x^k / k!.
TEST(SynthLublin, TheDayIsTheGammasShare) {
  const int shape = 8;
  const double scale = 4;
  const auto erlang = [&](double x) {
    double term = 1;
    double sum = 1;
    for (int k = 1; k < shape; ++k) sum += term *= x / scale / k;
    return 1 - std::exp(-x / scale) * sum;
  };
  const std::array<double, 48> day = lublin_day(shape, scale);
  double sum = 0;
  const double all = erlang(58.5) - erlang(10.5);
  for (int i = 11; i < 59; ++i) {
    const double w = day[static_cast<std::size_t>((i - 1) % 48)];
    EXPECT_NEAR(w, 48 * (erlang(i + .5) - erlang(i - .5)) / all, 1e-9) << i;
    sum += w;
  }
  EXPECT_NEAR(sum, 48, 1e-9);
}

// lublin_256 was made by the authors' program for 256 nodes, without classes.
TEST(SynthLublin, LikeTheAuthorsProgram) {
  const std::string path = shared_trace("swf/lublin_256.swf.gz");
  COMITY_NEED_TRACE(path)
  const auto theirs = read_trace(path, {});
  ASSERT_TRUE(theirs) << theirs.error().text();
  const Sample a = take(*theirs);
  LublinOptions options;
  options.gpus = 256;
  options.which = LublinJobs::kAll;
  std::array<double, 3> worst{};
  for (options.seed = 1; options.seed <= 3; ++options.seed) {
    const Sample b = take(draw(options));
    const std::array<double, 3> d = {ks_distance(a.sizes, b.sizes), ks_distance(a.runs, b.runs),
                                     ks_distance(a.gaps, b.gaps)};
    std::printf("seed %llu: sizes %.4f, run times %.4f, gaps %.4f\n", static_cast<unsigned long long>(options.seed),
                d[0], d[1], d[2]);
    for (std::size_t i = 0; i < 3; ++i) worst[i] = std::max(worst[i], d[i]);
  }
  const double critical = 1.95 * std::sqrt(2 / 10'000.0);  // one in a thousand
  for (const double d : worst) EXPECT_LT(d, critical);
}

TEST(SynthLublin, TheSameSeedGivesTheSameBytes) {
  LublinOptions options;
  options.jobs = 2000;
  const std::string first = as_csv(draw(options));
  EXPECT_EQ(first, as_csv(draw(options)));
  options.seed = 2;
  EXPECT_NE(first, as_csv(draw(options)));
}

TEST(SynthLublin, MixedHasBothClassesInOrder) {
  const Trace trace = draw({});
  std::map<std::string, std::size_t> jobs;
  for (std::size_t i = 0; i < trace.rows.size(); ++i) {
    ++jobs[trace.names[trace.rows[i].request.tenant]];
    if (i > 0) {
      ASSERT_GE(trace.rows[i].submit, trace.rows[i - 1].submit);
    }
  }
  EXPECT_EQ(jobs.size(), 2U);
  EXPECT_GT(jobs["batch"], 1000U);
  EXPECT_GT(jobs["interactive"], 1000U);
}

TEST(SynthLublin, FitsAnyMachine) {
  for (const std::uint64_t gpus : {1U, 2U, 3U, 6U, 8U, 96U, 128U, 4096U, 1'000'000U}) {
    for (const LublinJobs which : {LublinJobs::kMixed, LublinJobs::kAll}) {
      LublinOptions options;
      options.jobs = 3000;
      options.gpus = gpus;
      options.which = which;
      std::uint64_t most = 0;
      for (const Row& row : draw(options).rows) most = std::max(most, row.request.shape.total());
      EXPECT_LE(most, gpus);
      EXPECT_GE(most * 2, gpus) << gpus;
    }
  }
}

TEST(SynthLublin, EveryParameterIsSettableAndNamedWhenWrong) {
  LublinOptions options;
  options.jobs = 2000;
  const std::string plain = as_csv(draw(options));
  for (const Param& p : lublin_params()) {
    if (p.name.starts_with("all.") || p.name.starts_with("model.")) continue;
    LublinOptions other = options;
    const double value = other.params.real(p.name);
    ASSERT_TRUE(other.params.set(p.name, std::to_string(value * 0.9))) << p.name;
    const auto trace = synth_lublin(other);
    ASSERT_TRUE(trace) << p.name << trace.error().text();
    EXPECT_NE(as_csv(*trace), plain) << p.name;
  }
  const std::map<std::string, std::string> wrong = {{"batch.umed", "8"},
                                                    {"batch.uhi", "1"},
                                                    {"interactive.a2", "700"},
                                                    {"interactive.aarr", "900"},
                                                    {"batch.pow2_prob", "0.9"}};
  for (const auto& [name, value] : wrong) {
    LublinOptions other = options;
    ASSERT_TRUE(other.params.set(name, value)) << name;
    const auto trace = synth_lublin(other);
    ASSERT_FALSE(trace) << name;
    EXPECT_EQ(trace.error().code, Code::kUsage);
    EXPECT_EQ(trace.error().field, name);
  }
  options.jobs = 0;
  EXPECT_EQ(synth_lublin(options).error().code, Code::kUsage);
}

}  // namespace
}  // namespace comity::trace
