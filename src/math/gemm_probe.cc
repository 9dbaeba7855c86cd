// SPDX-License-Identifier: Apache-2.0
#include "math/gemm_probe.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include <Eigen/Core>

#include "base/check.h"

namespace comity::math {
namespace {

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// The shortest run of `work`, which is called until `seconds` have gone by.
template <class Work>
double shortest_s(double seconds, const Work& work) {
  const double begin = now_s();
  double best = 1e30;
  do {
    const double start = now_s();
    work();
    best = std::min(best, now_s() - start);
  } while (now_s() - begin < seconds);
  return std::max(best, 1e-9);
}

}  // namespace

double measure_gemm(std::size_t m, std::size_t n, std::size_t k, double seconds) {
  constexpr std::size_t kMost = 16'384;
  COMITY_CHECK(m >= 1 && n >= 1 && k >= 1 && m <= kMost && n <= kMost && k <= kMost);
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto index = [](std::size_t v) { return static_cast<Eigen::Index>(v); };
  const Matrix a = Matrix::Constant(index(m), index(k), 0.5F);
  const Matrix b = Matrix::Constant(index(k), index(n), 0.25F);
  Matrix c = Matrix::Zero(index(m), index(n));
  const double best = shortest_s(seconds, [&] { c.noalias() = a * b; });
  COMITY_CHECK(c(0, 0) == 0.125F * static_cast<float>(k));  // it was computed
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) / best;
}

double measure_copy(std::size_t bytes, double seconds) {
  std::vector<char> from(bytes, 1);
  std::vector<char> to(bytes);
  const double best = shortest_s(seconds, [&] { std::memcpy(to.data(), from.data(), bytes); });
  COMITY_CHECK(to.back() == 1);
  return 2.0 * static_cast<double>(bytes) / best;
}

}  // namespace comity::math
