// SPDX-License-Identifier: Apache-2.0
// Time-weighted statistics of piecewise constant signals: GPUs in use, jobs waiting, bytes queued.
//
// A signal holds the value v_i on [t_i, t_{i+1}). Its integral over [a, b) is the sum of v_i times the length of
// [t_i, t_{i+1}) within [a, b), in value-seconds; its mean is the integral over b - a. Sums carry their rounding error
// along (Neumaier), so that a hundred million small pieces lose nothing that a double can show; a signal of whole
// numbers is integrated exactly while each piece stays under 2^53 value-nanoseconds.
#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/units.h"

namespace comity::sim {

// A sum with its rounding error kept aside (Knuth's two-sum; no branch).
struct CompensatedSum {
  double high = 0;
  double low = 0;

  void add(double x) {
    const double sum = high + x;
    const double part = sum - high;
    low += (high - (sum - part)) + (x - part);
    high = sum;
  }
  void add(const CompensatedSum& other) {
    add(other.high);
    low += other.low;
  }
  [[nodiscard]] double value() const { return high + low; }
};

// One signal, integral only. O(1) an event.
class TimeWeighted {
 public:
  explicit TimeWeighted(Time start = 0, double value = 0) : start_(start), last_(start), value_(value) {}

  // The signal is `value` from `t` on; `t` must not lie before the last change.
  void set(Time t, double value) {
    COMITY_CHECK(t >= last_);
    area_.add(value_ * static_cast<double>(t - last_));
    last_ = t;
    value_ = value;
  }
  void add(Time t, double change) { set(t, value_ + change); }

  [[nodiscard]] double value() const { return value_; }
  [[nodiscard]] Time last_change() const { return last_; }
  // Value-seconds from the start to `until`, which must not lie before the last change.
  [[nodiscard]] double integral(Time until) const;
  // The mean over [start, until); the present value when that is empty.
  [[nodiscard]] double mean(Time until) const;

 private:
  Time start_;
  Time last_;
  double value_;
  CompensatedSum area_;  // value-nanoseconds
};

// Several signals side by side, each as its integral in at most `bins` equal bins from `origin` on. The horizon need
// not be known: when time passes the last bin, the width doubles and neighbouring bins merge (their integrals add, so
// nothing is lost). Memory: 16 bytes x channels x bins. An event in the current bin costs a few nanoseconds; one that
// opens a new bin costs O(channels) for each bin passed, at most 2 x channels x bins for a doubling.
class BinnedSeries {
 public:
  // `width` is the first bin width (> 0); `bins` is rounded up to an even number, at least 2.
  explicit BinnedSeries(std::vector<std::string> names, Time origin = 0, Time width = kSecond, std::size_t bins = 512);

  // Channel `channel` is `value` from `t` on. `t` must not lie before the origin nor before any earlier event by more
  // than the present bin: times given to one channel never go back, and no event may fall in a bin already left.
  void set(std::size_t channel, Time t, double value) {
    if (t >= bin_end_) [[unlikely]] {
      advance(t);
    }
    Channel& c = channels_[channel];
    COMITY_CHECK(t >= c.last);
    c.current.add(c.value * static_cast<double>(t - c.last));
    c.last = t;
    c.value = value;
  }
  void add(std::size_t channel, Time t, double change) { set(channel, t, channels_[channel].value + change); }

  // Integrates every channel up to `end`, which becomes the end of the last bin. Events at or after `end` may follow
  // (the series is simply read at an instant), and finish() may be called again.
  void finish(Time end);

  // What follows is as of the last finish().
  [[nodiscard]] std::size_t channels() const { return channels_.size(); }
  [[nodiscard]] const std::string& name(std::size_t channel) const { return names_[channel]; }
  [[nodiscard]] std::size_t size() const;  // bins of positive length; 0 before any time has passed
  [[nodiscard]] Time width() const { return width_; }
  [[nodiscard]] Time bin_begin(std::size_t bin) const { return origin_ + static_cast<Time>(bin) * width_; }
  [[nodiscard]] Time bin_end(std::size_t bin) const;  // the last bin ends at finish()'s `end`
  [[nodiscard]] double value(std::size_t channel) const { return channels_[channel].value; }  // the present one
  [[nodiscard]] double integral(std::size_t channel, std::size_t bin) const;                  // value-seconds
  [[nodiscard]] double mean(std::size_t channel, std::size_t bin) const;
  [[nodiscard]] double total(std::size_t channel) const;  // value-seconds over all bins
  [[nodiscard]] std::vector<double> means(std::size_t channel) const;
  [[nodiscard]] std::vector<double> begins_seconds() const;  // left edges, for a chart's x axis

 private:
  struct Channel {
    CompensatedSum current;  // of the bin that is open, value-nanoseconds
    double value = 0;
    Time last = 0;
  };
  void advance(Time t);
  void close_bin();
  void double_width();
  [[nodiscard]] CompensatedSum area(std::size_t channel, std::size_t bin) const;

  std::vector<std::string> names_;
  std::vector<Channel> channels_;
  std::vector<CompensatedSum> closed_;  // [channel x bins_ + bin]
  std::size_t bins_;
  std::size_t open_ = 0;  // index of the open bin
  Time origin_;
  Time width_;
  Time bin_end_;  // of the open bin
  Time end_;      // of the last finish()
};

}  // namespace comity::sim
