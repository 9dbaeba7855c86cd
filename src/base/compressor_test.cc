// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/compressor.h"
#include "base/input.h"
#include "base/rng.h"

namespace comity {
namespace {

// What a source gives until its end.
std::string whole(const std::string& packed) {
  auto source = memory_source(packed);
  EXPECT_TRUE(source);
  std::string out;
  std::string step(1000, '\0');
  for (;;) {
    const auto got = (*source)->read(step.data(), step.size());
    EXPECT_TRUE(got) << (got ? "" : got.error().text());
    if (!got || *got == 0) return out;
    out.append(step, 0, *got);
  }
}

TEST(Compressor, WhatGoesInComesOut) {
  Rng rng(1);
  for (const char* path : {"trace.csv.gz", "trace.csv.zst"}) {
    for (const std::size_t pieces : {0U, 1U, 3U, 40U}) {
      const auto compressor = compressor_for(path);
      ASSERT_NE(compressor, nullptr);
      std::string text;
      std::string packed;
      for (std::size_t i = 0; i < pieces; ++i) {
        std::string piece(rng.below(200'000), '\0');
        for (char& c : piece) c = static_cast<char>('a' + rng.below(i % 2 == 0 ? 3 : 26));
        compressor->add(piece, false, packed);
        text += piece;
      }
      compressor->add("end", true, packed);
      text += "end";
      EXPECT_NE(packed, text);
      EXPECT_EQ(whole(packed), text) << path << ' ' << pieces;
      if (pieces == 40) {
        EXPECT_LT(packed.size(), text.size());
      }
    }
  }
}

TEST(Compressor, TheEndOfThePathDecides) {
  for (const char* path : {"-", "trace.csv", "gz", "a.gz/b", "a.GZ.csv", ""}) EXPECT_EQ(compressor_for(path), nullptr);
}

}  // namespace
}  // namespace comity
