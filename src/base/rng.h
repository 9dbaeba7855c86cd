// SPDX-License-Identifier: Apache-2.0
// A seeded generator whose stream is fixed for ever (the standard's distributions differ between libraries).
// SplitMix64 seeds xoshiro256++ (Blackman and Vigna 2019). Not for secrets: those come from crypt/.
#pragma once

#include <cstdint>
#include <span>

namespace comity {

// One step of SplitMix64: a bijective mix of 64 bits, also used to fold fingerprints.
[[nodiscard]] constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

class Rng {
 public:
  // Streams with the same seed and different `stream` are independent.
  explicit Rng(std::uint64_t seed, std::uint64_t stream = 0);

  [[nodiscard]] std::uint64_t next();
  [[nodiscard]] double uniform();  // [0, 1), 53 bits
  [[nodiscard]] double uniform(double low, double high);
  [[nodiscard]] std::uint64_t below(std::uint64_t n);  // 0..n-1 without bias; n > 0
  [[nodiscard]] double exponential(double mean);       // mean > 0
  [[nodiscard]] double normal(double mean, double deviation);
  [[nodiscard]] std::uint64_t poisson(double mean);  // mean >= 0
  // Index drawn with probability weights[i] / sum; the sum must be positive.
  [[nodiscard]] std::size_t pick(std::span<const double> weights);

 private:
  std::uint64_t s_[4];
};

}  // namespace comity
