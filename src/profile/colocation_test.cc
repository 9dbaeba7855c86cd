// SPDX-License-Identifier: Apache-2.0
#include "profile/colocation.h"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

namespace comity::profile {
namespace {

constexpr const char* kPairs =
    "model1,dataset1,batchsize1,amp1,speed1,model2,dataset2,batchsize2,amp2,speed2,gpu_util\n";
constexpr const char* kScores = "model,dataset,batchsize,amp,label\n";

Status read(Colocation& table, bool pairs, const std::string& text) {
  LineReader reader(*memory_source(text), "f.csv");
  return pairs ? table.read_pairs(reader) : table.read_scores(reader);
}
std::string refusal(bool pairs, const std::string& text) {
  Colocation table;
  const Status status = read(table, pairs, text);
  return status ? "none" : status.error().text();
}

TEST(Colocation, PairsEitherWayRound) {
  Colocation table;
  ASSERT_TRUE(read(table, true, std::string(kPairs) + "a,d,32,0,0.9,b,e,64.0,1,0.8,50\nb,e,64,1,.5,b,e,64,1,.4,1\n"));
  ASSERT_TRUE(read(table, false, std::string(kScores) + "b,e,64,1,2\n\nc,d,32,0,0\n"));
  const std::uint32_t a = table.find("a", "d", 32, 0);
  const std::uint32_t b = table.find("b", "e", 64, 1);
  PairSpeeds s;
  ASSERT_TRUE(table.speeds(a, b, s));
  EXPECT_EQ(s, (PairSpeeds{0.9, 0.8}));
  ASSERT_TRUE(table.speeds(b, a, s));
  EXPECT_EQ(s, (PairSpeeds{0.8, 0.9}));
  ASSERT_TRUE(table.speeds(b, b, s));
  EXPECT_EQ(s, (PairSpeeds{0.5, 0.4}));
  EXPECT_FALSE(table.speeds(a, a, s));
  EXPECT_FALSE(table.speeds(a, Colocation::kNone, s));
  EXPECT_EQ(table.score(a), -1);
  EXPECT_EQ(table.score(b), 2);
  EXPECT_EQ(table.find("a", "d", 32, 1), Colocation::kNone);
  EXPECT_EQ(table.kinds(), 3U);
}

TEST(Colocation, WhatItRefuses) {
  const std::string p = kPairs;
  const std::string s = kScores;
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find("f.csv") != std::string::npos && text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(refusal(true, ""), "empty"));
  EXPECT_TRUE(has(refusal(false, p), "label") || has(refusal(false, p), "model"));
  EXPECT_TRUE(has(refusal(true, p + "a,d,32,0,0,b,e,64,1,0.8,50\n"), "speed1"));
  EXPECT_TRUE(has(refusal(true, p + "a,d,32,0,nan,b,e,64,1,0.8,50\n"), "speed1"));
  EXPECT_TRUE(has(refusal(true, p + "a,d,32,0,1,b,e,64,1,101,50\n"), "speed2"));
  EXPECT_TRUE(has(refusal(true, p + "a,d,32,2,1,b,e,64,1,1,50\n"), "amp1"));
  EXPECT_TRUE(has(refusal(true, p + "a,d,-1,0,1,b,e,64,1,1,50\n"), "batchsize1"));
  EXPECT_TRUE(has(refusal(true, p + "a,d,1,0,1,,e,64,1,1,50\n"), "model2"));
  EXPECT_TRUE(has(refusal(true, p + "a,d,1,0,1,b,e,64,1,1\n"), "fields"));
  EXPECT_TRUE(has(refusal(true, p + "a,d,1,0,1,b,e,4,1,1,5\na,d,1,0,1,b,e,4,1,1,5\n"), "f.csv:3"));
  EXPECT_TRUE(has(refusal(false, s + "a,d,1,0,3\n"), "label"));
  EXPECT_TRUE(has(refusal(false, s + "a,d,1,0,1\na,d,1,0,1\n"), "f.csv:3"));
}

// Counts of an awk line: 1388 pairs, 66 kinds with a score.
TEST(Colocation, TheMeasurementsOfLucid) {
  const char* root = std::getenv("COMITY_SHARED");
  const auto folder = std::filesystem::path(root != nullptr ? root : "../shared") / "data" / "traces" / "lucid";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is absent (set COMITY_SHARED)";
  const auto table = read_colocation((folder / "colocate_info.csv").string(), (folder / "single_data.csv").string());
  ASSERT_TRUE(table.has_value()) << table.error().text();
  EXPECT_EQ(table->pairs(), 1388U);
  EXPECT_EQ(table->kinds(), 66U);
  PairSpeeds s;
  ASSERT_TRUE(
      table->speeds(table->find("ResNet18", "CIFAR-10", 32, 1), table->find("MobileNetV3", "ImageNet", 32, 0), s));
  EXPECT_EQ(s, (PairSpeeds{0.97, 1.055}));
  EXPECT_EQ(table->score(table->find("BERT", "SQuAD", 32, 1)), 2);
}

}  // namespace
}  // namespace comity::profile
