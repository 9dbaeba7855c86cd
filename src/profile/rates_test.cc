// SPDX-License-Identifier: Apache-2.0
#include "profile/rates.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace comity::profile {
namespace {

constexpr const char* kHead = "schema = \"comity.rates/1\"\nreference = \"A\"\n";
constexpr const char* kRow =
    "[[rates]]\nmodel = \"m\"\nbatch_size = 16\ngpus = [1, 2, 8]\npacked.A = [2, 3, 12]\npacked.b = [1, 0, 3]\n"
    "spread.A = [2, 2.5, 5]\n";

std::string refusal(const std::string& text) {
  const auto rates = parse_rates(text, "f.toml");
  return rates ? "none" : rates.error().text();
}
bool has(const std::string& text, const std::string& part) {
  return text.find("f.toml") != std::string::npos && text.find(part) != std::string::npos;
}

TEST(Rates, SpeedsAreRelativeToTheReferenceTypeWithTheSameGpusPacked) {
  const auto rates = parse_rates(std::string(kHead) + kRow, "f.toml");
  ASSERT_TRUE(rates.has_value()) << rates.error().text();
  const std::uint32_t m = rates->kind("m", 16);
  const std::uint32_t a = rates->type("a");
  const std::uint32_t b = rates->type("B");
  EXPECT_EQ(rates->reference(), a);
  EXPECT_EQ(rates->kind("m", 32), Rates::kNone);
  EXPECT_DOUBLE_EQ(rates->speed(m, a, 8, 8, 1), 1);
  EXPECT_DOUBLE_EQ(rates->speed(m, a, 8, 8, 2), 5.0 / 12);
  EXPECT_DOUBLE_EQ(rates->speed(m, b, 8, 8, 1), 0.25);
  EXPECT_DOUBLE_EQ(rates->speed(m, b, 8, 8, 3), 0.25);  // no spread rates: as packed
  EXPECT_DOUBLE_EQ(rates->speed(m, a, 1, 8, 1), 6);
  EXPECT_EQ(rates->speed(m, b, 2, 2, 1), 0);  // does not run
  EXPECT_DOUBLE_EQ(rates->speed_in_any_case(m, b, 2, 2, 1), 1.0 / 3 * std::pow(2, 0.9));
  EXPECT_TRUE(rates->known(m, b, 2));
}

TEST(Rates, BetweenAndBeyondMeasuredNumbersOfGpus) {
  const auto rates = parse_rates(std::string(kHead) + kRow, "f.toml");
  const std::uint32_t m = rates->kind("m", 16);
  const std::uint32_t a = rates->type("a");
  EXPECT_DOUBLE_EQ(rates->rate(m, a, 4, 1), 6);  // 2 -> 3, 8 -> 12: log-log half way
  EXPECT_DOUBLE_EQ(rates->rate(m, a, 16, 1), 12 * std::pow(2, 0.9));
  EXPECT_EQ(rates->rate(m, rates->type("b"), 4, 1), 0);
  EXPECT_EQ(rates->rate(m, Rates::kNone, 4, 1), -1);
}

TEST(Rates, WithoutARowAllTypesAreAlike) {
  const auto rates =
      parse_rates(std::string(kHead) + kRow + "[[rates]]\nmodel = \"n\"\ngpus = [4]\npacked.b = [1]\n", "f.toml");
  ASSERT_TRUE(rates.has_value()) << rates.error().text();
  const std::uint32_t n = rates->kind("n", 77);
  EXPECT_NE(n, Rates::kNone);  // whatever its batch size
  for (const std::uint32_t kind : {n, Rates::kNone}) {
    EXPECT_FALSE(rates->known(kind, rates->type("b"), 4));  // n has no rate on the reference type
    EXPECT_EQ(rates->speed(kind, rates->type("b"), 4, 4, 2), 1);
    EXPECT_DOUBLE_EQ(rates->speed(kind, rates->type("b"), 4, 8, 1), std::pow(2, 0.9));
  }
  EXPECT_EQ(rates->speed(rates->kind("m", 16), Rates::kNone, 4, 4, 1), 1);
}

TEST(Rates, WhatItRefuses) {
  const std::string head = kHead;
  EXPECT_TRUE(has(refusal("reference = \"a\"\n"), "schema"));
  EXPECT_TRUE(has(refusal(head), "reference"));
  EXPECT_TRUE(has(refusal("schema = \"comity.rates/2\"\nreference = \"a\"\n"), "comity.rates/1"));
  const std::string row = head + "[[rates]]\nmodel = \"m\"\n";
  EXPECT_TRUE(has(refusal(row), "gpus"));
  EXPECT_TRUE(has(refusal(row + "gpus = [2, 1]\npacked.A = [1, 1]\n"), "rise"));
  EXPECT_TRUE(has(refusal(row + "gpus = [0]\npacked.A = [1]\n"), "gpus"));
  EXPECT_TRUE(has(refusal(row + "gpus = [1]\npacked.A = [1, 2]\n"), "has 2 rates"));
  EXPECT_TRUE(has(refusal(row + "gpus = [1]\npacked.A = [-1]\n"), "A"));
  EXPECT_TRUE(has(refusal(row + "gpus = [1]\npacked.A = [nan]\n"), "A"));
  EXPECT_TRUE(has(refusal(row + "gpus = [1]\npacked.A = [1]\npacked.a = [1]\n"), "same type"));
  EXPECT_TRUE(has(refusal(row + "gpus = [1]\npacked = 3\n"), "table"));
  EXPECT_TRUE(has(refusal(row + "gpus = [1]\npaked.A = [1]\n"), "did you mean packed"));
  EXPECT_TRUE(has(refusal(head + kRow + kRow), "earlier row"));
  EXPECT_TRUE(has(refusal(head + "[[rates]]\ngpus = [1]\npacked.A = [1]\n"), "model"));
}

TEST(Rates, TheLibraryHasGavelsTable) {
  const Rates& rates = library_rates();
  EXPECT_EQ(rates.kinds(), 26U);
  EXPECT_EQ(rates.types().size(), 3U);
  const std::uint32_t resnet = rates.kind("ResNet-18", 16);
  ASSERT_NE(resnet, Rates::kNone);
  // 32.353384, 4.795295 and 100.142062 in the file, to four digits.
  EXPECT_DOUBLE_EQ(rates.rate(resnet, rates.type("V100"), 1, 1), 32.35);
  EXPECT_DOUBLE_EQ(rates.rate(resnet, rates.type("k80"), 1, 1), 4.795);
  EXPECT_DOUBLE_EQ(rates.rate(resnet, rates.type("v100"), 2, 1), 100.1);
  EXPECT_DOUBLE_EQ(rates.rate(resnet, rates.type("v100"), 2, 2), 35.34);
  EXPECT_EQ(rates.rate(rates.kind("ResNet-50", 128), rates.type("k80"), 4, 1), 0);
  EXPECT_EQ(rates.reference(), rates.type("v100"));
}

// More GPUs between two measured numbers: the rate lies between theirs.
TEST(Rates, InterpolationStaysBetween) {
  Rng rng(3);
  for (int i = 0; i < 200; ++i) {
    const double low = 0.5 + static_cast<double>(rng.below(1000)) / 100;
    const double high = 0.5 + static_cast<double>(rng.below(1000)) / 100;
    const auto rates = parse_rates(std::string(kHead) + "[[rates]]\nmodel = \"m\"\ngpus = [2, 9]\npacked.a = [" +
                                       std::to_string(low) + ", " + std::to_string(high) + "]\n",
                                   "f.toml");
    ASSERT_TRUE(rates.has_value());
    for (std::uint32_t gpus = 3; gpus < 9; ++gpus) {
      const double rate = rates->rate(0, 0, gpus, 1);
      EXPECT_GE(rate, std::min(low, high) - 1e-9);
      EXPECT_LE(rate, std::max(low, high) + 1e-9);
    }
  }
}

}  // namespace
}  // namespace comity::profile
