// SPDX-License-Identifier: Apache-2.0
#include "math/gemm_probe.h"

#include <gtest/gtest.h>

namespace comity::math {
namespace {

TEST(GemmProbe, LargeProductsRunFasterThanThinOnes) {
  const double large = measure_gemm(256, 256, 256, 0.05);
  const double thin = measure_gemm(1, 256, 1, 0.01);
  EXPECT_GT(large, thin);
  EXPECT_GT(large, 1e7);
  EXPECT_LT(large, 1e13);
}

TEST(GemmProbe, CopiesMove) { EXPECT_GT(measure_copy(1 << 22, 0.02), 1e7); }

}  // namespace
}  // namespace comity::math
