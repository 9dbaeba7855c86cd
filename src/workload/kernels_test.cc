// SPDX-License-Identifier: Apache-2.0
#include "workload/kernels.h"

#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace comity::workload {
namespace {

TEST(Kernels, EveryMachineOfTheLibraryFinishesAProduct) {
  for (const std::string& name : system_names()) {
    const System s = *load_system(name);
    for (const Datatype type : {Datatype::kBf16, Datatype::kFp16, Datatype::kFp32, Datatype::kFp8}) {
      const double t = gemm_s(s, type, 1024, 1024, 1024);
      EXPECT_TRUE(std::isfinite(t) && t > 0) << name;
      // No faster than the peak, and within a factor of fifty of it.
      EXPECT_GE(t, 2 * std::pow(1024.0, 3) / peak_flops(s, type)) << name;
      EXPECT_LE(t, 50 * 2 * std::pow(1024.0, 3) / peak_flops(s, type) + s.launch_us * 1e-6) << name;
    }
  }
}

TEST(Kernels, FusedAttentionDoesHalfTheWorkBelowADiagonal) {
  const AttentionShape full{2, 16, 4096, 4096, 128, 128, false};
  AttentionShape half = full;
  half.causal = true;
  EXPECT_DOUBLE_EQ(attention_flops(full), 2.0 * 2 * 2 * 16 * 4096.0 * 4096 * 128);
  EXPECT_DOUBLE_EQ(attention_flops(half), attention_flops(full) / 2);
}

RC_GTEST_PROP(KernelsProperty, MoreWorkNeverTakesLessOnWholeTiles, ()) {
  const System s = *load_system("dgx-h100");
  const double tiles = *rc::gen::inRange(1, 200);
  const double k = 64.0 * *rc::gen::inRange(1, 200);
  const double one = gemm_s(s, Datatype::kBf16, 128 * tiles, 256, k);
  RC_ASSERT(gemm_s(s, Datatype::kBf16, 128 * tiles, 256, 2 * k) >= one);
  RC_ASSERT(gemm_s(s, Datatype::kBf16, 128 * tiles * 2, 256, k) >= one * (1 - 1e-12));
  RC_ASSERT(gemm_s(s, Datatype::kBf16, 128 * tiles, 256, k, 2) >= one * (1 - 1e-12));
}

}  // namespace
}  // namespace comity::workload
