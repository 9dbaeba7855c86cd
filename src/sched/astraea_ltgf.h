// SPDX-License-Identifier: Apache-2.0
// Long-term GPU-time fairness (LTGF; Astraea, TPDS 2022): the accounting of jobs and tenants, the order of jobs and the
// choice of the next tenant, apart from the policy. Times in seconds, GPU time in GPU s. With
//   quota_u    GPUs of tenant u: capacity x share_u / sum of shares
//   n_u        jobs of u that wait or run            g_j  GPUs of job j
// a job deserves   D_j = integral of min(g_j, quota_u / n_u) dt   from its arrival to its end
//       has had    U_j = g_j x time executed                      rho_j = U_j / D_j
// and a tenant     W_u = integral of quota_u dt
//       deserves   D_u = integral of min(GPUs of its waiting and running jobs, quota_u) dt
//       has had    U_u = integral of its running GPUs dt          LTGF_u = U_u / D_u
// over a window of buckets of one hour.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

namespace comity::sched::astraea {

inline constexpr double kBucket = 3600;
inline constexpr std::size_t kNobody = ~std::size_t{0};

struct Usage {
  double weighted = 0;
  double utilized = 0;
  double deserved = 0;

  [[nodiscard]] double ltgf() const { return deserved == 0 ? 1 : utilized / deserved; }
  [[nodiscard]] double of_quota() const { return weighted == 0 ? 1 : utilized / weighted; }  // the max-min key
  Usage& operator+=(const Usage& o);
};

// What a tenant wants, gets and may have at an instant, in GPUs.
struct Rates {
  double quota = 0;
  double running = 0;
  double demand = 0;  // running included

  [[nodiscard]] Usage over(double seconds) const {
    return {quota * seconds, running * seconds, std::min(demand, quota) * seconds};
  }
};

// The usage of a tenant in the last buckets.
class Window {
 public:
  explicit Window(std::size_t buckets) : buckets_(buckets) {}

  void add(const Usage& usage) { open_ += usage; }
  // The open bucket becomes the newest of those that are closed. O(buckets).
  void close();
  // Rates that held from `from` to `to`, split at the hours. O(buckets) for each hour, at most all buckets.
  void advance(const Rates& rates, double from, double to);
  [[nodiscard]] const Usage& closed() const { return closed_; }
  // Of the newest buckets, that which is open included.
  [[nodiscard]] Usage recent() const;

 private:
  std::size_t buckets_;
  std::deque<Usage> history_;
  Usage closed_;
  Usage open_;
};

// What the jobs of a tenant deserve: for each number of GPUs the integral of min(g, quota / n).
class Entitlement {
 public:
  void advance(double quota, std::uint64_t jobs, double seconds);
  // The integral for jobs of that many GPUs so far; followed from the first time it is asked for.
  [[nodiscard]] double of(std::uint32_t gpus);

 private:
  struct Line {
    std::uint32_t gpus;
    double sum;
  };
  std::vector<Line> lines_;
};

// Quotas in GPUs; `whole`: cut to whole GPUs.
[[nodiscard]] std::vector<double> quotas(double capacity, const std::vector<double>& shares, bool whole);

// rho in `k` classes: 0 for a job that has had nothing, then rising; around rho = 1 they are narrow.
[[nodiscard]] inline int discrete_index(double rho, int k = 5) {
  if (rho == 0) return 0;
  const double x = std::log(rho);
  const double f = -x / std::sqrt(1 + x * x);
  const double place = (f + 1) / 2;
  const double step = 1.0 / k;
  return k -
         static_cast<int>(std::round((place - std::fmod(place, step)) / step));  // the floor, whatever rounding does
}

// Of a job that runs from now on, against its fair share: high is bad. life = now - submit.
[[nodiscard]] inline double finish_time_ratio(double life, double executed, double remaining, double utilized,
                                              double deserved) {
  if (deserved == 0) return 1;
  const double alone = executed * (utilized / deserved) + (life - executed);
  return alone + remaining == 0 ? 1 : life / (alone + remaining);
}

// How long jobs run, as histograms with bins of one lease: what is the chance that a job ends within its next lease?
class Lifetimes {
 public:
  explicit Lifetimes(double lease) : lease_(lease) {}
  void add(std::uint32_t gpus, double duration);
  // By the jobs of as many GPUs, or by all where those fill fewer than five bins; 1 where none ran that long.
  [[nodiscard]] double ends_in_next_lease(std::uint32_t gpus, double executed) const;

 private:
  using Histogram = std::vector<std::uint64_t>;
  void count(Histogram& histogram, double duration) const;

  double lease_;
  Histogram all_;
  std::map<std::uint32_t, Histogram> by_gpus_;
};

// Whose job is next? Of the tenants that still have jobs the one with the least part of its quota in use, if that is
// less than a fifth; else the one that has had least of its quota, what it is granted now counted as a whole lease.
// Ties: of parts the one that has had least (`fair_ties`; the artifact has the first one), then the tenant that was
// added first. O(tenants) for a pick.
class TenantPick {
 public:
  explicit TenantPick(double lease, bool fair_ties = false) : lease_(lease), fair_ties_(fair_ties) {}
  void clear() { rows_.clear(); }
  void add(double quota, double used, const Usage& usage, bool has_jobs);
  [[nodiscard]] std::size_t next() const;  // kNobody when no tenant has jobs
  void grant(std::size_t tenant, double gpus);
  void drop(std::size_t tenant) { rows_[tenant].open = false; }
  void open(std::size_t tenant) { rows_[tenant].open = true; }
  [[nodiscard]] double used(std::size_t tenant) const { return rows_[tenant].used; }  // what was granted included

 private:
  struct Row {
    double quota;
    double used;
    double utilized;
    double weighted;  // the next lease included
    double part;      // of the quota in use
    double key;
    bool open;
  };
  [[nodiscard]] bool poorer(const Row& a, const Row& b) const;

  double lease_;
  bool fair_ties_;
  std::vector<Row> rows_;
};

}  // namespace comity::sched::astraea
