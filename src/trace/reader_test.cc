// SPDX-License-Identifier: Apache-2.0
#include "trace/reader.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/compressor.h"
#include "base/limits.h"
#include "base/rng.h"
#include "trace/format.h"
#include "trace/test_files.h"

namespace comity::trace {
namespace {

constexpr const char* kHeader = "job_id,submit_s,duration_s,gpus\n";

ReadOptions skipping() {
  ReadOptions options;
  options.skip_bad = true;
  return options;
}

TEST(Reader, ReadsComityColumns) {
  const auto trace = read_text(
      "job_id,submit_s,duration_s,nodes,gpus_per_node,user,tenant,gpu_type,estimate_s,wait_s,model,batch_size\n"
      "7,1.5,60,2,4,ann,lab,a100,3600,0,vgg16,32\r\n"
      "8, 2 ,0,1,8,\"o\"\"x, y\",,,,-1,,\n\n");
  ASSERT_TRUE(trace) << trace.error().text();
  ASSERT_EQ(trace->rows.size(), 2U);
  const Row& a = trace->rows[0];
  EXPECT_EQ(a.id, 7);
  EXPECT_EQ(a.submit, 1'500'000'000);
  EXPECT_EQ(a.duration, 60 * kSecond);
  EXPECT_EQ(a.request.shape, (profile::Shape{2, 4}));
  EXPECT_EQ(trace->names[a.request.user], "ann");
  EXPECT_EQ(trace->names[a.request.gpu_type], "a100");
  EXPECT_EQ(a.request.estimate, kHour);
  EXPECT_EQ(a.wait, 0);
  EXPECT_EQ(trace->attributes[a.request.attributes].batch_size, 32);
  const Row& b = trace->rows[1];
  EXPECT_EQ(b.submit, 2 * kSecond);
  EXPECT_EQ(b.duration, 0);
  EXPECT_EQ(trace->names[b.request.user], "o\"x, y");
  EXPECT_EQ(b.request.tenant, profile::kNoName);
  EXPECT_EQ(b.request.estimate, -1);
  EXPECT_EQ(b.wait, -1);
  EXPECT_EQ(b.request.attributes, profile::kNoAttributes);
}

TEST(Reader, KeepsTheOrderOfTheFileAndFractions) {
  const auto trace = read_text("submit_s,duration_s,gpus\n5.000000001,1,1.0\n0.1,1e2,2\n");
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_EQ(trace->rows[0].submit, 5'000'000'001);
  EXPECT_EQ(trace->rows[1].submit, 100'000'000);
  EXPECT_EQ(trace->rows[1].duration, 100 * kSecond);
  EXPECT_EQ(trace->rows[1].id, 1);
}

TEST(Reader, TextIds) {
  const auto trace = read_text(std::string(kHeader) + "3,0,1,1\njob-a,1,1,1\n5,2,1,1\n");
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_EQ(trace->text_ids, (std::vector<std::string>{"3", "job-a", "5"}));
  EXPECT_EQ(trace->rows[1].id, 1);
  const auto twice = read_text(std::string(kHeader) + "a,0,1,1\nb,1,1,1\na,2,1,1\n");
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().line, 4);
}

struct BadLine {
  const char* name;
  const char* line;
  const char* field;
};

class BadLines : public testing::TestWithParam<BadLine> {};

TEST_P(BadLines, NameTheLineAndAreSkippedOnDemand) {
  const std::string text = std::string(kHeader) + "1,0,5,1\n" + GetParam().line + "\n3,1,5,1\n";
  const auto strict = read_text(text);
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().code, Code::kInput);
  EXPECT_EQ(strict.error().file, "memory");
  EXPECT_EQ(strict.error().line, 3);
  EXPECT_EQ(strict.error().field, GetParam().field) << strict.error().text();
  EXPECT_EQ(strict.error().hint, "--skip-bad goes on without such lines");
  const auto lenient = read_text(text, skipping());
  ASSERT_TRUE(lenient) << lenient.error().text();
  EXPECT_EQ(lenient->rows.size(), 2U);
  EXPECT_EQ(lenient->skipped_lines, 1U);
  ASSERT_EQ(lenient->skipped.size(), 1U);
  EXPECT_EQ(lenient->skipped[0].line, 3);
  EXPECT_FALSE(lenient->skipped[0].reason.empty());
}

INSTANTIATE_TEST_SUITE_P(
    All, BadLines,
    testing::Values(BadLine{"missing_field", "2,0,5", "gpus"}, BadLine{"extra_field", "2,0,5,1,9", ""},
                    BadLine{"empty_submit", "2,,5,1", "submit_s"}, BadLine{"text_submit", "2,now,5,1", "submit_s"},
                    BadLine{"negative_submit", "2,-3,5,1", "submit_s"}, BadLine{"nan", "2,nan,5,1", "submit_s"},
                    BadLine{"inf", "2,0,inf,1", "duration_s"}, BadLine{"huge_time", "2,0,1e30,1", "duration_s"},
                    BadLine{"long_integer", "2,0,99999999999999999,1", "duration_s"},
                    BadLine{"longer_integer", "2,0,99999999999999999999999,1", "duration_s"},
                    BadLine{"negative_duration", "2,0,-1,1", "duration_s"}, BadLine{"zero_gpus", "2,0,5,0", "gpus"},
                    BadLine{"empty_gpus", "2,0,5,", "gpus"}, BadLine{"negative_gpus", "2,0,5,-2", "gpus"},
                    BadLine{"half_a_gpu", "2,0,5,0.5", "gpus"}, BadLine{"too_many_gpus", "2,0,5,1000001", "gpus"},
                    BadLine{"repeated_id", "1,0,5,1", "job_id"}, BadLine{"negative_id", "-2,0,5,1", "job_id"},
                    BadLine{"empty_id", ",0,5,1", "job_id"}, BadLine{"open_quote", "2,0,5,\"1", ""}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Reader, ShapesThatContradictThemselves) {
  const std::string header = "submit_s,duration_s,gpus,nodes,gpus_per_node\n";
  EXPECT_TRUE(read_text(header + "0,1,8,2,4\n0,1,,2,4\n0,1,8,2,\n0,1,8,,\n"));
  for (const char* line : {"0,1,9,2,4", "0,1,,,4", "0,1,,2,", "0,1,7,2,", "0,1,,1000001,1", "0,1,,2000,2000"}) {
    const auto trace = read_text(header + line + "\n");
    ASSERT_FALSE(trace) << line;
    EXPECT_EQ(trace.error().line, 2);
  }
}

TEST(Reader, ListsTheFirstTenBadLines) {
  std::string text = kHeader;
  for (int i = 0; i < 30; ++i) text += std::to_string(i % 20) + (i % 2 == 0 ? ",0,1,1\n" : ",0,x,1\n");
  const auto trace = read_text(text, skipping());
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_EQ(trace->rows.size(), 10U);  // even lines, the last five of which repeat ids
  EXPECT_EQ(trace->skipped_lines, 20U);
  ASSERT_EQ(trace->skipped.size(), 10U);
  for (std::size_t i = 1; i < 10; ++i) EXPECT_LT(trace->skipped[i - 1].line, trace->skipped[i].line);
}

TEST(Reader, RepeatedIdsOfEveryKind) {
  // Sparse ids go through the table, dense ones through the bits.
  for (const char* far : {"40", "4000000000000000000"}) {
    const auto trace = read_text(std::string(kHeader) + far + ",0,1,1\n2,0,1,1\n\n3,0,1,1\n2,0,1,1\n");
    ASSERT_FALSE(trace);
    EXPECT_EQ(trace.error().line, 6) << trace.error().text();
  }
}

TEST(Reader, EmptyAndHeaderOnly) {
  for (const char* text :
       {"", "\n\n", "job_id,submit_s,duration_s,gpus\n", "job_id,submit_s,duration_s,gpus", "; MaxProcs: 8\n"}) {
    const auto trace = read_text(text);
    ASSERT_FALSE(trace) << text;
    EXPECT_EQ(trace.error().code, Code::kInput);
    EXPECT_GE(trace.error().line, 1) << text;
  }
}

TEST(Reader, AllLinesBad) {
  const auto trace = read_text(std::string(kHeader) + "1,0,1,0\n", skipping());
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().code, Code::kInput);
}

TEST(Reader, BinaryAndEndlessLines) {
  const auto nul = read_text(std::string(kHeader) + std::string("1,0\0,1,1\n", 9));
  ASSERT_FALSE(nul);
  EXPECT_EQ(nul.error().line, 2);
  const auto endless = read_text(std::string(kHeader) + std::string(limits::kLineBytes + 2, '1'));
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().line, 2);
}

TEST(Reader, Headers) {
  const auto misspelt = read_text("job_id,submit_s,duration_s,gpus,usr\n1,0,1,1,ann\n");
  ASSERT_FALSE(misspelt);
  EXPECT_EQ(misspelt.error().field, "usr");
  EXPECT_NE(misspelt.error().hint.find("user"), std::string::npos);
  const auto more = read_text("job_id,submit_s,duration_s,gpus,exit status\n1,0,1,1,0\n");
  ASSERT_TRUE(more) << more.error().text();
  EXPECT_EQ(more->ignored_columns, std::vector<std::string>{"exit status"});
  EXPECT_FALSE(read_text("submit_s,submit_s,duration_s,gpus\n1,0,1,1\n"));
  EXPECT_FALSE(read_text("submit_s,duration_s,user\n1,0,1\n"));
  EXPECT_FALSE(read_text("\"submit_s,duration_s,gpus\n1,0,1\n"));
}

TEST(Reader, FormatsByName) {
  ReadOptions options;
  options.format = "philyl";
  const auto unknown = read_text("x\n", options);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::kUsage);
  EXPECT_NE(unknown.error().hint.find("philly"), std::string::npos);
  options.format = "tiresias";
  const auto wrong = read_text(std::string(kHeader) + "1,0,1,1\n", options);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().line, 1);
}

