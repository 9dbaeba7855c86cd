// SPDX-License-Identifier: Apache-2.0
// The distributions use only +, -, *, /, sqrt and exact scaling, with fused multiply-add off (see CMakeLists.txt), so
// that a stream is the same bit for bit on every machine: the library's log and lgamma are not (glibc picks another
// variant on a processor with FMA).
#include "base/rng.h"

#include <bit>
#include <cmath>

#include "base/check.h"

namespace comity {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;
constexpr double kLn2High = 6.93147180369123816490e-01;  // its last 32 bits are 0: k * kLn2High is exact
constexpr double kLn2Low = 1.90821492927058770002e-10;
constexpr double kMostPoissonMean = 1e15;  // counts stay exact in a double

// Natural logarithm of a positive, finite, normal x; error below 1 unit in the last place (the fdlibm form:
// x = 2^k (1+f), log(1+f) = f - s (f - R), s = f / (2+f)).
double portable_log(double x) {
  int k = 0;
  double m = std::frexp(x, &k);  // [0.5, 1)
  if (m < 0.70710678118654752440) {
    m *= 2;
    --k;
  }
  const double f = m - 1;
  const double s = f / (2 + f);
  const double z = s * s;
  const double w = z * z;
  const double even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
  const double odd =
      z * (6.666666666666735130e-01 +
           w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
  const double half = 0.5 * f * f;
  const double dk = k;
  return dk * kLn2High - ((half - (s * (half + (odd + even)) + dk * kLn2Low)) - f);
}

// log(k!) by Stirling's series; the error is below 1e-10 for every k, far under what a rejection test can feel.
double log_factorial(double k) {
  if (k < 10) {
    double product = 1;
    for (double i = 2; i <= k; ++i) product *= i;
    return portable_log(product);
  }
  constexpr double kHalfLog2Pi = 0.91893853320467274178;
  const double r = 1 / k;
  const double r2 = r * r;
  const double series = r * (1.0 / 12 - r2 * (1.0 / 360 - r2 * (1.0 / 1260 - r2 / 1680)));
  return (k + 0.5) * portable_log(k) - k + kHalfLog2Pi + series;
}

// Unit exponential: -log of a number in (0, 1].
double unit_exponential(Rng& rng) { return -portable_log(1 - rng.uniform()); }

// Arrivals of a unit-rate Poisson process in [0, mean].
std::uint64_t poisson_by_arrivals(Rng& rng, double mean) {
  std::uint64_t count = 0;
  for (double at = unit_exponential(rng); at <= mean; at += unit_exponential(rng)) ++count;
  return count;
}

// Transformed rejection with squeeze, PTRS (W. Hoermann, 1993), for mean >= 10.
std::uint64_t poisson_by_rejection(Rng& rng, double mean) {
  const double root = std::sqrt(mean);
  const double log_mean = portable_log(mean);
  const double b = 0.931 + 2.53 * root;
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double v_r = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = rng.uniform() - 0.5;
    const double v = 1 - rng.uniform();
    const double us = 0.5 - std::fabs(u);
    if (us <= 0) continue;
    const double k = std::floor((2 * a / us + b) * u + mean + 0.43);
    if (us >= 0.07 && v <= v_r) return static_cast<std::uint64_t>(k);
    if (k < 0 || (us < 0.013 && v > us)) continue;
    const double left = portable_log(v) + portable_log(inverse_alpha) - portable_log(a / (us * us) + b);
    if (left <= k * log_mean - mean - log_factorial(k)) return static_cast<std::uint64_t>(k);
  }
}

}  // namespace

Rng::Rng(std::uint64_t seed, std::uint64_t stream) : s_{} {
  std::uint64_t x = mix64(mix64(seed) + stream);
  for (std::uint64_t& word : s_) {
    word = mix64(x);
    x += kGolden;
  }
}

std::uint64_t Rng::next() {
  const std::uint64_t result = std::rotl(s_[0] + s_[3], 23) + s_[0];
  const std::uint64_t t = s_[1] << 17;
  s_[2] ^= s_[0];
  s_[3] ^= s_[1];
  s_[1] ^= s_[2];
  s_[0] ^= s_[3];
  s_[2] ^= t;
  s_[3] = std::rotl(s_[3], 45);
  return result;
}

double Rng::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

double Rng::uniform(double low, double high) {
  COMITY_CHECK(low <= high);
  const double x = low + (high - low) * uniform();
  return x < high ? x : low;  // the sum may round up to high
}

// Lemire 2019: one multiplication, and a division only when the low half falls under n.
std::uint64_t Rng::below(std::uint64_t n) {
  COMITY_CHECK(n > 0);
  Wide product = static_cast<Wide>(next()) * n;
  if (static_cast<std::uint64_t>(product) < n) {
    const std::uint64_t threshold = (0 - n) % n;
    while (static_cast<std::uint64_t>(product) < threshold) product = static_cast<Wide>(next()) * n;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

double Rng::exponential(double mean) {
  COMITY_CHECK(mean > 0);
  return mean * unit_exponential(*this);
}

// Marsaglia's polar method. The second variate is dropped, so that the state is the four words and nothing else.
double Rng::normal(double mean, double deviation) {
  for (;;) {
    const double u = 2 * uniform() - 1;
    const double v = 2 * uniform() - 1;
    const double s = u * u + v * v;
    if (s >= 1 || s == 0) continue;
    return mean + deviation * (u * std::sqrt(-2 * portable_log(s) / s));
  }
}

std::uint64_t Rng::poisson(double mean) {
  COMITY_CHECK(mean >= 0 && mean <= kMostPoissonMean);
  if (mean == 0) return 0;
  return mean < 10 ? poisson_by_arrivals(*this, mean) : poisson_by_rejection(*this, mean);
}

std::size_t Rng::pick(std::span<const double> weights) {
  double sum = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    COMITY_CHECK(weights[i] >= 0);
    sum += weights[i];
    if (weights[i] > 0) last = i;
  }
  COMITY_CHECK(sum > 0 && std::isfinite(sum));
  const double target = uniform() * sum;
  double reached = 0;
  for (std::size_t i = 0; i < last; ++i) {
    reached += weights[i];
    if (target < reached) return i;
  }
  return last;
}

}  // namespace comity
