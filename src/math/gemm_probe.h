// SPDX-License-Identifier: Apache-2.0
// How fast this machine multiplies matrices and copies memory, measured.
#pragma once

#include <cstddef>

namespace comity::math {

// FLOP/s of one thread at C[m x n] = A[m x k] B[k x n] in single precision: the best of some runs that take about
// `seconds` together (at least one). m, n, k from 1 to 16,384.
[[nodiscard]] double measure_gemm(std::size_t m, std::size_t n, std::size_t k, double seconds);

// Bytes/s read and written by one thread that copies arrays of `bytes`.
[[nodiscard]] double measure_copy(std::size_t bytes, double seconds);

}  // namespace comity::math