TEST(Reader, ChronusIsNotTiresias) {
  // Chronus counts in minutes: reading it as seconds would be sixty times wrong.
  const char* text =
      "job_id,user,num_gpu,submit_time,iterations,model_name,duration,interval,expect_time_list\n"
      "1,a,1,0,1,m,5,1,7\n";
  EXPECT_FALSE(read_text(text));
  ReadOptions options;
  options.format = "tiresias";
  EXPECT_FALSE(read_text(text, options));
}

struct RealFile {
  const char* name;
  const char* format;
  std::size_t rows;
  double gpu_hours;
};

class RealFiles : public testing::TestWithParam<RealFile> {};

TEST_P(RealFiles, HaveTheRowsTheirReadmeSays) {
  const std::string path = shared_trace(GetParam().name);
  COMITY_NEED_TRACE(path)
  const auto trace = read_trace(path, {});
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_EQ(trace->format, GetParam().format);
  EXPECT_EQ(trace->rows.size(), GetParam().rows);
  EXPECT_EQ(trace->skipped_lines, 0U);
  const double hours = GetParam().gpu_hours > 0 ? GetParam().gpu_hours : trace->gpu_hours();
  EXPECT_NEAR(trace->gpu_hours(), hours, hours * 1e-4);
}

// A cut file is read as far as it goes, or refused with the line.
TEST_P(RealFiles, CutAnywhereGiveARowOrALine) {
  const std::string path = shared_trace(GetParam().name);
  COMITY_NEED_TRACE(path)
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  const std::string whole = bytes.str();
  Rng rng(1);
  for (int i = 0; i < 50; ++i) {
    const std::string cut = whole.substr(0, rng.below(whole.size()));
    for (const bool skip : {false, true}) {
      ReadOptions options;
      options.skip_bad = skip;
      const auto trace = read_text(cut, options);
      if (trace) continue;
      EXPECT_EQ(trace.error().code, Code::kInput);
      EXPECT_GE(trace.error().line, 1) << cut.size() << ": " << trace.error().text();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shared, RealFiles,
                         testing::Values(RealFile{"philly_82k.csv.gz", "philly", 82'247, 0},
                                         RealFile{"philly_week_20171001.csv", "philly", 10'650, 85'803},
                                         RealFile{"philly_week_cap2d_lucid.csv.gz", "lucid", 10'650, 55'732},
                                         RealFile{"philly_week_cap2d_lucid_order.csv.gz", "lucid", 10'650, 55'732},
                                         RealFile{"tiresias/60_job.csv", "tiresias", 60, 0},
                                         RealFile{"tiresias/philly480_tiresias.csv", "tiresias", 480, 581.2},
                                         RealFile{"hand6_tiresias.csv", "tiresias", 6, 0},
                                         RealFile{"swf/LCG.swf.gz", "swf", 188'041, 0},
                                         RealFile{"swf/NASA-iPSC-1993-3.1-cln.swf.gz", "swf", 18'239, 0},
                                         RealFile{"swf/lublin_256.swf.gz", "swf", 10'000, 0}),
                         [](const auto& test) {
                           std::string name = test.param.name;
                           for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
                           return name;
                         });

// "7", "07" and "007" are three jobs, and each keeps its name.
TEST(Reader, IdsAreKeptAsTheyAre) {
  const std::string text = "job_id,submit_s,duration_s,gpus,vc\n7,0,10,1,a\n007,1,10,1,a\n07,2,10,1,a\n0,3,10,1,a\n";
  const auto trace = read_text(text);
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_EQ(trace->text_ids, (std::vector<std::string>{"7", "007", "07", "0"}));
  const auto numbers = read_text("job_id,submit_s,duration_s,gpus,vc\n7,0,10,1,a\n0,1,10,1,a\n10,2,10,1,a\n");
  ASSERT_TRUE(numbers);
  EXPECT_TRUE(numbers->text_ids.empty());
  const auto twice = read_text("job_id,submit_s,duration_s,gpus,vc\n007,0,10,1,a\n007,1,10,1,a\n");
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().line, 3);
  for (const char* bad : {"-1", "-0"}) {
    const auto negative = read_text(std::string("job_id,submit_s,duration_s,gpus,vc\n") + bad + ",0,10,1,a\n");
    EXPECT_EQ(negative.has_value(), std::string(bad) == "-0") << bad;
  }
}

// Compressed data that is cut and goes on with other bytes: the text behind the cut makes no sense, and that is why.
TEST(Reader, DamageIsNamedNotTheTextItLeaves) {
  std::string text = "job_id,submit_s,duration_s,gpus,vc\n";
  Rng rng(5);
  for (int i = 0; i < 20'000; ++i)
    text += std::to_string(i) + ',' + std::to_string(i) + ',' + std::to_string(1 + rng.below(100'000)) + ",1,a\n";
  for (const char* suffix : {"x.gz", "x.zst"}) {
    std::string packed;
    compressor_for(suffix)->add(text, true, packed);
    std::size_t as_text = 0;
    for (int i = 0; i < 40; ++i) {
      std::string cut = packed.substr(0, packed.size() / 4 + rng.below(packed.size() / 2));
      for (int k = 0; k < 2000; ++k) cut += static_cast<char>(rng.below(256));
      const auto trace = read_text(cut);
      ASSERT_FALSE(trace) << i;
      const std::string why = trace.error().text();
      if (why.find("is damaged") == std::string::npos && why.find("is truncated") == std::string::npos) ++as_text;
    }
    EXPECT_EQ(as_text, 0U) << suffix;
  }
}

}  // namespace
}  // namespace comity::trace
